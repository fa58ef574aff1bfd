"""Builds the traces of a session from its messages, in whatever dialect they are: one trace for each turn of the agent.

A turn begins with the words of the user and holds what the agent did until the next words. A tool's result finds its
call by id, else by name, else as the first one open. Words of the user that the agent never replied to make no trace:
the agent did not run. System prompts are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ruleproof.codec.transcripts.base import canonical, clean
from ruleproof.core.session import ToolCall, Trace

_ROLES = {
    "user": "user", "human": "user", "assistant": "agent", "ai": "agent", "model": "agent",
    "tool": "tool", "function": "tool", "system": "", "developer": "",
}  # fmt: skip
_TEXT = ("text", "input_text", "output_text", "refusal")
_CALL = ("tool_use", "tool_call", "function_call", "server_tool_use")
_RESULT = ("tool_result", "tool_call_response", "function_call_output")


class Turns:
    """Collects what happened, in order; `done()` gives the traces. Mutable, private to one session of one reader."""

    def __init__(self, prefix: str = "turn-") -> None:
        self._prefix = prefix
        self._closed: list[Trace] = []
        self._prompt: list[str] = []
        self._calls: list[ToolCall] = []
        self._answer: str | None = None
        self._stop = ""
        self._acted = False
        self._waiting: dict[tuple[str, str], deque[int]] = {}  # calls without a result, by id, by name, and all
        self._unmatched = 0
        self._strange = 0

    def user(self, text: str) -> None:
        """Words of the user: a new turn, or more of the same prompt where the agent has not acted yet."""
        self._close()
        self._prompt.append(text)

    def say(self, text: str) -> None:
        """Words of the agent. An empty answer is an answer, and is kept as such."""
        self._acted = True
        if text or self._answer is None:
            self._answer = text

    def call(self, name: object, arguments: object, call_id: object = "") -> None:
        """A call of a tool. `arguments` is JSON text or a value."""
        self._acted, self._answer = True, None
        call = ToolCall(plain(name), canonical(arguments), call_id=plain(call_id))
        for key in (("id", call.call_id), ("name", call.name), ("", "")):
            self._waiting.setdefault(key, deque()).append(len(self._calls))
        self._calls.append(call)

    def result(self, content: object, *, call_id: object = "", name: object = "", failed: bool | None = None) -> None:
        """What a call brought back: the newest open call of that id, else the oldest open one of that name, or of any.

        An id that no call has is not guessed around, unless the calls were recorded without ids.
        """
        by_id, by_name = plain(call_id), plain(name)
        found = self._open("id", by_id, newest=True) if by_id else None
        if found is None and (not by_id or ("id", "") in self._waiting):
            found = self._open("name", by_name) if by_name else self._open("", "")
        if found is None:
            self._unmatched += 1
        else:
            self._calls[found] = replace(self._calls[found], result=plain(content), failed=failed)

    def _open(self, kind: str, key: str, newest: bool = False) -> int | None:
        waiting = self._waiting.get((kind, key))
        while waiting:
            index = waiting.pop() if newest else waiting.popleft()
            if self._calls[index].result is None:
                return index
        return None

    def stop(self, reason: object) -> None:
        """Why the model stopped, where recorded; the last one counts."""
        if isinstance(reason, str) and reason:
            self._stop = reason.casefold()

    def message(self, message: object) -> None:
        """One chat message: a role with text, content parts, tool calls or a tool's result. Never raises."""
        if not isinstance(message, Mapping):
            self._strange += 1
            return
        role = message.get("role")
        if role is None and message.get("type") in (*_CALL, *_RESULT):
            self._blocks([message], "agent")
            return
        role = _ROLES.get(role if isinstance(role, str) else str(message.get("type")))
        if role is None:
            self._strange += 1
        elif role == "tool":
            self._tool_message(message)
        elif role:
            self._blocks(message.get("content", message.get("parts")), role)
            if role == "agent":
                self._message_calls(message)
                self.stop(message.get("finish_reason") or message.get("stop_reason"))

    def done(self) -> tuple[Trace, ...]:
        """The traces so far; the open turn is one of them if the agent acted in it."""
        self._close()
        return tuple(self._closed)

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be placed, in words."""
        said = [f"{self._unmatched} tool results answer no recorded call"] if self._unmatched else []
        return (*said, *([f"{self._strange} messages could not be read"] if self._strange else []))

    def _close(self) -> None:
        if not self._acted:
            return
        self._closed.append(
            Trace(
                f"{self._prefix}{len(self._closed) + 1}",
                "\n\n".join(self._prompt),
                tuple(self._calls),
                self._answer,
                self._stop,
            )
        )
        self._prompt, self._calls, self._answer, self._stop, self._acted = [], [], None, "", False
        self._waiting = {}

    def _blocks(self, content: object, role: str) -> None:
        """The parts of a message in their order. Its texts count as one; of a user, results alone begin no turn."""
        words: list[str] = []
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, str):
                words.append(block)
            elif isinstance(block, Mapping):
                what = block.get("type")
                if what in _CALL:
                    self._said(words, role)
                    words = []
                    call_id = block.get("id") if what != "function_call" else block.get("call_id")
                    self.call(block.get("name"), block.get("input", block.get("arguments")), call_id)
                elif what in _RESULT:
                    self._block_result(block)
                elif what in _TEXT or (what is None and "text" in block):
                    words.append(plain(block.get("text", block.get("content", block.get("refusal")))))
        self._said(words, role)
        if role == "agent":
            self._acted = True

    def _said(self, words: list[str], role: str) -> None:
        if not words:
            return
        text = clean("\n\n".join(word for word in words if word))
        if role == "user":
            self.user(text)
        else:
            self.say(text)

    def _block_result(self, block: Mapping[str, object]) -> None:
        failed = block.get("is_error")
        content = next((block[key] for key in ("content", "response", "result", "output") if key in block), None)
        self.result(
            content,
            call_id=next((block[key] for key in ("tool_use_id", "call_id", "id") if block.get(key)), ""),
            failed=failed if isinstance(failed, bool) else None,
        )

    def _tool_message(self, message: Mapping[str, object]) -> None:
        parts = message.get("content", message.get("parts"))
        if isinstance(parts, list) and any(isinstance(part, Mapping) and part.get("type") in _RESULT for part in parts):
            self._blocks(parts, "user")
            return
        failed = {"error": True, "success": False}.get(str(message.get("status")))
        if isinstance(message.get("is_error"), bool):
            failed = bool(message["is_error"])
        self.result(parts, call_id=message.get("tool_call_id") or "", name=message.get("name") or "", failed=failed)

    def _message_calls(self, message: Mapping[str, object]) -> None:
        calls = message.get("tool_calls")
        legacy = message.get("function_call")
        for call in [*(calls if isinstance(calls, list) else []), *([{"function": legacy}] if legacy else [])]:
            inner = call.get("function", call) if isinstance(call, Mapping) else None
            if isinstance(inner, Mapping) and isinstance(call, Mapping):
                self.call(inner.get("name"), inner.get("arguments", inner.get("args")), call.get("id"))
            else:
                self._strange += 1


def plain(content: object) -> str:
    """`content` as text: itself, the texts of its parts, or its JSON. None is empty."""
    if content is None:
        return ""
    if isinstance(content, str):
        return clean(content)
    if isinstance(content, list) and all(isinstance(part, (str, Mapping)) for part in content):
        texts = [part if isinstance(part, str) else part.get("text") for part in content]
        if all(isinstance(text, str) for text in texts):
            return clean("\n".join(str(text) for text in texts))
    return canonical(content)


def tool_list(tools: object) -> dict[str, str]:
    """A recorded list of tools, in any of the usual shapes, as name -> the JSON text of its schema ("" = none)."""
    if isinstance(tools, Mapping):
        return {str(name): canonical(schema) if isinstance(schema, Mapping) else "" for name, schema in tools.items()}
    found: dict[str, str] = {}
    for tool in tools if isinstance(tools, Iterable) and not isinstance(tools, str) else ():
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            schema = next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner), None)
            found[str(inner["name"])] = canonical(schema) if isinstance(schema, Mapping) else ""
    return found
