"""The journal, folded."""

from __future__ import annotations

from ruleproof.core.journal import JournalFold


def test_notices_around_a_moment_are_counted_by_their_times_in_whatever_order_they_were_written() -> None:
    fold = JournalFold()
    for minute in (50, 51, 10, 11, 12):  # a clock that was set back, or a writer that was overtaken
        when = f"2026-01-01T00:{minute}:00+00:00"
        fold.feed({"type": "notice", "id": f"n-{minute}", "session_id": "s", "signatures": ["breach:m"], "ts": when})
    assert fold.notices_around("m", "2026-01-01T00:30:00+00:00") == (3, 2)
    assert fold.notices_around(None, "2026-01-01T00:30:00+00:00") == (3, 2)
