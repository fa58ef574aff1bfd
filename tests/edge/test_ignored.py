"""Whether git ignores a file is asked of git; dulwich answers the same; where nobody can say, the answer is no."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ruleproof.config.sources import git_environment
from ruleproof.edge import ignored
from ruleproof.edge.ignored import require_ignored
from ruleproof.errors import Refused

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="makes repositories with git")


def git(place: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *arguments], cwd=place, check=True, capture_output=True, env=git_environment())


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with patterns everywhere that git looks for them, and a linked work tree `tree` beside it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    (home / ".gitconfig").write_text(f"[core]\n\texcludesFile = {home / 'global'}\n")
    (home / "global").write_text("*.everywhere\n")
    made = tmp_path / "repo"
    for folder in ("sub/deep", "build", "plain"):
        (made / folder).mkdir(parents=True)
    git(made, "init", "-q")
    (made / ".gitignore").write_text("*.local.md\n/build/\n!open.local.md\nsp ace.md\n")
    (made / "sub" / ".gitignore").write_text("nested.md\n!back.local.md\n/deep/*\n!/deep/kept.md\n")
    (made / "build" / ".gitignore").write_text("!CLAUDE.md\n")
    (made / ".git" / "info").mkdir(exist_ok=True)
    (made / ".git" / "info" / "exclude").write_text("mine.md\n")
    (made / "tracked.local.md").write_text("x")
    git(made, "add", "-f", "tracked.local.md", ".gitignore")
    git(made, "commit", "-q", "-m", "x")
    git(made, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(made)
    return made


TABLE = [
    ("CLAUDE.local.md", ""),
    ("sub/deep/CLAUDE.local.md", ""),
    ("sub/nested.md", ""),
    ("sub/deep/nested.md", ""),
    ("sub/deep/other.md", ""),
    ("build/CLAUDE.md", ""),
    ("mine.md", ""),
    ("plain/mine.md", ""),
    ("a.everywhere", ""),
    ("sp ace.md", ""),
    ("../tree/x.local.md", ""),
    ("../tree/mine.md", ""),
    ("../tree/CLAUDE.md", "does not ignore"),
    ("../link/CLAUDE.local.md", ""),
    ("CLAUDE.md", "does not ignore"),
    ("open.local.md", "does not ignore"),
    ("sub/back.local.md", "does not ignore"),
    ("sub/deep/kept.md", "does not ignore"),
    ("nested.md", "does not ignore"),
    ("*.local.mdx", "does not ignore"),
    ("tracked.local.md", "tracks it"),
    ("../tree/tracked.local.md", "tracks it"),
    ("../link/tracked.local.md", "tracks it"),
    ("../outside.local.md", "cannot"),
    (".git/x.local.md", "cannot say|no file of a work tree"),
]


@pytest.mark.parametrize("asked", ["git", "dulwich"])
@pytest.mark.parametrize(("path", "why"), TABLE, ids=[path for path, _ in TABLE])
def test_only_what_git_ignores_and_does_not_track_may_be_written(
    repo: Path, monkeypatch: pytest.MonkeyPatch, asked: str, path: str, why: str
) -> None:
    if asked == "dulwich":
        pytest.importorskip("dulwich")
        monkeypatch.setattr(ignored.shutil, "which", lambda name: None)
        why = "only git itself" if path.startswith("../tree/") else why
    if not why:
        require_ignored(repo / path, git_environment())
        return
    with pytest.raises(Refused, match=why) as refused:
        require_ignored(repo / path, git_environment())
    assert "A commit must never become instructions elsewhere" in refused.value.message


def test_no_variable_points_git_at_another_repository(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / ".git" / "info" / "exclude").write_text("*\n")
    for name, value in (
        ("GIT_DIR", str(other / ".git")),
        ("GIT_WORK_TREE", str(repo)),
        ("GIT_INDEX_FILE", str(other / "none")),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.excludesFile"),
        ("GIT_CONFIG_VALUE_0", str(other / ".git" / "info" / "exclude")),
    ):
        monkeypatch.setenv(name, value)
    for path, why in (("CLAUDE.md", "does not ignore"), ("tracked.local.md", "tracks it")):
        with pytest.raises(Refused, match=why):
            require_ignored(repo / path, git_environment())


def test_without_git_and_without_the_extra_nothing_is_written(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignored.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "dulwich.ignore", None)
    with pytest.raises(Refused, match="there is no git"):
        require_ignored(repo / "CLAUDE.local.md", git_environment())


def test_a_git_that_fails_or_hangs_is_a_no(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignored, "TIMEOUT_S", 0.3)
    for name, script in (("hangs", "sleep 5"), ("dies", "kill -9 $$"), ("odd", "exit 7"), ("missing", "")):
        program = tmp_path / name
        if script:
            program.write_text(f"#!/bin/sh\nexec {script}\n" if name == "hangs" else f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        monkeypatch.setattr(ignored.shutil, "which", lambda asked, program=program: str(program))
        with pytest.raises(Refused, match=r"git could not be asked|git cannot say"):
            require_ignored(repo / "CLAUDE.local.md", git_environment())


def test_a_folder_that_is_not_there_is_refused(repo: Path) -> None:
    with pytest.raises(Refused, match="is no folder"):
        require_ignored(repo / "no" / "CLAUDE.local.md", git_environment())


def test_a_repository_that_git_does_not_trust_is_a_no(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("gives the repository to another user")
    os.chown(repo, 65_534, 65_534)
    with pytest.raises(Refused, match=r"cannot say.*(dubious ownership|unsafe)"):
        require_ignored(repo / "CLAUDE.local.md", git_environment())
