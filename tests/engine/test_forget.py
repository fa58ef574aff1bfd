"""Forgetting: the text is gone from every byte of the workspace, a tombstone stays, the rest is as it was."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.places import Place, open_place

from ruleproof.core import ids
from ruleproof.core.renaming import alias_of
from ruleproof.core.rule import Rule
from ruleproof.core.scrub import MARK, Scrubber
from ruleproof.core.secrets import redact
from ruleproof.core.text import hidden_code_points
from ruleproof.core.trial import TrialState
from ruleproof.edge import fs
from ruleproof.engine.ack_notice import ack_notice
from ruleproof.engine.change_rule import retire
from ruleproof.engine.doctor import LOGS
from ruleproof.engine.forget import forget
from ruleproof.errors import NotFound, Refused, StoreError

SECRET = "Call Jane Doe on +49 170 555 0199 before you charge her card: она ждёт звонка — 注文の状態を確認"
PART = SECRET[8:60]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return open_place(tmp_path / "w")


def copies(text: str) -> list[bytes]:
    """The text as any writer may have put it: plain, escaped, escaped twice, and the pieces of it."""
    found: list[bytes] = []
    for piece in {text, text[:40], text[-40:], text[20:60]} if len(text) > 80 else {text}:
        once = json.dumps(piece)[1:-1]
        found += [piece.encode(), once.encode(), json.dumps(once)[1:-1].encode()]
        found.append(json.dumps(json.dumps(piece, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1].encode())
    return found


def assert_gone(place: Place, text: str) -> None:
    data = place.everything()
    for copy in copies(text):
        assert copy not in data, copy


def spread(place: Place, text: str) -> None:
    """Copies of a text, in every place and form that the workspace has."""
    rule = place.add("Another rule, which says something else.")
    retire(place.workspace, rule.id, f"superseded by: {text}")
    with place.workspace.transaction() as plan:
        plan.event("validation", mode="replay", reason=f"not better than «{text[:50]}…»")
        plan.trials.append({"kind": "attempt", "rule": rule.id, "reason": text, "at": plan.at})
    place.report("other", 0.1, f"the judge says: {text}")
    files = place.workspace.ports.files
    nested = json.dumps({"messages": [json.dumps({"system": text})]})
    files.write("traces/t-1.json", json.dumps({"session_id": "x", "prompt": text, "arguments": nested}).encode())
    files.write("evalset/c-1.json", json.dumps({"id": "c-1", "replay_input": {"prompt": [text, 1]}}).encode())
    files.write("notes.txt", f"remember: {text} and {PART}\n".encode())
    files.write("rules.jsonl.quarantine", f"<<<<<<< {text}\n".encode())
    place.append(".harness_rules.md.1.2.tmp", f"half written {text[:45]}".encode())


# --- rules -----------------------------------------------------------------------------------------------------------


def test_no_byte_of_the_text_of_a_rule_is_left_anywhere(place: Place) -> None:
    rule = place.add(SECRET, "Jane was charged twice in the spring of that year.", tags=["x"])
    place.add("A rule that stays.")
    spread(place, SECRET)
    place.append("rules.jsonl", f'{{"id": "{rule.id}", "rule": "{SECRET[:30]}'.encode())
    done = forget(place.workspace, rule.id, f"she asked: {SECRET}", folder=place.folder)
    assert_gone(place, SECRET)
    assert_gone(place, "Jane was charged twice in the spring of that year.")
    assert (done.id, done.kind, done.kept) == (rule.id, "rule", ())
    assert done.records >= 10 and set(LOGS) <= set(done.files)
    assert "A rule that stays." in place.text("harness_rules.md")


def test_a_tombstone_and_an_event_say_what_went_and_why(place: Place) -> None:
    rule = place.add(SECRET)
    forget(place.workspace, rule.id, "she asked for it", folder=place.folder)
    (stone,) = place.lines("rules.jsonl")
    assert stone["kind"] == "tombstone" and stone["of"] == rule.id and stone["reason"] == "she asked for it"
    assert stone["digest"] == ids.digest(SECRET) and stone["at"]
    events = place.lines("journal.jsonl")
    assert [event["type"] for event in events] == ["rule_add", "forget"]
    assert events[0]["event"] == rule.event and events[0]["forgotten"] is True and "rule" not in events[0]
    assert (events[1]["of"], events[1]["digest"]) == (rule.id, stone["digest"])
    assert place.workspace.refresh().get(rule.id) is None
    assert rule.id in place.workspace.refresh().tombstones


def test_forgetting_twice_changes_nothing_the_second_time(place: Place) -> None:
    rule = place.add(SECRET)
    place.report("s", 0.2, "it looped")
    forget(place.workspace, rule.id, "she asked", folder=place.folder)
    before = place.everything()
    again = forget(place.workspace, rule.id, "she asked again", folder=place.folder)
    assert (again.records, again.files) == (0, ()) and place.everything() == before


def test_the_same_words_of_another_rule_stay_and_are_named(place: Place) -> None:
    first = place.add(SECRET)
    retire(place.workspace, first.id, "for now")
    second = place.add(SECRET + " And more.")
    done = forget(place.workspace, first.id, "asked", folder=place.folder)
    assert done.kept == (f"rule {second.id}",)
    kept = place.workspace.refresh().get(second.id)
    assert kept is not None and kept.rule == SECRET + " And more." and kept.live
    forget(place.workspace, second.id, "asked", folder=place.folder)
    assert_gone(place, SECRET)


def test_an_old_view_cannot_bring_it_back(place: Place) -> None:
    rule = place.add(SECRET)
    other = open_place(place.root, seed="b")
    assert other.workspace.refresh().get(rule.id) is not None
    other.report("s", 0.2)
    forget(place.workspace, rule.id, "asked", folder=place.folder)
    with pytest.raises(NotFound):
        retire(other.workspace, rule.id)
    other.add("Something else.")
    other.report("s", 0.1)
    assert other.composer.context().rules != (rule.id,)
    assert SECRET not in other.composer.context().text
    assert_gone(place, SECRET)
    assert other.examine() == ()


def test_a_short_text_goes_where_it_is_a_whole_text_only(place: Place) -> None:
    rule = place.add("Stop.")
    other = place.add("Stop. Then ask.")
    retire(place.workspace, other.id, "Stop.")
    forget(place.workspace, rule.id, "x", folder=place.folder)
    left = place.workspace.refresh().get(other.id)
    assert left is not None and left.rule == "Stop. Then ask." and left.reason == MARK


def test_trials_keep_their_counts(place: Place) -> None:
    rule, other = place.add(SECRET), place.add("Another.")
    for session in ("a", "b"):
        with place.workspace.transaction() as plan:
            plan.trials.append({"kind": "exposure", "session": session, "rules": {rule.id: "shown", other.id: "shown"}})
        place.workspace.refresh_trials()
        place.report(session, 0.9)
    trials = (place.root / "trials.jsonl").read_bytes()
    forget(place.workspace, rule.id, "x", folder=place.folder)
    assert (place.root / "trials.jsonl").read_bytes() == trials
    left = place.workspace.refresh().get(other.id)
    assert left is not None and len(place.workspace.trial_of(left).observed) == 2
    assert place.examine() == ()


# --- notices, cases, sessions ----------------------------------------------------------------------------------------


def test_a_notice_goes_with_its_dump_and_the_reasons_of_its_session(place: Place) -> None:
    first = place.report("s", 0.2, f"the customer said {SECRET}").notice
    other = place.report("t", 0.2, "it looped").notice
    assert first is not None and other is not None
    ack_notice(place.workspace, first.id, note=f"{SECRET}: settled")
    kept = (place.root / f"mailbox/pending/{other.id}.json").read_bytes()
    done = forget(place.workspace, first.id, "asked", folder=place.folder)
    assert_gone(place, SECRET)
    assert done.kind == "notice" and not list(place.root.rglob(f"{first.id}*"))
    assert (place.root / f"mailbox/pending/{other.id}.json").read_bytes() == kept
    event = place.lines("journal.jsonl")[0]
    assert (event["type"], event["id"], event["signatures"]) == ("notice", first.id, ["breach:agent_reliability"])
    assert place.workspace.refresh_journal().baseline("agent_reliability").sessions == 2
    assert place.examine() == ()


def test_a_pending_notice_leaves_the_status_of_the_mailbox(place: Place) -> None:
    notice = place.report("s", 0.2, SECRET).notice
    assert notice is not None
    forget(place.workspace, notice.id, "asked", folder=place.folder)
    assert json.loads(place.text("mailbox/status.json"))["pending_count"] == 0
    assert place.workspace.ports.mailbox.pending() == [] and place.codes() == []


def test_a_notice_that_the_breaker_holds_is_forgotten_and_never_released(place: Place) -> None:
    for number in range(8):
        place.report(f"s{number}", 0.2, f"{SECRET} {number}" if number == 7 else "it looped")
    held = place.workspace.refresh_sessions().held
    notice = next(notice for notice in held.values() if notice.session_id == "s7")
    forget(place.workspace, notice.id, "asked", folder=place.folder)
    assert_gone(place, SECRET)
    assert notice.id not in place.workspace.refresh_sessions().held


def test_the_same_reason_of_another_session_stays(place: Place) -> None:
    first, other = (
        place.report("s", 0.2, "it repeated the same call").notice,
        place.report("t", 0.2, "it repeated the same call"),
    )
    assert first is not None and other.notice is not None
    forget(place.workspace, first.id, "asked", folder=place.folder)
    left = place.workspace.ports.mailbox.read(other.notice.id)
    assert left is not None and left.metrics[0].reason == "it repeated the same call"
    reasons = [record["scores"]["agent_reliability"].get("reason") for record in place.lines("sessions.jsonl")]
    assert reasons == [MARK, "it repeated the same call"]


def test_a_case_goes_with_the_copies_of_its_input(place: Place) -> None:
    files = place.workspace.ports.files
    files.write("evalset/c-1.json", json.dumps({"id": "c-1", "session_id": "s", "replay_input": SECRET}).encode())
    files.write("evalset/c-2.json", b'{"id": "c-2", "session_id": "t", "replay_input": "hello there"}')
    files.write("traces/x.json", json.dumps({"session_id": "s", "prompt": f"user: {SECRET}"}).encode())
    done = forget(place.workspace, "c-1", "asked", folder=place.folder)
    assert done.kind == "case" and done.files == ("traces/x.json", "evalset/c-1.json")
    assert_gone(place, SECRET)
    assert place.text("evalset/c-2.json").endswith('"hello there"}')
    assert forget(place.workspace, "c-1", "asked", folder=place.folder).records == 0


def test_a_session_goes_with_its_records_dumps_and_cases(place: Place) -> None:
    notice = place.report("jane", 0.2, f"she said {SECRET}").notice
    place.report("other", 0.2, "it looped")
    assert notice is not None
    files = place.workspace.ports.files
    files.write("evalset/c-1.json", json.dumps({"id": "c-1", "session_id": "jane", "replay_input": SECRET}).encode())
    dump = {"session_id": "z", "sessions": [{"session_id": "jane", "prompt": SECRET}, {"session_id": "z"}]}
    files.write("traces/many.json", json.dumps(dump).encode())
    files.write("state/score_history.json", b'{"jane::outcome": {"series": []}, "z::outcome": {}}')
    done = forget(place.workspace, "jane", "asked", folder=place.folder)
    assert done.kind == "session"
    assert_gone(place, SECRET)
    assert not (place.root / "evalset/c-1.json").exists() and not (place.root / f"traces/{notice.id}.json").exists()
    assert [record["session"] for record in place.lines("sessions.jsonl")] == ["other"]
    assert json.loads(place.text("state/score_history.json")) == {"z::outcome": {}}
    assert len(place.workspace.ports.mailbox.pending()) == 2  # the incident stays, without the words
    assert json.loads(place.text("traces/many.json"))["sessions"] == [{"session_id": "z"}]


JANE = "customer-jane-doe-4711"


def _with_trials(place: Place) -> Rule:
    rule = place.add("Check the address.", metric="agent_reliability")
    for session in (JANE, f"{JANE}2", "other"):
        with place.workspace.transaction() as plan:
            exposure = {"kind": "exposure", "session": session, "unit": session, "rules": {rule.id: "shown"}}
            plan.trials.append({**exposure, "at": plan.at})
        place.workspace.refresh_trials()
        place.report(session, 0.1, f"session {session} went wrong")
    kept = place.add("Another one.")
    with place.workspace.transaction() as plan:
        trial = replace(kept.trial or TrialState(), birth_session=JANE, observed=(JANE, "other"), breached=(JANE,))
        plan.rule(replace(kept, trial=replace(trial, exposures={JANE: "shown"})), "rule_update")
        plan.event("skip", reason="budget", session_id=JANE)
    return rule


def test_the_id_of_a_session_is_nowhere_once_it_is_forgotten_and_the_counts_stay(place: Place) -> None:
    rule = _with_trials(place)
    before = place.workspace.trial_of(place.workspace.rulebook.rules[rule.id])
    done = forget(place.workspace, JANE, f"{JANE} asked", folder=place.folder)
    assert not re.search(rf"{JANE}(?!2)".encode(), place.everything())
    fresh = open_place(place.root, projected=False)
    trial = fresh.workspace.refresh_trials().state(rule.id, fresh.workspace.refresh().rules[rule.id].trial)
    assert trial.observed == (alias_of(JANE), f"{JANE}2", "other") and len(trial.breached) == len(before.breached) == 3
    assert "trials.jsonl" in done.files and "journal.jsonl" in done.files
    assert done.kept == (), "the other session, whose id is longer, is not a leftover"
    assert fresh.examine() == ()
    again = forget(fresh.workspace, JANE, "again", folder=fresh.folder)
    assert (again.records, again.files) == (0, ())


def test_a_place_that_still_names_a_forgotten_session_is_named(place: Place) -> None:
    place.report(JANE, 0.1)
    rule = place.add(f"Never answer {JANE}.")
    done = forget(place.workspace, JANE, "asked", folder=place.folder)
    assert done.kept == ("rules.jsonl", "journal.jsonl")
    left = place.workspace.refresh().get(rule.id)
    assert left is not None and left.rule == f"Never answer {JANE}."


def test_a_session_named_like_a_word_of_ours_changes_no_word(place: Place) -> None:
    place.report("breach", 0.1)
    place.report("other", 0.1)
    forget(place.workspace, "breach", "asked", folder=place.folder)
    waiting = place.workspace.ports.mailbox.pending()
    assert [notice.severity for notice in waiting] == ["breach", "breach"]
    assert [notice.session_id for notice in waiting] == [alias_of("breach"), "other"]
    assert place.examine() == ()


def test_doctor_names_what_is_left_of_a_session_and_not_what_came_later(place: Place) -> None:
    place.report(JANE, 0.1)
    old = (place.root / "sessions.jsonl").read_bytes()
    forget(place.workspace, JANE, "asked", folder=place.folder)
    place.report(JANE, 0.9)
    assert place.examine() == ()
    place.append("sessions.jsonl", old)
    assert place.codes() == ["forget-unfinished"]


def test_what_nobody_has_is_not_found_and_no_id_is_refused(place: Place) -> None:
    place.add("A rule.")
    before = place.everything()
    for unknown in ("r-0000000000", "n-1", "nobody", "../../x", "NUL"):
        with pytest.raises(NotFound):
            forget(place.workspace, unknown, "x", folder=place.folder)
    for bad in ("", "a\nb", "x" * 600):
        with pytest.raises(Refused):
            forget(place.workspace, bad, "x", folder=place.folder)
    assert place.everything() == before


# --- lines that cannot be parsed, files that cannot be read ----------------------------------------------------------


@pytest.mark.parametrize("cut", range(20, 400, 17))
def test_a_record_torn_at_any_byte_keeps_no_word_of_it(place: Place, cut: int) -> None:
    rule = place.add(SECRET)
    whole = (place.root / "rules.jsonl").read_bytes()
    place.append("rules.jsonl", whole[:cut] + b"\n\xff\xfe not ours\n" + whole[:cut])
    forget(place.workspace, rule.id, "x", folder=place.folder)
    data = (place.root / "rules.jsonl").read_bytes()
    assert b"Call Jane" not in data and b"\xff\xfe not ours\n" in data


def test_a_file_that_cannot_be_read_stops_it_before_anything_is_written(place: Place) -> None:
    rule = place.add(SECRET)
    (place.root / "trials.jsonl").mkdir()
    before = place.everything()
    with pytest.raises((StoreError, OSError)):
        forget(place.workspace, rule.id, "x", folder=place.folder)
    assert place.everything() == before


# --- crashes ---------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@contextmanager
def killed_after(steps: int) -> Iterator[None]:
    """The process dies after that many steps on the disk (BaseException: nothing catches it and cleans up)."""
    count = 0

    def step(event: fs.Event) -> None:
        nonlocal count
        if event[0] not in ("read", "lock", "unlock"):
            count += 1
            if count > steps:
                raise Killed

    with fs.observe(step):
        yield


STEPS = [
    *(("rule", steps) for steps in range(0, 52, 3)),
    *(("old rule", steps) for steps in range(36, 48)),
    *(("notice", steps) for steps in range(0, 18, 2)),
]


@pytest.mark.parametrize(("kind", "steps"), STEPS)
def test_a_crash_at_any_step_is_finished_by_a_second_call(tmp_path: Path, kind: str, steps: int) -> None:
    place = open_place(tmp_path / "w", projected=False)
    if kind == "rule":
        target = place.add(SECRET).id
        spread(place, SECRET)
    elif kind == "old rule":  # the store alone knows its text
        target = "r-00000000aa"
        place.append("rules.jsonl", json.dumps({"id": target, "rule": SECRET, "status": "candidate"}).encode() + b"\n")
        spread(place, SECRET)
    else:
        notice = place.report("s", 0.2, SECRET).notice
        assert notice is not None
        target = notice.id
        ack_notice(place.workspace, target, note=SECRET)
    place.workspace.ports.files.write("harness_rules.md", place.composer.full().encode())
    try:
        with killed_after(steps):
            forget(place.workspace, target, "asked", folder=place.folder)
    except Killed:
        pass
    other = open_place(place.root, projected=False, seed="b")
    other.add(f"Written between the two calls {steps}.")
    forget(other.workspace, target, "asked", folder=other.folder)
    assert_gone(other, SECRET)
    other.repair()
    assert_gone(other, SECRET)
    assert "forget-unfinished" not in other.codes()
    stones = [record for record in other.lines("rules.jsonl") if record.get("kind") == "tombstone"]
    assert [stone["of"] for stone in stones] == [target]
    assert [event["of"] for event in other.lines("journal.jsonl") if event["type"] == "forget"] == [target]
    assert f"Written between the two calls {steps}." in {rule.rule for rule in other.workspace.refresh().candidates()}


@pytest.mark.parametrize("kind", ["rule", "notice"])
def test_a_forgetting_that_a_crash_cut_short_is_named(place: Place, kind: str) -> None:
    notice = place.report("s", 0.2, SECRET).notice
    assert notice is not None
    target = place.add(SECRET).id if kind == "rule" else notice.id
    with pytest.raises(Killed), killed_after(5):
        forget(place.workspace, target, "x", folder=place.folder)
    assert "forget-unfinished" in place.codes()


# --- laws ------------------------------------------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=30)
PLAIN = WORDS.filter(lambda text: bool(text.strip()) and not hidden_code_points(text) and not redact(text)[1])
RULES = st.lists(PLAIN, min_size=1, max_size=5, unique_by=lambda text: text.casefold())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=RULES, which=st.integers(0, 4), junk=st.lists(st.binary(max_size=20), max_size=3))
def test_law_every_other_record_stays_byte_for_byte(texts: list[str], which: int, junk: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = open_place(Path(folder) / "w", projected=False)
        rules = [place.add(f"#{number}# {text} #{number}#") for number, text in enumerate(texts)]
        place.append("rules.jsonl", b"\n".join(raw.replace(b"\n", b"") for raw in junk))
        gone = rules[which % len(rules)]
        mine = gone.id.encode()
        before = {name: (place.root / name).read_bytes().split(b"\n") for name in ("rules.jsonl", "journal.jsonl")}
        forget(place.workspace, gone.id, "x", folder=place.folder)
        assert_gone(place, gone.rule)
        for name, lines in before.items():
            after = (place.root / name).read_bytes().split(b"\n")
            assert [raw for raw in after if mine not in raw and raw] == [
                raw for raw in lines if mine not in raw and raw
            ]
        left = {rule.id: rule.rule for rule in place.workspace.refresh().all()}
        assert left == {rule.id: rule.rule for rule in rules if rule is not gone}


@settings(max_examples=200, deadline=None)
@given(before=st.text(max_size=40), after=st.text(max_size=40), start=st.integers(0, 60), length=st.integers(32, 90))
def test_law_any_piece_of_32_characters_is_found(before: str, after: str, start: int, length: int) -> None:
    scrubber = Scrubber([SECRET])
    piece = SECRET[start : start + length]
    if len(piece) >= 32:
        clean = scrubber.text(before + piece + after)
        assert piece not in clean and MARK in clean and not scrubber.holds(clean)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200))
def test_law_a_text_without_a_copy_is_the_same_object(text: str) -> None:
    value: dict[str, Any] = {"a": [text, {"b": text}], "c": 1}
    assert Scrubber([SECRET], ["some reason"]).value(value) is value


def test_a_text_that_repeats_itself_takes_no_quadratic_time() -> None:
    assert Scrubber(["a" * 2000]).text("a" * 200_000 + "b").endswith("b")


def test_only_the_owner_may_read_what_was_rewritten(place: Place) -> None:
    forget(place.workspace, place.add(SECRET).id, "x", folder=place.folder)
    assert all(os.stat(place.root / name).st_mode & 0o077 == 0 for name in ("rules.jsonl", "journal.jsonl"))
