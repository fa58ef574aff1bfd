"""G8: nothing is put in force but by a fact that a person made; topic-matched inclusion is designed and not shipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.desk import Desk

from ruleproof.config.sources import git_environment
from ruleproof.edge.ignored import require_ignored
from ruleproof.errors import Refused

ROOT = Path(__file__).parents[2]


def test_g8_a_rule_whose_topics_match_the_session_is_not_included_by_that(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    desk.propose("restore", "Check the archive first.", topics=("restore", "archive"))
    assert "Check the archive" not in desk.notice("Restore of the archive")


def test_g8_the_design_is_written_down_and_says_that_it_is_not_shipped() -> None:
    text = (ROOT / "docs" / "adr" / "0007-topic-matched-inclusion.md").read_text()
    assert "not shipped" in text and "approved" in text


@pytest.mark.parametrize("with_git", [True, False])
def test_g8_what_is_in_force_is_written_into_no_file_that_a_commit_could_carry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_git: bool
) -> None:
    porcelain = pytest.importorskip("dulwich.porcelain")
    porcelain.init(str(tmp_path)).close()
    (tmp_path / ".gitignore").write_text("*.local.md\n")
    (tmp_path / "tracked.local.md").write_text("")
    with porcelain.open_repo_closing(str(tmp_path)) as repo:
        repo.get_worktree().stage(["tracked.local.md"])
    if not with_git:
        monkeypatch.setattr("ruleproof.edge.ignored.shutil.which", lambda name: None)
    require_ignored(tmp_path / "CLAUDE.local.md", git_environment())
    for name in ("CLAUDE.md", "AGENTS.md", "tracked.local.md", "../CLAUDE.local.md"):
        with pytest.raises(Refused, match="A commit must never become instructions elsewhere"):
            require_ignored(tmp_path / name, git_environment())
