"""What is wrong with one tool call, judged from its own text: its arguments, its schema, its answer.

The schema check is a subset of JSON Schema (type, required, properties, enum, items, additionalProperties: false): what
it does not know it lets pass, so that a fault it names is one. Nothing here raises, whatever the recording holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ruleproof.core.session import ToolCall

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SAYS_ERROR = re.compile(r"\s*(\w*(error|exception)\b\s*:|traceback \(most recent call last\))", re.IGNORECASE)
_MAX_DEPTH = 20


def failed(call: ToolCall) -> bool | None:
    """Whether the call failed: as recorded, else as its answer says; None where there is no answer.

    An answer says so if it starts with `Error:`, `SomeException:` or a traceback, or is a JSON object with a filled
    `error`, or with `is_error` or `isError` true.
    """
    if call.failed is not None:
        return call.failed
    if call.result is None:
        return None
    if _SAYS_ERROR.match(call.result):
        return True
    answer = _parsed(call.result) if call.result.lstrip()[:1] == "{" and len(call.result) < 1 << 20 else None
    if not isinstance(answer, dict):
        return False
    return bool(answer.get("error")) or answer.get("is_error") is True or answer.get("isError") is True


def argument_fault(call: ToolCall, tools: Mapping[str, str]) -> str:
    """What is wrong with the name or the arguments, in words; empty if nothing is. `tools`: name -> schema text."""
    if tools and call.name not in tools:
        return "calls a tool that is not in the recorded list"
    arguments = _parsed(call.arguments)
    if not isinstance(arguments, dict):
        return "has arguments that are no JSON object"
    schema = _parsed(tools.get(call.name, ""))
    fault = _fault(schema, arguments, "", 0)
    return f"has arguments that fail the tool's schema ({fault})" if fault else ""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fault(schema: object, value: object, path: str, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return ""
    here = path or "the arguments"
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    known = [name for name in names if isinstance(name, str) and name in _TYPES]
    if known and len(known) == len(names) and not any(_is(name, value) for name in known):
        return f"{here} should be {' or '.join(known)}"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        return f"{here} is none of the allowed values"
    below: list[tuple[object, object, str]] = []
    if isinstance(value, dict):
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        for name in required if isinstance(required, list) else []:
            if isinstance(name, str) and name not in value:
                return f"{_join(path, name)} is missing"
        for name in value if schema.get("additionalProperties") is False else ():
            if name not in properties and "patternProperties" not in schema:
                return f"{_join(path, name)} is not a parameter"
        below = [(properties[name], inner, _join(path, name)) for name, inner in value.items() if name in properties]
    elif isinstance(value, list):
        below = [(schema.get("items"), inner, f"{here}[{index}]") for index, inner in enumerate(value)]
    return next((found for each in below if (found := _fault(*each, depth + 1))), "")


def _is(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _join(path: str, name: str) -> str:
    short = ascii(name)[1:-1]  # a recording's own text must not pose as ours
    short = short if len(short) <= 40 else short[:37] + "..."
    return f"{path}.{short}" if path else short
