"""A replay as a command: what it is given, what it may answer, and that no time, output or orphan gets away."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ruleproof.core.evalcase import EvalCase
from ruleproof.edge.replaycommand import CommandReplay, load_function
from ruleproof.errors import Refused, SourceError

CASE = EvalCase("c-0000000001", "2026-01-01", "recorded; rm -rf $HOME", replay_input={"q": "é \ud83d"})


def python(code: str, *words: str) -> str:
    return " ".join([shlex.quote(sys.executable), "-c", shlex.quote(code), *words])


def answer(code: str, *words: str, timeout: float = 30.0, **more: Any) -> object:
    return CommandReplay(python(code, *words), timeout_s=timeout, **more)(CASE, "the rules é \ud83d")


def test_case_context_and_id_come_as_files_and_words_and_everything_on_standard_input() -> None:
    found = answer(
        "import json, sys, pathlib\n"
        "case = json.load(open(sys.argv[1])); context = open(sys.argv[2], encoding='utf-8').read()\n"
        "both = json.load(sys.stdin)\n"
        "print(json.dumps({'session_id': 'n', 'same': both['case'] == case, 'words': sys.argv[3:], 'context': context,"
        " 'q': case['replay_input']['q'], 'mode': oct(pathlib.Path(sys.argv[1]).stat().st_mode)[-3:]}))",
        "{case}", "{context}", "--id={id}", "{unknown}", "'{\"a\": 1}'",
    )  # fmt: skip
    assert found == {
        "session_id": "n", "same": True, "words": [f"--id={CASE.id}", "{unknown}", '{"a": 1}'],
        "context": "the rules é ?", "q": "é \ud83d", "mode": "600",
    }  # fmt: skip


def test_nothing_of_a_case_but_its_id_can_reach_the_command_line(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hostile = EvalCase("c-1", "", f"$(touch {mark}); touch {mark}", replay_input=f"`touch {mark}` {{case}}")
    replay = CommandReplay(python("import sys; print(len(sys.argv))", "{case}", "{context}", "{id}"), timeout_s=30)
    assert replay(hostile, f"; touch {mark}") == "4"
    assert not mark.exists()


def test_the_files_are_gone_when_it_is_over(tmp_path: Path) -> None:
    name = str(answer("import sys; print(sys.argv[1])", "{case}"))
    assert name.endswith("case.json") and not Path(name).parent.exists()


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("s-1", "s-1"),
        ("log line\\nmore\\n  s-2  \\n\\n", "s-2"),
        ('noise\\n{"session_id": "s-3"}', {"session_id": "s-3"}),
        ('{\\n "session_id": "s-4"\\n}', {"session_id": "s-4"}),
        ("1e5", "1e5"),
    ],
)
def test_the_last_line_is_the_session_or_an_object(printed: str, found: object) -> None:
    assert answer(f"print('{printed}')") == found


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("", "neither the id of a session nor a JSON object"),
        ("print('{broken')", "neither the id of a session nor a JSON object"),
        ("print('[' * 100000 + '{')", None),
        ("import sys; sys.exit('no model: key sk-proj-Zk39dJq8LmN2pQ7rS4tU')", "exit code 1: no model: key [redacted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit code -9: it said nothing"),
        ("raise RuntimeError('x' * 10**6)", "exit code 1"),
    ],
)
def test_a_failure_is_said_in_a_line_without_credentials(code: str, said: str | None) -> None:
    if said is None:
        answer(code)
        return
    with pytest.raises(SourceError) as caught:
        answer(code)
    assert said in caught.value.message and len(caught.value.message) < 500
    assert "Zk39dJq8" not in str(caught.value)


def test_a_command_that_hangs_is_ended_in_time_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(file)!r}, 'w').write(str(child.pid)); time.sleep(600)"
    )
    with pytest.raises(SourceError, match="timed out after 2 s"):
        answer(code, timeout=2.0)
    assert _gone(int(file.read_text()))


def test_a_child_that_keeps_the_pipe_open_does_not_keep_us(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(file)!r}, 'w').write(str(child.pid)); print('s-1')"
    )
    assert answer(code) == "s-1"
    assert _gone(int(file.read_text()))


def test_output_without_end_is_cut_off_and_its_writer_ended() -> None:
    with pytest.raises(SourceError, match="printed more than 100000 bytes"):
        answer("while True: print('x' * 1000)", max_output=100_000)


def test_the_limit_of_output_is_exact() -> None:
    assert answer("print('s' * 99, end='')", max_output=99) == "s" * 99
    with pytest.raises(SourceError, match="printed more than 99 bytes"):
        answer("print('s' * 100, end='')", max_output=99)


def test_errors_without_end_are_read_and_only_their_end_is_kept() -> None:
    with pytest.raises(SourceError, match="the last word"):
        answer("import sys; sys.stderr.write('x' * 5_000_000 + '\\nthe last word'); sys.exit(2)")


def test_closing_ends_what_runs() -> None:
    replay = CommandReplay(python("import time; time.sleep(600)"), timeout_s=600)
    raised: list[str] = []

    def call() -> None:
        try:
            replay(CASE, "")
        except SourceError as error:
            raised.append(error.message)

    thread = threading.Thread(target=call)
    thread.start()
    while not replay._running:
        time.sleep(0.01)
    replay.close()
    thread.join(20)
    assert raised and "exit code -9" in raised[0] and not replay._running
    with pytest.raises(SourceError, match="over"):
        replay(CASE, "")


@pytest.mark.parametrize("template", ["", "  ", "'unclosed"])
def test_a_template_that_is_no_command_is_refused(template: str) -> None:
    with pytest.raises(Refused):
        CommandReplay(template, timeout_s=1)


@pytest.mark.parametrize("template", ["/no/such/program {case}", "no-such-program-at-all", "'a\x00b'"])
def test_a_program_that_is_not_there_is_named(template: str) -> None:
    with pytest.raises(SourceError, match="cannot be run"):
        CommandReplay(template, timeout_s=1)(CASE, "")


def _gone(pid: int) -> bool:
    """Whether the process ends within a while; a zombie has ended."""
    for _ in range(500):
        try:
            os.kill(pid, signal.SIG_DFL)
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


# --- functions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "my_replays.py").write_text("class Runs:\n    one = staticmethod(lambda case, context: 'new')\nx = 3\n")
    (tmp_path / "my_broken.py").write_text("raise SystemExit('key sk-proj-Zk39dJq8LmN2pQ7rS4tU')\n")
    return tmp_path


def test_a_function_of_a_module_of_this_folder_is_found(module: Path) -> None:
    assert load_function("my_replays:Runs.one")(CASE, "") == "new"


@pytest.mark.parametrize(
    "name", ["my_replays", "my_replays:", ":x", "my replays:x", "../x:y", "a:b:c", "my_replays:x()"]
)
def test_what_is_no_name_of_a_function_is_refused_before_anything_runs(module: Path, name: str) -> None:
    with pytest.raises(Refused, match="module:function"):
        load_function(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module_here:f", "ModuleNotFoundError"),
        ("my_replays:missing", "AttributeError"),
        ("my_replays:x", "int, which cannot be called"),
        ("my_broken:f", "SystemExit: key [redacted"),
    ],
)
def test_what_cannot_be_imported_is_said(module: Path, name: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        load_function(name)
    assert said in str(caught.value)


def test_folders_that_a_killed_run_left_behind_are_removed_by_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new, other = (tmp_path / name for name in ("ruleproof-replay-old", "ruleproof-replay-new", "other"))
    for folder in (old, new, other):
        folder.mkdir()
        (folder / "case.json").write_text("{}")
    for folder in (old, other):
        os.utime(folder, (0, 0))
    CommandReplay("true", timeout_s=1)
    assert not old.exists() and new.exists() and other.exists()
