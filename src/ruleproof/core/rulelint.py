"""What a person should look at before approving a text: signs of an injected instruction, named one by one.

What cannot be seen at all is refused, before writing and before approving. A sign is a warning, never a verdict: plain
requests pass unseen and honest rules are flagged at times (docs/security.md has the measured figures). The defence is
that nothing is in force before a person approves it.
"""

from __future__ import annotations

import re

from ruleproof.core.problems import Problem
from ruleproof.core.text import hidden_code_points
from ruleproof.errors import Refused

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_REPLY = r"(?:answer|reply|response|message|output)s?"
_SIGNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (code, message, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for code, message, pattern in (
        (
            "poses-as-message",
            "poses as a message of the system, the user or a tool",
            r"^\W{0,4}(?:system|assistant|developer|user|tool)\W{0,3}(?:message|prompt|alert|note)?\s*:(?!:)"
            r"|<\|?/?(?:system|im_start|im_end|assistant|tool_call|function_call|instructions?)\b|\[/?INST\]",
        ),
        (
            "overrides-instructions",
            "tells the reader to drop other instructions",
            r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
            r"\b(?:previous|prior|above|earlier|other|existing|all|any|system)\b[^.\n]{0,30}"
            r"\b(?:instruction|rule|prompt|guideline|polic|message|direction)",
        ),
        (
            "asks-for-secrecy",
            "asks to hide something from a person",
            r"\b(?:do not|don't|never|without)\s+(?:tell|mention|reveal|inform|show|notify|alert)\w*\b[^.\n]{0,40}"
            r"\b(?:user|customer|human|person|anyone|operator|owner|this)\b",
        ),
        (
            "claims-approval",
            "claims an approval, or asks to go on without one",
            r"\b(?:pre-?approved|auto-?approve|already approved|approved by)\b"
            r"|\b(?:without|skip|no need (?:for|of))\s+(?:asking|approval|confirmation|review)\b",
        ),
        (
            "sends-data-out",
            "sends something to an outside address",
            r"\b(?:send|upload|post|forward|e-?mail(?![\w-]|\s*[:=])|exfiltrate|transmit|leak)\b[^.\n]{0,80}"
            r"(?:https?://|www\.|\b[\w.+-]+@[\w-]+\.\w"
            r"|\b(?:customer|user|secret|credential|token|password)\w*\b[^.\n]{0,30}\bto\b)",
        ),
        (
            "shapes-the-reply",
            "asks to alter the reader's answers to people",
            r"\b(?:add|include|insert|integrate|augment|enhance|modify|mention|introduce|misspell|scramble|jumble|remove|"
            r"replace|rearrange|provide|suggest|tease|group|combine|anagram|convert|substitute|use|render|end|begin|start)\b"
            rf"[^.\n]{{0,90}}\b(?:your|the agent's)\s+{_REPLY}\b|\bin\s+your\s+{_REPLY}\s*,",
        ),
        (
            "names-an-outside-address",
            "names a mail address or a bare site to go to",
            r"\b[\w.+-]+@[\w-]+\.(?:com|org|net|io|xyz|info)\b"
            r"|(?<![/\w.])www\.[\w-]+\.\w{2,}|\(\w+\.(?:com|xyz|info|biz)\)",
        ),
        (
            "is-a-question",
            "is a question or a single request, not a standing rule",
            r"\A\s*(?:what|who|when|where|why|how|which|can you|could you|is|are|do|does)\b[^\n]*\?\s*\Z",
        ),
        (
            "runs-dangerous-commands",
            "asks for a command that destroys or fetches and runs",
            r"\brm\s+-[rf]{2}\b|\b(?:curl|wget)\b[^\n|]*\|\s*(?:ba|z)?sh\b|\bchmod\s+777\b|--no-verify\b",
        ),
    )
)

CODES: tuple[str, ...] = tuple(code for code, _, _ in _SIGNS)


def signs(text: str) -> tuple[Problem, ...]:
    """The signs in `text`, one Problem (a warning) for each, with the line in which it begins."""
    found = []
    for code, message, pattern in _SIGNS:
        match = pattern.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Problem(code, f"the text {message}", f"line {line}", "warning"))
    return tuple(found)


def require_visible(text: str, what: str) -> None:
    """Raises Refused, naming them, where `text` holds code points that a reader cannot see or a terminal obeys.

    Newline and tab are the only controls that pass; `what` begins the message: `The rule`, or an id.
    """
    controls = [f"U+{ord(found.group()):04X} at {found.start()}" for found in _CONTROL.finditer(text[:100_000])]
    named = [*controls[:8], *hidden_code_points(text)]
    if named:
        raise Refused(
            f"{what} holds characters that cannot be seen: {', '.join(named)}.",
            hint="Remove them; a person approves what they can see.",
        )
