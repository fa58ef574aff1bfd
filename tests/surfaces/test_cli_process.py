"""The real program in its own process: locales, closed pipes, full disks, failing stores, exit codes, interrupts."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli

from ruleproof.edge import fs

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def ruleproof(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-m", "ruleproof", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env={**env, **environment},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "POSIX"},
    ],
    ids=str,
)
def test_output_and_files_are_utf_8_whatever_the_locale_says(environment: dict[str, str], folder: Path) -> None:
    made = ruleproof("init", "--yes", cwd=folder, **environment)
    assert (made.returncode, made.stderr) == (0, b"")
    text = "予約を変更する前に確認 – née 👩"
    added = ruleproof("rules", "add", "-", "--json", cwd=folder, stdin=text.encode(), **environment)
    assert added.returncode == 0, added.stderr
    assert json.loads(added.stdout.decode("utf-8"))["rule"]["rule"] == text
    assert text in ruleproof("context", cwd=folder, **environment).stdout.decode("utf-8")
    assert "予約".encode() in ruleproof("rules", cwd=folder, **environment).stdout
    for path in folder.rglob("*"):
        if path.is_file():
            path.read_bytes().decode("utf-8")
    assert text in (folder / ".ruleproof" / "harness_rules.md").read_text(encoding="utf-8")


@POSIX
def test_the_command_line_is_utf_8_where_the_locale_knows_ascii_only(folder: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert ruleproof("init", "--yes", cwd=folder, **ascii_only).returncode == 0
    text = "Vérifie 予約 avant 👩"
    added = ruleproof("rules", "add", text, "--tag", "né", "--json", cwd=folder, **ascii_only)
    assert added.returncode == 0, added.stderr
    rule = json.loads(added.stdout.decode("utf-8"))["rule"]
    assert (rule["rule"], rule["tags"]) == (text, ["né"])
    session = {"id": "a", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
    (folder / "é.jsonl").write_text(json.dumps(session) + "\n", encoding="utf-8")
    read = ruleproof("ingest", "é.jsonl", cwd=folder, **ascii_only)
    assert read.returncode == 0 and "é.jsonl" in read.stdout.decode("utf-8")


@POSIX
@pytest.mark.parametrize("command", ["context", "journal --limit 100000", "tool", "--help", "rules --json"])
def test_a_closed_pipe_is_silent(command: str, cli: Cli) -> None:
    for number in range(50):
        cli.add(f"Rule number {number} is long enough to fill a pipe. " * 20)
    line = f"{sys.executable} -m ruleproof {command} | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=cli.folder, capture_output=True, timeout=60, check=False)
    assert b"Error" not in done.stderr and b"Exception" not in done.stderr and b"Traceback" not in done.stderr
    closed = f"{sys.executable} -m ruleproof {command} 2>err.txt >&-; cat err.txt"
    shut = subprocess.run(["bash", "-c", closed], cwd=cli.folder, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in shut.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_does_not_fit_anywhere_is_exit_4(cli: Cli) -> None:
    for arguments in (["status"], ["status", "--json"], ["context"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "ruleproof", *arguments],
                cwd=cli.folder,
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        assert done.returncode == 4
        assert b"standard output" in done.stderr
        assert b"Exception ignored" not in done.stderr


def test_exit_codes_of_the_real_program(folder: Path) -> None:
    assert ruleproof("status", cwd=folder).returncode == 1
    assert ruleproof("init", cwd=folder).returncode == 2
    assert ruleproof("init", "--yes", cwd=folder).returncode == 0
    assert ruleproof("nonsense", cwd=folder).returncode == 2
    assert ruleproof("status", cwd=folder, HARNESS_PAUSE="maybe").returncode == 2
    assert ruleproof("explain", "r-9999999999", cwd=folder).returncode == 1
    assert ruleproof("calibrate", cwd=folder).returncode == 5


@POSIX
def test_an_interrupt_is_exit_130_without_a_traceback(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ruleproof", "ingest", "-"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # whoever runs the tests in the background of a script ignores it, and a child would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    process.stdin.write(b'{"session": "s", "metric": "outcome", "value": 1}\n' * 10)
    process.stdin.flush()
    while not (folder / ".ruleproof").exists() and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err


# --- a store that fails -----------------------------------------------------------------------------------------------


def failing(step: str, name: str) -> object:
    def listen(event: fs.Event) -> None:
        if event[0] == step and event[1].endswith(name):
            raise OSError(30, "Read-only file system")

    return fs.observe(listen)


@pytest.mark.parametrize(
    ("arguments", "step", "file"),
    [
        (("rules", "add", "Be brief."), "append.begin", "rules.jsonl"),
        (("rules", "add", "Be brief."), "append.sync", "rules.jsonl"),
        (("rules", "add", "Be brief."), "append.begin", "journal.jsonl"),
        (("pause", "--all"), "append.begin", "rules.jsonl"),
        (("report", "s", "outcome=0.1"), "append.begin", "sessions.jsonl"),
        (("report", "s", "outcome=0.1"), "create.write", ".json"),
        (("ingest", "scores.jsonl"), "append.begin", "sessions.jsonl"),
        (("status",), "read", "rules.jsonl"),
        (("context", "--session", "s"), "append.begin", "trials.jsonl"),
        (("trust",), "replace.write", ".trust"),
        (("tool", "harness_rule_add", "--json", '{"rule": "x", "rationale": "y"}'), "append.begin", "rules.jsonl"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_write_that_fails_is_a_failure_and_nothing_claims_success(
    arguments: tuple[str, ...], step: str, file: str, cli: Cli
) -> None:
    cli.add("A first rule.")
    (cli.folder / "scores.jsonl").write_text('{"session": "s", "metric": "outcome", "value": 0}\n', encoding="utf-8")
    with failing(step, file):  # type: ignore[attr-defined]
        result = cli(*arguments)
    assert result.code == 4, result
    assert "Read-only" in result.err + result.out
    for word in ("was added", "is out of force", "was posted", "is trusted", "ingested"):
        assert word not in result.out
    if arguments[0] == "tool":
        assert result.json["ok"] is False
        return
    if step == "append.sync":  # the record stands, unsynced: the second call finds it
        return
    with failing(step, file):  # type: ignore[attr-defined]
        document = cli(*arguments, "--json")
    assert (document.code, document.json["ok"]) == (4, False)
    assert document.json["error"]["type"] in ("StoreError", "OSError")


def test_a_store_whose_lock_is_held_says_who_to_look_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_LOCK_TIMEOUT_S", "0.05")
    with fs.lock(cli.folder / ".ruleproof" / ".lock"):
        result = cli("rules", "add", "Be brief.")
        assert cli("rules").code == 0
    assert result.code == 4
    assert ".lock" in result.err and "0.05 s" in result.err


def test_a_store_that_is_no_file_is_exit_4(cli: Cli) -> None:
    (cli.folder / ".ruleproof" / "rules.jsonl").mkdir()
    result = cli("rules")
    assert result.code == 4
    assert "rules.jsonl" in result.err


def test_a_fault_of_ours_is_exit_3_and_asks_for_a_report(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from ruleproof.engine.compose import Composer

    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by \x1b[31mzero")

    monkeypatch.setattr(Composer, "context", broken)
    result = cli("context")
    assert result.code == 3
    assert "report" in result.err and "Traceback" not in result.err and "\x1b" not in result.err
    assert "Traceback" in cli("context", "--debug").err
    assert cli("context", "--json").json["error"]["type"] == "ZeroDivisionError"


# --- a signal during replays ------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("verb", ["regress", "validate"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_of_a_replay_and_its_folder_with_the_run(
    cli: Cli, verb: str, number: signal.Signals
) -> None:
    cli.ok("evalset", "capture", "--session", "s", "outcome=0", "--prompt", "x")
    cli.ok("rules", "add", "Charge once.", "--metric", "outcome")
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'started'); time.sleep(600)"
    template = f"{sys.executable} -c {shlex.quote(code)} {{case}}"
    temporary = cli.folder / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "ruleproof", verb, "--command", template],
        cwd=cli.folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    started = cli.folder / "started"
    while not started.exists() and process.poll() is None:
        time.sleep(0.02)
    assert list(temporary.iterdir())
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number and b"Traceback" not in err and b"interrupted" in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert list(temporary.iterdir()) == []
