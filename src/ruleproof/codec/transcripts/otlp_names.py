"""One table of attribute names: what a span may call the same thing, newest GenAI conventions first.

Sources: the OpenTelemetry GenAI conventions before and after their move to a repository of their own, OpenLLMetry, and
OpenInference. A name that is missing here is not read anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "session": ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "thread.id"),
    "task": ("ruleproof.task.id", "task.id", "traceloop.association.properties.task_id"),
    "operation": ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type"),
    "model": (
        "gen_ai.request.model",
        "gen_ai.response.model",
        "llm.model_name",
        "gen_ai.system",
        "gen_ai.provider.name",
    ),
    "input": ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages"),
    "output": ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages"),
    "input_value": ("input.value", "traceloop.entity.input"),
    "output_value": ("output.value", "traceloop.entity.output"),
    "tool_name": ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name"),
    "tool_id": ("gen_ai.tool.call.id", "tool_call.id", "tool.id"),
    "tool_arguments": ("gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input"),
    "tool_result": ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output"),
    "tools": ("gen_ai.tool.definitions", "llm.tools"),
    "finish": ("gen_ai.response.finish_reasons", "llm.response.finish_reason", "gen_ai.response.stop_reason"),
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "money": ("gen_ai.usage.cost", "llm.cost.total"),
    "error": ("error.type", "exception.type"),
}
"""Our word -> the names, in the order in which they are asked for."""

KINDS: Mapping[str, str] = {
    "chat": "llm", "text_completion": "llm", "completion": "llm", "generate_content": "llm", "llm": "llm",
    "execute_tool": "tool", "tool": "tool",
    "invoke_agent": "agent", "create_agent": "agent", "invoke_workflow": "agent", "agent": "agent", "chain": "agent",
    "workflow": "agent", "task": "agent",
}  # fmt: skip
"""Operation or span kind, in lower case -> what the span is to us."""

EVENTS: Mapping[str, str] = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant",
    "gen_ai.content.prompt": "", "gen_ai.content.completion": "",
    "gen_ai.client.inference.operation.details": "",
}  # fmt: skip
"""Span events that carry messages -> the role they stand for; "" where they carry attributes as a span would."""

STEPS: Mapping[str, str] = {"message": "", "tool_call": "", "message_content": "", "contents": "content"}
"""A step of a flattened OpenInference name, as in `.0.message.role` -> our word; "" where it only wraps the rest."""


def ask(attributes: Mapping[str, object], what: str) -> object:
    """The first of the names of `what` that the attributes hold with a value, or None."""
    return next((attributes[name] for name in NAMES[what] if attributes.get(name) not in (None, "")), None)
