"""Every inconsistency is named with its place; what can be mended is, and nothing is lost by it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.places import Place, open_place

from ruleproof.core.problems import Problem
from ruleproof.engine.change_rule import pause_all, retire
from ruleproof.engine.doctor import LOGS, MOST
from ruleproof.engine.forget import forget

OLD = {
    "created_at": "2026-07-01T00:00:00.000000+00:00",
    "id": "r-00000000aa",
    "metric": "agent_reliability",
    "rationale": "why",
    "rule": "Written by the older system.",
    "source_notice_id": None,
    "status": "candidate",
    "tags": [],
    "trial": None,
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return open_place(tmp_path / "w")


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"


def found(place: Place, code: str, **more: Any) -> list[tuple[str, str]]:
    return [(p.where, p.severity) for p in place.examine(**more) if p.code == code]


def lose_last_line(place: Place, name: str) -> bytes:
    """As a crash between two files leaves it."""
    data = (place.root / name).read_bytes()
    cut = data.rstrip(b"\n").rfind(b"\n") + 1
    (place.root / name).write_bytes(data[:cut])
    return data[cut:]


# --- a sound workspace -----------------------------------------------------------------------------------------------


def test_an_empty_workspace_is_sound(place: Place) -> None:
    assert place.examine() == ()
    assert place.repair() == ()


def test_a_workspace_in_use_is_sound_and_examining_it_writes_nothing(place: Place) -> None:
    rule = place.add("Verify before a retry.", "Charged twice.")
    place.add("Ask before a refund.")
    for number in range(3):
        place.report(f"s{number}", 0.2)
    retire(place.workspace, rule.id, "superseded")
    pause_all(place.workspace)
    before = place.everything()
    assert place.examine(cap=50) == ()
    assert place.repair() == ()
    assert place.everything() == before


# --- lines -----------------------------------------------------------------------------------------------------------


def test_each_broken_line_is_named_and_the_rest_loads(place: Place) -> None:
    rule = place.add("Verify before a retry.")
    place.append("rules.jsonl", b'{"id": "r-\n{"a": "\xff"}\n[1]\n{"id": 5, "rule": "x"}\n')
    place.append("rules.jsonl", b'{"id": "r-0000000001", "rule": "x", "status": []}\n{"later": 1}\n')
    assert found(place, "broken-line") == [("rules.jsonl:2", "error")]
    assert found(place, "bad-encoding") == [("rules.jsonl:3", "error")]
    assert found(place, "wrong-type") == [("rules.jsonl:4", "error")]
    assert found(place, "bad-id") == [("rules.jsonl:5", "error")]
    assert found(place, "unknown-status") == [("rules.jsonl:6", "error")]
    assert found(place, "unknown-record") == [("rules.jsonl:7", "error")]
    assert [r.id for r in place.workspace.refresh().candidates()] == [rule.id]


@pytest.mark.parametrize("name", LOGS)
def test_a_torn_tail_is_named_and_closed_without_changing_it(place: Place, name: str) -> None:
    place.append(name, b'{"id": "r-12')
    where = f"{name}:{1}"
    assert found(place, "torn-tail") == [(where, "warning")]
    assert len(place.repair()) == 1
    assert (place.root / name).read_bytes() == b'{"id": "r-12\n'
    assert found(place, "broken-line") == [(where, "error")]
    assert place.repair() == ()


def test_a_whole_last_line_without_its_newline_counts(place: Place) -> None:
    place.append("rules.jsonl", line(OLD).rstrip(b"\n"))
    assert found(place, "no-newline") == [("rules.jsonl:1", "info")]
    assert place.workspace.refresh().get(OLD["id"]) is not None


def test_a_file_of_many_broken_lines_is_listed_once_and_counted(place: Place) -> None:
    place.append("trials.jsonl", b"nonsense\n" * (MOST + 23))
    assert len(found(place, "broken-line")) == MOST
    assert [p.message for p in place.examine() if p.code == "more"] == ["23 more of broken-line"]


# --- rules -----------------------------------------------------------------------------------------------------------


def test_moves_and_texts_that_have_no_effect_are_named(place: Place) -> None:
    place.append("rules.jsonl", line({**OLD, "status": "retired"}) + line({**OLD, "status": "active"}))
    other = {**OLD, "id": "r-00000000bb"}
    place.append("rules.jsonl", line(other) + line({**other, "rule": "Another text."}))
    assert found(place, "illegal-move") == [("rules.jsonl:2", "error")]
    assert found(place, "changed-text") == [("rules.jsonl:4", "error")]


def test_two_live_rules_that_say_the_same_are_named(place: Place) -> None:
    place.append("rules.jsonl", line(OLD) + line({**OLD, "id": "r-00000000bb", "rule": "WRITTEN by  the older system"}))
    assert found(place, "duplicate-rule") == [("rules.jsonl:2", "warning")]


def test_a_retired_twin_is_no_duplicate(place: Place) -> None:
    retire(place.workspace, place.add("Verify before a retry.").id)
    place.add("Verify before a retry.")
    assert found(place, "duplicate-rule") == []


def test_more_live_rules_than_the_cap_are_named(place: Place) -> None:
    for number in range(4):
        place.add(f"Rule {number}.")
    assert found(place, "over-cap", cap=3) == [("rules.jsonl", "warning")]
    assert found(place, "over-cap", cap=4) == found(place, "over-cap", cap=0) == []


def test_hidden_characters_and_credentials_in_old_texts_are_named_and_not_shown(place: Place) -> None:
    key = "sk-" + "ant-" + "a1B2c3D4e5F6g7H8i9J0"
    place.append("rules.jsonl", line({**OLD, "rule": "Do \u202ethis.", "rationale": f"the key is {key}"}))
    assert found(place, "hidden-characters") == [("rules.jsonl:1", "warning")]
    assert found(place, "credential") == [("rules.jsonl:1", "warning")]
    assert key not in " ".join(str(problem) for problem in place.examine())


def test_records_of_another_system_after_ours_are_named(place: Place) -> None:
    place.append("rules.jsonl", line(OLD))
    place.add("Ours.")
    assert found(place, "foreign-writer") == []
    place.append("rules.jsonl", line({**OLD, "id": "r-00000000bb", "rule": "Theirs."}))
    assert found(place, "foreign-writer") == [("rules.jsonl:3", "warning")]


def test_a_trial_of_no_rule_is_named_once(place: Place) -> None:
    known = place.add("Verify before a retry.").id
    seen = {"breached": False, "exposure": "shown"}
    record = {"kind": "observation", "session": "s", "seen": {"r-00000000aa": seen, known: seen}}
    place.append("trials.jsonl", line(record) + line(record) + line({"kind": "attempt", "rule": "r-00000000bb"}))
    assert found(place, "orphan-trial") == [("trials.jsonl:1", "warning"), ("trials.jsonl:3", "warning")]


# --- store and journal -----------------------------------------------------------------------------------------------


def test_a_rule_that_was_not_journaled_is_named_and_completed(place: Place) -> None:
    place.add("First.")
    rule = place.add("Second.")
    lost = json.loads(lose_last_line(place, "journal.jsonl"))
    assert found(place, "not-journaled") == [("rules.jsonl:2", "warning")]
    assert len(place.repair()) == 1
    added = place.lines("journal.jsonl")[-1]
    assert (added["id"], added["type"], added["event"]) == (rule.id, "rule_add", lost["event"])
    assert place.examine() == () and place.repair() == ()


def test_every_lost_event_of_a_long_history_is_completed(place: Place) -> None:
    for number in range(300):
        place.add(f"Rule {number}.", tags=["x"]) if number < 40 else None
    (place.root / "journal.jsonl").unlink()
    assert len(found(place, "not-journaled")) == 40
    place.repair()
    assert len(place.lines("journal.jsonl")) == 40
    assert place.repair() == ()


def test_old_rules_need_an_event_of_each_move(place: Place) -> None:
    place.append("rules.jsonl", line(OLD) + line({**OLD, "status": "active"}))
    place.append("journal.jsonl", line({**OLD, "type": "rule_add", "ts": "2026-07-01T00:00:00+00:00"}))
    assert found(place, "not-journaled") == [("rules.jsonl:2", "warning")]
    place.repair()
    assert place.lines("journal.jsonl")[-1]["type"] == "rule_promote"
    assert place.examine() == ()


def test_a_retirement_that_only_the_journal_knows_is_carried_out(place: Place) -> None:
    rule = place.add("Verify before a retry.")
    retire(place.workspace, rule.id, "made things worse")
    kept = (place.root / "rules.jsonl").read_bytes()
    lose_last_line(place, "rules.jsonl")
    assert found(place, "retire-lost") == [("journal.jsonl:2", "error")]
    assert place.workspace.refresh().get(rule.id).status == "candidate"
    place.repair()
    mended = place.workspace.refresh().get(rule.id)
    assert (mended.status, mended.reason) == ("retired", "made things worse")
    assert (place.root / "rules.jsonl").read_bytes().startswith(kept.split(b"\n")[0])
    assert place.examine() == () and place.repair() == ()


def test_a_promotion_that_only_the_journal_knows_puts_nothing_in_force(place: Place) -> None:
    place.append("rules.jsonl", line(OLD))
    place.append("journal.jsonl", line({**OLD, "type": "rule_add"}) + line({**OLD, "type": "rule_promote"}))
    assert found(place, "promote-lost") == [("journal.jsonl:2", "warning")]
    place.repair()
    assert place.workspace.refresh().get(OLD["id"]).status == "candidate"


def test_a_rule_that_only_the_journal_knows_is_named_and_stays_out(place: Place) -> None:
    place.append("journal.jsonl", line({**OLD, "type": "rule_add"}))
    assert found(place, "rule-lost") == [("journal.jsonl:1", "warning")]
    place.repair()
    assert place.workspace.refresh().get(OLD["id"]) is None


# --- notices ---------------------------------------------------------------------------------------------------------


def test_a_notice_that_the_mailbox_lost_is_posted_again_as_it_was(place: Place) -> None:
    notice = place.report("s", 0.2, "it looped").notice
    assert notice is not None
    file = place.root / f"mailbox/pending/{notice.id}.json"
    data = file.read_bytes()
    file.unlink()
    assert found(place, "notice-lost") == [("journal.jsonl:1", "warning")]
    place.repair()
    assert file.read_bytes() == data
    assert place.examine() == () and place.repair() == ()


def test_a_settled_notice_without_its_file_is_not_posted_again(place: Place) -> None:
    notice = place.report("s", 0.2).notice
    assert notice is not None
    with place.workspace.transaction() as plan:
        place.workspace.ports.mailbox.acknowledge(notice.id, rule_id=None, note=None, at=plan.at)
        plan.event("ack", notice_id=notice.id, session_id="s", rule_id=None, note=None)
    (place.root / f"mailbox/processed/{notice.id}.json").unlink()
    assert found(place, "notice-gone") == [("journal.jsonl:1", "info")]
    assert place.repair() == ()


def test_a_half_acknowledged_notice_is_healed_both_ways(place: Place) -> None:
    first, second = place.report("a", 0.2).notice, place.report("b", 0.2).notice
    assert first is not None and second is not None
    pending = place.root / f"mailbox/pending/{first.id}.json"
    left = pending.read_bytes()
    place.workspace.ports.mailbox.acknowledge(first.id, rule_id=None, note="done", at="2026-07-03T06:00:00+00:00")
    pending.write_bytes(left)  # the process died before it removed the pending copy and before it journaled
    with place.workspace.transaction() as plan:  # of the other one only the event was written
        plan.event("ack", notice_id=second.id, session_id="b", rule_id=None, note="seen")
    assert {"ack-not-journaled", "ack-lost", "leftover-notice"} <= set(place.codes())
    assert len(place.repair()) == 3
    assert place.workspace.ports.mailbox.pending() == []
    settled = place.workspace.ports.mailbox.read(second.id)
    assert settled is not None and settled.resolution is not None and settled.resolution.note == "seen"
    acks = [event for event in place.lines("journal.jsonl") if event["type"] == "ack"]
    assert [(event["notice_id"], event["note"]) for event in acks] == [(second.id, "seen"), (first.id, "done")]
    assert place.examine() == () and place.repair() == ()


def test_a_notice_settled_with_a_rule_that_does_not_exist_is_named(place: Place) -> None:
    notice = place.report("s", 0.2).notice
    assert notice is not None
    place.workspace.ports.mailbox.acknowledge(notice.id, rule_id="r-00000000aa", note=None, at="x")
    assert found(place, "ack-without-rule") == [(f"mailbox/processed/{notice.id}.json", "warning")]


def test_a_stale_status_is_named_and_renewed(place: Place) -> None:
    place.report("s", 0.2)
    (place.root / "mailbox/status.json").write_text('{"pending_count": 7}')
    assert "stale-status" in place.codes()
    assert len(place.repair()) == 1
    assert json.loads(place.text("mailbox/status.json"))["pending_count"] == 1


# --- the rest of the folder ------------------------------------------------------------------------------------------


def test_a_stale_projection_is_named_and_renewed(place: Place) -> None:
    place.add("Verify before a retry.")
    right = place.text("harness_rules.md")
    (place.root / "harness_rules.md").write_text("Verify nothing.")
    assert found(place, "stale-projection") == [("harness_rules.md", "warning")]
    assert place.repair() == ("harness_rules.md was written anew.",)
    assert place.text("harness_rules.md") == right


def test_leftovers_of_killed_writers_are_swept_once_they_are_old(place: Place) -> None:
    old, young = place.root / ".rules.jsonl.7.8.tmp", place.root / "traces/.x.json.7.8.tmp"
    theirs = place.root / ("rules.md.7." + "0a" * 16 + ".tmp")
    for path in (old, young, theirs):
        path.write_text("x")
    now = place.workspace.ports.system.now().timestamp()
    for path, age in ((old, 100), (theirs, 100), (young, 5)):
        os.utime(path, (now - age, now - age))
    assert len(found(place, "leftover-file")) == 3
    assert all("once it is a minute old" in p.hint for p in place.examine() if p.code == "leftover-file")
    place.repair()
    assert [path.exists() for path in (old, theirs, young)] == [False, False, True]


def test_a_problem_reads_as_sentences() -> None:
    assert str(Problem("x", "it is broken", "a:1", hint="Mend it.")) == "a:1: it is broken. Mend it."
    assert str(Problem("x", "Is it broken?", hint="Mend it.")) == "Is it broken? Mend it."
    assert str(Problem("x", "it is broken")) == "it is broken"


def test_what_nobody_knows_is_named_and_left_alone(place: Place) -> None:
    (place.root / "notes.txt").write_text("mine")
    (place.root / "evalset/c-1.json").write_text('{"id": "c-2", "kind": "win"}')
    (place.root / "traces/t.json").write_text("[")
    (place.root / "link").symlink_to("/nowhere")
    before = place.everything()
    said = {(p.code, p.where, p.severity) for p in place.examine()}
    assert said == {
        ("unknown-file", "notes.txt", "info"),
        ("bad-id", "evalset/c-1.json", "warning"),
        ("broken-file", "traces/t.json", "warning"),
        ("odd-file", "link", "warning"),
    }
    assert place.repair() == () and place.everything() == before


def test_distrust_and_git_are_named(place: Place) -> None:
    object.__setattr__(place.workspace.ports, "trusted", False)
    said = [(p.code, p.severity) for p in place.examine(distrust="it came with a clone", tracked=True)]
    assert said == [("not-trusted", "error"), ("git-tracked", "warning")]


def test_a_lock_that_does_not_come_free_is_said_and_the_reading_goes_on(place: Place) -> None:
    place.append("rules.jsonl", b"nonsense\n")
    assert place.codes() == ["broken-line"] and not (place.root / ".lock").exists()
    (place.root / ".lock").touch()

    def busy() -> Any:
        raise TimeoutError("held")

    object.__setattr__(place.workspace.ports, "lock", busy)
    assert place.codes() == ["no-lock", "broken-line"]


def test_a_log_that_is_a_folder_is_named(place: Place) -> None:
    (place.root / "journal.jsonl").mkdir()
    assert "unreadable" in place.codes()


# --- merge conflicts -------------------------------------------------------------------------------------------------


def conflicted(place: Place) -> bytes:
    mine, theirs = {**OLD, "rule": "Mine."}, {**OLD, "id": "r-00000000bb", "rule": "Theirs."}
    return (
        line({**OLD, "id": "r-00000000cc", "rule": "Before."})
        + b"<<<<<<< HEAD\n" + line(mine) + b"=======\n" + line(theirs) + b">>>>>>> branch\n"
    )  # fmt: skip


def test_both_sides_of_a_conflict_load_and_only_repair_takes_the_markers_out(place: Place) -> None:
    data = conflicted(place)
    place.append("rules.jsonl", data)
    assert [where for where, _ in found(place, "conflict-marker")] == [f"rules.jsonl:{n}" for n in (2, 4, 6)]
    assert place.workspace.refresh().live_count == 3
    place.repair()
    (backup,) = place.root.glob("rules.jsonl.*.bak")
    assert backup.read_bytes() == data
    assert (place.root / "rules.jsonl.quarantine").read_bytes() == b"<<<<<<< HEAD\n=======\n>>>>>>> branch\n"
    assert place.workspace.refresh().live_count == 3
    assert set(place.codes()) == {"kept-aside"}
    assert place.repair() == ()


def test_a_line_of_equal_signs_without_a_conflict_stays(place: Place) -> None:
    place.append("rules.jsonl", b"=======\n")
    place.repair()
    assert (place.root / "rules.jsonl").read_bytes() == b"=======\n"


def test_a_forgotten_rule_leaves_a_sound_workspace(place: Place) -> None:
    rule = place.add("Verify before a retry.")
    place.add("Another.")
    forget(place.workspace, rule.id, "asked to", folder=place.folder)
    assert place.examine() == ()


# --- laws ------------------------------------------------------------------------------------------------------------

FILES = (
    *LOGS, "harness_rules.md", "mailbox/status.json", "mailbox/pending/n-1.json", "mailbox/processed/n-1.json",
    "traces/n-1.json", "evalset/c-1.json", ".x.1.2.tmp", "other", "mailbox/pending/\udcff\u202e.json",
    "mailbox/processed/a b\n.json", "evalset/\udcff:.json", "traces/\x1b[2J.json",
)  # fmt: skip
PIECES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b'{"id":"r-0000000001","rule":"x","status":"active"}',
            b'{"id":"r-0000000001","rule":"\\ud800\\u2028","status":"candidate","tags":["\\ud800"],"event":"e"}',
            b'{"type":"notice","id":"n-1","signatures":[1],"metrics":[{}]}',
            b'{"type":"notice","id":{},"observe_only":[]}',
            b'{"type":"ack","notice_id":"n-1","rule_id":"..","note":[]}',
            b'{"type":"rule_retire","id":"r-0000000001","reason":7}',
            b'{"type":"rule_add","id":[],"event":{}}',
            b'{"kind":"observation","session":"s","seen":{"\\ud800":1},"uncounted":[]}',
            b'{"kind":"report","session":"s","held":{"id":"n-2"},"did":[],"scores":[]}',
            b'{"id":"n-1","severity":[],"metrics":[{"reason":5}],"resolution":{"rule_id":"\\ud800"}}',
            b"<<<<<<< ", b"=======", b">>>>>>> ", b"\x00" * 9, b"[" * 3000, b"\xff", b"{}", b"null", b'{"id":1e999}',
        ]
    ),
)  # fmt: skip
CONTENTS = st.dictionaries(st.sampled_from(FILES), st.lists(PIECES, max_size=5).map(b"\n".join), max_size=5)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(contents=CONTENTS)
def test_law_whatever_the_files_hold_nothing_raises_and_a_second_repair_mends_nothing(
    contents: dict[str, bytes],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = open_place(Path(folder) / "w", projected=False)
        for name, data in contents.items():
            (place.root / name).write_bytes(data)
        before = {name: data for name, data in contents.items() if name in LOGS}
        for problem in place.examine(cap=1):
            assert problem.where.isprintable() and str(problem).encode("utf-8", "replace")
        place.repair()
        assert place.repair() == ()
        for name, data in before.items():  # no line of a log is lost; only conflict markers move
            left = (place.root / name).read_bytes() + b"\n"
            aside = b"".join(path.read_bytes() for path in place.root.glob(f"{name}.*"))
            for raw in data.split(b"\n"):
                assert raw + b"\n" in left or raw + b"\n" in aside


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "broken-file"), ("[]", "bad-case"), ('{"id": "c-1", "kind": "golden"}', "bad-case"),
        ('{"id": "c-1", "kind": "win", "baseline_scores": {"m": 7}}', "odd-field"),
        ('{"id": "c-1", "kind": "win"}', None),
    ],
)  # fmt: skip
def test_an_eval_case_that_is_no_evidence_is_named(place: Place, content: str, code: str | None) -> None:
    (place.root / "evalset/c-1.json").write_text(content)
    assert place.codes() == ([code] if code else [])
