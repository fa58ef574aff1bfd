"""The instruction files of a repository, as agents' loaders would find them.

No link is followed and nothing outside the folder is read; what cannot be read is there and empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.loaders import InstructionFile, is_instruction_file
from ruleproof.edge import fs
from ruleproof.errors import StoreError

_PASSED_OVER = frozenset([".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".ruleproof"])
MAX_READ = 5 << 20
"""Bytes; a larger file is named with its size and not read."""


def instruction_files(root: Path, wanted: Callable[[str], bool] = is_instruction_file) -> list[InstructionFile]:
    """The files below `root` whose relative path is `wanted`, sorted by path. Never raises for what is on disk."""
    found: list[InstructionFile] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        for name in sorted(names):
            path = Path(folder, name)
            where = path.relative_to(root).as_posix()
            if wanted(where) and not path.is_symlink():
                found.append(_read(path, where))
    return found


def _read(path: Path, where: str) -> InstructionFile:
    try:
        size = path.stat().st_size
        data = (fs.read_bytes(path) or b"") if size <= MAX_READ else b""
    except (OSError, StoreError):
        return InstructionFile(where, 0)
    text = data.decode("utf-8", "replace")
    return InstructionFile(where, size, text, front_matter(text, where)[0])
