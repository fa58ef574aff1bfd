"""The grammar of `/chapters-rule`: one line of text -> what is asked, or the usage. Nothing is decided or done here.

The text of a rule is what stands after the category and `--amends ID`, exactly, less one pair of enclosing quotes; no
flag is read in it. No verb, or one that is unknown, asks for the usage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruleproof.core.ids import shown
from ruleproof.errors import Refused

NAME = "chapters-rule"
USAGE = (
    f'Usage: /{NAME} add <category> [--amends <id>] "<text>" | list [--proposed|--all] [--category <c>]'
    " | approve <id> | revoke <id>"
)
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"))


@dataclass(frozen=True, slots=True)
class Add:
    category: str
    text: str
    amends: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    """Nothing that is understood: `verb` is what stood there."""

    verb: str = ""

    @property
    def says(self) -> str:
        """The usage."""
        return f"{shown(self.verb)} is no verb of this command. {USAGE}" if self.verb else USAGE


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list. Neither flag: what is proposed or core; `everything` adds what was revoked."""

    proposed: bool = False
    everything: bool = False
    category: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    """`rule`: an id as typed, see `core.proposal.rule_id_of`."""

    verb: Literal["approve", "revoke"]
    rule: str


Asked = Add | Listing | Decide | Help


def parse_command(line: str) -> Asked:
    """What `line` asks; a leading `/chapters-rule` may stand there. Raises Refused, with the usage, for half of it."""
    verb, rest = _parted(line)
    if verb == f"/{NAME}":
        verb, rest = _parted(rest)
    if verb == "add":
        return _add(rest)
    if verb == "list":
        return _listing(rest.split())
    if verb == "approve":
        return Decide("approve", _id(verb, rest))
    if verb == "revoke":
        return Decide("revoke", _id(verb, rest))
    return Help(verb)


def _parted(text: str) -> tuple[str, str]:
    """The first word, and what stands after it."""
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, "".join(rest)


def _id(verb: str, rest: str) -> str:
    words = rest.split()
    if len(words) != 1:
        raise Refused(f"{verb} needs one rule id, such as ha/001.", hint=f"See list. {USAGE}")
    return words[0]


def _add(rest: str) -> Add:
    category, text = _parted(rest)
    amends = ""
    flag, more = _parted(text)
    if flag == "--amends":
        amends, text = _parted(more)
    elif flag.startswith("--"):
        raise Refused(f"{shown(flag)} is not understood here.", hint=f"Put a text that begins so in quotes. {USAGE}")
    text = text.strip()
    if not category or not text:
        raise Refused("add needs a category and at least a sentence.", hint=USAGE)
    for opening, closing in _QUOTES:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            text = text[1:-1].strip()
            break
    return Add(category, text, amends)


def _listing(words: list[str]) -> Listing:
    asked = {"proposed": False, "everything": False}
    category = ""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--proposed":
            asked["proposed"] = True
        elif word == "--all":
            asked["everything"] = True
        elif word == "--category":
            value = words[at + 1] if at + 1 < len(words) else ""
            if value and not value.startswith("--"):
                category, at = value.casefold(), at + 1
        elif word.startswith("--category="):
            category = word.partition("=")[2].casefold()
        else:
            raise Refused(f"{shown(word)} is not understood here.", hint=USAGE)
        at += 1
    return Listing(asked["proposed"], asked["everything"], category)
