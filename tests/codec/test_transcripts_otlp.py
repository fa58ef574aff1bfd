"""OTLP spans in three dialects of attribute names, and as exports come: torn apart, out of order, from many traces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from ruleproof.codec.transcripts import otlp
from ruleproof.codec.transcripts.base import Record
from ruleproof.codec.transcripts.otlp_names import KINDS, NAMES, ask
from ruleproof.codec.transcripts.registry import read_sessions
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session

TRACE = "5b8efff798038103d269b633813fc60c"


def value(given: object) -> dict[str, object]:
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, Mapping):
        return {"kvlistValue": {"values": pairs(given)}}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return {"arrayValue": {"values": [value(each) for each in given]}}
    return {"stringValue": given}


def pairs(attributes: Mapping[str, object]) -> list[object]:
    return [{"key": key, "value": value(given)} for key, given in attributes.items()]


def span(
    start: int, end: int, attributes: Mapping[str, object], trace: str = TRACE, **fields: object
) -> dict[str, object]:
    times = {"startTimeUnixNano": str(start * 10**9), "endTimeUnixNano": str(end * 10**9)}
    return {"traceId": trace, "spanId": "eee19b7ec3c1b174", **times, "attributes": pairs(attributes)} | fields


def export(*spans: object, resource: Mapping[str, object] | None = None) -> dict[str, object]:
    about = {"resource": {"attributes": pairs(resource)}} if resource else {}
    return {"resourceSpans": [{**about, "scopeSpans": [{"spans": list(spans)}]}]}


def read(*exports: object) -> list[Record]:
    return list(read_sessions(["\n".join(json.dumps(each) for each in exports).encode()]))


def one(*exports: object) -> Session:
    (session,) = read(*exports)
    assert isinstance(session, Session)
    return session


USER, CALL = "Where is it?", {"b": 2, "a": 1}
NEW_IN = [
    {"role": "user", "parts": [{"type": "text", "content": "earlier"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "earlier answer"}]},
    {"role": "user", "parts": [{"type": "text", "content": USER}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": CALL}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "here"}]},
]
NEW_OUT = [{"role": "assistant", "parts": [{"type": "text", "content": "It is here."}], "finish_reason": "stop"}]
CHAT_IN = [
    {"role": "user", "content": USER},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": json.dumps(CALL)}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "here"},
]

DIALECTS: dict[str, Mapping[str, object]] = {
    "new, as JSON text": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(NEW_IN),
        "gen_ai.output.messages": json.dumps(NEW_OUT),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.conversation.id": "s",
    },
    "new, structured": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": NEW_IN,
        "gen_ai.output.messages": NEW_OUT,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.conversation.id": "s",
        "gen_ai.response.finish_reasons": ["stop"],
    },
    "old, as JSON text": {
        "gen_ai.system": "openai",
        "gen_ai.prompt": json.dumps(CHAT_IN),
        "gen_ai.completion": json.dumps([{"role": "assistant", "content": "It is here."}]),
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 3,
        "session.id": "s",
        "gen_ai.response.finish_reasons": ["stop"],
    },
    "old, flattened": {
        "gen_ai.system": "openai",
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": USER,
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "c1",
        "gen_ai.prompt.1.tool_calls.0.name": "look",
        "gen_ai.prompt.1.tool_calls.0.arguments": json.dumps(CALL),
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "c1",
        "gen_ai.prompt.2.content": "here",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It is here.",
        "gen_ai.completion.0.finish_reason": "stop",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 3,
        "traceloop.association.properties.session_id": "s",
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "session.id": "s",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": USER,
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "look",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": json.dumps(CALL),
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "c1",
        "llm.input_messages.2.message.content": "here",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": "It is here.",
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 3,
        "llm.response.finish_reason": "stop",
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_turn_is_the_same_in_every_dialect(dialect: str) -> None:
    session = one(export(span(100, 103, DIALECTS[dialect])))
    assert (session.id, session.started_at) == ("s", "1970-01-01T00:01:40+00:00")
    assert session.costs == {"calls": 1.0, "input_tokens": 10.0, "output_tokens": 3.0, "seconds": 3.0}
    (trace,) = session.traces
    assert (trace.id, trace.prompt, trace.answer, trace.stop_reason) == (TRACE, USER, "It is here.", "stop")
    assert [(call.name, call.arguments, call.result) for call in trace.calls] == [("look", '{"a":1,"b":2}', "here")]


@pytest.mark.parametrize(
    "events",
    [
        [("gen_ai.user.message", {"content": USER}),
         ("gen_ai.choice", {"message": json.dumps({"content": "It is here."}), "finish_reason": "stop", "index": 0})],
        [("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps([{"role": "user", "content": USER}])}),
         ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([{"content": "It is here."}])})],
        [("gen_ai.client.inference.operation.details",
          {"gen_ai.input.messages": NEW_IN[2:3], "gen_ai.output.messages": NEW_OUT})],
    ],
)  # fmt: skip
def test_messages_may_come_as_events_of_the_span(events: list[tuple[str, Mapping[str, object]]]) -> None:
    given = [{"name": name, "attributes": pairs(attributes)} for name, attributes in events]
    (trace,) = one(export(span(1, 2, {"gen_ai.operation.name": "chat"}, events=given))).traces
    assert (trace.prompt, trace.answer) == (USER, "It is here.")


TOOL_SPANS: list[Mapping[str, object]] = [
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1",
     "gen_ai.tool.call.arguments": json.dumps(CALL), "gen_ai.tool.call.result": "gone"},
    {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": json.dumps(CALL), "output.value": "gone"},
    {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.input": json.dumps(CALL),
     "traceloop.entity.output": "gone"},
]  # fmt: skip


@pytest.mark.parametrize("attributes", TOOL_SPANS)
@pytest.mark.parametrize(
    ("status", "failed"),
    [({"code": 2}, True), ({"code": "STATUS_CODE_ERROR"}, True), ({"code": 1}, False), ({}, False)],
)
def test_a_tool_span_says_how_its_call_went(attributes: Mapping[str, object], status: object, failed: bool) -> None:
    llm = span(1, 9, {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(NEW_OUT)})
    (trace,) = one(export(span(2, 3, attributes, status=status), llm)).traces
    (call,) = trace.calls
    assert (call.name, call.arguments, call.result, call.failed) == ("look", '{"a":1,"b":2}', "gone", failed)


def test_traces_of_one_conversation_are_one_session_in_the_order_of_time() -> None:
    def turn(trace: str, at: int, session: str) -> dict[str, object]:
        out = json.dumps([{"role": "assistant", "content": f"answer {at}"}])
        chat = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": session, "gen_ai.completion": out}
        return span(at, at + 1, chat, trace)

    records = read(export(turn("cc" * 16, 30, "one"), turn("AA" * 16, 10, "one")), export(turn("bb" * 16, 20, "two")))
    found = {record.id: [trace.id for trace in record.traces] for record in records if isinstance(record, Session)}
    assert found == {"one": ["aa" * 16, "cc" * 16], "two": ["bb" * 16]}


def test_a_trace_without_a_conversation_is_a_session_of_its_own_and_one_without_our_spans_is_counted() -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.completion": "hello"}
    records = read(export(span(1, 2, chat), span(1, 2, {"http.method": "GET"}, "ff" * 16)))
    session, problem = records
    assert isinstance(session, Session)
    assert session.id == TRACE
    assert isinstance(problem, Problem)
    assert (problem.code, problem.severity) == ("no-genai-span", "info")
    assert "1 traces" in problem.message


def test_texts_that_were_not_recorded_are_not_taken_for_a_missing_answer() -> None:
    spans = [span(1, 2, {"gen_ai.operation.name": "chat"}), span(1, 3, {"gen_ai.operation.name": "invoke_agent"})]
    (trace,) = one(export(*spans)).traces
    assert (trace.recorded, trace.answer) == (False, None)
    root = span(1, 3, {"openinference.span.kind": "AGENT", "input.value": USER, "output.value": "It is here."})
    (told,) = one(export(spans[0], root)).traces
    assert (told.recorded, told.prompt, told.answer) == (True, USER, "It is here.")


def test_a_model_call_that_failed_ends_its_turn_with_an_error() -> None:
    chat = span(1, 2, {"gen_ai.operation.name": "chat", "gen_ai.prompt": "x"}, status={"code": 2})
    assert one(export(chat)).traces[0].stop_reason == "error"


def test_the_resource_speaks_for_its_spans_and_tool_definitions_are_kept() -> None:
    tools = json.dumps([{"type": "function", "name": "look", "parameters": {"type": "object"}}])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.completion": "x", "gen_ai.tool.definitions": tools}
    session = one(export(span(1, 2, chat), resource={"session.id": "from the resource"}))
    assert session.id == "from the resource"
    assert session.tools == {"look": '{"type":"object"}'}


def test_hex_ids_stay_hex_and_are_never_read_as_base64() -> None:
    session = one(export(span(1, 2, {"gen_ai.operation.name": "chat"}, TRACE.upper())))
    assert session.id == TRACE


def test_only_so_many_spans_are_held_and_no_session_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_SPANS", 5)
    chat = {"gen_ai.operation.name": "chat", "gen_ai.completion": "x"}
    records = read(*[export(span(n, n + 1, chat, f"{n:032x}")) for n in range(1, 30)])
    assert [record.id for record in records if isinstance(record, Session)] == [f"{n:032x}" for n in range(1, 30)]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}, "a span is a number"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": None}]}]}]}, "trace id of a span is nothing"),
        ({"resourceSpans": [{"scopeSpans": {}}]}, "scopespans is an object"),
        ({"resourceSpans": [{"scopeSpans": [[]]}]}, "a scope is a list"),
        ({"resourceSpans": ["x"]}, "a resource is a text"),
        ({"resourceSpans": 1}, "resourcespans is a number"),
        ([1], "the record is a list"),
    ],
)
def test_a_bad_export_is_named_and_the_rest_loads(bad: object, said: str) -> None:
    good = export(span(1, 2, {"gen_ai.operation.name": "chat", "gen_ai.completion": "x"}))
    records = read(good, bad)
    assert [record.id for record in records if isinstance(record, Session)] == [TRACE]
    (problem,) = [record for record in records if isinstance(record, Problem)]
    assert problem.where == "line 2"
    assert said in problem.message.lower()


@pytest.mark.parametrize(
    "attributes",
    [None, 1, [None, 1, {"key": 1}, {"key": "a"}, {"key": "b", "value": {}}, {"key": "c", "value": {"kvlistValue": 1}}],
     [{"key": "gen_ai.prompt." + "0." * 5000, "value": {"stringValue": "x"}}],
     [{"key": "gen_ai.prompt.0", "value": {"stringValue": "x"}},
      {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "user"}}],
     [{"key": "gen_ai.input.messages", "value": {"stringValue": "[" * 5000}}],
     [{"key": "gen_ai.input.messages", "value": {"intValue": "9" * 5000}}],
     [{"key": "gen_ai.prompt.99999999999.role", "value": {"stringValue": "user"}}]],
)  # fmt: skip
def test_attributes_of_any_shape_are_survived(attributes: object) -> None:
    kind = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    given = [kind, *attributes] if isinstance(attributes, list) else attributes
    bare = {
        "traceId": TRACE,
        "attributes": given,
        "startTimeUnixNano": "soon",
        "events": [None, {"name": "gen_ai.choice"}],
    }
    assert read(export(bare))


def test_the_table_of_names_has_no_name_twice_in_a_row_and_no_empty_row() -> None:
    assert all(names and len(set(names)) == len(names) for names in NAMES.values())
    assert all(key == key.casefold() for key in KINDS)
    assert ask({"session.id": "", "gen_ai.conversation.id": None, "thread.id": "t"}, "session") == "t"
