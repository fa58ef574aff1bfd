"""OTLP in JSON with GenAI spans: `resourceSpans`, one export a line or one object a file.

Spans of one trace id are one turn; turns of one conversation id are one session, a trace without one is a session of
its own. Ids are hex text, as OTLP/JSON has them, never base64. Spans arrive in any order and over many exports, so they
are held until the file ends, or until MAX_SPANS are held: then the session that was quiet longest is given out, and a
span of it that comes later makes a second one of its id, which the registry names.
Traces without a GenAI span are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import (
    BadRecord,
    Record,
    costs,
    identity,
    kind,
    mapping,
    moment,
    refused,
)
from ruleproof.codec.transcripts.otlp_messages import attributes_of, dialogue, value_of
from ruleproof.codec.transcripts.otlp_names import KINDS, ask
from ruleproof.codec.transcripts.turns import Turns, plain, tool_list
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session, ToolCall, Trace

name = "otlp"
title = "OTLP/JSON traces with GenAI or OpenInference spans: {resourceSpans: [...]}"
splits: Literal["json", "lines"] = "json"

MAX_SPANS = 50_000
_RESOURCES, _SCOPES = ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")


@dataclass(frozen=True, slots=True)
class _Span:
    kind: str  # llm, tool, agent, or "" for a span that is none of ours
    start: int
    end: int
    failed: bool
    attributes: Mapping[str, object]
    events: tuple[tuple[str, Mapping[str, object]], ...]


def sniff(first: object) -> bool:
    return isinstance(first, Mapping) and any(isinstance(first.get(key), list) for key in _RESOURCES)


def read(items: Iterator[Item]) -> Iterator[Record]:
    """Sessions in the order in which they were last touched."""
    held = _Held()
    for item in items:
        if isinstance(item.value, Problem):
            yield item.value
            continue
        try:
            spans = list(_spans(mapping(item.value)))
        except (BadRecord, RecursionError) as bad:
            yield refused(item, str(bad))
            continue
        for span in spans:
            try:
                held.add(*_span(*span))
            except (BadRecord, RecursionError) as bad:
                yield refused(item, str(bad))
        while held.count > MAX_SPANS:
            yield from held.oldest()
    while held.count:
        yield from held.oldest()
    if held.foreign:
        message = f"{held.foreign} traces hold no GenAI span and were left out."
        yield Problem("no-genai-span", message, severity="info")


def _spans(record: Mapping[str, object]) -> Iterator[tuple[object, Mapping[str, object]]]:
    """Every span of one export with the attributes of its resource."""
    for resource in _list(record, _RESOURCES, "resourceSpans"):
        about = mapping(resource, "a resource").get("resource")
        shared = attributes_of(about.get("attributes")) if isinstance(about, Mapping) else {}
        for scope in _list(mapping(resource), _SCOPES, "scopeSpans"):
            for span in _list(mapping(scope, "a scope"), ("spans",), "spans"):
                yield span, shared


def _list(record: Mapping[str, object], names: tuple[str, ...], what: str) -> list[object]:
    found = next((record[name] for name in names if name in record), [])
    if not isinstance(found, list):
        raise BadRecord(f"{what} is {kind(found)}, not a list")
    return found


def _span(raw: object, shared: Mapping[str, object]) -> tuple[str, _Span]:
    span = mapping(raw, "a span")
    trace_id = identity(span.get("traceId", span.get("trace_id")), "the trace id of a span").lower()
    attributes = {**shared, **attributes_of(span.get("attributes"))}
    status = span.get("status")
    code = status.get("code") if isinstance(status, Mapping) else None
    events = span.get("events")
    return trace_id, _Span(
        _kind(attributes),
        _nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
        _nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
        code in (2, "2", "STATUS_CODE_ERROR") or ask(attributes, "error") is not None,
        attributes,
        tuple(
            (str(event.get("name")), attributes_of(event.get("attributes")))
            for event in (events if isinstance(events, list) else [])
            if isinstance(event, Mapping)
        ),
    )


def _kind(attributes: Mapping[str, object]) -> str:
    operation = ask(attributes, "operation")
    if isinstance(operation, str):
        return KINDS.get(operation.casefold(), "")
    if ask(attributes, "model") is not None:
        return "llm"
    return "tool" if "gen_ai.tool.name" in attributes else ""


def _nanoseconds(value: object) -> int:
    """Nanoseconds since 1970, which OTLP/JSON writes as text; 0 where there are none."""
    return int(value) if isinstance(value, (int, str)) and str(value).isascii() and str(value).isdigit() else 0


class _Held:
    """Spans of the traces that are still open, the longest quiet first."""

    def __init__(self) -> None:
        self._traces: dict[str, list[_Span]] = {}
        self._session_of: dict[str, str] = {}
        self._traces_of: dict[str, dict[str, None]] = {}
        self.count = self.foreign = 0

    def add(self, trace_id: str, span: _Span) -> None:
        spans = self._traces.pop(trace_id, [])
        self._traces[trace_id] = spans
        spans.append(span)
        self.count += 1
        given = ask(span.attributes, "session")
        if given is not None and trace_id not in self._session_of:
            session_id = identity(given, "the conversation id")
            self._session_of[trace_id] = session_id
            self._traces_of.setdefault(session_id, {})[trace_id] = None

    def oldest(self) -> Iterator[Session]:
        """Takes out the session of the trace that was quiet longest; nothing where it holds no span of ours."""
        trace_id = next(iter(self._traces))
        session_id = self._session_of.get(trace_id, trace_id)
        taken = {}
        for key in self._traces_of.pop(session_id, {trace_id: None}):
            spans = self._traces.pop(key)
            self._session_of.pop(key, None)
            self.count -= len(spans)
            if any(span.kind for span in spans):
                taken[key] = sorted((span for span in spans if span.kind), key=lambda span: (span.end, span.start))
            else:
                self.foreign += 1
        if taken:
            yield _session(session_id, taken)


def _session(session_id: str, traces: Mapping[str, list[_Span]]) -> Session:
    order = sorted(traces, key=lambda key: min(span.start for span in traces[key]))
    every = [span for key in order for span in traces[key]]
    llm = [span for span in every if span.kind == "llm"]
    built = tuple(_trace(key, traces[key]) for key in order)
    starts = [span.start for span in every if span.start]
    spent: dict[str, object] = {"calls": sum(len(trace.calls) for trace in built)}
    for what in ("input_tokens", "output_tokens", "money"):
        figures = costs({str(i): ask(span.attributes, what) for i, span in enumerate(llm)})
        spent |= {what: sum(figures.values())} if figures else {}
    if starts:
        spent["seconds"] = max(0.0, sum(_seconds(traces[key]) for key in order))
    tools: dict[str, str] = {}
    for span in every:
        tools |= tool_list(value_of(ask(span.attributes, "tools")))
    task = next((found for span in every if (found := ask(span.attributes, "task")) is not None), None)
    return Session(
        session_id,
        built,
        plain(task) if task is not None else None,
        moment(min(starts) / 1e9) if starts else None,
        tools,
        {},
        costs(spent),
    )


def _seconds(spans: list[_Span]) -> float:
    starts = [span.start for span in spans if span.start]
    return max(0, max(span.end for span in spans) - min(starts, default=0)) / 1e9 if starts else 0.0


def _trace(trace_id: str, spans: list[_Span]) -> Trace:
    """One turn: the last model call knows the whole conversation; spans of tools know best how their calls went."""
    llm = [span for span in spans if span.kind == "llm"]
    agents = [span for span in spans if span.kind == "agent"]
    messages = next(
        (found for span in (*llm[-1:], *agents[-1:]) if (found := dialogue(span.attributes, span.events))), []
    )
    turns = Turns()
    for message in messages:
        turns.message(message)
    said = turns.done()
    turn = said[-1] if said else Trace(trace_id)
    tools = sorted((span for span in spans if span.kind == "tool"), key=lambda span: (span.start, span.end))
    calls = _calls(tools) if tools else turn.calls
    prompt, answer = turn.prompt, turn.answer
    for span in agents if not messages else []:  # the outermost span ends last
        prompt = plain(ask(span.attributes, "input_value")) or prompt
        answer = plain(ask(span.attributes, "output_value")) or answer
    stop = turn.stop_reason
    if llm:
        finish = value_of(ask(llm[-1].attributes, "finish"))
        finish = finish[-1] if isinstance(finish, list) and finish else finish
        stop = "error" if llm[-1].failed else (finish.casefold() if isinstance(finish, str) else stop)
    return Trace(trace_id, prompt, calls, answer, stop, recorded=bool(messages) or answer is not None)


def _calls(tools: list[_Span]) -> tuple[ToolCall, ...]:
    turns = Turns()
    for index, span in enumerate(tools):
        call_id = ask(span.attributes, "tool_id") or f"span-{index}"
        turns.call(ask(span.attributes, "tool_name"), ask(span.attributes, "tool_arguments"), call_id)
        result = ask(span.attributes, "tool_result")
        turns.result(result, call_id=call_id, failed=span.failed)
    return turns.done()[0].calls
