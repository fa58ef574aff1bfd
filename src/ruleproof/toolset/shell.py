"""Arguments from a command line: `ruleproof tool NAME --json '{...}'`. Every value stays what it was."""

from __future__ import annotations

import json

from ruleproof.errors import Refused

_HINT = """Give one object, for example --json '{"rule_id": "r-9772c134b8"}'."""


def parse_cli_json(text: str) -> dict[str, object]:
    """The arguments of a tool. A text such as "1e5" stays text, a large whole number stays exact.

    Raises Refused for anything but one JSON object, for a name that stands twice in it, and for numbers that JSON does
    not have (NaN, Infinity, 1e999).
    """
    try:
        value = json.loads(text, parse_constant=_constant, parse_float=_float, object_pairs_hook=_object)
    except Refused:
        raise
    except RecursionError:
        raise Refused("The arguments nest too deep.", hint=_HINT) from None
    except ValueError as error:
        raise Refused(f"The arguments are not JSON: {error}.", hint=_HINT) from None
    if not isinstance(value, dict):
        kind = {"list": "a list", "str": "text", "NoneType": "null", "bool": "a boolean"}.get(
            type(value).__name__, "a number"
        )
        raise Refused(f"The arguments are {kind}, not an object.", hint=_HINT)
    return value


def _constant(name: str) -> float:
    raise Refused(f"The arguments hold {name}, which is no JSON number.", hint="Leave the argument out.")


def _float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Refused(f"The arguments hold the number {digits[:40]}, which is too large.", hint='Quote it: "1e999".')
    return number


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise Refused(f"The arguments name {key[:60]!r} twice.", hint="Give each argument once.")
        found[key] = value
    return found
