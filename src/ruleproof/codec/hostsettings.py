"""Claude Code in a project: what we add to its settings file and take out again, and the file of our slash command.

Our entries are recognised by their value; whatever else stands in the file keeps every byte. A file that is no JSON
object is never touched. The slash command is answered by the hook, which gets the typed line as data: put into a shell
line by the host, a text with quotes or backticks would be run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ruleproof.codec.jsonedit import cut, laid_out, member, parts, put, skip_space
from ruleproof.core.rulecommand import NAME, USAGE
from ruleproof.errors import Refused

HOOK = "ruleproof hook claude-code"
SOURCES = "startup|resume|clear|compact"
DENIED = tuple(
    f"Bash(ruleproof {verb}:*)" for verb in ("approve", "revoke", "rules adopt", "review", "search", "command")
)
"""What decides, and what shows rules that nobody approved: for people, not for an agent."""


def _hook(matcher: str) -> dict[str, object]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": HOOK}]}


OURS: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("permissions", "deny", DENIED),
    ("hooks", "SessionStart", (_hook(SOURCES),)),
    ("hooks", "UserPromptExpansion", (_hook(NAME),)),
)
"""Section, list in it, what we put there."""

COMMAND_FILE = f"""\
---
description: "Pool rules of this project: propose one, or list what waits for a decision"
argument-hint: {json.dumps(USAGE.partition(NAME + " ")[2])}
disable-model-invocation: true
---
The hook `{HOOK}` answers this command before it gets here. If you read this, the hook did not run. Do not run the
command yourself, and approve nothing. Tell the person to run `ruleproof command '/{NAME} ...'` in a terminal of their
own, and to look whether `ruleproof install claude-code` was done with this version.
"""


_BEFORE = "Stood in the settings before, so uninstalling leaves it"
_STOOD = re.compile(rf"^<!-- {_BEFORE}: (\[.*\]) -->$", re.MULTILINE)


def command_file(stood: Sequence[object] = ()) -> str:
    """The file of the slash command; `stood`: entries like ours that a person had, which the file remembers."""
    if not stood:
        return COMMAND_FILE
    return f"{COMMAND_FILE}\n<!-- {_BEFORE}: {json.dumps(list(stood))} -->\n"


def stood_in(file: str | None) -> tuple[object, ...]:
    """What a file of the slash command, edited or not, remembers of `command_file`. Never raises."""
    found = _STOOD.search(file or "")
    try:
        stood = json.loads(found.group(1)) if found else []
    except (ValueError, RecursionError):
        stood = []
    return tuple(value for _, _, wanted in OURS for value in wanted if value in stood)


def standing_in(text: str | None) -> tuple[object, ...]:
    """Entries of the settings that are like ours: before installing, a person's own."""
    _, body = _body(text)
    return () if body is None else tuple(value for *at, wanted in OURS for value in wanted if value in _held(body, *at))


def _held(text: str, section: str, key: str) -> list[object]:
    inner = _find(text, skip_space(text, 0), section, "{")
    at = None if inner is None else _find(text, inner, key, "[")
    return [] if at is None else _values(text, at)


def with_ours(text: str | None) -> str:
    """The settings with our hooks and our rules against commands; unchanged where they stand there. None: no file."""
    bom, body = _body(text)
    if body is None:
        made: dict[str, dict[str, object]] = {}
        for section, key, wanted in OURS:
            made.setdefault(section, {})[key] = list(wanted)
        return json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    for section, key, wanted in OURS:
        body = _added(body, section, key, wanted)
    return bom + body


def without_ours(text: str | None, stood: Sequence[object] = ()) -> str | None:
    """The settings without them, less what `stood` there before; None: no file, or one in which nothing else stood."""
    bom, body = _body(text)
    for section, key, wanted in OURS:
        if body is not None:
            body = _removed(body, section, key, tuple(value for value in wanted if value not in stood))
    return None if body is None else bom + body


def _added(text: str, section: str, key: str, wanted: tuple[object, ...]) -> str:
    root = skip_space(text, 0)
    inner = _find(text, root, section, "{")
    if inner is None:
        return put(text, root, member(text, root, section, {key: list(wanted)}))
    at = _find(text, inner, key, "[")
    if at is None:
        return put(text, inner, member(text, inner, key, list(wanted)))
    held = _values(text, at)
    for value in wanted:
        if value not in held:
            text = put(text, at, json.dumps(value, ensure_ascii=False))
    return text


def _removed(text: str, section: str, key: str, wanted: tuple[object, ...]) -> str | None:
    root = skip_space(text, 0)
    inner = _find(text, root, section, "{")
    at = None if inner is None else _find(text, inner, key, "[")
    if inner is None or at is None:
        return text
    ours = laid_out(text, at) and bool(_values(text, at))
    for index, value in reversed(list(enumerate(_values(text, at)))):
        if value in wanted:
            text = cut(text, at, index)
    for outer, name, place in ((inner, key, at), (root, section, inner)):
        if parts(text, place) or not ours:
            return text
        ours = laid_out(text, outer)
        text = cut(text, outer, [part.key for part in parts(text, outer)].index(name))
    return text if parts(text, root) or not ours else None


def _find(text: str, at: int, key: str, opening: str) -> int | None:
    """Where the value of `key` opens, in the object that opens at `at`; None where there is none."""
    found = [part.at for part in parts(text, at) if part.key == key]
    if len(found) > 1:
        raise _foreign(f"{key} stands there twice")
    if found and text[found[0]] != opening:
        raise _foreign(f"{key} is no {'object' if opening == '{' else 'list'}")
    return found[0] if found else None


def _values(text: str, at: int) -> list[object]:
    return [json.loads(text[part.at : part.end]) for part in parts(text, at)]


def _body(text: str | None) -> tuple[str, str | None]:
    """A byte order mark, and the JSON object behind it."""
    if text is None:
        return "", None
    body = text.removeprefix("\ufeff")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _foreign("it is not JSON") from error
    if not isinstance(value, dict):
        raise _foreign("it is no JSON object")
    return text[: len(text) - len(body)], body


def _foreign(reason: str) -> Refused:
    return Refused(f"The settings file cannot be changed: {reason}.", hint="Mend it first; nothing was written.")
