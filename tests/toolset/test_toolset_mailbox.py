"""The mailbox operations: what waits, one notice with its evidence, settling it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ruleproof.codec import notices
from ruleproof.core.notice import Notice, NoticeMetric


def test_the_list_shows_what_waits_oldest_first_in_one_line_each(place: Any) -> None:
    first, second = place.notice("s-1"), place.notice("s-2", metric="agent_consistency")
    answer = place.well("harness_mailbox_list")
    assert answer["untrusted"] is True
    assert answer["status"] == {"pending_count": 2, "max_severity": "breach", "latest_id": second}
    assert [set(entry) for entry in answer["pending"]] == [{"id", "severity", "session_id", "metrics", "summary"}] * 2
    assert [entry["id"] for entry in answer["pending"]] == [first, second]
    assert answer["pending"][1]["metrics"] == ["agent_consistency"]
    assert answer["pending"][0]["session_id"] == "s-1"
    assert answer["not_listed"] == 0 and answer["cut"] is None


def test_an_empty_mailbox_is_an_empty_list(place: Any) -> None:
    assert place.well("harness_mailbox_list") == {
        "ok": True,
        "untrusted": True,
        "status": {"pending_count": 0, "max_severity": None, "latest_id": None},
        "pending": [],
        "not_listed": 0,
        "cut": None,
    }


def test_a_long_mailbox_is_listed_in_part_and_says_how_much_is_missing(place: Any) -> None:
    for number in range(53):
        notice = Notice(f"n-{number:03}", "2026-01-01T00:00:00+00:00", f"s-{number}")
        place.write(f"mailbox/pending/{notice.id}.json", notices.encode(notice))
    answer = place.well("harness_mailbox_list")
    assert [entry["id"] for entry in answer["pending"]] == [f"n-{number:03}" for number in range(50)]
    assert answer["not_listed"] == 3 and answer["status"]["pending_count"] == 53


def test_a_notice_is_read_with_the_dump_behind_it(place: Any) -> None:
    notice_id = place.notice("s-1", reason="charged twice")
    answer = place.well("harness_mailbox_read", notice_id=notice_id)
    assert answer["untrusted"] is True
    assert answer["notice"]["id"] == notice_id and answer["notice"]["status"] == "pending"
    assert answer["notice"]["metrics"][0]["reason"] == "charged twice"
    assert answer["dump"]["session_id"] == "s-1"
    assert answer["dump"]["scores"][0]["value"] == 0.2


def test_a_notice_without_a_dump_has_null_in_its_place(place: Any) -> None:
    notice_id = place.notice("s-1")
    for broken in (b"{", b"[]", b"\xff", b"", b"[" * 100_000, b'"text"'):
        place.write(f"traces/{notice_id}.json", broken)
        assert place.well("harness_mailbox_read", notice_id=notice_id)["dump"] is None, broken[:9]
    (place.root / f"traces/{notice_id}.json").unlink()
    assert place.well("harness_mailbox_read", notice_id=notice_id)["dump"] is None
    (place.root / f"traces/{notice_id}.json").symlink_to(place.root / "rules.jsonl")
    assert place.well("harness_mailbox_read", notice_id=notice_id)["dump"] is None


def test_a_settled_notice_can_still_be_read_and_an_unknown_one_is_named(place: Any) -> None:
    notice_id = place.notice("s-1")
    place.well("harness_mailbox_ack", notice_id=notice_id)
    assert place.well("harness_mailbox_read", notice_id=notice_id)["notice"]["status"] == "acknowledged"
    assert place.ill("harness_mailbox_read", notice_id="n-0") == (
        "NotFound: There is no notice n-0. harness_mailbox_list shows what waits."
    )


@pytest.mark.parametrize("path", ["rules.jsonl", "../outside.json", "/etc/passwd", ".trust", "mailbox/status.json"])
def test_a_notice_cannot_name_the_file_that_is_shown_with_it(path: str, place: Any) -> None:
    place.write(".trust", b'{"token": "SECRET"}')
    place.write("rules.jsonl", b'{"token": "SECRET"}\n')
    notice = Notice("n-9", "2026-01-01T00:00:00+00:00", "s-1", dump_path=path)
    place.write("mailbox/pending/n-9.json", notices.encode(notice))
    answer = place.well("harness_mailbox_read", notice_id="n-9")
    assert answer["dump"] is None and "SECRET" not in json.dumps(answer)


def test_acknowledging_settles_names_the_rule_and_is_journaled(place: Any) -> None:
    notice_id = place.notice("s-1")
    rule = place.well("harness_rule_add", rule="Check first.", rationale="twice", notice_id=notice_id)["rule"]
    answer = place.well("harness_mailbox_ack", notice_id=notice_id, rule_id=rule["id"], note="two\nlines")
    assert answer["untrusted"] is True and answer["notice"]["status"] == "acknowledged"
    resolution = answer["notice"]["resolution"]
    assert resolution["rule_id"] == rule["id"] and resolution["note"] == "two lines" and resolution["acked_at"]
    event = place.lines("journal.jsonl")[-1]
    assert {key: event[key] for key in ("type", "notice_id", "session_id", "rule_id", "note", "by", "ts")} == {
        "type": "ack", "notice_id": notice_id, "session_id": "s-1", "rule_id": rule["id"], "note": "two lines",
        "by": "agent", "ts": resolution["acked_at"],
    }  # fmt: skip
    assert place.well("harness_mailbox_list")["pending"] == []


def test_acknowledging_twice_or_nothing_or_with_an_unknown_rule_changes_nothing(place: Any) -> None:
    notice_id = place.notice("s-1")
    before = place.lines("journal.jsonl")
    assert "NotFound: There is no rule r-0000000000." in place.ill(
        "harness_mailbox_ack", notice_id=notice_id, rule_id="r-0000000000"
    )
    assert place.well("harness_mailbox_list")["status"]["pending_count"] == 1
    assert "NotFound: There is no notice n-0." in place.ill("harness_mailbox_ack", notice_id="n-0")
    assert place.lines("journal.jsonl") == before
    place.well("harness_mailbox_ack", notice_id=notice_id)
    after = place.lines("journal.jsonl")
    assert "is acknowledged already" in place.ill("harness_mailbox_ack", notice_id=notice_id)
    assert place.lines("journal.jsonl") == after


def test_a_credential_in_a_note_reaches_neither_the_notice_nor_the_journal(place: Any) -> None:
    notice_id = place.notice("s-1")
    secret = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
    place.well("harness_mailbox_ack", notice_id=notice_id, note=f"used {secret} here")
    for file in place.root.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file


def test_what_a_foreign_notice_says_is_bounded_and_cleaned(place: Any) -> None:
    metric = NoticeMetric("m\u202e", float("nan"), 0.5, "\x1b[31mred\x00" + "x" * 50_000)
    notice = Notice("n-9", "now", "s\u2028-1", metrics=(metric,), summary="y" * 50_000, extra={"deep": [[[{}]]] * 500})
    place.write("mailbox/pending/n-9.json", notices.encode(notice))
    answer = place.well("harness_mailbox_read", notice_id="n-9")
    text = json.dumps(answer, ensure_ascii=False)
    assert len(text) < 20_000
    assert not {"\x1b", "\x00", "\u202e"} & set(text) and "\\u001b" not in text
    assert "texts shortened" in answer["cut"] and "items left out" in answer["cut"]
