"""A proposed rule: one write-once file of one writer, and where it lies in the pool.

Whatever a file claims about itself, it is *proposed*: only a fact of this machine's own ledger puts a text in force
(`core.approval`). Numbers are never reused and files never rewritten: a change is a new number that names the old one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from ruleproof.core.ids import component, shown
from ruleproof.errors import Refused

Origin = Literal["person", "agent", "import", "learned", "untrusted"]
"""Who wrote the text; `untrusted`: it was derived from what a tool or a page said. `person` is only a claim, too."""

ORIGINS: tuple[Origin, ...] = ("person", "agent", "import", "learned", "untrusted")
NOTHING: Mapping[str, object] = MappingProxyType({})
MAX_TITLE = 60
MAX_CATEGORY = 40
MAX_SLUG = 40
FIRST_WORDS = re.compile(r"[^\n]*?(?=[.!?](?:\s|$)|[。！？]|\n|$)")
_OUTSIDE_SLUG = re.compile(r"[^a-z0-9]+")
_CATEGORY = re.compile(r"[\w][\w./+#-]{0,39}")
_FILE_NAME = re.compile(r"([0-9]{3}|[1-9][0-9]{3,4})-[A-Za-z0-9._-]{1,110}\.md")
MAX_NUMBER = 99_999


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule file lies: `rules/<project>/<harness>/<name>`; its number is the one in its name."""

    project: str
    harness: str
    name: str
    number: int

    @property
    def rule_id(self) -> str:
        """`<harness>/<NNN>`; holds no project: ids are read within one project."""
        return f"{self.harness}/{self.number:03d}"

    @property
    def path(self) -> str:
        return f"rules/{self.project}/{self.harness}/{self.name}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One rule file as read. Texts are exact and untrusted; whoever shows them sanitizes them."""

    place: Place
    category: str
    """As written, or `general`; see `category_of` for what may stand in a prompt."""
    title: str
    body: str
    """Everything after the closing fence, line ends as LF."""
    digest: str
    """SHA-256 (64 hex digits) of the whole file, line ends as LF, without a BOM: what an approval is bound to."""
    source: str = ""
    authored_at: str = ""
    origin: str = ""
    amends: str = ""
    topics: tuple[str, ...] = ()
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """A claim of the author's; empty: none."""
    extra: tuple[str, ...] = ()
    """Header lines that we do not know, raw and in their order; they are written back."""
    intact: bool = True
    """False: the file declares another SHA-256 than that of its body."""

    @property
    def id(self) -> str:
        return self.place.rule_id

    @property
    def text(self) -> str:
        """The rule: the body without its one closing newline."""
        return self.body.removesuffix("\n")


def category_of(text: str) -> str:
    """`text` as a category: one lower-case word of at most 40 letters, digits, `_ . / + # -`; raises Refused otherwise.

    It stands beside the rule in a prompt, so nothing that could end a bracket or a line passes.
    """
    word = text.strip().casefold()
    if _CATEGORY.fullmatch(word):
        return word
    raise Refused(
        f"{shown(text)} is not a category.",
        hint=f"Use one word of 1 to {MAX_CATEGORY} letters, digits, dots, slashes or hyphens, such as security.",
    )


def title_of(text: str) -> str:
    """The first sentence of `text`, at most 60 characters; a dot inside a word (`v1.2`) does not end it."""
    head = text.lstrip()[: 4 * MAX_TITLE]
    found = FIRST_WORDS.match(head)
    return " ".join((found.group() if found else head).split())[:MAX_TITLE].rstrip()


def file_name(number: int, category: str, title: str) -> str:
    """`NNN-category-title.md`, lower-case ASCII. Only the number is identity."""
    return f"{number:03d}-{_slug(category) or 'rule'}-{_slug(title) or 'untitled'}.md"


def _slug(text: str) -> str:
    return _OUTSIDE_SLUG.sub("-", text.lower()).strip("-")[:MAX_SLUG].rstrip("-")


def number_of(name: str) -> int | None:
    """The number in a file's name, 1 to 99,999; None: this is no rule file's name."""
    found = _FILE_NAME.fullmatch(name)
    return (int(found.group(1)) or None) if found else None


def next_number(names: Iterable[str], taken: Collection[int] = ()) -> int:
    """The first number above the largest in the names of a writer's own files that is not `taken`; 1 where none is.

    `taken`: numbers of files that the writer does not know as its own; it goes past them, one by one, so that a number
    which somebody else planted uses up no other. Raises Refused when the last number is used.
    """
    number = 1 + max((number for name in names if (number := number_of(name)) is not None), default=0)
    while number in taken:
        number += 1
    if number > MAX_NUMBER:
        raise Refused(
            f"Number {number - 1} is the last that a rule file can have, and it is used.",
            hint="Look for a foreign file in this machine's own folder, or take a new harness id.",
        )
    return number


def place_of(path: str) -> Place | None:
    """The place of a pool path; None where the path is no rule file's. Never raises."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != "rules":
        return None
    number = number_of(parts[3])
    if number is None or not (_is_component(parts[1]) and _is_component(parts[2])):
        return None
    return Place(parts[1], parts[2], parts[3], number)


@lru_cache(maxsize=4096)
def _is_component(text: str) -> bool:
    try:
        return component(text) == text
    except Refused:
        return False


def place(project: str, harness: str, number: int, category: str, title: str) -> Place:
    """The place of a new rule file; raises Refused where project or harness cannot be a folder's name."""
    name = component(file_name(number, category, title))
    return Place(component(project, "project"), component(harness, "harness"), name, number)


def rule_id_of(text: str, own: str) -> str:
    """An id as a person types it: `7` means this machine's own, `ha/7` is `ha/007`; raises Refused otherwise."""
    harness, slash, digits = text.strip().rpartition("/")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 6
    if not plain or not 0 < int(digits) <= MAX_NUMBER or (slash and not harness):
        raise Refused(
            f"{shown(text)} is not the id of a pool rule.", hint="An id is a harness id and a number, such as ha/001."
        )
    return f"{component(harness or own, 'harness')}/{int(digits):03d}"
