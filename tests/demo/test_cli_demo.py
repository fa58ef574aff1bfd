"""`ruleproof demo` as a person meets it: the story, its width, its exit codes, and the commands that it names."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

import pytest
from tests.demo.endpointdouble import LEARNED, careless, endpoint_double, says
from tests.surfaces.cliterminal import HARMFUL, HOSTILE, Cli

from ruleproof.surfaces.cli.layout import width


def test_the_story_has_every_part_fits_80_cells_and_says_what_is_scripted(cli: Cli) -> None:
    told = cli.ok("demo", "--folder", "d")
    said = told.out
    assert "no replay function" not in told.err
    flat = " ".join(said.split())
    for part in (
        "script and no model",
        "gateway is simulated",
        "Customers charged more than once: 3 (373.49 EUR too much)",
        "outcome=0.00 [breach, threshold 0.50]",
        "check the payment status before retrying",
        "- _No rules yet._",
        "+ ### Provisional rules",
        "money taken beyond the price 373.49 EUR 0.00 EUR",
        "the rule is active",
        "a useless rule would have passed this gate with a chance of 37%",
        "of 99% by all customers",
        "proves no rule",
        str(cli.folder / "d"),
    ):
        assert part in flat, part
    here = str(cli.folder)
    assert [line for line in said.split("\n") if width(line) > 80 and here not in line] == []


def test_every_command_that_it_names_works(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    said = cli.ok("demo", "--folder", "a folder").out
    export, *commands = [line.strip() for line in said.split("\n") if line.startswith("  ") and "ruleproof" in line][
        -7:
    ]
    name, _, value = shlex.split(export)[1].partition("=")
    monkeypatch.setenv(name, value)
    assert len(commands) == 6
    for command in commands:
        assert cli.ok(*shlex.split(command)[1:]).out
    assert cli.ok("doctor").out
    ingested = cli.json("ingest", str(cli.folder / "a folder" / "conversations.jsonl"))
    assert "20" in str(ingested)


def test_json_is_one_document_with_every_figure(cli: Cli) -> None:
    found = cli.json("demo", "--sessions", "6")
    assert found["ok"] is True and found["agent"] == "scripted agent"
    assert found["before"]["charged_twice"] > found["after"]["charged_twice"] == 0
    assert found["verdict"]["status"] == "active" and 0 < found["verdict"]["chance"] < 1
    assert set(found["contexts"]) == {"before", "trial", "end"}
    assert len(found["customers"]) == 12
    for file in found["files"].values():
        assert Path(file).exists()


def test_without_a_folder_it_takes_a_temporary_one_and_touches_nothing_else(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("the demo went to the network")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    found = cli.json("demo", "--sessions", "6")
    assert Path(found["files"]["folder"]).parent == cli.folder.parent / "t"
    assert list(cli.folder.iterdir()) == []
    assert list(Path.home().iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "x").write_text("")
    result = cli("demo", "--folder", "mine")
    assert result.code == 1 and "not an empty folder" in result.err


@pytest.mark.parametrize(
    "arguments",
    [("--model", "file:///etc/passwd"), ("--model", "ftp://x/v1"), ("--model", "127.0.0.1:8080"), ("--model", ""),
     ("--model", "http://user:secret@host/v1"), ("--model", "http://"), ("--model", "http://[::1"),
     ("--model", "http://h:99999/v1"), ("--model-name", "m"), ("--sessions", "5"), ("--sessions", "101")],
    ids=lambda arguments: " ".join(arguments),
)  # fmt: skip
def test_a_wrong_option_is_exit_2(arguments: tuple[str, ...], cli: Cli) -> None:
    result = cli("demo", *arguments)
    assert result.code == 2
    assert arguments[0] in result.err and "secret" not in result.err


def test_an_endpoint_that_is_not_there_is_exit_1_and_leaves_no_folder(cli: Cli) -> None:
    result = cli("demo", "--model", "http://127.0.0.1:1/v1", "--folder", "d")
    assert result.code == 1 and result.out == ""
    assert "http://127.0.0.1:1/v1/chat/completions cannot be reached" in result.err
    assert "OpenAI-compatible" in result.err
    assert cli("demo", "--model", "http://127.0.0.1:1/v1", "--json").json["error"]["type"] == "SourceError"
    assert list(cli.folder.iterdir()) == []


def test_a_model_is_named_and_its_key_comes_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEPROOF_MODEL_KEY", "sk-from-the-environment")
    with endpoint_double(careless) as double:
        result = cli.ok("demo", "--model", double.url, "--model-name", "tiny", "--sessions", "6")
    flat = " ".join(result.out.split())
    assert "The agent is the model tiny" in flat and "script" not in flat
    assert LEARNED in flat and "the rule is active" in flat
    assert "o-001: time-out, charged twice" in result.err
    headers = double.asked[0][0]
    assert headers["Authorization"] == "Bearer sk-from-the-environment"
    assert "sk-from" not in result.out + result.err


def test_a_model_that_cannot_write_a_rule_is_no_error_and_its_words_stand_there(cli: Cli) -> None:
    with endpoint_double(lambda n, asked: careless(n, asked) if n == 0 else says("I'm only small.")) as double:
        result = cli.ok("demo", "--model", double.url, "--sessions", "6")
    flat = " ".join(result.out.split())
    assert "It could not write one" in flat and "I'm only small." in flat
    assert "and 32 more" in flat


def test_an_endpoint_that_dies_on_the_way_is_exit_1_with_what_was_seen(cli: Cli) -> None:
    with endpoint_double(lambda n, asked: careless(n, asked) if n < 5 else (500, b"dead")) as double:
        result = cli("demo", "--model", double.url, "--sessions", "6")
    assert result.code == 1
    assert "The demo stopped: 3 calls failed in a row" in " ".join(result.out.split())


def test_a_hostile_model_reaches_neither_the_terminal_nor_the_shape_of_the_document(cli: Cli) -> None:
    with endpoint_double(lambda n, asked: careless(n, asked) if n == 0 else says(HOSTILE)) as double:
        for options in ((), ("--json",)):
            result = cli.ok("demo", "--model", double.url, "--model-name", HOSTILE[:60], "--sessions", "6", *options)
            assert not set(HARMFUL) & set(result.out + result.err)
            assert [line for line in result.out.split("\n") if width(line) > 80 and "/" not in line] == [] or options


def test_a_session_without_a_failure_leaves_nothing_to_learn(cli: Cli) -> None:
    def careful(number: int, asked: dict[str, object]) -> object:
        messages = asked["messages"]
        assert isinstance(messages, list)
        messages[0]["content"] += LEARNED
        return careless(number, asked)

    with endpoint_double(careful) as double:  # type: ignore[arg-type]
        result = cli.ok("demo", "--model", double.url, "--sessions", "6")
    flat = " ".join(result.out.split())
    assert "No session failed, so there is no notice and nothing to learn." in flat
    assert "The verdict" not in flat
