"""How a command comes to its workspace. Only `init` and what is there to write first may make one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ruleproof.errors import Refused

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.engine.ports import Evaluator, Replay
    from ruleproof.harness import Harness


_ASCII_ONLY = sys.getfilesystemencoding() in ("ascii", "us-ascii")
"""Python then takes every byte beyond ASCII apart, in arguments and in names of files."""


def words(arguments: list[str]) -> list[str]:
    """A command line as UTF-8 has it, where the locale knows ASCII only; else as it came."""
    if not _ASCII_ONLY:
        return arguments
    return [os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in arguments]


def path_of(name: str) -> Path:
    """The file that one of these words names."""
    return Path(os.fsdecode(name.encode("utf-8", "surrogateescape")) if _ASCII_ONLY else name)


@contextmanager
def opened(
    *,
    make: bool = False,
    evaluator: Evaluator | None = None,
    replay: Callable[[HarnessConfig], Replay] | None = None,
) -> Iterator[Harness]:
    """The harness of the workspace that belongs to this folder, closed at the end.

    `replay` makes a replay function from the settings. Raises Refused where there is no workspace and `make` is off,
    ConfigError or StoreError.
    """
    from ruleproof.config import HarnessConfig
    from ruleproof.harness import Harness

    config = HarnessConfig.load()
    refused = None if config.root.is_dir() else absence(config, make)
    if refused:
        raise refused
    harness = Harness.create(config, evaluator=evaluator, replay=replay and replay(config))
    try:
        yield harness
    finally:
        harness.close()


def absence(config: HarnessConfig, make: bool = False) -> Refused | None:
    """Why there is no workspace, and what makes one; None where there may be none (`make`)."""
    root, where = config.root, "HARNESS_ROOT, or harness_root in the settings, names it"
    if os.path.lexists(root):
        hint = f"{where}; name a folder." if config.root_is_given else "Move it away, then call `ruleproof init`."
        return Refused(f"{root} is no folder, so it is no workspace.", hint=hint)
    if make:
        return None
    if config.root_is_given:
        hint = f"{where}: correct it, or make that workspace with `ruleproof init`."
        return Refused(f"The workspace {root} does not exist.", hint=hint)
    hint = "`ruleproof init` makes one in the folder where you call it."
    return Refused(f"There is no workspace here: {root} does not exist.", hint=hint)


def distrust(harness: Harness) -> str:
    """What to say of a workspace that is not trusted; empty where it is."""
    if harness.trust.trusted:
        return ""
    return (
        f"This workspace is not trusted ({harness.trust.reason}): none of its rules is in force. "
        "Look at them with `ruleproof rules`; `ruleproof trust` puts them in force."
    )
