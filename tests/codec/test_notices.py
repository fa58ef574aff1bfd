"""Notice files: what the 0.6 format holds comes back as it was, and nothing on disk raises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.notices import decode, encode, encode_status, from_json, status_says, to_json
from ruleproof.core.notice import MailboxStatus, Notice, NoticeMetric, Resolution

NOTICE = Notice(
    id="n-20260703T053511000000-f2019e11",
    created_at="2026-07-03T05:35:11.000000+00:00",
    session_id="sess-a",
    turn_index=1,
    severity="breach",
    metrics=(NoticeMetric("agent_reliability", 0.21, 0.5, "Repeated call", ("breach",)),),
    flagged_traces=("t-11",),
    signal_breakdown={"t-11": {"loop_detection": 0.1}},
    summary="agent_reliability=0.21 [breach, threshold 0.50]",
    signatures=("breach:agent_reliability",),
)
GOLDEN = b"""{
  "created_at": "2026-07-03T05:35:11.000000+00:00",
  "dump_path": "",
  "flagged_traces": [
    "t-11"
  ],
  "id": "n-20260703T053511000000-f2019e11",
  "metrics": [
    {
      "conditions": [
        "breach"
      ],
      "name": "agent_reliability",
      "reason": "Repeated call",
      "threshold": 0.5,
      "value": 0.21
    }
  ],
  "resolution": null,
  "session_id": "sess-a",
  "severity": "breach",
  "signal_breakdown": {
    "t-11": {
      "loop_detection": 0.1
    }
  },
  "signatures": [
    "breach:agent_reliability"
  ],
  "status": "pending",
  "summary": "agent_reliability=0.21 [breach, threshold 0.50]",
  "turn_index": 1
}"""
RECORD = json.loads(GOLDEN)


def read(record: object) -> Notice:
    notice, _ = from_json(record)
    assert notice is not None
    return notice


def test_the_bytes_are_those_of_the_older_format() -> None:
    assert encode(NOTICE) == GOLDEN
    assert decode(GOLDEN, "x") == (NOTICE, ())


def test_a_mailbox_of_the_older_system_reads_and_writes_back_byte_for_byte(data_dir: Path) -> None:
    files = sorted((data_dir / "workspace_0_6_3" / "mailbox").glob("*/*.json"))
    assert len(files) == 3
    for file in files:
        notice, problems = decode(file.read_bytes(), file.name)
        assert notice is not None
        assert problems == ()
        assert notice.extra == {}
        assert encode(notice) == file.read_bytes()
    status = data_dir / "workspace_0_6_3" / "mailbox" / "status.json"
    says = MailboxStatus(2, "breach", "n-20260703T053513000000-f2019e13")
    assert encode_status(says, json.loads(status.read_bytes())["updated_at"]) == status.read_bytes()
    assert status_says(status.read_bytes(), says)


def test_what_is_ours_alone_is_written_only_where_it_says_something() -> None:
    assert not {"count", "examples", "source", "task_id", "extra"} & to_json(NOTICE).keys()
    ours = replace(NOTICE, count=116, examples=("a", "b"), source="ingest", task_id="t")
    assert decode(encode(ours), "x") == (ours, ())


def test_an_acknowledged_notice_comes_back() -> None:
    done = replace(NOTICE, status="acknowledged", resolution=Resolution("2026-07-04T00:00:00+00:00", "r-1", "done"))
    assert decode(encode(done), "x") == (done, ())
    open_end = replace(done, resolution=Resolution("2026-07-04T00:00:00+00:00"))
    assert decode(encode(open_end), "x") == (open_end, ())


def test_an_unknown_severity_counts_as_a_breach_and_is_written_back_as_it_was() -> None:
    for odd in ("meltdown", None, 3, ["breach"], {}):
        notice = read({**RECORD, "severity": odd})
        assert notice.severity == "breach"
        assert to_json(notice)["severity"] == odd


def test_unknown_keys_are_kept_at_every_level() -> None:
    record = json.loads(GOLDEN)
    record["scope"] = {"of": ["a", "later", "version"]}
    record["metrics"][0]["spread"] = 0.15
    notice = read(record)
    assert notice.metrics == NOTICE.metrics
    assert to_json(notice) == record
    done = replace(notice, status="acknowledged", resolution=Resolution("now"))
    assert to_json(done) == {
        **record,
        "status": "acknowledged",
        "resolution": {"acked_at": "now", "rule_id": None, "note": None},
    }


def test_acknowledging_replaces_an_odd_status_and_an_odd_resolution() -> None:
    notice = read({**RECORD, "status": ["odd"], "resolution": "odd"})
    assert (notice.status, notice.resolution) == ("pending", None)
    done = replace(notice, status="acknowledged", resolution=Resolution("now"))
    assert decode(encode(done), "x") == (done, ())


@pytest.mark.parametrize("key", sorted(set(RECORD) - {"id", "status", "resolution"}))
@pytest.mark.parametrize("odd", [None, [], {}, 7, "x", True, [1, None], {"a": 1}, [{"name": []}], [[]]])
def test_a_field_of_a_wrong_type_defaults_is_named_and_is_written_back(key: str, odd: object) -> None:
    record = {**RECORD, key: odd}
    notice, problems = from_json(record, "pending/x.json")
    assert notice is not None
    assert to_json(notice)[key] == odd
    for problem in problems:
        assert problem.where == "pending/x.json"
        assert problem.severity == "warning"
        assert key in problem.message
    if key == "session_id" and not isinstance(odd, str):
        assert notice.session_id == ""
        assert len(problems) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        GOLDEN[:-40],
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"\xff\xfe{}",
        GOLDEN.replace(b"Repeated", b"\xff\xfe"),
        b"{}",
        b'{"id": 7}',
        b'{"id": "../../x"}',
        b'{"id": "NUL"}',
        b"[" * 100_000,
        b'{"id": "n-1", "x": ' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"id": "n-1", "count": ' + b"9" * 5000 + b"}",
        b"<<<<<<< HEAD\n" + GOLDEN,
    ],
)
def test_a_file_that_is_no_notice_is_one_problem_that_names_it(data: bytes) -> None:
    notice, problems = decode(data, "pending/n-1.json")
    assert notice is None
    assert [problem.where for problem in problems] == ["pending/n-1.json"]
    assert problems[0].severity == "error"


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    assert decode(b"\xef\xbb\xbf" + GOLDEN.replace(b"\n", b"\r\n"), "x") == (NOTICE, ())


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_none_is_missing_and_the_file_stays_json(number: str) -> None:
    data = GOLDEN.replace(b"0.21,", b"0.21,").replace(b'"value": 0.21', f'"value": {number}'.encode())
    notice, _ = decode(data.replace(b'"turn_index": 1', f'"turn_index": 1, "more": [{number}]'.encode()), "x")
    assert notice is not None
    assert notice.metrics[0].value is None
    assert notice.extra["more"] == [None]
    json.loads(encode(notice), parse_constant=pytest.fail)
    broken = replace(NOTICE, signal_breakdown={"t": {"s": float(number.lower())}})
    json.loads(encode(broken), parse_constant=pytest.fail)


def test_a_huge_whole_number_is_no_score() -> None:
    notice = read({**RECORD, "metrics": [{"name": "a", "value": 10**400, "threshold": True}]})
    assert (notice.metrics[0].value, notice.metrics[0].threshold) == (None, 0.5)


def test_a_lone_surrogate_is_carried_as_an_escape() -> None:
    notice = replace(NOTICE, summary="half \ud83d of it", session_id="日本語")
    assert encode(notice).isascii()
    assert decode(encode(notice), "x") == (notice, ())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*RECORD, "count", "examples", "source", "task_id", "else"]), json_values))
def test_reading_is_total_and_what_was_read_is_written_back(fields: dict[str, object]) -> None:
    record = {**RECORD, **fields, "id": RECORD["id"]}
    notice, _ = from_json(record)
    assert notice is not None
    again, _ = decode(encode(notice), "x")
    assert again == notice
    finite = json.loads(json.dumps(record), parse_constant=lambda _: None)
    for key in record.keys() - {"status", "resolution"}:
        assert to_json(again).get(key, default_of(key)) == finite[key]


def default_of(key: str) -> object:
    return {"count": 1, "examples": [], "source": "live", "task_id": None}.get(key)


@given(st.binary(max_size=200))
def test_bytes_never_raise(data: bytes) -> None:
    notice, problems = decode(data, "x")
    assert (notice is None) == any(problem.severity == "error" for problem in problems)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"{}", b'{"pending_count": 3}', b"[" * 100_000])
def test_a_status_file_that_says_anything_else_is_noticed(data: bytes) -> None:
    assert not status_says(data, MailboxStatus(2, "breach", "n-1"))
