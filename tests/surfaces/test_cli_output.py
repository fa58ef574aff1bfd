"""What reaches the terminal: harmless text, one JSON document, the right exit code, no noise about a closed pipe."""

from __future__ import annotations

import errno
import io
import json
import logging
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.problems import Problem
from ruleproof.errors import (
    CapReached,
    ConfigError,
    Conflict,
    NotFound,
    Refused,
    RuleproofError,
    SourceError,
    StoreError,
)
from ruleproof.surfaces.cli.exits import Exit, of_error
from ruleproof.surfaces.cli.output import Output, Reply, as_json, harmless

ANY = st.text(alphabet=st.characters(), max_size=80)


class Broken(io.StringIO):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str, /) -> int:
        raise OSError(self.number, "no") if self.number != errno.EPIPE else BrokenPipeError(self.number, "no")


def output() -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Output(out, err), out, err


@given(ANY)
def test_no_control_or_invisible_mark_survives(text: str) -> None:
    left = harmless(text)
    assert not any(
        unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(char) in ("RLO", "LRO")
        for char in left.replace("\n", "").replace("\t", "")
    )
    assert left == harmless(left)


def test_what_was_harmful_is_shown_as_what_it_was() -> None:
    assert harmless("a\x1b[31m\u202eb\ud83d\U000e0041\x9b\n\tc") == "a\\x1b[31m\\u202eb\\ud83d\\U000e0041\\x9b\n\tc"
    assert harmless("予約 👩\u200d💻 می\u200cخواهم") == "予約 👩\u200d💻 می\u200cخواهم"


@given(st.dictionaries(ANY, st.one_of(ANY, st.none(), st.integers(), st.lists(ANY, max_size=3)), max_size=4))
def test_json_is_harmless_and_says_exactly_what_was_given(document: dict[str, object]) -> None:
    text = as_json(document)
    assert json.loads(text) == document
    assert text == harmless(text)


def test_json_has_no_number_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        as_json({"x": float("nan")})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("x"), 1),
        (CapReached("x"), 1),
        (NotFound("x"), 1),
        (Conflict("x"), 1),
        (SourceError("x"), 1),
        (RuleproofError("x"), 1),
        (ConfigError("x"), 2),
        (KeyError("x"), 3),
        (AssertionError("x"), 3),
        (RecursionError("x"), 3),
        (StoreError("x"), 4),
        (PermissionError(13, "x"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert of_error(error) == code
    out, _, err = output()
    assert out.failure(error) == code
    assert err.getvalue().strip()


def test_an_error_says_what_is_wrong_where_and_the_way_out() -> None:
    out, printed, err = output()
    out.failure(Refused("The rule has 9 characters.", hint="Say it shorter.", problems=[Problem("p", "bad", "f:1")]))
    assert err.getvalue() == "Error: The rule has 9 characters.\n  f:1: bad\nSay it shorter.\n"
    assert printed.getvalue() == ""


def test_an_error_in_json_stands_alone_on_standard_output() -> None:
    out, printed, err = output()
    out.json = True
    out.failure(Refused("No \x1b.", hint="Do.", problems=[Problem("p", "bad", "f:1")]))
    assert json.loads(printed.getvalue()) == {
        "ok": False,
        "error": {
            "type": "Refused",
            "message": "No \x1b.",
            "hint": "Do.",
            "problems": [{"code": "p", "severity": "error", "message": "bad", "where": "f:1", "hint": ""}],
        },
    }
    assert err.getvalue() == ""


def test_a_fault_of_ours_asks_for_a_report_and_shows_its_place_only_on_demand() -> None:
    out, _, err = output()
    out.failure(KeyError("x"))
    assert "report" in err.getvalue()
    assert "Traceback" not in err.getvalue()
    out.debug = True
    out.failure(KeyError("x\x1b"))
    assert "KeyError" in err.getvalue()
    assert "\x1b" not in err.getvalue()


def test_a_reply_prints_its_text_once_and_its_notes_aside() -> None:
    out, printed, err = output()
    assert out.reply(Reply({}, "a\nb\x1b[2J", Exit.PROBLEMS, ("note \x1b",))) == 1
    assert printed.getvalue() == "a\nb\\x1b[2J\n"
    assert err.getvalue() == "note \\x1b\n"


def test_ok_is_true_exactly_when_the_exit_code_is_0() -> None:
    for code in Exit:
        out, printed, _ = output()
        out.json = True
        out.reply(Reply({"a": 1}, "text", code))
        assert json.loads(printed.getvalue()) == {"ok": code == 0, "a": 1}


def test_a_reader_that_went_away_is_no_error() -> None:
    err = io.StringIO()
    assert Output(Broken(errno.EPIPE), err).reply(Reply({}, "x")) == 0
    assert err.getvalue() == ""


def test_output_that_cannot_be_written_is_an_error() -> None:
    for wants_json in (False, True):
        err = io.StringIO()
        out = Output(Broken(errno.ENOSPC), err)
        out.json = wants_json
        with pytest.raises(OSError, match="standard output") as raised:
            out.reply(Reply({}, "x"))
        assert out.failure(raised.value) == 4
        assert "standard output could not be written" in err.getvalue()


def test_the_log_is_made_harmless_too() -> None:
    out, _, err = output()
    with out.log():
        logging.getLogger("ruleproof").warning("session %s", "\x1b[31m")
        try:
            raise KeyError("boom")
        except KeyError:
            logging.getLogger("ruleproof").exception("a step failed")
    logging.getLogger("ruleproof").warning("not ours any more")
    assert err.getvalue() == "warning: session \\x1b[31m\nerror: a step failed\n"


def test_progress_is_silent_where_there_is_no_terminal() -> None:
    out, printed, err = output()
    with out.progress(100) as progress:
        progress(50, 1)
    assert printed.getvalue() == err.getvalue() == ""
