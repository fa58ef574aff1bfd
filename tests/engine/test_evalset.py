"""Eval cases by hand: what is kept, what gives way, what is refused, and that nothing there is ever replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.places import Place, open_place

from ruleproof.core.evalcase import ON_DISK, CaseLimits, EvalCase
from ruleproof.edge import fs
from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.evalset import EvalCases, fits
from ruleproof.engine.forget import forget
from ruleproof.errors import NotFound, Refused, StoreError
from ruleproof.testing import FixedSystem

SECRET = "sk-proj-Zk39dJq8LmN2pQ7rS4tU"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return open_place(tmp_path / "w")


@pytest.fixture
def cases(place: Place) -> EvalCases:
    return EvalCases(place.workspace)


def keep(cases: EvalCases, session: str, kind: str = "failure", **more: Any) -> EvalCase:
    made = {"signature": ["breach:m"], "baseline_scores": {"m": 0.2}, "replay_input": {"q": session}, **more}
    return cases.capture(session_id=session, kind=kind, **made)  # type: ignore[arg-type]


def events(place: Place, kind: str) -> list[dict[str, Any]]:
    return [event for event in place.lines("journal.jsonl") if event["type"] == kind]


def test_a_capture_is_a_file_and_an_event_with_the_keys_of_the_format(place: Place, cases: EvalCases) -> None:
    case = keep(cases, "s", notes="seen by hand")
    assert json.loads(place.text(f"evalset/{case.id}.json")) == {
        "id": case.id, "created_at": case.created_at, "session_id": "s", "kind": "failure", "signature": ["breach:m"],
        "baseline_scores": {"m": 0.2}, "replay_input": {"q": "s"}, "notes": "seen by hand", "input_by": "person",
    }  # fmt: skip
    (event,) = events(place, "evalset_capture")
    assert event == {
        "type": "evalset_capture", "ts": event["ts"], "case_id": case.id, "session_id": "s", "kind": "failure",
        "signatures": ["breach:m"], "replayable": True,
    }  # fmt: skip


def test_the_same_session_signature_and_kind_is_one_case_and_stays_as_it_was(place: Place, cases: EvalCases) -> None:
    first = keep(cases, "s", signature=["breach:m", "trend:k"])
    again = keep(cases, "s", signature=["trend:k", "breach:m"], baseline_scores={"m": 0.9}, replay_input="other")
    assert again.id == first.id and cases.get(first.id) == first
    others = [keep(cases, "s"), keep(cases, "s", "win"), keep(cases, "t", signature=["breach:m", "trend:k"])]
    assert len({first.id, *(case.id for case in others)}) == 4
    assert len(events(place, "evalset_capture")) == 4


def test_at_the_cap_the_oldest_failure_goes_wins_never_and_then_capturing_is_refused(place: Place) -> None:
    cases = EvalCases(place.workspace, CaseLimits(max_cases=3))
    keep(cases, "w1", "win"), keep(cases, "f1"), keep(cases, "f2"), keep(cases, "f3")
    assert [case.session_id for case in cases.listed()] == ["w1", "f2", "f3"]
    keep(cases, "w2", "win"), keep(cases, "w3", "win")
    assert [case.session_id for case in cases.listed()] == ["w1", "w2", "w3"]
    for kind in ("failure", "win"):
        with pytest.raises(Refused, match=r"3 cases \(eval_case_max\), all of them wins"):
            keep(cases, "more", kind)
    assert [case.session_id for case in cases.listed()] == ["w1", "w2", "w3"]
    assert [event["why"] for event in events(place, "evalset_remove")] == ["cap"] * 3
    assert keep(cases, "w1", "win").session_id == "w1", "a twin costs no place"


def test_a_set_that_is_over_its_cap_shrinks_to_it_and_no_cap_keeps_everything(place: Place) -> None:
    free = EvalCases(place.workspace, CaseLimits(max_cases=0))
    for number in range(5):
        keep(free, f"s{number}")
    assert len(free.listed()) == 5
    keep(EvalCases(place.workspace, CaseLimits(max_cases=2)), "new")
    assert [case.session_id for case in free.listed()] == ["s4", "new"]


def test_credentials_are_redacted_before_the_disk_in_inputs_keys_and_notes(place: Place, cases: EvalCases) -> None:
    case = keep(cases, "s", replay_input={"messages": [{"content": SECRET}], SECRET: 1}, notes=f"used {SECRET}")
    assert SECRET.encode() not in place.everything()
    assert cases.get(case.id).replay_input == {
        "messages": [{"content": "[redacted:openai-key]"}],
        "[redacted:openai-key]": 1,
    }


def test_what_is_too_large_is_refused_with_its_figures_and_nothing_is_written(place: Place) -> None:
    cases = EvalCases(place.workspace, CaseLimits(max_bytes=2000))
    with pytest.raises(Refused, match="At most 2000 bytes"):
        keep(cases, "s", replay_input="x" * 2001)
    with pytest.raises(Refused, match=r"would take \d+ bytes"):
        keep(cases, "s", replay_input=["é"] * 400)
    bare = keep(cases, "s", replay_input=None)
    with pytest.raises(Refused, match=rf"{bare.id} would take \d+ bytes"):
        cases.attach_input(bare.id, ["é"] * 400)
    assert [case.replay_input for case in cases.cases()] == [None]


@pytest.mark.parametrize(
    "more",
    [
        {"session_id": ""}, {"session_id": "a\nb"}, {"session_id": 7}, {"kind": "golden"}, {"kind": ["win"]},
        {"signature": "breach:m"}, {"signature": [7]}, {"signature": ["a\x00"]}, {"baseline_scores": {"m": 7}},
        {"baseline_scores": {"m": float("nan")}}, {"baseline_scores": {"m": True}}, {"baseline_scores": {"": 1}},
        {"replay_input": float("inf")}, {"replay_input": {1, 2}}, {"replay_input": b"x"}, {"replay_input": object},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_id_value_or_input_is_refused_and_nothing_is_written(
    place: Place, cases: EvalCases, more: dict[str, Any]
) -> None:
    with pytest.raises(Refused):
        cases.capture(**{"session_id": "s", **more})
    assert cases.listed() == [] and not place.root.joinpath("journal.jsonl").exists()


def test_a_missing_baseline_is_missing_and_never_zero(cases: EvalCases) -> None:
    scores: Any = {"m": None, "k": 0.4}
    assert dict(keep(cases, "s", baseline_scores=scores).baseline_scores) == {"k": 0.4}


def test_an_input_is_attached_once_by_a_person_to_a_win_too(place: Place, cases: EvalCases) -> None:
    win = keep(cases, "w", "win", replay_input=None)
    made = cases.attach_input(win.id, ["again"])
    assert (made.replay_input, made.input_by, made.baseline_scores) == (["again"], "person", win.baseline_scores)
    for by in ("person", "agent", "harness"):
        with pytest.raises(Refused, match="written once"):
            cases.attach_input(win.id, ["other"], by=by)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="null"):
        cases.attach_input(win.id, None)
    with pytest.raises(NotFound):
        cases.attach_input("c-0000000000", "x")
    assert cases.get(win.id) == made
    assert [event["by"] for event in events(place, "evalset_attach")] == ["person"]


def test_attaching_keeps_what_another_system_wrote_in_the_file(place: Place, cases: EvalCases) -> None:
    case = keep(cases, "s", replay_input=None)
    file = place.root / f"evalset/{case.id}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "future": [1]}))
    cases.attach_input(case.id, "x")
    assert json.loads(file.read_text())["future"] == [1]


def test_removing_is_journaled_and_a_second_time_says_no(place: Place, cases: EvalCases) -> None:
    case = keep(cases, "w", "win")
    assert (cases.remove(case.id), cases.remove(case.id)) == (True, False)
    assert [(event["case_id"], event["why"]) for event in events(place, "evalset_remove")] == [(case.id, "asked")]
    with pytest.raises(Refused):
        cases.remove("../journal")


def test_old_failures_expire_with_the_next_capture_wins_and_undated_cases_never(tmp_path: Path) -> None:
    system = FixedSystem("2026-01-01T00:00:00+00:00")
    place = open_place(tmp_path / "w", system=system)
    cases = EvalCases(place.workspace, CaseLimits(retention_days=30))
    keep(cases, "old"), keep(cases, "win", "win")
    undated = keep(cases, "undated")
    file = place.root / f"evalset/{undated.id}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "created_at": "whenever"}))
    system.pass_time(30 * 86400 - 1)
    keep(cases, "young")
    assert {case.session_id for case in cases.listed()} == {"old", "win", "undated", "young"}
    system.pass_time(2)
    keep(cases, "next")
    assert {case.session_id for case in cases.listed()} == {"win", "undated", "young", "next"}
    assert [event["why"] for event in events(place, "evalset_remove")] == ["age"]


def test_matching_is_newest_first_and_listings_carry_no_input(cases: EvalCases) -> None:
    keep(cases, "a"), keep(cases, "b", signature=["trend:m"]), keep(cases, "c"), keep(cases, "d", "win")
    assert [case.session_id for case in cases.matching(["breach:m"])] == ["c", "a"]
    assert [case.session_id for case in cases.matching(["breach:m"], kind="win")] == ["d"]
    assert {case.replay_input for case in cases.listed()} == {ON_DISK}
    assert [case.replay_input for case in cases.cases(kind="win")] == [{"q": "d"}]


def test_a_session_is_captured_with_the_scores_that_are_recorded_of_it(place: Place, cases: EvalCases) -> None:
    place.report("s", 0.9, turn=1)
    place.report("s", 0.2, turn=2)
    place.report("good", 0.8)
    case = cases.capture_session("s", replay_input="x")
    assert (case.signature, dict(case.baseline_scores)) == (("breach:agent_reliability",), {"agent_reliability": 0.2})
    win = cases.capture_session("good", "win")
    assert (win.signature, dict(win.baseline_scores)) == ((), {"agent_reliability": 0.8})
    with pytest.raises(Refused, match="no win: agent_reliability"):
        cases.capture_session("s", "win")
    with pytest.raises(NotFound, match="'nobody'"):
        cases.capture_session("nobody")


def test_a_disk_that_refuses_leaves_no_case_no_event_and_an_error(
    place: Place, cases: EvalCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes, *, sync: bool = True) -> None:
        raise StoreError(f"{path}: create failed: No space left on device.")

    monkeypatch.setattr(fs, "create_exclusive", full)
    with pytest.raises(StoreError):
        keep(cases, "s")
    assert cases.listed() == [] and not place.root.joinpath("journal.jsonl").exists()


def test_a_case_evicts_only_after_it_is_on_the_disk(place: Place) -> None:
    cases = EvalCases(place.workspace, CaseLimits(max_cases=1))
    keep(cases, "old")
    steps: list[str] = []
    with fs.observe(lambda event: steps.append(event[0]) if "evalset" in event[1] else None):
        keep(cases, "new")
    assert steps.index("create.sync") < steps.index("unlink", steps.index("create.sync"))


def test_two_processes_that_capture_the_same_session_make_one_case(place: Place, cases: EvalCases) -> None:
    other = EvalCases(open_place(place.root, seed="b").workspace)
    assert keep(cases, "s").id == keep(other, "s").id
    assert len(cases.listed()) == 1


@pytest.mark.parametrize("by", ["case", "session"])
def test_forget_removes_the_case_and_its_words_from_every_file(place: Place, cases: EvalCases, by: str) -> None:
    case = keep(cases, "jane-doe", replay_input={"prompt": "refund Jane Doe, 12 Elm Street"}, notes="Jane Doe called")
    other = keep(cases, "s2", replay_input={"prompt": "another customer"})
    gone = forget(place.workspace, case.id if by == "case" else "jane-doe", "asked", folder=Housekeeping(place.root))
    assert f"evalset/{case.id}.json" in gone.files
    assert b"Elm Street" not in place.everything()
    assert [one.id for one in cases.listed()] == [other.id]


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@given(values)
def test_what_fits_is_never_larger_as_json_than_six_bytes_a_character_or_node(value: object) -> None:
    size = len(json.dumps(value))
    assert fits(value, size + 1)
    for most in (0, 1, 5, 20):
        if fits(value, most):
            assert size <= 24 * (most + 1)


def test_what_holds_itself_or_nests_for_ever_does_not_fit() -> None:
    loop: list[object] = []
    loop += [loop, loop]
    assert not fits(loop, 10**6)
    deep: object = "x"
    for _ in range(65):
        deep = [deep]
    assert not fits(deep, 10**6)
    assert fits(deep[0], 10**6)  # type: ignore[index]
    assert not fits([None] * 101, 100)
    assert not fits({str(n): n for n in range(60)}, 100)
    assert not fits("x" * 101, 100)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["failure", "win"])), max_size=12), st.integers(0, 4)
)
def test_whatever_is_captured_the_cap_holds_and_no_win_is_lost(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, str]], cap: int
) -> None:
    place = open_place(tmp_path_factory.mktemp("w") / "w", projected=False)
    cases = EvalCases(place.workspace, CaseLimits(max_cases=cap))
    wins: set[str] = set()
    for session, kind in asked:
        try:
            keep(cases, session, kind)
        except Refused:
            assert cap and len(wins) == cap
        else:
            wins |= {session} if kind == "win" else set()
        assert not cap or len(cases.listed()) <= cap
        assert {case.session_id for case in cases.listed(kind="win")} == wins
