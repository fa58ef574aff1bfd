"""Another user, for real: what that user sees and may do is tried in a child that gave up being root."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65_534

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files to another user, which root alone can"
)


@contextmanager
def readable_by_all() -> Iterator[Path]:
    """A folder of root's that everybody can enter, and nobody else can change."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        os.chmod(made, 0o755)
        yield Path(made).resolve()


def as_nobody(action: Callable[[], Any]) -> Any:
    """What `action` returns in a child that runs as another user; an exception there is raised here."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            try:
                said = (True, action())
            except Exception as error:
                said = (False, f"{type(error).__name__}: {error}")
            with os.fdopen(writer, "wb") as out:
                out.write(pickle.dumps(said))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as data:
        held = data.read()
    os.waitpid(child, 0)
    done, value = pickle.loads(held)
    if not done:
        raise AssertionError(value)
    return value
