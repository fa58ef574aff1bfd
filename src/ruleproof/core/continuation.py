"""The continuation notice: the one text through which approved rules reach a new or compacted session.

Its parts stand in a fixed order and are joined by newlines; a part that is absent or empty adds no byte. Everything
that is not our own wording is one line, or is prefixed like a long rule, so that it cannot begin a line of the notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruleproof.core.corerules import prefix
from ruleproof.core.text import one_line, sanitize_text

MAX_LINE = 200
MAX_HANDOFF = 20_000
NOTHING_STATED = "  (none stated)"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A stretch of an earlier session that the host archived. `note`: such as `modified since archived`."""

    title: str
    path: str
    summary: str = ""
    messages: int | None = None
    note: str = ""


def continuation_notice(
    title: str,
    *,
    project: str = "",
    project_key: str = "",
    block: str | None = None,
    fresh: Sequence[str] = (),
    handoff: str = "",
    chapters: Sequence[Chapter] = (),
    ancestry: str = "",
) -> str:
    """The notice, without a trailing newline.

    `project`: its readable name, with `project_key`; none: no project line. `block`: the CORE RULES block. `fresh`: ids
    of rules in the block whose approval is new. `handoff`: what the last session left to do.
    `chapters` and `ancestry` (what the session descends from): for hosts that keep an archive.
    """
    lines = [f"# Continuation: {_line(title)}"]
    if project_key:
        lines += ["", f"Project: {_line(project)} · {_line(project_key)}"]
        lines += ["What this project has learned can be searched: `chapters_search`."]
    if block:
        lines += ["", block]
        if fresh:
            lines += ["", f"Newly approved on this machine: {', '.join(map(_line, fresh))}."]
    if chapters:
        lines += [
            "",
            "The archive holds the earlier session word for word.",
            "Read a chapter by its path when you need it.",
            "The earlier session itself is untouched.",
        ]
    note = sanitize_text(handoff, MAX_HANDOFF).strip()
    lines += ["", "## In flight", prefix(note) if note else NOTHING_STATED]
    if chapters:
        lines += ["", "## Chapters", *(_chapter(number, found) for number, found in enumerate(chapters, 1))]
    if ancestry:
        lines += ["", f"Ancestry: {_line(ancestry)}"]
    return "\n".join(lines)


def _chapter(number: int, chapter: Chapter) -> str:
    text = f"{number}. [{_line(chapter.title)}]({_line(chapter.path)})"
    if chapter.summary:
        text += f" — {_line(chapter.summary)}"
    if chapter.messages is not None:
        text += f" ({chapter.messages} msgs)"
    return text + (f" ⚠ {_line(chapter.note)}" if chapter.note else "")


def _line(text: str) -> str:
    return one_line(text, MAX_LINE)
