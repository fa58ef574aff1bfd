"""Repositories as git lays them out, made by the git binary where there is one, read without it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ruleproof.edge import git

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="makes its repositories with the git binary")


def run(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "api"
    root.mkdir()
    run(root, "init", "-q")
    run(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


@needs_git
def test_two_worktrees_of_one_repository_share_one_project_with_and_without_a_remote(
    repo: Path, tmp_path: Path
) -> None:
    run(repo, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "b")
    deep = tmp_path / "other" / "a" / "b"
    deep.mkdir(parents=True)
    assert git.project(deep) == git.project(repo)
    assert git.project(deep).source == "path" and str(repo) in git.project(deep).note
    run(repo, "remote", "add", "origin", "https://user:s3cret@github.com/acme/api.git")
    assert git.project(deep) == git.project(repo)
    assert git.project(deep).canonical == "github.com/acme/api"


@needs_git
def test_two_clones_with_two_addresses_are_one_project(repo: Path, tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "clone")
    run(tmp_path / "clone", "remote", "add", "origin", "git@github.com:acme/api.git")
    run(repo, "remote", "add", "origin", "https://github.com/Acme/api")
    assert git.project(repo).key == git.project(tmp_path / "clone").key


@needs_git
def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "outer")
    run(tmp_path / "outer", "submodule", "add", "-q", str(repo), "inner")
    inner = git.find(tmp_path / "outer" / "inner")
    assert inner is not None and inner.root == tmp_path / "outer" / "inner"
    assert git.remotes(inner) == {"origin": str(repo)}
    assert git.project(tmp_path / "outer" / "inner").key != git.project(tmp_path / "outer").key


@needs_git
def test_worktrees_of_a_bare_repository_share_it(repo: Path, tmp_path: Path) -> None:
    run(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    run(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "wt"))
    found = git.find(tmp_path / "wt")
    assert found is not None and found.main == tmp_path / "bare.git"
    assert git.project(tmp_path / "wt") == git.project(tmp_path / "bare.git")


@needs_git
def test_no_environment_variable_is_asked(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = git.project(repo)
    (tmp_path / "x").mkdir()
    run(tmp_path / "x", "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "x" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "x"))
    assert git.project(repo) == before


@needs_git
@pytest.mark.parametrize("name", git.USER_CONFIGS)
def test_a_shorthand_of_the_users_own_config_names_the_project_that_the_whole_address_names(
    repo: Path, tmp_path: Path, name: str
) -> None:
    home = tmp_path / "home"
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text('[url "https://github.com/"]\n\tinsteadOf = gh:\n\tinsteadOf = https://gitlab.com/\n')
    run(repo, "remote", "add", "origin", "gh:acme/api")
    assert git.project(repo, "", home).canonical == "github.com/acme/api"
    run(repo, "remote", "set-url", "origin", "https://gitlab.com/acme/api")
    assert git.project(repo, "", home).canonical == "gitlab.com/acme/api", "a mirror makes no other project"


def test_outside_of_a_repository_the_key_comes_from_the_folder(tmp_path: Path) -> None:
    assert git.find(tmp_path) is None
    assert git.project(tmp_path).canonical == f"path://{tmp_path.resolve()}"


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere/at/all", "gitdir: \0", "garbage\n\n", "\xff"])
def test_a_broken_pointer_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content, "latin-1")
    assert git.find(tmp_path) is None


def test_a_config_that_is_a_link_or_huge_gives_no_remote(tmp_path: Path) -> None:
    folder = tmp_path / ".git"
    folder.mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "other").write_text('[remote "origin"]\nurl = https://h/x\n')
    (folder / "config").symlink_to(tmp_path / "other")
    found = git.find(tmp_path)
    assert found is not None and git.remotes(found) == {}
    (folder / "config").unlink()
    (folder / "config").write_bytes(b'[remote "origin"]\nurl = https://h/x\n' + b"#" * (git.MAX_FILE + 1))
    assert git.remotes(found) == {}
