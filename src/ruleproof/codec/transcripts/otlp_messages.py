"""The messages that a model call's span carries: as one JSON attribute, flattened into many, or as span events.

`dialogue` gives them in the shape of chat messages, input first, output last; what is no message is left to the reader
of messages, which counts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ruleproof.codec.transcripts.otlp_names import EVENTS, NAMES, STEPS

_MAX_STEPS = 20  # no producer flattens deeper


def attributes_of(given: object) -> dict[str, object]:
    """A list of OTLP key-values as a mapping; what is malformed is left out."""
    found: dict[str, object] = {}
    for entry in given if isinstance(given, list) else []:
        if isinstance(entry, Mapping) and isinstance(entry.get("key"), str):
            found[str(entry["key"])] = _any_value(entry.get("value"))
    return found


def _any_value(value: object) -> object:
    """An OTLP AnyValue as a JSON value; 64-bit integers come as text."""
    if not isinstance(value, Mapping) or not value:
        return None
    tag, inner = next(iter(value.items()))
    if tag == "intValue" and isinstance(inner, str) and inner.removeprefix("-").isdecimal() and len(inner) < 21:
        return int(inner)
    if tag == "arrayValue" and isinstance(inner, Mapping):
        entries = inner.get("values")
        return [_any_value(entry) for entry in entries] if isinstance(entries, list) else []
    if tag == "kvlistValue" and isinstance(inner, Mapping):
        return attributes_of(inner.get("values"))
    return inner


def value_of(attribute: object) -> object:
    """`attribute`, parsed where it is JSON text: structured attributes are often recorded so."""
    if isinstance(attribute, str) and attribute.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(attribute)
        except (ValueError, RecursionError):
            return attribute
    return attribute


def dialogue(attributes: Mapping[str, object], events: Sequence[tuple[str, Mapping[str, object]]]) -> list[object]:
    """Every message that a model call's span holds, in order; empty where the texts were not recorded."""
    found = [*_messages(attributes, "input", "user"), *_messages(attributes, "output", "assistant")]
    if found:
        return found
    for name, body in events:
        role = EVENTS.get(name)
        if role == "":
            found += [*_messages(body, "input", "user"), *_messages(body, "output", "assistant")]
        elif role:
            found.append(_event_message(body, role))
    return found


def _messages(attributes: Mapping[str, object], what: str, role: str) -> list[object]:
    for name in NAMES[what]:
        given = value_of(attributes[name]) if name in attributes else _unflattened(attributes, name + ".")
        if isinstance(given, Mapping) and isinstance(given.get("messages"), list):
            given = given["messages"]
        if isinstance(given, list) and given:
            return [_with_role(message, role) for message in given]
        if isinstance(given, Mapping) and given:
            return [_with_role(given, role)]
        if isinstance(given, str) and given:
            return [{"role": role, "content": given}]
    return []


def _with_role(message: object, role: str) -> object:
    return {"role": role, **message} if isinstance(message, Mapping) else {"role": role, "content": message}


def _event_message(body: Mapping[str, object], role: str) -> object:
    """An event's message: its fields, or those of its `message`, each perhaps as JSON text."""
    fields = {key.removeprefix("gen_ai.event."): value_of(value) for key, value in body.items()}
    inner = fields.get("message")
    return {"role": role, **fields, **(inner if isinstance(inner, Mapping) else {})}


def _unflattened(attributes: Mapping[str, object], prefix: str) -> list[object]:
    """The list that was written as `<prefix>0.role`, `<prefix>0.tool_calls.0.name` and so on."""
    tree: dict[str, object] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[len(prefix) :].split(".", _MAX_STEPS)
        node = tree
        for step in path:
            if word := STEPS.get(step, step):
                below = node.setdefault(word, {})
                node = below if isinstance(below, dict) else {}
        node[last] = value
    listed = _listed(tree)
    return listed if isinstance(listed, list) else []


def _listed(node: object) -> object:
    """`node` with every mapping whose keys are numbers as the list of its values, in the order of the numbers."""
    if not isinstance(node, dict):
        return node
    if node and all(key.isascii() and key.isdigit() and len(key) < 7 for key in node):
        return [_listed(node[key]) for key in _in_order(node)]
    return {key: _listed(value) for key, value in node.items()}


def _in_order(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=int)
