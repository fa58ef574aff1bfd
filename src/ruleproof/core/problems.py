"""A located complaint, as a value: what is wrong, how bad, where, and what to do. Collected and shown, never raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong. `code` is a stable kebab-case word; `where` is `file:line`, an id, or empty."""

    code: str
    message: str
    where: str = ""
    severity: Severity = "error"
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        tail = f"{stop} {self.hint}" if self.hint else ""
        return f"{place}{self.message}{tail}"

    def as_json(self) -> dict[str, str]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }


def problems_from(value: object) -> tuple[Problem, ...]:
    """Complaints that were stored as JSON objects; what is none is left out."""
    keys = ("code", "message", "where", "severity", "hint")
    return tuple(
        Problem(**{key: one[key] for key in keys})
        for one in (value if isinstance(value, list) else ())
        if isinstance(one, dict) and all(isinstance(one.get(key), str) for key in keys)
    )
