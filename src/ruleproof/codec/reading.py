"""Small total readers: a JSON value as the type that is wanted, or as if it were absent. None of them raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from types import MappingProxyType

_EMPTY: Mapping[str, object] = MappingProxyType({})


def text(value: object) -> str:
    """A text, else empty."""
    return value if isinstance(value, str) else ""


def maybe_text(value: object) -> str | None:
    """A text, else None."""
    return value if isinstance(value, str) else None


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple([item for item in items(value) if isinstance(item, str)])


def count(value: object) -> int:
    """A whole number >= 0, else 0; a boolean is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def number(value: object) -> float | None:
    """A finite number, else None; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if isfinite(found) else None


def unit(value: object) -> float | None:
    """A number in [0, 1], else None."""
    found = number(value)
    return found if found is not None and 0.0 <= found <= 1.0 else None


def items(value: object) -> Sequence[object]:
    """A list, else nothing."""
    return value if isinstance(value, (list, tuple)) else ()


def mapping(value: object) -> Mapping[str, object]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def units_of(value: object) -> dict[str, float]:
    """The numbers in [0, 1] of an object, by name."""
    return {name: found for name, given in mapping(value).items() if (found := unit(given)) is not None}


def costs_of(value: object) -> dict[str, float]:
    """The finite numbers >= 0 of an object, by name."""
    return {name: cost for name, given in mapping(value).items() if (cost := number(given)) is not None and cost >= 0.0}
