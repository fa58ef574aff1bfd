"""The loop with an endpoint behind it. The double is a test double, and stands for models of every kind of manners."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.demo.endpointdouble import LEARNED, Answer, Asked, careless, endpoint_double, says

from ruleproof.demo.endpoint import Endpoint
from ruleproof.demo.model_agent import FAILURES, STEPS, ModelAgent
from ruleproof.demo.run import run
from ruleproof.demo.trip import Trip, tally
from ruleproof.errors import SourceError


def seen(answer: object, folder: Path, sessions: int = 6) -> Trip:
    with endpoint_double(answer) as double:  # type: ignore[arg-type]
        return run(folder / "seen", ModelAgent(Endpoint(double.url, "double")), sessions=sessions)


def after_the_first(answer: Answer) -> object:
    """A double that is well when it is tried first, and then gives this answer."""
    return lambda number, asked: careless(number, asked) if number == 0 else answer


def test_a_model_that_learns_ends_the_loss_and_its_own_rule_is_what_stands(tmp_path: Path) -> None:
    trip = seen(careless, tmp_path)
    assert tally(trip.before).charged_twice > 0 == tally(trip.after).charged_twice
    assert trip.lesson is not None and trip.lesson.rule == LEARNED
    assert trip.verdict is not None and trip.verdict.status == "active"
    assert LEARNED in trip.contexts["trial"]
    assert trip.findings == ()
    assert 20 < trip.calls <= 2 * 6 * STEPS + 2


def test_a_model_whose_rule_does_not_help_is_shown_as_it_is(tmp_path: Path) -> None:
    def deaf(number: int, asked: Asked) -> Answer:
        asked["messages"][0]["content"] = asked["messages"][0]["content"].replace(LEARNED, "")
        return careless(number, asked)

    trip = seen(deaf, tmp_path)
    assert tally(trip.after).charged_twice == tally(trip.after).timed_out > 0
    assert trip.verdict is not None and trip.verdict.breached > 0


def test_an_endpoint_that_fails_from_the_start_is_an_error_and_makes_no_folder(tmp_path: Path) -> None:
    for answer in ((500, b"broken"), (200, b"garbage"), (200, b" " * (2 << 20))):
        with pytest.raises(SourceError):
            seen(lambda *_, answer=answer: answer, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", [(500, b"broken"), (200, b"garbage"), (200, b"x" * (2 << 20))], ids=str)
def test_an_endpoint_that_fails_later_is_an_outage_and_no_failure_of_the_agent(answer: Answer, tmp_path: Path) -> None:
    trip = seen(after_the_first(answer), tmp_path)
    assert len(trip.before) == FAILURES
    assert all(customer.outage and customer.outcome is None for customer in trip.before)
    assert tally(trip.before).outages == FAILURES
    assert (trip.notices, trip.lesson, trip.verdict) == (0, None, None)
    assert f"{FAILURES} calls failed in a row" in trip.gave_up
    assert len(trip.findings) == FAILURES
    assert trip.calls == 1 + FAILURES


def test_a_single_failed_call_costs_one_session_and_no_more(tmp_path: Path) -> None:
    trip = seen(lambda number, asked: (503, b"busy") if number == 1 else careless(number, asked), tmp_path)
    assert [bool(customer.outage) for customer in trip.before] == [True, *[False] * 5]
    assert trip.verdict is not None and trip.verdict.scored == 5
    assert trip.gave_up == "" and len(trip.findings) == 1


def test_failed_calls_that_are_not_in_a_row_do_not_end_the_run(tmp_path: Path) -> None:
    trip = seen(lambda number, asked: (503, b"busy") if number % 3 == 1 else careless(number, asked), tmp_path)
    assert tally(trip.before).outages >= FAILURES
    assert len(trip.before) == 6 and trip.gave_up == ""


@pytest.mark.parametrize(
    "content",
    ["I would charge it.", "", {}, {"action": 7, "argument": []}, {"action": "x" * 5000, "argument": "y" * 90_000},
     {"action": "no_such_tool", "argument": "o-001"}, {"action": "charge_card", "argument": "\ud800\u202e"}],
    ids=lambda content: str(content)[:30].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_nonsense_is_bounded_scored_and_found_and_never_a_crash(content: object, tmp_path: Path) -> None:
    trip = seen(after_the_first(says(content)), tmp_path)
    assert len(trip.before) == 6
    assert trip.calls == 1 + 6 * STEPS + 1
    assert tally(trip.before).never_charged == 6
    assert all(customer.outcome == 0.0 for customer in trip.before)
    assert trip.lesson is not None and trip.lesson.rule_id is None and trip.lesson.problem
    assert trip.verdict is None
    assert max(map(len, trip.findings)) < 400
    assert Path(trip.files["conversations"]).stat().st_size < 200_000


@pytest.mark.parametrize(
    ("lesson", "said"),
    [
        (says("Be careful!"), "Be careful!"),
        (says({"rule": "", "rationale": "r"}), "no text"),
        (says({"rule": "x" * 9000, "rationale": "r"}), "at most 2000"),
        (says({"rule": "Check\u202e first.", "rationale": "r"}), "invisible"),
        (says({"rule": ["a"], "rationale": None}), "without a rule in words"),
        ((500, b"gone"), "status 500"),
    ],
    ids=["prose", "empty", "long", "bidi", "types", "error"],
)
def test_a_rule_that_cannot_be_written_is_said_plainly_with_what_was_answered(
    lesson: Answer, said: str, tmp_path: Path
) -> None:
    def answer(number: int, asked: Asked) -> Answer:
        wants_rule = "rule" in asked["response_format"]["json_schema"]["schema"]["properties"]
        return lesson if wants_rule else careless(number, asked)

    trip = seen(answer, tmp_path)
    assert trip.lesson is not None and trip.lesson.rule_id is None
    assert said in trip.lesson.problem
    assert trip.after == () and trip.verdict is None
    assert trip.notices > 0


def test_the_model_is_shown_the_context_the_tools_and_later_the_notice_with_its_session(tmp_path: Path) -> None:
    with endpoint_double(careless) as double:
        run(tmp_path / "seen", ModelAgent(Endpoint(double.url, "double")), sessions=6)
    bodies = [body for _, body in double.asked]
    steps = [body for body in bodies[1:] if "action" in body["response_format"]["json_schema"]["schema"]["properties"]]
    assert all("check_payment_status" in body["messages"][0]["content"] for body in steps)
    assert all("LEARNED RULES" in body["messages"][0]["content"] for body in steps)
    assert LEARNED not in steps[0]["messages"][0]["content"] and LEARNED in steps[-1]["messages"][0]["content"]
    (lesson,) = [body for body in bodies[1:] if body not in steps]
    assert "charged 2 times" in lesson["messages"][1]["content"]
    assert "time-out" in lesson["messages"][1]["content"]
