"""From a draft to a write-once proposal: what is refused, with figures; what is redacted; what a person should look at.

The same check stands before every way in (command, library, agent tool, import, a learned rule), so all of them refuse
alike. Nothing unfit is cut to fit: a text is written as it was checked, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ruleproof.core.corerules import HEADING, SETTING, entry_of
from ruleproof.core.ids import opaque, shown
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import (
    NOTHING,
    ORIGINS,
    Origin,
    Place,
    Proposal,
    category_of,
    rule_id_of,
    title_of,
)
from ruleproof.core.rulelint import require_visible, signs
from ruleproof.core.secrets import redact, redact_json
from ruleproof.core.text import normalise, one_line, tokenise
from ruleproof.errors import Refused

MIN_CHARACTERS = 10
MAX_TOPICS = 16
MAX_TOPIC = 48
NEAR = 0.6
MAX_NEAR = 3

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody wants to propose. `source`: the session it came from, or `manual`."""

    category: str
    text: str
    source: str = "manual"
    origin: Origin = "person"
    topics: tuple[str, ...] = ()
    amends: str = ""
    """Full id of the rule that this one replaces; empty: none."""
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Checked:
    """A draft that may be written as it stands here."""

    draft: Draft
    """Clean: line ends are LF, secrets are redacted, category and topics are in their one form."""
    title: str
    tokens: int
    """Of its entry in the block: what `review` and a refusal show for it, too."""
    cap: int
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced in the text; `evidence`: there, too."""
    same: str = ""
    """Id of a file that already says exactly this; writing another is pointless."""
    near: tuple[tuple[str, int], ...] = ()
    """(id, percent of shared words) of rules that say nearly this; the nearest first."""
    signs: tuple[Problem, ...] = ()

    def proposal(self, place: Place, at: str) -> Proposal:
        """The file to write at `place`; `at`: ISO-8601, UTC. Its digest is that of the bytes written."""
        draft = self.draft
        return Proposal(
            place=place,
            category=draft.category,
            title=self.title,
            body=draft.text + "\n",
            digest="",
            source=draft.source,
            authored_at=at,
            origin=draft.origin,
            amends=draft.amends,
            topics=draft.topics,
            evidence=draft.evidence,
        )


def check(draft: Draft, cap: int, count: Count, known: Iterable[Proposal] = (), *, rule_id: str = "") -> Checked:
    """The draft as it may be written; raises Refused, with figures, for what may not.

    `cap`: tokens that the whole CORE RULES block may hold; a rule that does not fit alone could never be approved.
    `known`: rules of the same project that may say the same. `rule_id`: the id that it will have, a part of its cost.
    """
    text = draft.text.replace("\r\n", "\n").replace("\r", "\n").strip() if isinstance(draft.text, str) else ""
    _require_size(rule_id, draft.category, text, cap, count)
    require_visible(text, "The rule")
    clean, kinds = redact(text)
    if len(normalise(clean)) < MIN_CHARACTERS:
        raise Refused(
            f"The rule has {len(normalise(clean))} characters; at least {MIN_CHARACTERS} are needed.",
            hint="Write a sentence that says what to do.",
        )
    evidence = redact_json(dict(draft.evidence))
    made = replace(
        draft,
        category=_plain(category_of(draft.category), "category"),
        text=clean,
        source=_plain(opaque(draft.source or "manual"), "session"),
        origin=draft.origin if draft.origin in ORIGINS else "untrusted",
        topics=_topics(draft.topics),
        amends=_amended(draft.amends),
        evidence=evidence if isinstance(evidence, dict) else NOTHING,
    )
    same, near = _likenesses(clean, known)
    redacted = (*kinds, "evidence") if evidence != draft.evidence else kinds
    tokens = _require_size(rule_id, made.category, clean, cap, count)
    return Checked(made, title_of(clean), tokens, cap, redacted, same, near, signs(clean))


def _require_size(rule_id: str, category: str, text: str, cap: int, count: Count) -> int:
    tokens, heading = count(entry_of(rule_id, category, text)), count(HEADING)
    if heading + tokens > cap:
        size = len(text.encode("utf-8", "replace"))
        raise Refused(
            f"The rule costs {tokens} tokens in the notice ({size} bytes), its heading {heading}; {SETTING} allows "
            f"{cap} for all approved rules together.",
            hint="Say it shorter, or propose several rules; nothing was cut.",
        )
    return tokens


def _plain(text: str, what: str) -> str:
    """`text`, which becomes part of a shared file; raises Refused where it holds a secret or what cannot be seen."""
    require_visible(text, f"The {what}")
    clean, kinds = redact(text)
    if kinds:
        raise Refused(f"The {what} holds a secret ({', '.join(kinds)}).", hint="Take it out; it would be shared.")
    return clean


def _topics(topics: Iterable[str]) -> tuple[str, ...]:
    found = dict.fromkeys(one_line(topic, MAX_TOPIC).casefold() for topic in topics if isinstance(topic, str))
    return tuple(_plain(topic, "topic") for topic in found if topic)[:MAX_TOPICS]


def _amended(rule: str) -> str:
    if not rule:
        return ""
    if "/" not in rule:
        raise Refused(f"{shown(rule)} does not name its writer.", hint="Give the full id, such as ha/001.")
    return rule_id_of(rule, "")


def _likenesses(text: str, known: Iterable[Proposal]) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The rule with this very text, and those that share most of its words (Jaccard over distinct words)."""
    words, form = set(tokenise(text)), normalise(text)
    plain = sorted(words, key=len, reverse=True) if text.isascii() else []
    same = ""
    near: list[tuple[str, int]] = []
    for rule in known:
        if rule.text == text:
            same = min(same or rule.id, rule.id)
            continue
        if plain and rule.text.isascii() and _differs(plain, rule.text.lower()):
            continue
        others = set(tokenise(rule.text))
        shared = len(words & others) / (len(words | others) or 1)
        if shared >= NEAR or normalise(rule.text) == form:
            near.append((rule.id, round(100 * shared)))
    return same, tuple(sorted(near, key=lambda item: (-item[1], item[0]))[:MAX_NEAR])


def _differs(words: Sequence[str], text: str) -> bool:
    """Whether so many of `words` stand nowhere in `text` that the two cannot be near: spares most rules of a pool."""
    allowed = (1 - NEAR) * len(words)
    missing = 0
    for word in words:
        missing += word not in text
        if missing > allowed:
            return True
    return False
