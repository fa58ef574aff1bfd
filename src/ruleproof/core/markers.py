"""Marks that give text power over its surroundings, defused: a middle dot is put inside, so that they stay readable.

Marks are comment delimiters, fences, banners, our own headings, delimiters and rule ids, and the frames of chat and
tool calls. They are looked for in the plain view, where lookalikes and full-width forms are ASCII. Defusing is repeated
until nothing changes; each step breaks marks.
"""

from __future__ import annotations

import re

from ruleproof.core.lookalikes import plain_view

DOT = "\u00b7"
BANNER = 7
"""A run of eight or more equal signs is a banner; it is cut to this many."""

_NO_LETTER_BEFORE = r"(?<![^\W_])"
_BLOCK = (
    r"(?:CORE|LEARNED|ACTIVE|PROVISIONAL|OPERATING|RULES?|RULEPROOF|PANDAPROBE|HARNESS|NOTICES?|CONTINUATION|CONTEXT|SYSTEM"
    r"|PROMPT|INSTRUCTIONS?|BLOCK|DATA)\b"
)
_FRAME = (
    r"system(?:[_-][\w-]+)?|assistant|developer|human|tools?|tool[_-][\w-]+|functions|function[_-][\w-]+|invoke|think(?:ing)?"
    r"|instructions?|im_start|im_end|start_of_turn|end_of_turn|begin_of_text|end_of_text|bos|eos"
    r"|(?:ruleproof|pandaprobe|harness)(?:[_-][\w-]+)?"
)
_PLACEHOLDER_OR_FRAME = r"user|parameters?|function|results?|rules?|context|notices?|s"
_BRACKET = r"inst|sys|system|system_prompt|available_tools|tool_calls|tool_results|tool_content"
_HEADING = (
    r"(?:core|active|learned|provisional|operating) rules\b|learned mitigations\b|standing protocol\b|continuation:"
    r"|(?:in flight|chapters)\s*$|(?:instructions?|response|input):"
)

_BANNERS = "=#*_\\-\u2014\u2500\u2501\u2550\u2588\u25a0"
_MARK = re.compile(
    rf"(?P<banner>(?P<sign>[{_BANNERS}])(?P=sign){{{BANNER},}})"
    r"|<(?=!--)|--(?=!?>)|``(?=`)|~~(?=~)"
    r"|<(?=\|(?:[/\w]|\s{1,8}[/\w][^|<>\n]{0,64}\|>))"
    r"|<<(?=\s{0,8}/?\s{0,8}sys\s{0,8}>>)"
    rf"|<(?=\s{{0,8}}/?\s{{0,8}}(?:[\w.-]{{1,32}}:)?(?:{_FRAME})(?![\w-]))"
    rf"|(?:(?<!\w)<|<(?=\s{{0,8}}/))(?=\s{{0,8}}/?\s{{0,8}}(?:[\w.-]{{1,32}}:)?(?:{_PLACEHOLDER_OR_FRAME})"
    r"(?:\s{0,8}/?\s{0,8}>|\s{1,8}[\w:-]{1,32}\s{0,8}=|=))"
    rf"|\[(?=\s{{0,8}}/?\s{{0,8}}(?:{_BRACKET})\s{{0,8}}\])"
    r"|(?:\*\*|__)\s{0,8}r(?=-[0-9a-f]{4})"
    rf"|{_NO_LETTER_BEFORE}(?:pandaprobe\s++(?=harness)|system\s++(?=alert)|harness\s*+(?=:))"
    r"|(?-i:RULE(?=PROOF))"
    rf"|(?-i:{_NO_LETTER_BEFORE}(?:(?:CORE|LEARNED|ACTIVE|PROVISIONAL|OPERATING)\s++(?=RULES)"
    rf"|(?:BEGIN|START|END)\s++(?=(?:OF\s++)?(?:THE\s++)?{_BLOCK})))"
    r"|^[^\w\n\"']*+(?:human|assistant|system|user|developer|ai)[^\w\n:\u00b7]{0,6}(?=:(?:[^\w/]|$))"
    rf"|^[^\w\n\#]*+\#++(?=[ \t]*+(?:{_HEADING}))",
    re.IGNORECASE | re.MULTILINE,
)
_SUSPECT = re.compile(
    rf"<|--!?>|```|~~~|(?P<sign>[{_BANNERS}])(?P=sign){{{BANNER}}}|\[|\*\*\s{{0,8}}r|__\s{{0,8}}r|\#"
    r"|harness|system|ruleproof|rules|begin|start|end|human|assistant|user|developer|ai\W"
)
_PIECES = (*"<[#:", "```", "~~~", "-->", "--!>", "**", "__", "=" * 8, "-" * 8, "RULES", "BEGIN", "START", "END")
_NAMES = ("pandaprobe", "alert", "ruleproof")
"""Every mark in ASCII holds one of these, the last ones in any case; most prose holds none."""
_BULLET_OR_HEADING = re.compile(r"(?:\#+|[-+*])(?=\s|$)")


def defuse(text: str) -> str:
    """`text`, whose line breaks are all `\n`, without a live mark. Idempotent; may be longer than it was."""
    view = plain_view(text)
    while _suspect(view):
        parts: list[str] = []
        done = 0
        for mark in _MARK.finditer(view):
            found = text[mark.start() : mark.end()]
            parts += text[done : mark.start()], found[:BANNER] if mark["banner"] else found.rstrip() + DOT
            done = mark.end()
        if not done:
            break
        text = "".join(parts) + text[done:]
        view = plain_view(text)
    return text


def _suspect(view: str) -> bool:
    """Whether it is worth looking for marks. A no is certain."""
    lower = view.lower()
    if view.isascii() and not any(map(view.__contains__, _PIECES)) and not any(map(lower.__contains__, _NAMES)):
        return False
    return _SUSPECT.search(lower) is not None


def defuse_start(line: str) -> str:
    """`line`, a single one, without the bullet or heading that it would open at the start of a line."""
    found = _BULLET_OR_HEADING.match(plain_view(line[:64]))
    return line[: found.end()] + DOT + line[found.end() :] if found else line
