"""History, journal and reflection: the newest, oldest first, at a cost that follows the answer."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from ruleproof.codec.jsonl import encode_line
from ruleproof.codec.sessionlog import ingested_to
from ruleproof.core.score import Score
from ruleproof.core.sessions import Ingested
from ruleproof.edge import fs
from ruleproof.toolset import backwards
from ruleproof.toolset.backwards import Backwards, newest


def read_bytes_of(place: Any, name: str, **args: Any) -> int:
    """Bytes that one call reads from logs."""
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        place.well(name, **args)
    return sum(count for step, path, count in steps if step == "read" and path.endswith(".jsonl"))


# --- history ---------------------------------------------------------------------------------------------------------


def test_history_shows_scores_oldest_first_and_missing_ones_as_missing(place: Any) -> None:
    place.report("s-1", agent_reliability=0.9, outcome=1.0)
    place.report("s-1", turn=2, agent_reliability=None)
    place.report("s-2", agent_reliability=0.2)
    answer = place.well("harness_history", metric="agent_reliability")
    assert answer["untrusted"] is True and answer["metric"] == "agent_reliability" and answer["session_id"] is None
    assert [(point["session_id"], point["turn"], point["value"]) for point in answer["local"]] == [
        ("s-1", 1, 0.9), ("s-1", 2, None), ("s-2", 1, 0.2),
    ]  # fmt: skip
    assert answer["missing"] == 1 and [point["breached"] for point in answer["local"]] == [False, False, True]
    assert set(answer["local"][0]) == {
        "value", "ts", "session_id", "turn", "threshold", "breached", "source", "ingested",
    }  # fmt: skip
    only = place.well("harness_history", metric="agent_reliability", session_id="s-1")
    assert only["local"] == answer["local"][:2] and only["session_id"] == "s-1"
    assert place.well("harness_history", metric="unheard_of")["local"] == []


def test_history_takes_a_limit_and_keeps_the_newest(place: Any) -> None:
    lines = [
        {"kind": "report", "session": f"s-{n}", "turn": 1, "at": "x", "scores": {"m": {"value": n / 1000}}}
        for n in range(600)
    ]
    place.write("sessions.jsonl", b"".join(map(encode_line, lines)))
    for limit, count in ((None, 50), (1, 1), (0, 500), (-1, 500), (499, 499), (501, 500), (10**40, 500)):
        answer = place.well("harness_history", metric="m", limit=limit)
        points, left_out = answer["local"], int((answer["cut"] or "0").rpartition(" ")[2])
        assert len(points) + left_out == count and (left_out == 0 or len(json.dumps(answer)) > 59_000)
        assert [point["session_id"] for point in points] == [f"s-{n}" for n in range(600 - count + left_out, 600)]


def test_ingested_sessions_are_marked_and_strange_lines_passed_over(place: Any) -> None:
    ingested = ingested_to(Ingested("tau-1", "d", "2026-01-01T00:00:00+00:00", (Score("outcome", 0.0),)))
    odd: list[bytes] = [
        b"{", b"[1]", b"\xff\xfe", b'{"kind": "report", "session": 5, "scores": {"outcome": {"value": 1}}}',
        b'{"kind": "report", "session": "s", "scores": ["outcome"]}',
        b'{"kind": "report", "session": "s-9", "at": 7, "scores": {"outcome": {"value": NaN}}}',
        b'{"kind": "report", "session": "s-8", "scores": {"outcome": {"value": 7}}}', b"<<<<<<< ours",
    ]  # fmt: skip
    place.write("sessions.jsonl", encode_line(ingested) + b"\n".join(odd) + b'\n{"kind": "rep')
    answer = place.well("harness_history", metric="outcome")
    assert [(point["session_id"], point["value"], point["ingested"]) for point in answer["local"]] == [
        ("tau-1", 0.0, True), ("s-8", None, False),
    ]  # fmt: skip
    assert answer["local"][0]["turn"] is None and answer["local"][0]["breached"] is True


# --- journal ---------------------------------------------------------------------------------------------------------


def test_the_journal_shows_the_newest_events_oldest_first_and_of_the_types_asked_for(place: Any) -> None:
    notice_id = place.notice("s-1")
    rule = place.well("harness_rule_add", rule="Do it.", rationale="so", notice_id=notice_id)["rule"]
    place.well("harness_mailbox_ack", notice_id=notice_id, rule_id=rule["id"])
    answer = place.well("harness_journal")
    assert answer["untrusted"] is True and answer["cut"] is None
    assert [event["type"] for event in answer["events"]] == ["notice", "rule_add", "ack"]
    assert all(event["ts"] for event in answer["events"])
    assert [event["type"] for event in place.well("harness_journal", limit=2)["events"]] == ["rule_add", "ack"]
    picked = place.well("harness_journal", types=["ack", "notice", "no such"])["events"]
    assert [event["type"] for event in picked] == ["notice", "ack"]
    assert place.well("harness_journal", types=[])["events"] == []


def test_the_journals_limits_are_those_of_the_06_system(place: Any) -> None:
    place.write("journal.jsonl", b"".join(encode_line({"type": "x", "n": n}) for n in range(600)))
    for limit, count in ((None, 20), (1, 1), (0, 500), (-3, 500), (500, 500), (501, 500), (10**40, 500)):
        events = place.well("harness_journal", limit=limit)["events"]
        assert [event["n"] for event in events] == list(range(600 - count, 600))


def test_events_that_do_not_fit_are_left_out_whole_oldest_first_and_counted(place: Any) -> None:
    events = [{"type": "notice", "n": n, "text": "y" * 1500} for n in range(200)]
    place.write("journal.jsonl", b"".join(map(encode_line, events)))
    answer = place.well("harness_journal", limit=200)
    assert len(json.dumps(answer)) < 65_000
    shown = [event["n"] for event in answer["events"]]
    assert shown == list(range(200 - len(shown), 200)) and 30 < len(shown) < 60
    assert answer["cut"] == f"items left out: {200 - len(shown)}"


def test_one_event_that_is_too_large_alone_is_still_shown_in_part(place: Any) -> None:
    event = {"type": "regression", "results": [{"text": "y" * 3000}] * 2000}
    place.write("journal.jsonl", encode_line(event))
    answer = place.well("harness_journal")
    assert answer["events"][0]["type"] == "regression" and len(json.dumps(answer)) < 90_000
    assert "items left out" in answer["cut"]


def test_an_answer_costs_what_it_shows_and_not_what_the_journal_holds(place: Any) -> None:
    line = encode_line({"type": "notice", "summary": "z" * 400})
    place.write("journal.jsonl", line * 1000)
    small = read_bytes_of(place, "harness_journal")
    place.write("journal.jsonl", line * 40_000)
    assert read_bytes_of(place, "harness_journal") == small <= backwards.BLOCK
    place.write("sessions.jsonl", encode_line({"kind": "report", "session": "s", "scores": {"m": {}}}) * 100_000)
    assert read_bytes_of(place, "harness_history", metric="m", limit=5) <= backwards.BLOCK


def test_credentials_in_an_old_journal_are_not_told(place: Any) -> None:
    secret = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
    place.write("journal.jsonl", encode_line({"type": "notice", "summary": f"key {secret}", secret: 1}))
    assert secret not in json.dumps(place.well("harness_journal"))


# --- reading backwards -----------------------------------------------------------------------------------------------


class _Bytes:
    """A log in memory; `tail` as the port has it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def tail(self, before: int | None, count: int) -> tuple[bytes, int]:
        end = len(self.data) if before is None else before
        start = max(0, end - count)
        return self.data[start:end], start


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 1 << 16])
@pytest.mark.parametrize("end", ["\n", "", "\n\n", '\n{"torn": '])
def test_every_whole_line_is_seen_once_whatever_the_size_of_the_blocks(
    block: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backwards, "BLOCK", block)
    monkeypatch.setattr(backwards, "LARGEST_BLOCK", 2 * block)
    values = [{"n": n, "text": "x" * (n * 13 % 29)} for n in range(20)]
    data = "\n".join(json.dumps(value) for value in values) + end
    assert list(Backwards(_Bytes(data.encode()))) == values[::-1]  # type: ignore[arg-type]
    assert list(Backwards(_Bytes(b""))) == []  # type: ignore[arg-type]


