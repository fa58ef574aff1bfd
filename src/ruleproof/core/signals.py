"""The deterministic trace evaluator: what the record of a session shows of it without a model, as signals and scores.

A signal lies in [0, 1], higher is better, and is a share of the turn's calls that are in order, so that its size can be
explained. A signal that cannot be computed is named with the reason and never assumed; a session in which none can be
computed has no score. A judge may fill in what is missing; it never overrides what was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, sqrt
from types import MappingProxyType

from ruleproof.core.score import DEFAULT_THRESHOLD, Score, Source, checked_value
from ruleproof.core.session import Session, ToolCall, Trace
from ruleproof.core.toolfaults import argument_fault, failed

LOOP, TOOLS, COMPLETION, CONFIDENCE, COHERENCE = (
    "loop_detection", "tool_correctness", "completion", "confidence", "coherence",
)  # fmt: skip
SIGNALS = (LOOP, TOOLS, COMPLETION, CONFIDENCE, COHERENCE)
DEFAULT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {CONFIDENCE: 1.0, LOOP: 1.0, TOOLS: 0.8, COHERENCE: 1.0, COMPLETION: 1.0}
)
"""Weights of the published metrics, and 1.0 for `completion`, which is ours."""

RELIABILITY, CONSISTENCY, OUTCOME = "agent_reliability", "agent_consistency", "outcome"
FLAG_ABOVE = 0.5
_CUT = ("length", "max_tokens", "max_output_tokens", "error", "content_filter", "model_context_window_exceeded")
_NEEDS_JUDGE = "needs a model that judges"
_NOTHING: Mapping[str, Mapping[str, float]] = MappingProxyType({})

Thresholds = Mapping[str, float] | Callable[[str], float]
"""Threshold per metric: a mapping (0.5 where it has none) or a function of the metric's name."""


@dataclass(frozen=True, slots=True)
class Signals:
    """One trace's signals. `values`: signal -> [0, 1]; `missing`: signal -> why not computed; `seen`: findings."""

    trace_id: str
    values: Mapping[str, float]
    missing: Mapping[str, str]
    seen: tuple[str, ...] = ()


def threshold_of(thresholds: Thresholds, metric: str) -> float:
    return thresholds(metric) if callable(thresholds) else thresholds.get(metric, DEFAULT_THRESHOLD)


def session_signals(session: Session) -> tuple[Signals, ...]:
    """The signals of every trace, in order.

    loop_detection: the share of the turn's calls that do something new. A call is idle if the same call was made
    before in the session and brought the same answer, or an answer that is not recorded (one whose answer changes is
    polling, and is let pass), or if it is the third or a later step of an A-B-A-B alternation.

    tool_correctness: the mean credit of the turn's calls. No credit: an unknown tool, arguments that are no JSON object
    or fail the tool's schema, an error. Half credit: an error after which the same tool worked in this turn, unless the
    call had first been repeated without a change and had failed again. Full credit: the rest.

    completion: 1 for an answer, 0 for a cut one, an empty one, or none. Not computed where the texts were not recorded,
    or where the recording ends on a tool's answer: whether a reply followed is not known (a hand-over ends so too).
    """
    before: dict[tuple[str, str], str | None] = {}
    return tuple(
        _trace_signals(trace, session.tools, before, last=index == len(session.traces))
        for index, trace in enumerate(session.traces, start=1)
    )


def reliability(signals_per_trace: Iterable[Mapping[str, float]], weights: Mapping[str, float]) -> float | None:
    """agent_reliability, worst case, in [0, 1]; None where no trace has a signal.

    Per trace: risk = max over its signals of weight x (1 - signal). With the risks sorted downwards and
    k = max(1, ceil(0.15 n)): score = 1 - (0.9 x mean of the top k + 0.1 x the highest), clamped.
    Source: the published formula of this session metric; where nothing can be evaluated that one says 1.0, ours None.
    """
    risks = sorted((risk(signals, weights) for signals in signals_per_trace if signals), reverse=True)
    if not risks:
        return None
    top = risks[: max(1, ceil(0.15 * len(risks)))]
    return _clamp(1.0 - (0.9 * sum(top) / len(top) + 0.1 * risks[0]))


