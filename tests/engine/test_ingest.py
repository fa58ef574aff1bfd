"""Recorded sessions are recorded once, told of once per signature, and never count as evidence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.places import Place, open_place

from ruleproof.core.gate import SessionGate
from ruleproof.core.notice import derive_tags
from ruleproof.core.signals import DEFAULT_WEIGHTS
from ruleproof.core.trial import Baseline
from ruleproof.edge import fs
from ruleproof.engine import ingest as module
from ruleproof.engine.forget import forget
from ruleproof.engine.ingest import BATCH, IngestResult, ingest
from ruleproof.engine.trail import MAX_BYTES
from ruleproof.errors import Refused


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return open_place(tmp_path / "w")


def read(place: Place, *chunks: bytes | str, **more: Any) -> IngestResult:
    return ingest_all(place, [chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks], **more)


def ingest_all(place: Place, chunks: Iterable[bytes], **more: Any) -> IngestResult:
    return ingest(place.workspace, chunks, thresholds=lambda _: 0.5, weights=DEFAULT_WEIGHTS, **more)


def row(session: str, value: object, metric: str = "outcome") -> str:
    return json.dumps({"session": session, "metric": metric, "value": value}) + "\n"


def rows(count: int, value: float = 0.2, start: int = 0) -> str:
    return "".join(row(f"s{number:05}", value) for number in range(start, start + count))


def chat(session: str, *, calls: int = 1, text: str = "hello", reward: float | None = None) -> str:
    messages: list[dict[str, object]] = [{"role": "user", "content": text}]
    for number in range(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "charge", "arguments": '{"order": 1}'}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"charged: {text}"})
    messages.append({"role": "assistant", "content": f"done: {text}"})
    return json.dumps({"id": session, "messages": messages, "reward": reward}) + "\n"


# --- what is written -------------------------------------------------------------------------------------------------


def test_the_format_that_was_recognised_is_named(place: Place) -> None:
    assert ingest_all(place, [rows(1).encode()]).format == "scores"
    assert ingest_all(place, [b"session,metric,value\na,m,0.5\n"]).format == "scores-csv"
    assert ingest_all(place, [b'{"nothing": "known"}\n']).format is None
    assert ingest_all(place, [rows(1).encode()], format="scores").format == "scores"


def test_each_signature_gets_one_notice_with_count_mean_and_three_examples(place: Place) -> None:
    done = read(place, rows(30, 0.2), rows(20, 0.9, 30), row("a", 0.1, "tone"), row("b", 0.3, "tone"))
    assert (done.read, done.new, done.known, done.changed, done.skipped) == (52, 52, 0, 0, 0)
    assert done.score_rows == 52 and done.problems == ()
    outcome, tone = done.notices
    assert (outcome.signatures, outcome.count, outcome.examples) == (
        ("breach:outcome",), 30, ("s00000", "s00001", "s00002"),
    )  # fmt: skip
    assert outcome.metrics[0].value == pytest.approx(0.2) and "30 of 52" in outcome.summary
    assert (tone.count, tone.metrics[0].value, tone.examples) == (2, pytest.approx(0.2), ("a", "b"))
    assert [notice.id for notice in place.workspace.ports.mailbox.pending()] == [outcome.id, tone.id]
    events = [event for event in place.lines("journal.jsonl") if event["type"] == "notice"]
    assert [(event["id"], event["source"]) for event in events] == [(outcome.id, "ingest"), (tone.id, "ingest")]
    kinds = [record["kind"] for record in place.lines("sessions.jsonl")]
    assert kinds == ["ingested"] * 52 + ["ingest_done"]
    assert place.examine() == ()


def test_the_second_time_nothing_is_written(place: Place) -> None:
    data = rows(BATCH + 7) + row("a", None) + "not a record\n"
    read(place, data)
    before = place.everything()
    again = read(place, data)
    assert (again.read, again.new, again.known, again.notices) == (BATCH + 8, 0, BATCH + 8, ())
    assert again.skipped == 1
    assert place.everything() == before


def test_healthy_history_is_recorded_without_a_notice(place: Place) -> None:
    assert read(place, rows(3, 0.9)).notices == ()
    assert [record["kind"] for record in place.lines("sessions.jsonl")] == ["ingested"] * 3 + ["ingest_done"]
    assert "3 of 6" in read(place, rows(3, 0.9, 10), rows(3, 0.1, 20)).notices[0].summary


def test_a_session_that_changed_is_recorded_anew_and_counted_so(place: Place) -> None:
    read(place, row("a", 0.2), row("b", 0.9))
    done = read(place, row("a", 0.3), row("b", 0.9))
    assert (done.new, done.known, done.changed) == (0, 1, 1)
    assert [notice.count for notice in done.notices] == [1]
    assert place.lines("sessions.jsonl")[-2]["scores"]["outcome"]["value"] == 0.3


def test_bad_records_are_named_counted_and_skipped(place: Place) -> None:
    bad = [row("x", 7), row("x", True), '{"session": "x"', '{"session": {}, "metric": "m", "value": 1}\n']
    done = read(place, row("a", 0.2), *bad, row("b", 0.2))
    assert done.read == 2 and done.skipped >= 3
    assert all(problem.where and problem.message for problem in done.problems)
    many = read(place, row("c", 0.2), *([row("x", 7)] * 250), row("d", 0.2))
    assert (many.new, many.skipped, len(many.problems)) == (2, 250, 100)
    assert many.problems[0].where == "line 2"


def test_an_unknown_format_is_refused_before_anything_is_read(place: Place) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("read")
        yield b""

    with pytest.raises(Refused, match="not a transcript format"):
        ingest_all(place, never(), format="nonsense")
    assert not (place.root / "sessions.jsonl").exists()


def test_a_stream_that_nobody_knows_is_a_problem(place: Place) -> None:
    done = read(place, b"\x00\xff" * 5000)
    assert done.read == 0 and done.skipped >= 1 and not (place.root / "sessions.jsonl").exists()


def test_a_lone_surrogate_is_replaced_and_the_session_counts(place: Place) -> None:
    done = read(place, chat("a", text="\ud83d broken", calls=6), '{"session": "\\ud83d", "metric": "m", "value": 1}\n')
    assert done.new == 1
    assert "\\ud83d" not in place.text("sessions.jsonl")


def test_progress_hears_bytes_and_sessions(place: Place) -> None:
    heard: list[tuple[int, int]] = []
    data = [chat(f"s{number}").encode() for number in range(5)]
    ingest_all(place, data, progress=lambda *figures: heard.append(figures))
    assert heard[-1] == (sum(map(len, data)), 5) and heard == sorted(heard) and len(heard) == 6


def test_a_credential_in_a_transcript_reaches_no_file(place: Place) -> None:
    key = "sk-" + "ant-" + "a1B2c3D4e5F6g7H8i9J0"
    read(place, chat("a", text=f"the key is {key}", reward=0.0))
    assert key.encode() not in place.everything() and b"the key is" in place.everything()


# --- never evidence --------------------------------------------------------------------------------------------------


def test_e1_ingested_history_is_never_trial_evidence_and_touches_no_gate_and_no_breaker(place: Place) -> None:
    rule = place.add("Verify before a retry.", metric="outcome")
    read(place, rows(40), chat("t", calls=6, reward=0.0))
    fold = place.workspace.refresh_sessions()
    assert fold.gate("s00000") == SessionGate() and fold.breaker.times == () and not fold.breaker.tripped
    assert fold.reports == 0 and fold.held == {}
    place.workspace.refresh_trials()
    trial = place.workspace.trial_of(rule)
    assert trial.observed == () and trial.breached == ()
    assert place.workspace.refresh_journal().baseline("outcome") == Baseline(0, 0, 0)
    assert not (place.root / "trials.jsonl").exists()


def test_a_live_report_of_the_same_session_still_counts(place: Place) -> None:
    read(place, row("s", 0.2, "agent_reliability"))
    handled = place.report("s", 0.2)
    assert handled.notice is not None and handled.did == "post"


# --- crashes ---------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def kill_at(place: Place, data: str, step: str, path: str, count: int) -> None:
    """Ingest, and die at the `count`-th `step` on a file whose path ends in `path`."""
    seen = 0

    def watch(event: fs.Event) -> None:
        nonlocal seen
        seen += event[0] == step and event[1].endswith(path)
        if seen == count:
            raise Killed

    with pytest.raises(Killed), fs.observe(watch):
        read(place, data)


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_killed_run_loses_a_batch_at_most_and_the_next_one_goes_on(place: Place, batches: int) -> None:
    data = "".join(chat(f"s{number:04}", calls=6, reward=0.0) for number in range(3 * BATCH))
    kill_at(place, data, "append.begin", "sessions.jsonl", batches)
    file = place.root / "sessions.jsonl"
    assert (len(file.read_bytes().splitlines()) if file.exists() else 0) == (batches - 1) * BATCH
    assert place.workspace.ports.mailbox.pending() == []
    other = open_place(place.root, seed="b")
    done = read(other, data)
    assert (done.known, done.new) == ((batches - 1) * BATCH, (4 - batches) * BATCH)
    assert [(notice.signatures[0], notice.count) for notice in done.notices] == [
        ("breach:agent_reliability", 3 * BATCH), ("breach:outcome", 3 * BATCH),
    ]  # fmt: skip
    dump = json.loads(other.text(done.notices[0].dump_path))
    assert [one["session_id"] for one in dump["sessions"]] == ["s0000", "s0001", "s0002"]
    assert other.examine() == ()


STEPS = [
    *[("create.sync", ".json", 1), ("create.sync", ".json", 2), ("append.begin", "journal.jsonl", 1)],
    *[("append.sync", "journal.jsonl", 1), ("append.begin", "sessions.jsonl", 2), ("append.sync", "sessions.jsonl", 2)],
]


@pytest.mark.parametrize(("step", "path", "count"), STEPS)
def test_a_notice_is_posted_once_wherever_the_run_dies(place: Place, step: str, path: str, count: int) -> None:
    data = rows(5) + row("a", 0.1, "tone")
    kill_at(place, data, step, path, count)
    other = open_place(place.root, seed="b")
    read(other, data)
    waiting = other.workspace.ports.mailbox.pending()
    assert sorted(notice.signatures[0] for notice in waiting) == ["breach:outcome", "breach:tone"]
    events = [event["id"] for event in other.lines("journal.jsonl") if event["type"] == "notice"]
    assert sorted(events) == sorted(notice.id for notice in waiting)
    assert other.examine() == ()
    assert read(other, data).notices == ()


def test_a_real_kill_between_two_writes_is_survived(tmp_path: Path) -> None:
    root, file = tmp_path / "w", tmp_path / "data.jsonl"
    file.write_text(rows(5 * BATCH))
    program = f"""
