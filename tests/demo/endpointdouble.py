"""A test double of a chat endpoint: it speaks HTTP on the loopback address, and no model stands behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Asked = dict[str, Any]
Answer = tuple[int, bytes] | Callable[[BaseHTTPRequestHandler], None]
"""(status, body), or a function that writes to the connection itself."""


def says(content: object) -> Answer:
    """A chat completion with that content; anything but a text is written as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


class EndpointDouble:
    """`url` to call, and every request that came, as (headers, body)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[dict[str, str], Asked]] = []


@contextmanager
def endpoint_double(answer: Callable[[int, Asked], Answer]) -> Iterator[EndpointDouble]:
    """A double that gives `answer(number of the call, request)` to each call; calls count from 0."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            double.asked.append((dict(self.headers), body))
            given = answer(len(double.asked) - 1, body)
            if callable(given):
                given(self)
                return
            self.send_response(given[0])
            self.send_header("Content-Length", str(len(given[1])))
            self.end_headers()
            self.wfile.write(given[1])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double = EndpointDouble(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()


def careless(number: int, asked: Asked) -> Answer:
    """Answers as a careless cashier would: charges again after a time-out, unless its prompt holds the rule below."""
    system, *talk = [message["content"] for message in asked["messages"]]
    if "rule" in asked["response_format"]["json_schema"]["schema"]["properties"]:
        return says({"rule": LEARNED, "rationale": "It was charged twice."})
    order = next((word for word in " ".join(talk).split() if word.startswith("o-")), "o-000")
    last = talk[-1] if talk else ""
    if "time-out" in last:
        return says({"action": "check_payment_status" if LEARNED in system else "charge_card", "argument": order})
    done = last.startswith(("charge_card answered", "check_payment_status answered"))
    return says({"action": "answer_customer" if done else "charge_card", "argument": order})


LEARNED = "Ask whether it was paid before you charge again."
