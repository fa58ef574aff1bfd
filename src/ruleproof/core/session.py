"""A recorded session in one shape, whatever system recorded it: traces (one a turn), tool calls, outcome, costs.

Everything here is untrusted text. Nothing is judged here; `core.signals` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the agent made. `arguments`: canonical JSON (sorted keys), or the raw text where it was no JSON."""

    name: str
    arguments: str
    result: str | None = None
    """What came back, as text; None: the recording holds no answer."""
    failed: bool | None = None
    """True / False where the recording says so; None where it does not."""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """One turn: what was asked, which calls were made, what was answered. `id` is unique within its session."""

    id: str
    prompt: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    """The last text that the agent gave after its last call; None: the turn ended without one."""
    stop_reason: str = ""
    """As recorded, lower case; `length` and `max_tokens` mean a cut answer. Empty: not recorded."""
    recorded: bool = True
    """Whether the recording holds the texts of the turn; False: an absent answer says nothing."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session. `tools`: a tool's name -> its JSON-schema text ("" = unknown); empty: no tool list was recorded."""

    id: str
    traces: tuple[Trace, ...] = ()
    task_id: str | None = None
    started_at: str | None = None
    """ISO-8601 with offset, or None."""
    tools: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Scores that came with the recording, in [0, 1], higher is better (a reward is `outcome`); None = missing."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """What it cost, each >= 0: `input_tokens`, `output_tokens`, `money`, `seconds`, `calls`."""
    notes: tuple[str, ...] = ()
    """What the reader had to skip or repair inside this session, in words."""
