"""The settings file of Claude Code in a project: what we add to it and take out again; all else stays as it is.

Our entries are recognised by their exact text. A file that is no JSON object is never touched.
"""

from __future__ import annotations

import json

from ruleproof.errors import Refused

COMMAND = "ruleproof hook claude-code"
SOURCES = "startup|resume|clear|compact"
DENIED = tuple(f"Bash(ruleproof {verb}:*)" for verb in ("approve", "revoke", "review", "search", "command"))
"""What decides, and what shows rules that nobody approved: for people, not for an agent."""


def with_ours(text: str) -> str:
    """The file with our hook and our rules against commands; unchanged where they stand there."""
    value = _object(text)
    hooks = _dict(value, "hooks")
    entries = _list(hooks, "SessionStart")
    if not any(_is_ours(entry) for entry in entries):
        entries.append({"matcher": SOURCES, "hooks": [{"type": "command", "command": COMMAND}]})
    denied = _list(_dict(value, "permissions"), "deny")
    denied += [rule for rule in DENIED if rule not in denied]
    return _text(value)


def without_ours(text: str) -> str:
    """The file without them; what is empty then and was made by us goes, too."""
    value = _object(text)
    for section, key, ours in (("hooks", "SessionStart", _is_ours), ("permissions", "deny", DENIED.__contains__)):
        inner = _dict(value, section)
        kept = [entry for entry in _list(inner, key) if not ours(entry)]
        inner[key] = kept
        if not kept:
            del inner[key]
        if not inner:
            del value[section]
    return _text(value)


def _is_ours(entry: object) -> bool:
    return entry == {"matcher": SOURCES, "hooks": [{"type": "command", "command": COMMAND}]}


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _foreign("it is not JSON") from error
    if not isinstance(value, dict):
        raise _foreign("it is no JSON object")
    return value


def _dict(value: dict[str, object], key: str) -> dict[str, object]:
    inner = value.setdefault(key, {})
    if not isinstance(inner, dict):
        raise _foreign(f"{key} is no object")
    return inner


def _list(value: dict[str, object], key: str) -> list[object]:
    inner = value.setdefault(key, [])
    if not isinstance(inner, list):
        raise _foreign(f"{key} is no list")
    return inner


def _foreign(reason: str) -> Refused:
    return Refused(f"The settings file cannot be changed: {reason}.", hint="Mend it first; nothing was written.")


def _text(value: dict[str, object]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
