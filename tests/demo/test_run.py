"""The demo's loop with the scripted agent: what it claims is what the database and the workspace hold."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ruleproof.demo.agent import RULE, RULE_WORDS, Conversation, ScriptedAgent
from ruleproof.demo.run import run
from ruleproof.demo.shop import Shop
from ruleproof.demo.trip import Trip, tally
from ruleproof.errors import Refused
from ruleproof.harness import Harness


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Trip:
    return run(tmp_path_factory.mktemp("demo") / "seen", ScriptedAgent())


def test_customers_are_charged_twice_before_the_rule_and_none_after_although_time_outs_go_on(trip: Trip) -> None:
    before, after = tally(trip.before), tally(trip.after)
    assert before.charged_twice == before.timed_out > 0
    assert before.cents_twice > 0
    assert (after.charged_twice, after.cents_twice, after.never_charged) == (0, 0, 0)
    assert after.timed_out > 0
    assert before.outcome is not None and before.outcome < 1.0
    assert after.outcome == 1.0


def test_the_money_is_that_of_the_database(trip: Trip) -> None:
    with sqlite3.connect(trip.files["database"]) as database:
        rows = database.execute(
            "SELECT o.id, (count(*) - 1) * o.cents FROM charges c JOIN orders o ON o.id = c.order_id "
            "WHERE NOT refunded GROUP BY o.id"
        ).fetchall()
    half = {customer.order_id for customer in trip.before}
    assert sum(cents for order, cents in rows if order in half) == tally(trip.before).cents_twice
    assert sum(cents for order, cents in rows if order not in half) == 0


def test_five_sessions_promote_the_rule_and_the_figures_say_how_weak_they_are(trip: Trip) -> None:
    found = trip.verdict
    assert found is not None
    assert (found.status, found.sessions, found.breached) == ("active", 5, 0)
    assert found.words.startswith("promoted:")
    assert 0 < found.timed_out < 5
    assert (found.baseline_breached, found.baseline_sessions) == (3, 3)
    assert (found.failed, found.scored) == (3, 10)
    # Beta(3.5, 0.5): 1 - P(5 of 5); Beta(3.5, 7.5): the same, and P(0 of 5)
    assert found.chance == pytest.approx(1 - (3.5 * 4.5 * 5.5 * 6.5 * 7.5) / (4 * 5 * 6 * 7 * 8))
    assert found.chance_by_all == pytest.approx(1 - (3.5 * 4.5 * 5.5 * 6.5 * 7.5) / (11 * 12 * 13 * 14 * 15))
    assert found.chance_as_good == pytest.approx((7.5 * 8.5 * 9.5 * 10.5 * 11.5) / (11 * 12 * 13 * 14 * 15))


def test_the_context_changes_from_no_rule_to_provisional_to_validated(trip: Trip) -> None:
    before, during, end = (trip.contexts[stage] for stage in ("before", "trial", "end"))
    assert not any(word in before.casefold() for word in RULE_WORDS)
    assert f"{tally(trip.before).charged_twice} pending diagnostic notices" in before
    assert "### Provisional rules" in during and "trial: 2/5 sessions observed" in during and RULE in during
    assert "### Provisional rules" not in end and RULE in end
    assert "pending diagnostic" not in during + end


def test_what_the_trip_says_stands_in_the_workspace(trip: Trip) -> None:
    assert trip.lesson is not None and trip.lesson.rule_id is not None
    harness = Harness.create(harness_root=Path(trip.files["workspace"]))
    rule = harness.rules.get(trip.lesson.rule_id)
    assert (rule.status, rule.rule, rule.metric) == ("active", RULE, "outcome")
    assert rule.source_notice_id == trip.lesson.notice["id"]
    assert harness.rules.trial(rule.id).observed == tuple(customer.session_id for customer in trip.after[:5])
    lines = (Path(trip.files["workspace"]) / "journal.jsonl").read_text().splitlines()
    journal = [json.loads(line) for line in lines]
    assert [event["author"] for event in journal if event["type"] == "rule_add"] == ["agent"]
    events = [event["type"] for event in journal]
    assert events.count("notice") == events.count("ack") == trip.notices
    assert events.index("rule_add") < events.index("rule_promote")


def test_both_evaluators_score_every_session_and_only_the_books_see_the_loss(trip: Trip) -> None:
    for customer in (*trip.before, *trip.after):
        assert customer.outcome == float(customer.books.kept == 1)
        assert isinstance(customer.scores["agent_reliability"], float)
    twice = [customer for customer in trip.before if customer.books.kept == 2]
    assert min(customer.scores["agent_reliability"] or 0 for customer in twice) > 0.5


def test_the_conversations_are_kept_with_the_real_calls_and_answers(trip: Trip) -> None:
    lines = [json.loads(line) for line in Path(trip.files["conversations"]).read_text().splitlines()]
    assert [line["id"] for line in lines] == [customer.session_id for customer in (*trip.before, *trip.after)]
    for line, customer in zip(lines, (*trip.before, *trip.after), strict=True):
        calls = [c["function"]["name"] for m in line["messages"] for c in m.get("tool_calls", ())]
        assert calls.count("charge_card") == customer.books.charges
        assert line["reward"] == customer.outcome


def test_two_runs_differ_in_ids_times_and_folders_only(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, ScriptedAgent(), sessions=6).as_json() for name in ("one", "two"))
    assert steady(first, tmp_path / "one") == steady(second, tmp_path / "two")
    assert json.loads(json.dumps(first, allow_nan=False)) == first


def steady(document: dict[str, Any], folder: Path) -> str:
    text = json.dumps(document).replace(str(folder), "FOLDER")
    text = re.sub(r"n-\d{8}T\d{12}-[0-9a-f]{8}", "NOTICE", re.sub(r"r-[0-9a-f]{10}", "RULE", text))
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME", text)


@pytest.mark.parametrize("sessions", [6, 14])
def test_other_numbers_of_customers_keep_the_promise(sessions: int, tmp_path: Path) -> None:
    trip = run(tmp_path / "seen", ScriptedAgent(), sessions=sessions)
    assert (len(trip.before), len(trip.after)) == (sessions, sessions)
    assert tally(trip.before).charged_twice == trip.notices > 0
    assert tally(trip.after).charged_twice == 0
    assert trip.verdict is not None and trip.verdict.status == "active"


def test_a_folder_that_holds_anything_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(Refused, match="not an empty folder"):
            run(folder, ScriptedAgent())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_environment_does_not_reach_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MODE", "observe_only")
    monkeypatch.setenv("HARNESS_ROOT", str(tmp_path / "elsewhere"))
    trip = run(tmp_path / "seen", ScriptedAgent(), sessions=6)
    assert trip.verdict is not None and trip.verdict.status == "active"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("context", "charges"),
    [("", 2), ("- check the PAYMENT status Before Retrying", 1), ("payment status", 2), ("before retrying", 2)],
)
def test_the_scripted_agent_obeys_the_words_of_a_rule_in_its_context_and_nothing_else(
    context: str, charges: int, tmp_path: Path
) -> None:
    shop = Shop(tmp_path / "shop.db", count=1, seed=7)
    ScriptedAgent().serve("o-001", context, Conversation(shop, "Please."))
    assert shop.books("o-001").charges == charges


def test_where_nothing_was_paid_the_obedient_agent_charges_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path / "shop.db", count=1, seed=7)
    answers = iter([{"item": "lamp"}, {"error": "time-out"}, {"times_paid": 0}, {"charged": "1.00 EUR"}])
    asked: list[str] = []
    monkeypatch.setattr(Shop, "call", lambda _, tool, __: asked.append(tool) or next(answers))
    ScriptedAgent().serve("o-001", RULE, Conversation(shop, "Please."))
    assert asked == ["look_up_order", "charge_card", "check_payment_status", "charge_card"]
