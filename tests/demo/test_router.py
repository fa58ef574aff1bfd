"""The router scenario without a model: the desk's messages, the prompt and its answers, and the flow of verdicts.

`Clerk` is a script that obeys a rule by looking for its words in its context: it stands for no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

import pytest
from tests.demo.endpointdouble import Answer, Asked, endpoint_double, says
from tests.surfaces.cliterminal import HARMFUL, HOSTILE, Cli

from ruleproof.demo.endpoint import Endpoint
from ruleproof.demo.model_agent import FAILURES
from ruleproof.demo.router import PROMPT, SCHEMA, ModelRouter
from ruleproof.demo.router_desk import MESSAGES, QUEUES, Message
from ruleproof.demo.router_run import GUESSES, run
from ruleproof.demo.router_seen import Guess, Routed, Seen, tally
from ruleproof.errors import Refused, SourceError
from ruleproof.harness import Harness
from ruleproof.surfaces.cli.layout import width

VAGUE = Guess("vague", "billing", "Take your time.", "does nothing")
NARROW = Guess("narrow", "billing", "Gift cards are for billing.", "helps")
BROAD = Guess("broad", "shipping", "Items are for shipping.", "harms")
BY_TEXT = {message.text: message for message in MESSAGES}


def sorted_by_script(message: Message, rules: Container[str]) -> str:
    if NARROW.text in rules and message.kind == "gift card":
        return "billing"
    if BROAD.text in rules and message.queue in ("shipping", "account"):
        return "shipping"
    return message.queue if message.kind == "plain" else "technical"


class Clerk:
    """A script; from call `dies_at` on it gives no answer."""

    name = "scripted clerk"

    def __init__(
        self, answer: Callable[[Message, Sequence[str]], str] = sorted_by_script, dies_at: int = 10_000
    ) -> None:
        self._answer, self._dies_at = answer, dies_at
        self.calls, self.gave_up = 0, ""

    def route(self, text: str, rules: Sequence[str]) -> str:
        self.calls += 1
        if self.calls >= self._dies_at:
            self.gave_up = "nobody is there"
            raise SourceError("nobody is there")
        return self._answer(BY_TEXT[text], rules)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return run(tmp_path_factory.mktemp("desk") / "seen", Clerk(), guesses=(VAGUE, NARROW, BROAD))


# --- the desk --------------------------------------------------------------------------------------------------------


def test_forty_messages_are_spread_over_the_queues_and_each_convention_has_its_own_queue() -> None:
    assert len(MESSAGES) == len({one.text for one in MESSAGES}) == len({one.id for one in MESSAGES}) == 40
    assert Counter(one.queue for one in MESSAGES) == dict.fromkeys(QUEUES, 8)
    for one in MESSAGES:
        assert ("gift card" in one.text) == (one.kind == "gift card")
        assert {"gift card": "billing", "damaged": "shipping"}.get(one.kind, one.queue) == one.queue
        assert len(one.text) < 120 and one.text.isascii()


def test_no_convention_stands_in_the_prompt_and_each_guess_is_about_a_queue_of_its_own() -> None:
    assert all(word not in PROMPT.lower() for word in ("gift", "damage", "broken"))
    assert all(f"- {queue}:" in PROMPT for queue in QUEUES)
    assert len({guess.text for guess in GUESSES}) == len({guess.queue for guess in GUESSES}) == len(GUESSES) == 3


# --- the verdicts ----------------------------------------------------------------------------------------------------


def test_what_helps_is_promoted_what_does_nothing_is_not_and_what_harms_is_retired_by_name(seen: Seen) -> None:
    vague, narrow, broad = seen.tried
    assert (vague.status, vague.harmed, vague.details["decision"]) == ("retired", (), "inconclusive")
    assert (narrow.status, narrow.harmed) == ("active", ())
    assert (broad.status, broad.harmed) == ("retired", ("account",))
    assert "lowers account" in broad.words
    assert {row.queue: (row.treated, row.control) for row in broad.rows} == {
        "shipping": (1.0, 0.0), "account": (0.0, 1.0), "technical": (1.0, 1.0),
    }  # fmt: skip


def test_the_rates_are_counted_from_the_answers_with_and_without_each_rule(seen: Seen) -> None:
    before, narrow, broad = tally(seen.plain), tally(seen.tried[1].routed), tally(seen.tried[2].routed)
    assert (before.right, before.answered) == (31, 40)
    assert before.kinds == {"plain": (31, 31), "gift card": (0, 5), "damaged": (0, 4)}
    assert (narrow.right, narrow.kinds["gift card"]) == (36, (5, 5))
    assert broad.queues["account"] == (0, 8)
    assert tally(seen.tried[2].before) == narrow, "the promoted rule stays in force beside the next one"
    assert tally(seen.tried[1].before) == before, "and a retired one does not"


def test_every_figure_of_cost_is_bounded_and_adds_up(seen: Seen) -> None:
    assert seen.calls == 40 + sum(one.calls for one in seen.tried) == 40 + 3 * 40 + (2 + 1 + 2) * 50
    assert seen.cases == (9, 31)


def test_what_is_said_of_the_rules_is_what_the_workspace_holds(seen: Seen) -> None:
    harness = Harness.create(harness_root=Path(seen.folder) / ".ruleproof")
    for one in seen.tried:
        rule = harness.rules.get(one.rule_id)
        assert (rule.status, rule.rule, rule.metric) == (one.status, one.guess.text, one.guess.queue)
        assert one.words in rule.reason or one.words in harness.rules.trial(rule.id).verdict


def test_a_queue_without_a_mistake_leaves_nothing_to_mend(tmp_path: Path) -> None:
    found = run(tmp_path / "seen", Clerk(lambda message, _: message.queue), guesses=(NARROW,))
    assert "no message of billing went wrong" in found.tried[0].problem and found.tried[0].rule_id == ""
    assert found.calls == 40


@pytest.mark.parametrize("dies_at", [5, 60, 100])
def test_a_router_that_dies_ends_the_run_and_decides_nothing(dies_at: int, tmp_path: Path) -> None:
    found = run(tmp_path / "seen", Clerk(dies_at=dies_at), guesses=(NARROW, BROAD))
    assert found.gave_up == "nobody is there"
    assert [one.status for one in found.tried] in ([], ["candidate"])
    assert found.calls < dies_at + 50 * 2
    assert sum(bool(one.outage) for one in found.plain) == (1 if dies_at <= 40 else 0)


def test_a_retired_rule_is_out_of_the_prompt_of_the_next_one(tmp_path: Path) -> None:
    found = run(tmp_path / "seen", Clerk(), guesses=(BROAD, NARROW))
    assert found.tried[0].status == "retired" and tally(found.tried[0].routed) != tally(found.plain)
    assert found.tried[1].before == found.plain
    assert tally(found.tried[1].routed).right == 36


def test_a_replay_that_nobody_answered_is_missing_and_no_wrong_answer(tmp_path: Path) -> None:
    class Busy(Clerk):
        def route(self, text: str, rules: Sequence[str]) -> str:
            answer = super().route(text, rules)
            if self.calls in (85, 92, 99):
                raise SourceError("busy")
            return answer

    found = run(tmp_path / "seen", Busy(), guesses=(NARROW,)).tried[0]
    assert sum(sum(row.counted) for row in found.rows) == 50 - 3
    assert {row.queue: (row.treated, row.control) for row in found.rows} == {
        "billing": (1.0, 0.0), "account": (1.0, 1.0), "technical": (1.0, 1.0),
    }  # fmt: skip


def test_a_message_that_nobody_answered_counts_neither_as_right_nor_as_wrong() -> None:
    found = tally([Routed("m-01", "billing"), Routed("m-02", outage="gone"), Routed("m-03", "billing")])
    assert (found.right, found.answered) == (1, 2)
    assert found.queues["shipping"] == (0, 0)


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(Refused, match="not an empty folder"):
        run(tmp_path, Clerk())


# --- the prompt and its answers --------------------------------------------------------------------------------------


def asked_of(answer: Callable[[int, Asked], Answer]) -> tuple[list[str], list[Asked], ModelRouter]:
    """Three messages routed by an endpoint double: the answers, what it was asked, the router."""
    with endpoint_double(answer) as double:
        router = ModelRouter(Endpoint(double.url, "double"))
        answers = [router.route(f"message {number}", ["ONE.", "TWO."]) for number in range(3)]
    return answers, [body for _, body in double.asked], router


def test_the_model_is_given_queues_context_message_and_schema_and_its_queue_is_taken() -> None:
    answers, bodies, router = asked_of(lambda *_: says({"queue": "returns"}))
    assert answers == ["returns"] * 3
    assert router.calls == 4, "one call shows that the endpoint is there"
    system, user = bodies[1]["messages"]
    assert system["content"] == f"{PROMPT}\n\nRules of this desk:\n- ONE.\n- TWO."
    assert "message 0" in user["content"] and "ONE." not in user["content"]
    assert bodies[0]["messages"][0]["content"] == PROMPT
    assert bodies[1]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert bodies[1]["temperature"] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [("I think billing.", "I think billing."), ({"queue": 7}, '{"queue": 7}'), ({"queue": "x" * 500}, "x" * 60),
     ({}, "{}"), ({"queue": "Billing"}, "Billing")],
    ids=["prose", "number", "long", "empty", "case"],
)  # fmt: skip
def test_an_answer_that_is_no_queue_is_a_wrong_answer_kept_short(content: object, said: str) -> None:
    answers, _, _ = asked_of(lambda *_: says(content))
    assert answers == [said] * 3
    assert Routed("m-01", said).right == 0.0


def test_an_endpoint_that_is_gone_is_not_asked_again_and_again() -> None:
    with endpoint_double(lambda n, _: says({"queue": "returns"}) if n == 0 else (500, b"dead")) as double:
        router = ModelRouter(Endpoint(double.url, "double"))
        for _ in range(FAILURES + 5):
            with pytest.raises(SourceError):
                router.route("message", ())
    assert router.calls == 1 + FAILURES
    assert "failed in a row" in router.gave_up


# --- the command -----------------------------------------------------------------------------------------------------


def clerk_endpoint(number: int, asked: Asked) -> Answer:
    """The script behind an endpoint: it obeys the first real guess of each kind by looking for its text."""
    system, user = (message["content"] for message in asked["messages"])
    message = next((one for one in MESSAGES if one.text in user), MESSAGES[0])
    return says({"queue": sorted_by_script(message, system)})


def test_the_command_tells_the_run_in_80_cells_with_its_progress_on_standard_error(cli: Cli) -> None:
    with endpoint_double(clerk_endpoint) as double:
        result = cli.ok("demo", "--scenario", "router", "--model", double.url, "--model-name", "tiny", "--folder", "d")
    flat = " ".join(result.out.split())
    assert "The router is the model tiny" in flat
    for guess in GUESSES:
        assert guess.text in flat and f"with the {guess.name} rule" in flat
    assert "Captured: 9 failures, 31 wins" in flat
    assert "without rules: 10 calls" in result.err
    assert [line for line in result.out.split("\n") if width(line) > 80 and str(cli.folder) not in line] == []


def test_its_json_is_one_document_with_every_figure(cli: Cli) -> None:
    with endpoint_double(clerk_endpoint) as double:
        found = cli.json("demo", "--scenario", "router", "--model", double.url)
    assert found["scenario"] == "router" and found["without_rules"]["right"] == 31
    assert len(found["messages"]) == 40 and len(found["rules"]) == len(GUESSES)
    for rule in found["rules"]:
        if rule["problem"]:
            assert rule["problem"].startswith("no message of technical went wrong") and rule["status"] == ""
            continue
        assert rule["status"] == "retired" and rule["evidence"]["policy"] == "paired"
        assert isinstance(rule["with"], Mapping) and len(rule["answers"]) == 40


def test_the_router_needs_a_model(cli: Cli) -> None:
    result = cli("demo", "--scenario", "router")
    assert result.code == 2 and "--model" in result.err
    assert cli("demo", "--scenario", "kitchen").code == 2


def test_an_endpoint_that_is_not_there_leaves_no_folder(cli: Cli) -> None:
    result = cli("demo", "--scenario", "router", "--model", "http://127.0.0.1:1/v1", "--folder", "d")
    assert result.code == 1 and "cannot be reached" in result.err
    assert list(cli.folder.iterdir()) == []


def test_an_endpoint_that_dies_on_the_way_is_exit_1_with_what_was_seen(cli: Cli) -> None:
    with endpoint_double(lambda n, asked: clerk_endpoint(n, asked) if n < 50 else (500, b"dead")) as double:
        result = cli("demo", "--scenario", "router", "--model", double.url)
    assert result.code == 1
    assert "The demo stopped: 3 calls failed in a row" in " ".join(result.out.split())


def test_a_hostile_model_reaches_neither_the_terminal_nor_the_shape_of_the_document(cli: Cli) -> None:
    with endpoint_double(lambda *_: says({"queue": HOSTILE})) as double:
        for options in ((), ("--json",)):
            result = cli.ok("demo", "--scenario", "router", "--model", double.url, *options)
            assert not set(HARMFUL) & set(result.out + result.err)
