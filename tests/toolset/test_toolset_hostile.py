"""Whatever an agent passes and the files hold: an answer with `ok`, of plain JSON values, and never an exception."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Conflict, StoreError
from ruleproof.toolset.bounded import Bounded, rows
from ruleproof.toolset.catalog import TOOLS
from ruleproof.toolset.spec import Tool

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    ["\ud83d", "\u202e", "\x00", "../../x", "r-0123456789", "n-1", "x" * 5000, "\u2028## SYSTEM", "NUL", "1e5"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=4) | st.just(10**4000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4) | st.tuples(inner),
    max_leaves=6,
)
NAMES = st.sampled_from([tool.name for tool in TOOLS])
ARGUMENTS = sorted({name for tool in TOOLS for name in tool.arguments.model_fields})


@given(NAMES | TEXTS | VALUES, VALUES | st.dictionaries(st.sampled_from(ARGUMENTS) | TEXTS, VALUES, max_size=5))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_argument_whatsoever_raises_or_breaks_a_file(place: Any, name: Any, args: Any) -> None:
    answer = place.toolset.call_sync(name, args)
    assert type(answer) is dict and answer["ok"] in (True, False)
    json.dumps(answer, allow_nan=False).encode()
    if not answer["ok"]:
        assert set(answer) == {"ok", "error", "problems"} and len(answer["error"]) < 3000
        assert not answer["error"].startswith("InternalError"), answer
    for log in ("rules.jsonl", "journal.jsonl"):
        if (place.root / log).exists():
            place.lines(log)


def test_a_number_too_long_to_print_is_refused_or_bounded_like_any_other(place: Any) -> None:
    assert place.call("harness_journal", limit=10**5000)["ok"] is True
    assert "rule_id is int. Allowed: text." in place.ill("harness_rule_status", rule_id=10**5000)
    assert "there is no argument" in place.ill("harness_reflect", **{"x" * 10_000: 10**5000})


@given(st.fixed_dictionaries({}, optional={name: TEXTS | st.lists(TEXTS, max_size=3) for name in ARGUMENTS}), NAMES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_of_every_kind_give_clean_answers(place: Any, args: dict[str, Any], name: str) -> None:
    tool = next(tool for tool in TOOLS if tool.name == name)
    answer = place.toolset.call_sync(name, {k: v for k, v in args.items() if k in tool.arguments.model_fields})
    shown = json.dumps({k: v for k, v in answer.items() if k not in ("session_id", "metric")}, ensure_ascii=False)
    assert not {"\u202e", "\u2028", "\ud83d", "\x85"} & set(shown), answer
    assert "\\u0000" not in shown.replace("\\\\", "") and "\\u001b" not in shown.replace("\\\\", ""), answer


FOREIGN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=6),
    max_leaves=30,
)


@given(FOREIGN)
@settings(max_examples=200, deadline=None)
def test_bounding_is_total_and_its_result_is_json(value: object) -> None:
    bounded = Bounded(400, longest=50, items=4)
    text = json.dumps(bounded.of(value), allow_nan=False)
    assert len(text) < 8000
    assert bounded.cut is None or "shortened" in bounded.cut or "left out" in bounded.cut
    kept, _ = rows([value, value], keep="last")
    json.dumps(kept, allow_nan=False)


def test_bounding_keeps_what_fits_as_it_was() -> None:
    value = {"a": [1, 2.5, True, None, "text\nof two lines"], "ü": {"nested": ["日本語"]}}
    bounded = Bounded()
    assert bounded.of(value) == value and bounded.cut is None


def test_bounding_says_in_figures_what_it_cut() -> None:
    bounded = Bounded(longest=10, items=3)
    assert bounded.of({"long": "x" * 25, "list": list(range(9))})["list"] == [0, 1, 2]  # type: ignore[index]
    assert bounded.cut == "texts shortened: 1, by 15 characters; items left out: 6"


@pytest.mark.parametrize("offset", [0, 900, 1960, 1980, 1988, 1992, 1999, 2001, 2500])
def test_a_credential_on_the_edge_of_a_cut_is_still_recognised(offset: int) -> None:
    secret = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
    shown = str(Bounded().of("x " * (offset // 2) + secret + " y" * 6000))
    assert len(shown) <= 2000 and "sk-9fK2" not in shown


@pytest.mark.parametrize("between", ["\u200b", "\x1b[0m", "\x00", "\u202e"])
def test_a_credential_with_something_hidden_in_it_is_still_recognised(between: str) -> None:
    secret = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
    assert "Gs6PjE1u" not in str(Bounded().of(f"key {secret[:9]}{between}{secret[9:]} end"))


def test_a_credential_in_a_key_or_under_a_telling_key_is_not_shown() -> None:
    secret = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
    text = json.dumps(Bounded().of({secret: 1, "list": [{"k": [secret]}], "password": "tr0ub4dor-Xk9"}))
    assert secret not in text and "tr0ub4dor" not in text


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_workspace_that_is_not_trusted_tells_nothing_and_takes_nothing(tool: Tool, opened: Any) -> None:
    home = opened()
    rule = home.well("harness_rule_add", rule="Obey me.", rationale="because")["rule"]["id"]
    notice = home.notice("s-1", reason="Obey me.")
    foreign = opened(trusted=False)
    before = {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}
    given = {
        "rule": "x", "rationale": "y", "rule_id": rule, "notice_id": notice, "trace_id": notice,
        "metric": "agent_reliability", "query": "obey", "case_id": "c-0123456789", "replay_input": "obey",
        "category": "security", "text": "Obey me.",
    }  # fmt: skip
    fields = tool.arguments.model_fields
    answer = foreign.call(tool.name, **{name: given[name] for name in fields if fields[name].is_required()})
    assert answer["ok"] is False and answer["error"].startswith("Refused: This workspace is not trusted")
    assert "`ruleproof trust`" in answer["error"] and "Obey" not in json.dumps(answer)
    assert {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("disk full.", hint="Make room."), "StoreError: disk full. Make room."),
        (PermissionError(13, "Permission denied"), "StoreError: Permission denied."),
        (Conflict("moved.", problems=("one", "two")), "Conflict: moved."),
        (RuntimeError("secret internals"), "InternalError: RuntimeError; the log of the host says more."),
        (RecursionError("deep"), "InternalError: RecursionError; the log of the host says more."),
    ],
)
def test_whatever_breaks_below_is_an_answer(
    error: Exception, said: str, place: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Workspace) -> None:
        raise error

    monkeypatch.setattr(Workspace, "refresh", broken)
    with caplog.at_level(logging.ERROR, "ruleproof"):
        answer = place.call("harness_rules_list")
    assert answer["error"] == said
    assert answer["problems"] == (["one", "two"] if isinstance(error, Conflict) else [])
    assert ("failed" in caplog.text) == said.startswith("InternalError")


def test_a_read_only_workspace_is_an_error_and_never_a_success(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Any, data: bytes, *, sync: bool = True) -> None:
        raise StoreError(f"{path}: append failed: No space left on device.", hint="Check free space.")

    monkeypatch.setattr("ruleproof.edge.fs.append", full)
    answer = place.call("harness_rule_add", rule="x", rationale="y")
    assert answer["ok"] is False and "No space left" in answer["error"]
    assert place.call("harness_reflect")["ok"] is False
    assert place.well("harness_rules_list")["rules"] == []
