"""Which repository a folder belongs to, read from its files: no git binary, no environment variable is asked.

All worktrees of a repository share one project; a submodule is a project of its own. Nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ruleproof.codec.gitconfig import remotes as read_remotes
from ruleproof.core.projectkey import ProjectKey, choose_remote, project_key
from ruleproof.edge import fs
from ruleproof.errors import StoreError

MAX_FILE = 1 << 20
USER_CONFIGS = (".config/git/config", ".gitconfig")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository as found from a folder inside it."""

    root: Path
    """The work tree that the folder lies in; of a bare repository, the repository."""
    git_dir: Path
    common_dir: Path
    """Where branches and config lie; worktrees share it."""
    main: Path
    """The main work tree: what a path-derived project key is made of."""


def find(start: Path) -> Checkout | None:
    """The repository that `start` lies in; None outside of one. Never raises for what is on disk."""
    for folder in (start.resolve(), *start.resolve().parents):
        entry = folder / ".git"
        if entry.is_dir() and (entry / "HEAD").is_file():
            return Checkout(folder, entry, entry, folder)
        if entry.is_file():
            git_dir = _pointed(entry, "gitdir:")
            if git_dir is not None and git_dir.is_dir():
                return _linked(folder, git_dir)
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            return Checkout(folder, folder, folder, folder)
    return None


def _linked(root: Path, git_dir: Path) -> Checkout:
    common = _pointed(git_dir / "commondir", "")
    if common is None or not common.is_dir():
        return Checkout(root, git_dir, git_dir, root)
    return Checkout(root, git_dir, common, common.parent if common.name == ".git" else common)


def _pointed(file: Path, label: str) -> Path | None:
    """The folder that a one-line file names, relative to itself."""
    text = _text(file).strip()
    if not text.startswith(label) or "\0" in text or "\n" in text:
        return None
    target = text.removeprefix(label).strip()
    try:
        return (file.parent / target).resolve() if target else None
    except (OSError, RuntimeError):
        return None


def remotes(checkout: Checkout, home: Path | None = None) -> dict[str, str]:
    """name -> address of the repository's remotes; `home`: of the user whose own git config has shorthands, too.

    An address may hold credentials: show it only through `core.projectkey.without_secret`.
    """
    texts = [_text(home / name) for name in USER_CONFIGS] if home else []
    return dict(read_remotes(*texts, _text(checkout.common_dir / "config")))


def project(start: Path, override: str = "", home: Path | None = None) -> ProjectKey:
    """The project of `start`: of its repository's remote, else of the main work tree's path, else of `start` itself."""
    checkout = find(start)
    if checkout is None:
        return project_key(None, str(start.resolve()), override)
    return project_key(choose_remote(remotes(checkout, home)), str(checkout.main), override)


def _text(file: Path) -> str:
    try:
        data = fs.read_bytes(file)
    except (StoreError, OSError, ValueError):
        return ""
    return "" if data is None or len(data) > MAX_FILE else data.decode("utf-8", "replace")
