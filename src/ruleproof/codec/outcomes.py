"""Recorded outcomes from a plain file: one a line, `value` or `task,value`. A first line that is no number is a header.

A value lies in [0, 1], or is a word such as true or fail. Reading is total: a line that is neither is a Problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from ruleproof.core.problems import Problem

WORDS: Mapping[str, float] = {"true": 1.0, "yes": 1.0, "pass": 1.0, "false": 0.0, "no": 0.0, "fail": 0.0}


def read_outcomes(data: bytes) -> tuple[tuple[tuple[float, ...], ...], tuple[Problem, ...]]:
    """(outcomes, one tuple a task; all in one where no line names a task, problems)."""
    tasks: dict[str, list[float]] = {}
    problems = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").replace("\r", "\n").split("\n"), 1):
        if not line.strip():
            continue
        task, comma, last = line.rpartition(",")
        value = _value(last)
        if value is not None:
            tasks.setdefault(task.strip() if comma else "", []).append(value)
        elif number > 1:
            problems.append(Problem("no-outcome", f"{last.strip()[:40]!r} is no outcome from 0 to 1", f"line {number}"))
    return tuple(map(tuple, tasks.values())), tuple(problems)


def _value(text: str) -> float | None:
    word = text.strip().casefold()
    if word in WORDS:
        return WORDS[word]
    try:
        found = float(word)
    except ValueError:
        return None
    return found if isfinite(found) and 0.0 <= found <= 1.0 else None
