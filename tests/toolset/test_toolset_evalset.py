"""What an agent may do with eval cases: look at them without their inputs, and fill a gap; never shape evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ruleproof.core.context import Context
from ruleproof.core.evalcase import CaseLimits
from ruleproof.engine.evalset import EvalCases
from ruleproof.engine.replay import REPLAYING
from ruleproof.toolset.catalog import TOOLS
from ruleproof.toolset.dispatch import Toolset

SECRET = "sk-proj-Zk39dJq8LmN2pQ7rS4tU"


def capture(place: Any, session: str = "s", kind: str = "failure", **more: Any) -> str:
    cases = EvalCases(place.workspace)
    made = {"signature": ["breach:m"], "baseline_scores": {"m": 0.2}, **more}
    return cases.capture(session_id=session, kind=kind, **made).id  # type: ignore[arg-type]


def test_cases_are_listed_newest_first_without_their_inputs(place: Any) -> None:
    first, second = capture(place, "a", replay_input={"prompt": "hidden words"}), capture(place, "b", "win")
    answer = place.well("harness_evalset_list")
    assert [case["id"] for case in answer["cases"]] == [second, first]
    assert answer["cases"][1] == {
        "id": first, "created_at": answer["cases"][1]["created_at"], "session_id": "a", "kind": "failure",
        "signature": ["breach:m"], "baseline_scores": {"m": 0.2}, "notes": "", "replayable": True,
        "input_by": "person",
    }  # fmt: skip
    assert "hidden words" not in json.dumps(answer)
    assert (answer["total"], answer["next_offset"], answer["untrusted"]) == (2, None, True)
    assert [case["id"] for case in place.well("harness_evalset_list", kind="win")["cases"]] == [second]
    assert [case["id"] for case in place.well("harness_evalset_list", offset=1)["cases"]] == [first]


def test_an_agent_gives_a_failure_the_input_that_it_lacks_once(place: Any) -> None:
    case_id = capture(place)
    answer = place.well("harness_evalset_attach", case_id=case_id, replay_input={"prompt": f"pay with {SECRET}"})
    assert answer["case"]["replayable"] is True and answer["case"]["input_by"] == "agent"
    stored = place.workspace.ports.evalset.read(case_id)
    assert stored.replay_input == {"prompt": "pay with [redacted:openai-key]"}
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in place.root.rglob("*.json*"))
    (event,) = [event for event in place.lines("journal.jsonl") if event["type"] == "evalset_attach"]
    assert (event["case_id"], event["by"]) == (case_id, "agent")
    error = place.ill("harness_evalset_attach", case_id=case_id, replay_input="easier")
    assert error.startswith(f"Refused: Case {case_id} has a replay input, which is written once")
    assert place.workspace.ports.evalset.read(case_id) == stored


@pytest.mark.parametrize("there", [None, "the recorded request"])
def test_an_agent_never_touches_a_win_nor_an_input_that_is_there(place: Any, there: object) -> None:
    win, failure = capture(place, "w", "win", replay_input=there), capture(place, "f", replay_input="recorded")
    before = [place.workspace.ports.evalset.read(case_id) for case_id in (win, failure)]
    for case_id in (win, failure):
        assert place.ill("harness_evalset_attach", case_id=case_id, replay_input="mine").startswith("Refused: Case")
    assert [place.workspace.ports.evalset.read(case_id) for case_id in (win, failure)] == before


def test_what_is_no_input_is_refused_with_figures(place: Any) -> None:
    case_id = capture(place)
    assert "null is no replay input" in place.ill("harness_evalset_attach", case_id=case_id, replay_input=None)
    error = place.ill("harness_evalset_attach", case_id=case_id, replay_input="x" * 300_000)
    assert "too large" in error and "262144 bytes" in error
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    assert place.ill("harness_evalset_attach", case_id=case_id, replay_input=deep).startswith("Refused")
    assert place.ill("harness_evalset_attach", case_id=case_id, replay_input=float("nan")).startswith("Refused")
    assert place.ill("harness_evalset_attach", case_id="../../rules", replay_input="x").startswith("Refused")
    assert place.ill("harness_evalset_attach", case_id="c-0000000000", replay_input="x").startswith("NotFound")
    assert not place.workspace.ports.evalset.read(case_id).replayable


def test_the_limit_is_that_of_the_settings(place: Any) -> None:
    small = EvalCases(place.workspace, CaseLimits(max_bytes=1024))
    case_id = capture(place)
    tools = Toolset(place.workspace, place.rules, 5, small)
    answer = tools.call_sync("harness_evalset_attach", {"case_id": case_id, "replay_input": "x" * 900})
    assert answer["ok"] is False and "At most 1024 bytes" in str(answer["error"])


WRITING = {
    "harness_mailbox_ack",
    "harness_rule_add",
    "harness_rule_retire",
    "harness_reflect",
    "harness_evalset_attach",
    "chapters_rule_propose",
}


def test_the_tools_that_write_are_exactly_these() -> None:
    assert {tool.name for tool in TOOLS if tool.writes} == WRITING


@pytest.mark.parametrize("name", sorted(WRITING))
def test_inside_a_replay_no_tool_writes_a_byte(place: Any, name: str) -> None:
    rule, notice, case_id = place.rules.add("Look."), place.notice("s"), capture(place)
    args = {
        "harness_mailbox_ack": {"notice_id": notice},
        "harness_rule_add": {"rule": "Leap.", "rationale": "fell"},
        "harness_rule_retire": {"rule_id": rule.id},
        "harness_evalset_attach": {"case_id": case_id, "replay_input": "x"},
        "chapters_rule_propose": {"category": "security", "text": "Look before you leap."},
    }.get(name, {})
    before = {file: file.read_bytes() for file in place.root.rglob("*") if file.is_file()}
    token = REPLAYING.set(Context(""))
    try:
        assert "This is a replay of a recorded case" in place.ill(name, **args)
        assert place.well("harness_rules_list")["total"] == 1
    finally:
        REPLAYING.reset(token)
    assert {file: file.read_bytes() for file in place.root.rglob("*") if file.is_file()} == before
    assert place.call(name, **args)["ok"] is (name != "chapters_rule_propose"), "these tools have no pool rules"
