"""The grammar of `/chapters-rule`: one line of text -> what is asked, or the usage. Nothing is decided or done here.

The text of a rule is what stands after the category, exactly, less one pair of enclosing quotes; no flag is read in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruleproof.core.ids import shown
from ruleproof.errors import Refused

NAME = "chapters-rule"
USAGE = (
    f'Usage: /{NAME} add <category> "<text>" | list [--proposed|--all] [--category <c>] | approve <id> | revoke <id>'
)
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"))


@dataclass(frozen=True, slots=True)
class Add:
    category: str
    text: str


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


Asked = Add | Listing | Decide


def parse_command(line: str) -> Asked:
    """What `line` asks; a leading `/chapters-rule` may stand there. Raises Refused, with the usage, otherwise."""
    words = line.strip().removeprefix(f"/{NAME}").strip().split(maxsplit=1)
    verb, rest = (*words, "", "")[:2]
    if verb == "add":
        return _add(rest)
    if verb == "list":
        return _listing(rest.split())
    if verb == "approve":
        return Decide("approve", _id(verb, rest))
    if verb == "revoke":
        return Decide("revoke", _id(verb, rest))
    raise Refused(f"{shown(verb)} is no verb of this command." if verb else "What is to be done?", hint=USAGE)


def _id(verb: str, rest: str) -> str:
    words = rest.split()
    if len(words) != 1:
        raise Refused(f"{verb} needs one rule id, such as hA/001.", hint=f"See list. {USAGE}")
    return words[0]


def _add(rest: str) -> Add:
    category, text = (*rest.split(maxsplit=1), "", "")[:2]
    text = text.strip()
    if not category or not text:
        raise Refused("add needs a category and at least a sentence.", hint=USAGE)
    for opening, closing in _QUOTES:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            text = text[1:-1].strip()
            break
    return Add(category, text)


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
