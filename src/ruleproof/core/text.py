"""Untrusted text made data: cleaned, bounded, compared, and cut into tokens. Every stored string passes here.

`sanitize_text` is the form for storing, `one_line` the form for a place inside our own structure; both are idempotent,
keep ordinary prose of every language and code as they are, and never raise. `normalise` is the key of equal rules.
"""

from __future__ import annotations

import re
import unicodedata

from ruleproof.core.invisible import JOINERS, drop_invisible, drop_misplaced, hidden_code_points
from ruleproof.core.lookalikes import skeleton, unmixed
from ruleproof.core.markers import defuse, defuse_start
from ruleproof.core.scripts import folded_form, tokenise

__all__ = ["LINE_BREAKS", "hidden_code_points", "normalise", "one_line", "sanitize_text", "tokenise", "visible"]

LINE_BREAKS = ("\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r\n")
"""Whatever some reader takes for the end of a line: ten characters, and the pair that counts once."""

TRUNCATED = "…[truncated]"
_BREAK = re.compile(r"\r\n|[\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_ESCAPE = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]?"
    r"|\x9b[0-?]++[ -/]*+[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)?"
    r"|\x9d[^\x07\x1b\x9d]*+(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*+[0-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]")
_DIRTY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_CLUSTER = 64
_FINAL = " .!;,。、।॥،؛۔។။"


def sanitize_text(text: str, max_len: int = 2000) -> str:
    """`text` fit for storing: several lines, no control or invisible character, no live mark of structure.

    Terminal sequences go whole, line breaks become `\\n`, lone surrogates U+FFFD; marks get a middle dot. At most
    `max_len` characters (0 or less: no cut); a cut ends in `…[truncated]`, or in `…` where that does not fit.
    """
    return _bounded(visible(text), max_len)


def one_line(text: str, max_len: int = 2000) -> str:
    """`text` as one line that can stand after a bullet of ours, or at the start of a line, and forge nothing there."""
    clean = visible(text)
    if "\n" in clean:
        clean = defuse(clean)
    return _bounded(defuse_start(" ".join(clean.split())), max_len)


def normalise(text: str) -> str:
    """The key under which two rules are the same: equal keys, and nothing less, mean a duplicate.

    Case, width, compatible forms, invisible and control characters, white space, the shapes of quotes and dashes,
    lookalike letters and closing punctuation make no difference. Everything else does.
    """
    plain = _CONTROL.sub("", text)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", unmixed(drop_invisible(plain)))
        plain = unicodedata.normalize("NFKC", skeleton(folded_form(unmixed(plain))))
    return " ".join(plain.casefold().split()).rstrip(_FINAL)


def visible(text: str) -> str:
    """`text` as a person sees it: no terminal sequence, control, lone surrogate or misplaced invisible character.

    The only line break in it is `\\n`.
    """
    if text.isprintable() and text.isascii():
        return text
    if _DIRTY.search(text):
        text = _BREAK.sub("\n", _ESCAPE.sub("", text))
        text = _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))
    return drop_misplaced(text)


def _bounded(text: str, max_len: int) -> str:
    """`text` defused, and cut where it would be longer than `max_len` then."""
    safe = defuse(text)
    if max_len <= 0 or len(safe) <= max_len:
        return safe
    end = TRUNCATED if max_len >= len(TRUNCATED) else TRUNCATED[0]
    room = keep = max_len - len(end)
    while len(safe := defuse(_cut(text, keep))) > room:
        keep -= len(safe) - room
    return safe + end


def _cut(text: str, length: int) -> str:
    """The first `length` characters or a few less: no letter loses its marks, no emoji sequence is split."""
    at = length
    while length - _LONGEST_CLUSTER < at and at > 0 and (_extends(text[at]) or text[at - 1] in JOINERS):
        at -= 1
    return drop_misplaced(text[: at if at > max(0, length - _LONGEST_CLUSTER) else length])


def _extends(char: str) -> bool:
    """Whether `char` belongs to the one before it."""
    return char > "\x7f" and (
        char in JOINERS or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char)[0] == "M"
    )
