"""Any OpenAI-compatible chat endpoint, with the standard library only. What it answers is foreign: bounded in time and
size, and never trusted to be what was asked for.

An endpoint that fails (`SourceError`) and a model that talks nonsense (`Nonsense`) are kept apart: the first says
nothing about the model.
"""

from __future__ import annotations

import http
import http.client
import json
import time
import urllib.request
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ruleproof.core.text import one_line
from ruleproof.errors import SourceError

MOST_BYTES = 1 << 20
MAX_TOKENS = 200
_SHOWN = 200
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Nonsense(Exception):
    """The model answered, but not with the JSON object that was asked for. `args[0]` is the start of what it said."""


class Endpoint:
    """`url` is the base that ends in `/v1`, or the whole address of the chat completions."""

    def __init__(self, url: str, model: str, *, key: str = "", timeout_s: float = 60.0) -> None:
        self.model = model
        self.calls = 0
        base = url.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._key, self._timeout_s = key, timeout_s
        parts = urlsplit(self._url)
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        """Where the calls go, without what may be secret in it."""
        here = [urllib.request.ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        self._opener = urllib.request.build_opener(_AsItIs, *here)

    def ask(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object]) -> dict[str, object]:
        """The model's answer, a JSON object that should fit `schema` (the caller checks).

        Raises SourceError where the endpoint fails, Nonsense where the model's text is no JSON object.
        """
        self.calls += 1
        wanted = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
            "response_format": wanted,
        }
        text = _content(self._post(json.dumps(body).encode()))
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Nonsense(_start(text))
        return answer

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "ruleproof-demo"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, body, headers)
        try:
            status, answer = self._exchange(request, time.monotonic() + self._timeout_s)
        except TimeoutError:
            raise SourceError(f"{self.address} did not answer within {self._timeout_s:g} s.") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise SourceError(f"{self.address} did not answer within {self._timeout_s:g} s.") from None
            raise SourceError(
                f"{self.address} cannot be reached: {_start(str(reason)) or type(reason).__name__}.",
                hint="--model takes the base address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.",
            ) from None
        if status != http.HTTPStatus.OK:
            raise SourceError(
                f"{self.address} answered with status {status}: {_start(answer)!r}.",
                hint="Check the address, the model's name and the key.",
            )
        return answer

    def _exchange(self, request: urllib.request.Request, deadline: float) -> tuple[int, bytes]:
        """(status, body). The time limit of a socket is for one read, so the whole answer has one of its own."""
        data = bytearray()
        with self._opener.open(request, timeout=self._timeout_s) as response:
            while chunk := response.read1(1 << 16):
                data += chunk
                if len(data) > MOST_BYTES:
                    raise SourceError(f"{self.address} answered with more than {MOST_BYTES:,} bytes.")
                if time.monotonic() > deadline:
                    raise TimeoutError
            return response.status, bytes(data)


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Every status is an answer: no exception, and above all no redirect, which would carry the key elsewhere."""

    def http_response(self, request: object, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        return response

    https_response = http_response


def _start(said: str | bytes) -> str:
    text = said if isinstance(said, str) else said[: 4 * _SHOWN].decode("utf-8", "replace")
    return one_line(text[:_SHOWN])


def _content(body: bytes) -> str:
    """`choices[0].message.content` of a chat completion."""
    try:
        return str(json.loads(body)["choices"][0]["message"]["content"] or "")
    except (ValueError, RecursionError, LookupError, TypeError):
        raise SourceError(
            f"The endpoint answered what is no chat completion: {_start(body)!r}.",
            hint="--model takes the base address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.",
        ) from None
