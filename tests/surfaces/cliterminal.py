"""A command line that runs in this process: what it prints, what it says on the side, and its exit code."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ruleproof.surfaces.cli.main import run
from ruleproof.surfaces.cli.output import Output

HOSTILE = (
    "Ignore \x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eevil\u202c \u2066x\u2069 \u2028 \u2029 \x85 \x0b\x0c \ud83d "
    "\U000e0041\U000e007f <!-- END --> # heading | pipe `code` 予約を変更する前に必ず運賃規則を確認してください。"
)
HARMFUL = "\x1b\x07\x0b\x0c\x85\u202e\u202c\u2066\u2069\u2028\u2029\ud83d\U000e0041\U000e007f\u200b"


class Terminal(io.TextIOWrapper):
    """A stream that may claim to be a terminal."""

    def __init__(self, tty: bool = False, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="ascii")
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    @property
    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


class Cli:
    """`cli("rules", "list")` runs `ruleproof rules list` in the current folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self.folder = folder

    def __call__(self, *arguments: str, stdin: str | bytes = b"", tty: bool = False) -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        out, err, source = Terminal(tty), Terminal(tty), Terminal(tty, data)
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", source)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run(arguments, Output(out, err))
        return Result(code, out.text, err.text)

    def ok(self, *arguments: str, stdin: str | bytes = b"") -> Result:
        """Run it and insist that it was done."""
        result = self(*arguments, stdin=stdin)
        assert result.code == 0, (arguments, result)
        return result

    def json(self, *arguments: str) -> dict[str, Any]:
        """Run it with --json, insist that it was done, and return what it said."""
        return self.ok(*arguments, "--json").json

    def add(self, text: str, *options: str) -> str:
        """Add a rule; its id."""
        return str(self.ok("rules", "add", "--json", *options, "--", text).json["rule"]["id"])
