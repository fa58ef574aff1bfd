"""Ids: parsed or refused before any file, prompt or git call sees them.

Ids of our own making have a fixed form. Session, task and trace ids are the host's: opaque text, kept as given, bounded
and free of control characters. A path component is the narrowest form: it may become a file name anywhere.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from ruleproof.errors import Refused

RULE_ID = re.compile(r"r-[0-9a-f]{10}")
COMPONENT = re.compile(r"[A-Za-z0-9._-]{1,128}")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{i}" for i in range(10)), *(f"lpt{i}" for i in range(10))],
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
MAX_OPAQUE = 512

Kind = Literal["notice", "case", "harness", "project", "file"]


def is_rule_id(text: object) -> bool:
    """`r-` and ten lower-case hex digits."""
    return isinstance(text, str) and RULE_ID.fullmatch(text) is not None


def rule_id(text: object) -> str:
    """`text` if it is a rule id; raises Refused otherwise."""
    if is_rule_id(text):
        return str(text)
    raise Refused(f"{shown(text)} is not a rule id.", hint="A rule id is r- and ten hex digits, such as r-9772c134b8.")


def component(text: object, kind: Kind = "file") -> str:
    """`text` if it can be one path component on every system; raises Refused otherwise.

    Letters, digits, dot, hyphen and underscore; 1 to 128 of them; no leading dot or hyphen, no trailing dot, no name
    of a device.
    """
    if (
        isinstance(text, str)
        and COMPONENT.fullmatch(text)
        and text[0] not in ".-"
        and text[-1] != "."
        and text.split(".", 1)[0].casefold() not in _DEVICES
    ):
        return text
    raise Refused(
        f"{shown(text)} is not a {kind} id.",
        hint="Use 1 to 128 letters, digits, dots, hyphens or underscores; no leading dot or hyphen.",
    )


def canonical(text: object, kind: Kind = "file") -> str:
    """`text` if it is a component in its one spelling, that is in lower case; raises Refused otherwise.

    Every writer gives its names so: where other spellings are refused, none can stand in the place of another name.
    """
    name = component(text, kind)
    if name == name.lower():
        return name
    raise Refused(f"{shown(text)} is not a {kind} id: it holds capital letters.", hint="Write it in lower case.")


def opaque(text: object, kind: Literal["session", "task", "trace", "metric"] = "session") -> str:
    """`text` as an id of the host's: 1 to 512 characters, none of them a control character or a line break."""
    if isinstance(text, str) and 0 < len(text) <= MAX_OPAQUE and text.strip() and not _CONTROL.search(text):
        return text
    raise Refused(
        f"{shown(text)} is not a {kind} id.",
        hint=f"Give 1 to {MAX_OPAQUE} characters without line breaks or control characters.",
    )


def shown(value: object) -> str:
    """`value` quoted, escaped and cut, fit for a message."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def digest(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, 64 hex digits. A lone surrogate counts as `?`."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