def test_a_search_without_end_stops_and_says_how_far_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backwards, "MOST", 300_000)
    log = _Bytes(encode_line({"type": "x", "text": "y" * 80}) * 10_000)
    found, note = newest(log, lambda event: event if event["type"] == "rare" else None, 1)  # type: ignore[arg-type]
    assert found == [] and note == f"only the newest {(1 << 16) * 7} bytes were searched"
    assert newest(log, lambda event: event, 2)[1] is None  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["plain_word", "breach:x", "é", 'a"b', "a/b", "a\\b", "日本", "\u2028"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_word_is_found_however_its_writer_escaped_it(word: str, ascii_only: bool) -> None:
    lines = [json.dumps({"type": kind}, ensure_ascii=ascii_only) for kind in (word, "other", word + "s", word)]
    if ascii_only:
        lines[0] = lines[0].replace("/", "\\/")
    log = _Bytes("\n".join(lines).encode() + b"\n")
    found, _ = newest(log, lambda event: event if event["type"] == word else None, 9, {word})  # type: ignore[arg-type]
    assert found == [{"type": word}] * 2


def test_what_is_not_wanted_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    decode = backwards.decode_line
    monkeypatch.setattr(backwards, "decode_line", lambda raw, where: (decoded.append(raw), decode(raw, where))[1])
    log = _Bytes(encode_line({"type": "rare"}) + encode_line({"type": "common"}) * 1000)
    assert newest(log, lambda event: event, 5, {"rare"}) == ([{"type": "rare"}], None)  # type: ignore[arg-type]
    assert len(decoded) == 1
    assert newest(log, lambda event: event, 5, []) == ([], None)  # type: ignore[arg-type]


# --- reflection ------------------------------------------------------------------------------------------------------


def test_reflection_shows_notices_rules_verdicts_and_effects_and_is_journaled(place: Any) -> None:
    notice_id = place.notice("s-1")
    kept = place.well("harness_rule_add", rule="Keep it.", rationale="a", notice_id=notice_id)["rule"]["id"]
    gone = place.well("harness_rule_add", rule="Lose it.", rationale="b")["rule"]["id"]
    waits = place.well("harness_rule_add", rule="Wait for it.", rationale="c", metric="outcome")["rule"]["id"]
    place.decided(kept, promote=True)
    place.decided(gone, promote=False)
    place.notice("s-2")
    answer = place.well("harness_reflect")
    assert set(answer) == {
        "ok", "untrusted", "recent_notices", "recent_validations", "active_rules", "candidate_rules", "effectiveness",
        "cut",
    }  # fmt: skip
    assert answer["untrusted"] is True and answer["cut"] is None
    assert [event["session_id"] for event in answer["recent_notices"]] == ["s-1", "s-2"]
    assert [(event["type"], event["id"]) for event in answer["recent_validations"]] == [
        ("rule_promote", kept), ("rule_retire", gone),
    ]  # fmt: skip
    assert answer["recent_validations"][0]["reason"] == "forward-trial: measured"
    assert [rule["id"] for rule in answer["active_rules"]] == [kept]
    assert [rule["id"] for rule in answer["candidate_rules"]] == [waits]
    effect = answer["effectiveness"]
    assert set(effect) == {kept, waits}
    assert (effect[kept]["notices_before"], effect[kept]["notices_after"]) == (1, 1)
    assert (effect[waits]["notices_before"], effect[waits]["notices_after"]) == (0, 0)
    assert effect == {rule_id: asdict(place.rules.effectiveness()[rule_id]) for rule_id in (kept, waits)}
    event = place.lines("journal.jsonl")[-1]
    assert (event["type"], event["notice_count"], event["active_rule_count"], event["candidate_rule_count"]) == (
        "reflect", 2, 1, 1,
    )  # fmt: skip


def test_reflection_on_nothing_is_empty_and_still_journaled(place: Any) -> None:
    answer = place.well("harness_reflect")
    assert answer["recent_notices"] == answer["active_rules"] == answer["recent_validations"] == []
    assert answer["effectiveness"] == {}
    assert [event["type"] for event in place.lines("journal.jsonl")] == ["reflect"]


def test_reflection_shows_twenty_of_each_and_says_what_does_not_fit(place: Any) -> None:
    for number in range(25):
        place.notice(f"s-{number}")
    assert [event["session_id"] for event in place.well("harness_reflect")["recent_notices"]] == [
        f"s-{number}" for number in range(5, 25)
    ]
    for number in range(40):
        place.well("harness_rule_add", rule=f"Rule {number} " + "x" * 1900, rationale="y" * 1900)
    answer = place.well("harness_reflect")
    assert len(json.dumps(answer)) < 90_000
    assert len(answer["candidate_rules"]) < 40 and len(answer["effectiveness"]) == 40
    assert answer["cut"]["candidate_rules"] == f"items left out: {40 - len(answer['candidate_rules'])}"
