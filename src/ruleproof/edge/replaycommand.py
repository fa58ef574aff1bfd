"""A replay that somebody names on the command line: a command line template, or a function in a module.

The command runs without a shell, in a process group of its own, within a time and an output limit; its whole group goes
when it is over. Neither kind is ever taken from a settings file, which may have come with a clone.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ruleproof.codec.evalcases import encode, to_json
from ruleproof.core.evalcase import EvalCase
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.edge import fs
from ruleproof.errors import Refused, SourceError

MAX_OUTPUT = 4 << 20
"""Bytes that a command may print."""
_MAX_ERRORS = 4096
_MAX_SAID = 300
_BLOCK = 1 << 16
_PREFIX = "ruleproof-replay-"
_STALE_S = 2 * 86_400.0
"""Twice the longest `replay_timeout_s`."""


class CommandReplay:
    """Runs `template` for each case. `{case}` and `{context}` in it become files, `{id}` the id of the case.

    Standard input is `{"case": ..., "context": ...}`. The command prints the id of the new session as its last line, or
    one JSON object (`engine.ports.Replay`). Raises SourceError when it fails, hangs or prints too much.
    """

    def __init__(self, template: str, *, timeout_s: float, max_output: int = MAX_OUTPUT) -> None:
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise Refused(f"The command cannot be read: {error}.", hint="Quote it as for a shell.") from None
        if not self._words:
            raise Refused("The command is empty.", hint="For example 'python replay.py {case} {context}'.")
        self._timeout_s, self._max_output = timeout_s, max_output
        self._mutex = threading.RLock()  # a signal may come while its thread closes
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        _remove_stale(self._folder)
        atexit.register(self.close)

    def __call__(self, case: EvalCase, context: str) -> object:
        """The new session's id, or the object that the command printed."""
        with self._mutex:
            if self._closed:
                raise SourceError("The run is over.")
            place = tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True)
        with place as folder:
            files = {name: Path(folder) / name for name in ("case.json", "context.txt", "stdin.json")}
            both = json.dumps({"case": to_json(case), "context": context}).encode()
            for file, data in zip(
                files.values(), (encode(case), context.encode("utf-8", "replace"), both), strict=True
            ):
                fs.write_atomic(file, data, sync=False)
            case_file, context_file, source = files.values()
            given = {"{case}": str(case_file), "{context}": str(context_file), "{id}": case.id}
            words = [_filled(word, given) for word in self._words]
            with source.open("rb") as stdin:
                return _answer(self._run(words, stdin))

    def _run(self, words: Sequence[str], stdin: IO[bytes]) -> bytes:
        with self._mutex:  # what is started is known to `close`
            if self._closed:
                raise SourceError("The run is over.")
            try:
                process = subprocess.Popen(
                    words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
                )
            except (OSError, ValueError) as error:
                raise SourceError(f"{one_line(words[0], 200)} cannot be run: {error}.") from None
            self._running.add(process)
        try:
            return self._watched(process)
        finally:
            _kill(process)
            with self._mutex:
                self._running.discard(process)

    def _watched(self, process: subprocess.Popen[bytes]) -> bytes:
        printed, errors, too_much = bytearray(), bytearray(), threading.Event()

        def read(stream: IO[bytes], kept: bytearray, most: int, go_on: Callable[[], bool]) -> None:
            with stream, suppress(OSError, ValueError):
                while block := os.read(stream.fileno(), _BLOCK):
                    kept += block
                    if len(kept) > most and not go_on():
                        return

        def stop() -> bool:
            too_much.set()
            _kill(process)
            return False

        def cut() -> bool:
            del errors[:-_MAX_ERRORS]
            return True

        assert process.stdout is not None and process.stderr is not None
        readers = [
            threading.Thread(target=read, args=(process.stdout, printed, self._max_output, stop), daemon=True),
            threading.Thread(target=read, args=(process.stderr, errors, 2 * _MAX_ERRORS, cut), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            code = process.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            raise SourceError(f"The command timed out after {self._timeout_s:g} s.") from None
        for reader in readers:
            reader.join(1.0)
        if any(reader.is_alive() for reader in readers):
            _kill(process)  # a child of its own still holds the pipe
        if too_much.is_set():
            raise SourceError(f"The command printed more than {self._max_output} bytes.")
        if code:
            raise SourceError(
                f"The command ended with exit code {code}: {_last_line(bytes(errors)) or 'it said nothing'}."
            )
        return bytes(printed)

    def close(self) -> None:
        """End every command that still runs, and remove their files; no other is started."""
        with self._mutex:
            self._closed = True
            running = list(self._running)
        for process in running:
            _kill(process)
        shutil.rmtree(self._folder, ignore_errors=True)


def _remove_stale(fresh: Path) -> None:
    """Remove the folders beside `fresh` that killed runs left behind: no replay takes as long as they are old."""
    oldest = fresh.stat().st_mtime - _STALE_S
    for folder in fresh.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_mtime < oldest:
                shutil.rmtree(folder)


def _filled(word: str, given: dict[str, str]) -> str:
    for name, value in given.items():
        word = word.replace(name, value)
    return word


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and its group. A group whose leader was waited for is alive only through its children."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)


def _answer(printed: bytes) -> object:
    text = printed.decode("utf-8", "replace").strip()
    last = text.rsplit("\n", 1)[-1].strip()
    for said in (text, last):
        if said.startswith("{"):
            try:
                value = json.loads(said)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return value
    if not last or last.startswith("{"):
        raise SourceError("The command printed neither the id of a session nor a JSON object.")
    return last


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return one_line(redact(lines[-1])[0], _MAX_SAID) if lines else ""


def load_function(name: str) -> Callable[..., Any]:
    """The callable `module:attribute`, modules of the current folder included. Importing runs the module.

    Raises Refused for another form, SourceError where it cannot be imported or is no callable.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise Refused(f"{name!r} is not module:function.", hint="For example replays:run for run() in replays.py.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        said = one_line(redact(f"{type(error).__name__}: {error}"[:4000])[0], _MAX_SAID)
        raise SourceError(f"{name} cannot be imported: {said}.", hint="It is looked for from this folder.") from None
    if not callable(found):
        raise SourceError(f"{name} is {type(found).__name__}, which cannot be called.")
    return found  # type: ignore[no-any-return]
