"""Whether git ignores a file: git itself is asked, else dulwich, and where neither can say the answer is no.

A tracked file is not ignored, whatever pattern matches it. Nothing here is guessed from file names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ruleproof.core.text import one_line
from ruleproof.errors import Refused

TIMEOUT_S = 10.0


def require_ignored(file: Path, environ: Mapping[str, str]) -> None:
    """Raises Refused, with the reason, unless git ignores `file` and does not track it.

    `environ`: what git is to see: no variable of git's own, which would point it elsewhere.
    """
    folder = Path(os.path.realpath(file.parent))
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder.", hint="Make it first; nothing was written.")
    program = shutil.which("git")
    reason = _asked(program, folder, file.name, environ) if program else _worked_out(folder, file.name)
    if reason:
        raise Refused(
            f"{file} is not written: {reason}. A commit must never become instructions elsewhere.",
            hint="Name a file that git ignores (.gitignore, or .git/info/exclude for you alone), or print it and copy.",
        )


def _asked(program: str, folder: Path, name: str, environ: Mapping[str, str]) -> str:
    """Why git does not ignore the file, as git says; empty where it does."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [program, "-c", "core.fsmonitor=false", "-C", str(folder), *arguments, "--", f"./{name}"]
        return subprocess.run(
            command, env=dict(environ), capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )

    try:
        answer = git("check-ignore", "--quiet")
        tracked = git("ls-files", "--error-unmatch").returncode == 0 if answer.returncode in (0, 1) else False
    except (OSError, subprocess.SubprocessError) as error:
        return f"git could not be asked ({type(error).__name__})"
    if tracked:
        return "git tracks it"
    if answer.returncode == 1:
        return "git does not ignore it"
    return "" if answer.returncode == 0 else f"git cannot say ({one_line(answer.stderr, 200) or answer.returncode})"


def _worked_out(folder: Path, name: str) -> str:
    """Why git would not ignore the file, as dulwich reads index and patterns; empty where it would."""
    try:
        from dulwich.ignore import IgnoreFilterManager
        from dulwich.repo import Repo
    except ImportError:
        return "there is no git, and no extra `git` of ours, to ask whether it is ignored"
    try:
        with Repo.discover(str(folder)) as repo:
            path = (folder / name).relative_to(os.path.realpath(repo.path)).as_posix()
            if repo.bare or path.startswith(".git/"):
                return "it is no file of a work tree"
            if os.path.realpath(repo.commondir()) != os.path.realpath(repo.controldir()):
                return "in a linked work tree only git itself can say whether it is ignored"
            if os.fsencode(path) in repo.open_index():
                return "git tracks it"
            return "" if IgnoreFilterManager.from_repo(repo).is_ignored(path) else "git does not ignore it"
    except Exception as error:
        return f"whether git ignores it cannot be found out ({type(error).__name__})"
