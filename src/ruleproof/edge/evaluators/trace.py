"""The evaluator that needs nothing: it looks at the messages that a turn left behind, and at no model.

It says what the record shows (`core.signals`) and no more; a turn without messages of the agent has no scores at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruleproof.codec.transcripts.openai import from_messages
from ruleproof.core.score import Score
from ruleproof.core.signals import DEFAULT_WEIGHTS, Thresholds, evaluate_session
from ruleproof.engine.ports import Turn


class TraceEvaluator:
    """Scores a turn from `end_state["messages"]`, the conversation so far or this turn's part of it, and `["tools"]`.

    Call it with a turn; it gives agent_reliability and agent_consistency (missing unless a judge adds `confidence`), or
    an empty tuple where there is nothing to look at.
    """

    def __init__(self, *, thresholds: Thresholds, weights: Mapping[str, float] = DEFAULT_WEIGHTS) -> None:
        self._thresholds, self._weights = thresholds, weights

    def __call__(self, turn: Turn, /) -> tuple[Score, ...]:
        messages = turn.end_state.get("messages")
        if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes)):
            return ()
        session = from_messages(turn.session_id, messages, tools=turn.end_state.get("tools"))
        if not session.traces:
            return ()
        return evaluate_session(session, thresholds=self._thresholds, weights=self._weights)
