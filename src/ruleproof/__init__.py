"""Operating rules that agents learn from their own failures, that evidence proves and a person approves.

The names below are the public API. They are loaded when first used, so that `import ruleproof` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.core.notice import Notice
    from ruleproof.core.problems import Problem
    from ruleproof.core.rule import Rule
    from ruleproof.core.score import Report, Score
    from ruleproof.core.verdict import Verdict
    from ruleproof.engine.evaluate import TurnContext
    from ruleproof.engine.report import Handled
    from ruleproof.errors import (
        CapReached,
        ConfigError,
        Conflict,
        NotFound,
        Refused,
        RuleproofError,
        SourceError,
        StoreError,
    )
    from ruleproof.harness import Harness

__version__ = "0.1.0"

_HOMES = {
    "Harness": "harness",
    "HarnessConfig": "config",
    "Rule": "core.rule",
    "Notice": "core.notice",
    "Problem": "core.problems",
    "Report": "core.score",
    "Score": "core.score",
    "Verdict": "core.verdict",
    "TurnContext": "engine.evaluate",
    "Handled": "engine.report",
    **dict.fromkeys(
        (
            *("CapReached", "ConfigError", "Conflict", "NotFound"),
            *("Refused", "RuleproofError", "SourceError", "StoreError"),
        ),
        "errors",
    ),
}

__all__ = [
    "CapReached",
    "ConfigError",
    "Conflict",
    "Handled",
    "Harness",
    "HarnessConfig",
    "NotFound",
    "Notice",
    "Problem",
    "Refused",
    "Report",
    "Rule",
    "RuleproofError",
    "Score",
    "SourceError",
    "StoreError",
    "TurnContext",
    "Verdict",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
