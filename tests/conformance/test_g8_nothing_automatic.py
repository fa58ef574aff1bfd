"""G8: nothing is put in force but by a fact that a person made; topic-matched inclusion is designed and not shipped."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.desk import Desk

ROOT = Path(__file__).parents[2]


def test_g8_a_rule_whose_topics_match_the_session_is_not_included_by_that(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    desk.propose("restore", "Check the archive first.", topics=("restore", "archive"))
    assert "Check the archive" not in desk.notice("Restore of the archive")


def test_g8_the_design_is_written_down_and_says_that_it_is_not_shipped() -> None:
    text = (ROOT / "docs" / "adr" / "0007-topic-matched-inclusion.md").read_text()
    assert "not shipped" in text and "approved" in text