def consistency(signals_per_trace: Iterable[Mapping[str, float]], weights: Mapping[str, float]) -> float | None:
    """agent_consistency, overall stability, in [0, 1]; None where no trace has `confidence`.

    Per trace with confidence: penalty = sum over loop, tool and coherence (those present) of weight x (1 - signal);
    uncertainty = (1 + penalty) x weight of confidence x (1 - confidence). Score = 1 - root mean square, clamped.
    """
    squares = [
        ((1.0 + _penalty(signals, weights)) * _weight(weights, CONFIDENCE) * (1.0 - signals[CONFIDENCE])) ** 2
        for signals in signals_per_trace
        if CONFIDENCE in signals
    ]
    return _clamp(1.0 - sqrt(sum(squares) / len(squares))) if squares else None


def risk(signals: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """How bad the trace's worst signal is: the highest weight x (1 - signal); 0 for none."""
    return max((_weight(weights, name) * (1.0 - value) for name, value in signals.items()), default=0.0)


def evaluate_session(
    session: Session,
    *,
    thresholds: Thresholds = MappingProxyType({}),
    weights: Mapping[str, float] = DEFAULT_WEIGHTS,
    judged: Mapping[str, Mapping[str, float | None]] = _NOTHING,
) -> tuple[Score, ...]:
    """agent_reliability, agent_consistency, and every score that came with the recording (`outcome` from a checker).

    `judged`: trace id -> signal -> value of a judge, None = missing; raises Refused for a value outside [0, 1]. A value
    is None, with the reason, where nothing could be computed.
    """
    computed = session_signals(session)
    opinions = {found.trace_id: _opinions(judged.get(found.trace_id, {}), found) for found in computed}
    merged = {found.trace_id: {**found.values, **opinions[found.trace_id]} for found in computed}
    source: Source = "judge" if any(opinions.values()) else "trace"
    flagged = tuple(trace for trace, signals in merged.items() if risk(signals, weights) > FLAG_ABOVE)
    value = reliability(merged.values(), weights)
    steadiness = consistency(merged.values(), weights)
    recorded = (
        Score(metric, given, threshold_of(thresholds, metric), "checker" if metric == OUTCOME else "caller",
              "as recorded" if given is not None else "recorded as missing")
        for metric, given in session.scores.items()
    )  # fmt: skip
    return (
        Score(
            RELIABILITY,
            value,
            threshold_of(thresholds, RELIABILITY),
            source,
            _reason(computed, merged, weights, value),
            flagged,
            MappingProxyType({trace: MappingProxyType(signals) for trace, signals in merged.items()}),
        ),
        Score(
            CONSISTENCY,
            steadiness,
            threshold_of(thresholds, CONSISTENCY),
            source,
            "" if steadiness is not None else f"no score: no trace has `confidence`, which {_NEEDS_JUDGE}",
            flagged if steadiness is not None else (),
        ),
        *recorded,
    )


def _trace_signals(
    trace: Trace, tools: Mapping[str, str], before: dict[tuple[str, str], str | None], *, last: bool
) -> Signals:
    values: dict[str, float] = {}
    missing = {CONFIDENCE: _NEEDS_JUDGE, COHERENCE: _NEEDS_JUDGE}
    seen: list[str] = []
    count = len(trace.calls)
    if count:
        idle = _idle(trace.calls, before)
        values[LOOP] = 1.0 - idle / count
        seen += [f"{idle} of {count} calls repeat one that was made before"] if idle else []
        credits, faults = _credits(trace.calls, tools)
        if faults or tools or any(failed(call) is not None for call in trace.calls):
            values[TOOLS] = sum(credits) / count
            seen += faults
        else:
            missing[TOOLS] = "neither the tools' answers nor a list of tools was recorded"
    else:
        missing[LOOP] = missing[TOOLS] = "no call was made"
    complete, said = _completion(trace, last)
    if complete is None:
        missing[COMPLETION] = said
    else:
        values[COMPLETION] = complete
        seen += [said] if said else []
    return Signals(trace.id, MappingProxyType(values), MappingProxyType(missing), tuple(seen))


def _idle(calls: Sequence[ToolCall], before: dict[tuple[str, str], str | None]) -> int:
    """How many calls did nothing new. `before`, the last answer of each call of the session so far, is brought up."""
    keys = [(call.name, call.arguments) for call in calls]
    idle = 0
    for index, (key, call) in enumerate(zip(keys, calls, strict=True)):
        alternates = index >= 3 and keys[index - 3 : index - 1] == [keys[index - 1], key] and key != keys[index - 1]
        followed = index >= 2 and index + 1 < len(keys) and keys[index - 2] == key and key != keys[index - 1]
        swings = alternates or (followed and keys[index + 1] == keys[index - 1])
        same = key in before and (call.result is None or before[key] is None or before[key] == call.result)
        idle += swings or same
        before[key] = call.result
    return idle


def _credits(calls: Sequence[ToolCall], tools: Mapping[str, str]) -> tuple[list[float], list[str]]:
    """The credit of each call, and what was found, in words."""
    worked_later: set[str] = set()
    failed_later: set[tuple[str, str]] = set()
    credits: list[float] = []
    errors, unchanged = 0, 0
    faults: list[str] = []
    for call in reversed(calls):
        key = (call.name, call.arguments)
        fault, bad = argument_fault(call, tools), failed(call)
        if fault:
            faults.append(f"a call {fault}")
        if bad:
            errors += 1
            unchanged += key in failed_later
            credits.append(0.5 if call.name in worked_later and key not in failed_later and not fault else 0.0)
            failed_later.add(key)
        else:
            credits.append(0.0 if fault else 1.0)
            if not fault:
                worked_later.add(call.name)
    said = [f"{errors} of {len(calls)} calls returned an error"] if errors else []
    said += [f"{unchanged} failed calls were repeated without a change and failed again"] if unchanged else []
    return credits[::-1], [*said, *dict.fromkeys(reversed(faults))]


def _completion(trace: Trace, last: bool) -> tuple[float | None, str]:
    if trace.stop_reason in _CUT:
        return 0.0, f"the answer was cut ({trace.stop_reason})"
    if not trace.recorded:
        return None, "the texts of the turn were not recorded"
    if trace.answer is not None:
        return (1.0, "") if trace.answer.strip() else (0.0, "the answer is empty")
    if last and trace.calls and trace.calls[-1].result is not None:
        return None, "the recording ends on a tool's answer"
    return 0.0, "the turn ended without an answer"


def _opinions(given: Mapping[str, float | None], computed: Signals) -> dict[str, float]:
    checked = {name: checked_value(name, value) for name, value in given.items() if name not in computed.values}
    return {name: value for name, value in checked.items() if value is not None}


def _reason(
    computed: Sequence[Signals],
    merged: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    value: float | None,
) -> str:
    """What the worst trace shows, and what could not be looked at."""
    if not computed:
        return "no score: the session has no turn of the agent"
    absent = [name for name in SIGNALS if not any(name in signals for signals in merged.values())]
    blind = f"not computed: {', '.join(absent)}" if absent else ""
    if value is None:
        return f"no score: {blind}"
    worst = max(computed, key=lambda found: risk(merged[found.trace_id], weights))
    finding = f"{worst.trace_id}: {'; '.join(worst.seen)}" if worst.seen else "nothing found in the calls and answers"
    return f"{finding} ({blind})" if blind else finding


def _penalty(signals: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(_weight(weights, name) * (1.0 - signals[name]) for name in (LOOP, TOOLS, COHERENCE) if name in signals)


def _weight(weights: Mapping[str, float], name: str) -> float:
    return weights.get(name, DEFAULT_WEIGHTS.get(name, 1.0))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value)) if isfinite(value) else 0.0
