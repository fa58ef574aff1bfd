"""The endpoint's client: bounded in time and size, plain about what failed, and careful with the key."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler

import pytest
from tests.demo.endpointdouble import Answer, endpoint_double, says

from ruleproof.demo.endpoint import MOST_BYTES, Endpoint, Nonsense
from ruleproof.errors import SourceError

SCHEMA = {"type": "object"}
TALK = [{"role": "user", "content": "Hello \ud800"}]


def asked(answer: Answer, *, timeout_s: float = 5.0) -> dict[str, object]:
    with endpoint_double(lambda *_: answer) as double:
        return Endpoint(double.url, "m", timeout_s=timeout_s).ask(TALK, SCHEMA)


def test_an_object_comes_back_and_the_schema_and_the_bounds_go_out() -> None:
    with endpoint_double(lambda *_: says({"a": 1})) as double:
        endpoint = Endpoint(double.url + "/", "some-model")
        assert endpoint.ask(TALK, SCHEMA) == {"a": 1}
        assert Endpoint(f"{double.url}/chat/completions", "m").ask(TALK, SCHEMA) == {"a": 1}
        assert endpoint.calls == 1
    headers, body = double.asked[0]
    assert body["model"] == "some-model" and body["messages"] == TALK and body["max_tokens"] > 0
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "Authorization" not in headers


def test_the_key_goes_into_the_header_and_into_no_message() -> None:
    with endpoint_double(lambda *_: (401, b"no")) as double, pytest.raises(SourceError) as failed:
        Endpoint(double.url + "?api-version=secret", "m", key="sk-secret").ask(TALK, SCHEMA)
    assert double.asked[0][0]["Authorization"] == "Bearer sk-secret"
    assert "secret" not in str(failed.value)


NONSENSE = ["", "Sure! I will charge it.", "[1, 2]", "null", "[" * 100_000, '{"action": ', "\ud800", ["a list"]]


@pytest.mark.parametrize("content", NONSENSE, ids=lambda content: str(content)[:12].encode("unicode_escape").decode())
def test_a_model_that_talks_nonsense_is_told_from_an_endpoint_that_fails(content: object) -> None:
    body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    with pytest.raises(Nonsense) as nonsense:
        asked((200, body))
    assert len(nonsense.value.args[0]) <= 200


GARBAGE = [
    b"", b"<html>It works!</html>", b"\xff\xfe\x00", b"null", b"{}", b'{"choices": []}', b'{"choices": [{}]}',
    b'{"choices": {"0": 1}}', b'{"choices": [{"message": "text"}]}', b"[" * 200_000, b"9" * 50_000, b"NaN",
]  # fmt: skip


@pytest.mark.parametrize("body", GARBAGE, ids=lambda body: ascii(body[:16]))
def test_garbage_is_no_chat_completion(body: bytes) -> None:
    with pytest.raises(SourceError, match="no chat completion"):
        asked((200, body))


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503, 204])
def test_a_status_is_named_with_the_start_of_what_was_said(status: int) -> None:
    with pytest.raises(SourceError, match=f"status {status}") as failed:
        asked((status, b"" if status == 204 else b"out of order \x1b[31m " * 1000))
    assert "\x1b" not in str(failed.value) and len(str(failed.value)) < 600


def test_a_redirect_is_not_followed() -> None:
    def elsewhere(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", "http://127.0.0.1:1/stolen")
        handler.end_headers()

    with pytest.raises(SourceError, match="status 307"):
        asked(elsewhere)


def test_a_huge_answer_is_cut_off() -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(64):
            handler.wfile.write(b" " * MOST_BYTES)

    with pytest.raises(SourceError, match="more than 1,048,576 bytes"):
        asked(flood)


@pytest.mark.parametrize("pause", [0.05, 5.0])
def test_an_answer_that_takes_too_long_ends_however_it_trickles(pause: float) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(int(5 / pause)):
            time.sleep(pause)
            handler.wfile.write(b" ")
            handler.wfile.flush()

    with pytest.raises(SourceError, match=r"did not answer within 0\.3 s"):
        asked(trickle, timeout_s=0.3)


def test_a_connection_that_breaks_is_named() -> None:
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort")

    def gibberish(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"\x00\x01\x02 what\r\n\r\n")

    for broken in (hang_up, gibberish, lambda handler: handler.connection.close()):
        with pytest.raises(SourceError):
            asked(broken)


def test_nobody_there_is_said_with_the_address() -> None:
    with pytest.raises(SourceError, match=r"http://127\.0\.0\.1:1/v1/chat/completions cannot be reached"):
        Endpoint("http://127.0.0.1:1/v1", "m").ask(TALK, SCHEMA)


def test_the_loopback_address_is_called_past_any_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert asked(says({"a": 1})) == {"a": 1}
