"""Pairs of rules that repeat or may contradict each other: hints for a person, never a reason to change a rule.

A rule's subject are its words without function words, negations, directions and numbers. Similarity is the Jaccard
index of two subjects. Alike and one way: a repetition. Alike and opposed (a negation in one only, before and after, 3
and 5): perhaps a contradiction. Pairs come from postings of the rarest words (prefix filter: Bayardo, Ma & Srikant
2007, *Scaling up all pairs similarity search*), so that rules without a rare word in common are never compared.

Negations are known in English, German, French, Spanish, Russian, Chinese and Japanese; opposite words in English, and
before, after, with, without in German, French and Spanish. In other languages numbers and repetitions are found, no
more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from ruleproof.core.rule import Rule
from ruleproof.core.scripts import folded_form, tokenise

Kind = Literal["repeats", "may contradict"]
REPEATS = 0.6
"""Similarity from which two rules that point one way are a repetition."""
CONTRADICTS = 0.5
"""Similarity from which two rules that point opposite ways are named; lower, since what opposes them is left out."""
LONG, CONTRADICTS_LONG = 20, 0.8
"""Words from which a subject is long, and the similarity it needs: what a negation in a long text denies is unclear."""
MOST_COMPARED = 256
"""Rules that one rule is compared with, those with the rarest words in common first."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTION = _words(
    "the an to of in on at for and or it its is are be was were been this that these those by from as you your "
    "they their them we our he she his her will would should must can may might shall do does did has have had if "
    "when whenever then so such any each every all some there here which who what how than also just please make "
    "sure ensure always "
    "der die das den dem des ein eine einen einem einer und oder ist sind zu im in von auf für bei wenn immer "
    "le la les un une des du de et ou est sont que qui dans pour sur toujours "
    "el los las una uno del al es son en por para siempre cuando "
    "и или на по из от при если это всегда"
)
_NEGATIONS = _words(
    "not never no none cannot avoid forbid forbidden refrain stop neither nor "
    "nicht nie niemals kein keine keinen keinem keiner "
    "ne pas jamais aucun aucune "
    "nunca jamás ningún ninguna "
    "не никогда нельзя"
)
_CONDITIONS = _words(
    "before until unless without except only unlike vor bevor bis ohne außer nur avant sans sauf antes sin hasta "
    "до без пока"
)
"""`Never A before B` is `B before A`: beside such a word a negation alone opposes nothing."""
_ALWAYS = _words("always immer toujours siempre всегда")
_OPPOSITES: Mapping[str, tuple[str, int]] = {
    word: (f"{first} / {second}", side)
    for first, second in (
        ("before", "after"), ("above", "below"), ("least", "most"), ("minimum", "maximum"), ("more", "less"),
        ("more", "fewer"), ("enable", "disable"), ("allow", "deny"), ("accept", "reject"), ("include", "exclude"),
        ("first", "last"), ("early", "late"), ("increase", "decrease"), ("ascending", "descending"),
        ("short", "long"), ("show", "hide"), ("keep", "remove"), ("public", "private"), ("vor", "nach"),
        ("avant", "après"), ("antes", "después"), ("oldest", "newest"), ("upper", "lower"), ("tabs", "spaces"),
        ("with", "without"), ("mit", "ohne"), ("avec", "sans"), ("con", "sin"),
    )
    for side, word in enumerate((first, second))
}  # fmt: skip
_SHORT_NOT = re.compile(r"\b(ca|wo|[a-z]+)n['’]t\b")
_GLUED_NOT = re.compile("不要|不得|不可|不能|不应|切勿|请勿|禁止|绝不|从不|ません|しない|ない")
_GLUED_FILL = re.compile("总是|必须|应该|一定|始终|必ず|常に")
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")
_NUMBER_WORDS = {"twice": "2", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
                 "eight": "8", "nine": "9", "ten": "10"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two rules, the older first. `similarity` of their subjects, in (0, 1]; `why`: what opposes them, else empty."""

    kind: Kind
    first: Rule
    second: Rule
    similarity: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Contradictions first, each kind by similarity. `unchecked`: pairs that were skipped, at most so many."""

    pairs: tuple[Overlap, ...] = ()
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class _Said:
    """One rule, taken apart."""

    subject: frozenset[str]
    negated: bool
    conditional: bool
    always: bool
    sides: Mapping[str, int]
    numbers: frozenset[str]


def overlaps(rules: Iterable[Rule]) -> Found:
    """Every pair of `rules` that is worth a look; the caller gives those in force."""
    known = sorted(rules, key=lambda rule: (rule.created_at, rule.id))
    said = [_take_apart(rule.rule) for rule in known]
    pairs, unchecked = [], 0
    for place, others, skipped in _alike(said):
        unchecked += skipped
        for other in others:
            found = _compare(said[other], said[place])
            if found is not None:
                pairs.append(Overlap(found[0], known[other], known[place], found[1], found[2]))
    pairs.sort(key=lambda pair: (pair.kind != "may contradict", -pair.similarity, pair.first.id, pair.second.id))
    return Found(tuple(pairs), unchecked)


def _alike(said: Sequence[_Said]) -> Iterable[tuple[int, list[int], int]]:
    """(place, earlier places that may be similar enough, how many more were left out), for every place.

    Two sets with a Jaccard index of t or more share one of the first n - ceil(t n) + 1 words of each, in any one order.
    """
    spread = Counter(word for one in said for word in one.subject)
    postings: defaultdict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(said):
        words = sorted(one.subject, key=lambda word: (spread[word], word))
        prefix = words[: len(words) - ceil(CONTRADICTS * len(words)) + 1]
        found: dict[int, None] = {}
        met = 0
        for word in prefix:
            posting = postings[word]
            met += len(posting)
            if len(found) < MOST_COMPARED:
                found.update(dict.fromkeys(posting[-MOST_COMPARED:]))
            posting.append(place)
        others = list(found)[:MOST_COMPARED]
        yield place, others, max(0, met - len(others)) if len(others) == MOST_COMPARED else 0


def _compare(first: _Said, second: _Said) -> tuple[Kind, float, str] | None:
    shared = len(first.subject & second.subject)
    similarity = shared / len(first.subject | second.subject) if shared else 0.0
    if similarity < CONTRADICTS or (shared < 2 and similarity < 1.0):
        return None
    long = max(len(first.subject), len(second.subject)) >= LONG
    why = "" if long and similarity < CONTRADICTS_LONG else _opposed(first, second)
    if why:
        return "may contradict", similarity, why
    return ("repeats", similarity, "") if similarity >= REPEATS else None


def _opposed(first: _Said, second: _Said) -> str:
    """What opposes them in words: one turn, or three; two turns cancel (`do not enable` and `disable`)."""
    turns = [pair for pair, side in sorted(first.sides.items()) if pair in second.sides and second.sides[pair] != side]
    if first.negated != second.negated:
        denied, other = (first, second) if first.negated else (second, first)
        if not denied.conditional or other.always or turns:
            turns.insert(0, "only one says not")
    if len(turns) % 2:
        return ", ".join(turns)
    mine, theirs = sorted(first.numbers - second.numbers), sorted(second.numbers - first.numbers)
    if mine and theirs:
        return f"{', '.join(mine)} / {', '.join(theirs)}"
    return ""


def _take_apart(text: str) -> _Said:
    plain = folded_form(text)
    plain, short = _SHORT_NOT.subn(" ", plain)
    plain, glued = _GLUED_NOT.subn(" ", plain)
    plain = _GLUED_FILL.sub(" ", plain)
    numbers = {number.rstrip(".,") for number in _NUMBER.findall(plain)}
    subject: set[str] = set()
    seen: set[str] = set()
    sides: dict[str, int] = {}
    for word in tokenise(plain):
        seen.add(word)
        if word in _OPPOSITES:  # the last one said counts
            pair, side = _OPPOSITES[word]
            sides[pair] = side
        elif word in _NUMBER_WORDS:
            numbers.add(_NUMBER_WORDS[word])
        elif not (word in _FUNCTION or word in _NEGATIONS or word in _CONDITIONS or word[0].isdigit()):
            subject.add(_stem(word))
    return _Said(
        frozenset(subject),
        bool(short or glued or seen & _NEGATIONS),
        bool(seen & _CONDITIONS),
        bool(seen & _ALWAYS),
        sides,
        frozenset(numbers),
    )


def _stem(word: str) -> str:
    """An English word without plural, -ing, -ed; other words as they are. Crude, and the same for both rules."""
    if not word.isascii() or len(word) < 5:
        return word[:-1] if word.isascii() and len(word) == 4 and word[-1] == "s" and word[-2] != "s" else word
    for end in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(end) and not word.endswith("ss") and len(word) - len(end) > 2:
            root = word[: -len(end)] + ("y" if end == "ies" else "")
            break
    else:
        root = word
    return root[:-1] if len(root) > 3 and (root[-1] == "e" or root[-1] == root[-2]) else root