import os, signal
from pathlib import Path
from ruleproof.edge import fs
from tests.engine.test_ingest import ingest_all, module
from tests.engine.places import open_place
module.MAX_ROWS = 10
seen = 0
def watch(event):
    global seen
    seen += event[0] == "append.write" and event[1].endswith("sessions.jsonl")
    if seen == 3:
        os.kill(os.getpid(), signal.SIGKILL)
with fs.observe(watch):
    ingest_all(open_place(Path({str(root)!r})), [Path({str(file)!r}).read_bytes()])
"""
    top = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(top)}
    ended = subprocess.run([sys.executable, "-c", program], cwd=top, env=environ, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    place = open_place(root)
    done = read(place, file.read_text())
    assert done.known == 3 * BATCH and done.new == 2 * BATCH
    assert [notice.count for notice in done.notices] == [5 * BATCH]


def test_two_processes_that_read_the_same_file_record_it_once(place: Place) -> None:
    other = open_place(place.root, seed="b")
    data = [chat(f"s{number:04}", reward=0.0).encode() for number in range(2 * BATCH)]
    results: list[IngestResult] = []

    def interrupted() -> Iterator[bytes]:
        yield from data[:BATCH]
        yield from data[BATCH : BATCH + 50]
        results.append(ingest_all(other, data))
        yield from data[BATCH + 50 :]

    results.append(ingest_all(place, interrupted()))
    records = [record["session"] for record in place.lines("sessions.jsonl") if record["kind"] == "ingested"]
    assert len(records) == len(set(records)) == 2 * BATCH
    assert [result.new for result in results] == [BATCH, BATCH]
    assert sum(notice.count for result in results for notice in result.notices) == 2 * BATCH


def test_what_another_process_records_while_this_one_scores_is_not_recorded_again(place: Place) -> None:
    other = open_place(place.root, seed="b")
    data = rows(5).encode()
    theirs: list[IngestResult] = []

    def threshold(metric: str) -> float:
        if not theirs:
            theirs.append(ingest_all(other, [data]))
        return 0.5

    done = ingest(place.workspace, [data], thresholds=threshold, weights=DEFAULT_WEIGHTS)
    assert (done.new, done.known, done.changed, done.notices) == (0, 5, 0, ())
    assert len([record for record in place.lines("sessions.jsonl") if record["kind"] == "ingested"]) == 5


# --- modes -----------------------------------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_says_what_would_be_told(place: Place) -> None:
    read(place, rows(3, 0.9))
    before = place.everything()
    done = read(place, rows(5, 0.2), dry_run=True)
    assert place.everything() == before
    assert (done.new, done.changed) == (2, 3)
    assert [(notice.signatures, notice.count) for notice in done.notices] == [(("breach:outcome",), 5)]


def test_in_shadow_mode_notices_are_journaled_only(place: Place) -> None:
    done = read(place, rows(3), shadow=True)
    assert len(done.notices) == 1 and place.workspace.ports.mailbox.pending() == []
    (event,) = place.lines("journal.jsonl")
    assert event["observe_only"] is True and event["count"] == 3
    assert list((place.root / "traces").iterdir()) == []
    assert read(place, rows(3), shadow=True).notices == ()


def test_a_forgotten_session_does_not_come_back(place: Place) -> None:
    read(place, chat("jane", calls=6), chat("other"))
    forget(place.workspace, "jane", "asked", folder=place.folder)
    done = read(open_place(place.root, seed="b"), chat("jane", calls=6), chat("other"))
    assert (done.read, done.known, done.new) == (1, 1, 0)
    assert [(problem.code, problem.where) for problem in done.problems] == [("forgotten", "jane")]
    assert [record["session"] for record in place.lines("sessions.jsonl") if record["kind"] == "ingested"] == ["other"]


def test_forgetting_an_example_takes_it_out_of_the_dump(place: Place) -> None:
    done = read(place, *(chat(f"s{number}", calls=6, text=f"I am customer {number}") for number in range(4)))
    (notice,) = done.notices
    forget(place.workspace, "s0", "asked", folder=place.folder)
    assert b"I am customer 0" not in place.everything() and b"I am customer 1" in place.everything()
    left = place.workspace.ports.mailbox.read(notice.id)
    assert left is not None and left.count == 4


# --- dumps -----------------------------------------------------------------------------------------------------------


def test_the_dump_shows_the_examples_and_the_notice_their_signals(place: Place) -> None:
    (notice,) = read(place, *(chat(f"s{number}", calls=6) for number in range(5))).notices
    dump = json.loads(place.text(notice.dump_path))
    assert dump["session_id"] == "s0" == notice.session_id and dump["examples"] == ["s0", "s1", "s2"]
    assert [one["session_id"] for one in dump["sessions"]] == ["s0", "s1", "s2"]
    assert dump["sessions"][0]["traces"][0]["calls"][0]["name"] == "charge"
    assert dump["flagged_traces"] == list(notice.flagged_traces) == ["turn-1"]
    assert "loop_detection" in derive_tags(notice)


@pytest.mark.parametrize("text", ["x" * 9000, "注" * 9000, "\u2028" * 9000, '"\\' * 4500])
def test_a_dump_is_bounded_and_says_what_it_cut(place: Place, text: str) -> None:
    read(place, *(chat(f"s{number}", calls=120, text=text) for number in range(3)))
    for path in (place.root / "traces").iterdir():
        assert path.stat().st_size <= MAX_BYTES
        data = path.read_text()
        assert f"of {len(text)} characters]" in data and "20 of 120 calls" in data


def test_of_many_traces_the_flagged_ones_stay(place: Place) -> None:
    messages: list[dict[str, object]] = []
    for turn in range(400):
        messages.append({"role": "user", "content": f"question {turn} " + "x" * 500})
        for _ in range(4 if turn == 399 else 0):
            messages.append({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]})
            messages.append({"role": "tool", "content": "same"})
        messages.append({"role": "assistant", "content": "an answer " + "y" * 500})
    (notice,) = read(place, json.dumps({"id": "s", "messages": messages, "reward": 0.0})).notices
    (shown,) = json.loads(place.text(notice.dump_path))["sessions"]
    assert shown["flagged_traces"] == ["turn-400"] and shown["traces"][-1]["id"] == "turn-400"
    assert f"{400 - len(shown['traces'])} of 400 traces" == shown["left_out"]


# --- score rows ------------------------------------------------------------------------------------------------------


def test_rows_of_one_session_are_one_session_in_whatever_order(place: Place) -> None:
    by_metric = [row(f"s{n}", 0.2, metric) for metric in ("a", "b") for n in range(4)]
    by_session = sorted(by_metric, key=lambda line: json.loads(line)["session"])
    first = read(place, *by_metric)
    assert (first.read, first.score_rows, first.new) == (4, 8, 4)
    again = read(place, *by_session)
    assert (again.known, again.new, again.changed) == (4, 0, 0)


def test_a_row_that_comes_twice_counts_once_and_a_contradiction_is_named(place: Place) -> None:
    done = read(place, row("a", 0.2), row("a", 0.2), row("a", 0.9))
    assert (done.read, done.score_rows, done.skipped) == (1, 3, 1)
    assert (done.problems[0].code, done.problems[0].where) == ("repeated-row", "line 3")
    assert place.lines("sessions.jsonl")[0]["scores"]["outcome"]["value"] == 0.2


def test_a_missing_value_is_neither_breach_nor_health(place: Place) -> None:
    done = read(place, row("a", None), row("b", 0.2))
    assert [notice.count for notice in done.notices] == [1] and "1 of 1" in done.notices[0].summary
    assert place.lines("sessions.jsonl")[0]["scores"]["outcome"]["value"] is None


def test_rows_wait_in_bounded_memory_and_a_late_one_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 10)
    together = "".join(row(f"s{n}", 0.2, metric) for n in range(50) for metric in ("a", "b"))
    assert read(place, together).new == 50
    late = read(open_place(place.root.parent / "v"), rows(30), row("s00000", 0.9, "tone"))
    assert (late.new, late.skipped, late.problems[0].code) == (30, 1, "late-row")
    assert late.problems[0].where == "line 31"


# --- laws ------------------------------------------------------------------------------------------------------------

ROW = st.builds(
    row,
    st.sampled_from(["a", "b", "c", "d", "1e5", "a::b", "\u2028"]),
    st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0, None, 7, True, "x"]),
    st.sampled_from(["outcome", "tone"]),
)


def state(place: Place) -> tuple[Any, ...]:
    fold = place.workspace.refresh_sessions()
    waiting = [(n.signatures, n.count, n.examples, n.summary) for n in place.workspace.ports.mailbox.pending()]
    return dict(fold.ingested), dict(fold.owed), fold.owed_sessions, waiting


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines=st.lists(ROW, max_size=12), size=st.integers(1, 50), batch=st.integers(1, 4))
def test_law_twice_is_once_however_the_bytes_are_cut(lines: list[str], size: int, batch: int) -> None:
    data = "".join(lines).encode()
    before, module.BATCH = module.BATCH, batch
    try:
        with tempfile.TemporaryDirectory() as folder:
            one, cut = open_place(Path(folder) / "one"), open_place(Path(folder) / "cut")
            first = ingest_all(one, [data] if data else [])
            ingest_all(cut, [data[at : at + size] for at in range(0, len(data), size)])
            assert state(one) == state(cut)
            assert first.read == first.new and first.changed == 0
            told = one.everything()
            again = ingest_all(one, [data] if data else [])
            assert (again.new, again.changed, again.notices, again.known) == (0, 0, (), first.new)
            assert again.problems == first.problems and one.everything() == told
    finally:
        module.BATCH = before


def test_memory_holds_a_batch_and_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 20)

    def peak(count: int) -> int:
        place = open_place(tmp_path / str(count))
        text = "t" * 20_000
        tracemalloc.start()
        try:
            ingest_all(place, (chat(f"s{number:06}", text=text, reward=0.0).encode() for number in range(count)))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small, large = peak(60), peak(600)
    assert large < small + 600 * 2_000, (small, large)  # 600 sessions of 60 kB; what grows is ids and digests


# --- real sessions ---------------------------------------------------------------------------------------------------


def test_200_recorded_airline_sessions(place: Place, data_dir: Path) -> None:
    data = (data_dir / "tau_bench/gpt-4o-airline.json").read_bytes()
    chunks = [data[at : at + 65536] for at in range(0, len(data), 65536)]
    done = ingest_all(place, chunks)
    failed = sum(record["reward"] < 0.5 for record in json.loads(data))
    assert (done.read, done.new, done.skipped) == (200, 200, 0)
    counts = {notice.signatures[0]: notice.count for notice in done.notices}
    assert counts["breach:outcome"] == failed == 116
    assert ingest_all(place, chunks).known == 200
    assert place.examine() == ()
