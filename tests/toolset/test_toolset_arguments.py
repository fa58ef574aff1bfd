"""Arguments are checked before anything happens: nothing is converted, and a refusal says what was wrong with which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ruleproof.edge import fs

RULE = "r-0123456789"
WRONG = [
    ("harness_rule_status", {}, "rule_id is missing.", "Allowed: text."),
    ("harness_rule_status", {"rule_id": 17}, "rule_id is int 17.", "Allowed: text."),
    ("harness_rule_status", {"rule_id": None}, "rule_id is null.", "Allowed: text."),
    ("harness_rule_status", {"rule_id": ["r-0123456789"]}, "rule_id is list of 1.", "Allowed: text."),
    ("harness_rule_status", {"rule_id": "r-XYZ"}, "rule_id: 'r-XYZ' is not a rule id.", "ten hex digits"),
    ("harness_rule_status", {"rule_id": RULE, "rule": 1}, "there is no argument 'rule'.", "Did you mean rule_id?"),
    ("harness_reflect", {"limit": 1}, "there is no argument 'limit'.", "Allowed: no argument at all."),
    ("harness_journal", {"limit": "20"}, "limit is the text '20'.", "Allowed: a whole number."),
    ("harness_journal", {"limit": True}, "limit is bool True.", "Allowed: a whole number."),
    ("harness_journal", {"limit": 2.5}, "limit is float 2.5.", "Allowed: a whole number."),
    ("harness_journal", {"limit": float("nan")}, "limit is float nan.", "Allowed: a whole number."),
    ("harness_journal", {"types": "notice"}, "types is the text 'notice'.", "Allowed: a list of texts."),
    ("harness_journal", {"types": ["notice", 5]}, "types[1] is int 5.", "Allowed: a list of texts."),
    ("harness_journal", {"types": {"a": 1}}, "types is dict of 1.", "Allowed: a list of texts."),
    ("harness_rules_list", {"status": "promoted??"}, "status is the text 'promoted??'.", "candidate, active, retired"),
    ("harness_rules_list", {"status": "unknown"}, "status is the text 'unknown'.", "candidate, active, retired"),
    ("harness_rules_search", {"query": 1e5}, "query is float 100000.0.", "Allowed: text."),
    ("harness_history", {"metric": 1}, "metric is int 1.", "Allowed: text."),
    ("harness_history", {"metric": ""}, "metric: '' is not a metric id.", "1 to 512 characters"),
    (
        "harness_history",
        {"metric": "m", "session_id": "a\nb"},
        "session_id: 'a\\nb' is not a session id.",
        "line breaks",
    ),
    ("harness_rule_add", {"rule": "x"}, "rationale is missing.", "Allowed: text."),
    ("harness_rule_add", {"rule": b"x", "rationale": "y"}, "rule is bytes.", "Allowed: text."),
    ("harness_mailbox_read", {"notice_id": "a/b"}, "notice_id: 'a/b' is not a notice id.", "no leading dot"),
]


@pytest.mark.parametrize(("name", "args", "said", "hint"), WRONG)
def test_a_wrong_argument_is_named_with_what_was_given_and_what_is_allowed(
    name: str, args: dict[str, object], said: str, hint: str, place: Any
) -> None:
    answer = place.toolset.call_sync(name, args)
    assert answer["ok"] is False and set(answer) == {"ok", "error", "problems"}
    assert answer["error"].startswith(f"Refused: {name}: {said}"), answer["error"]
    assert hint in answer["error"]
    (problem,) = answer["problems"]
    assert problem["where"] in said and problem["message"].startswith(said)


def test_every_wrong_argument_is_named_at_once(place: Any) -> None:
    answer = place.call("harness_rule_add", rule=1, metric=2, tags=[3, 4], colour="red")
    assert sorted(problem["where"] for problem in answer["problems"]) == [
        "colour", "metric", "rationale", "rule", "tags[0]", "tags[1]",
    ]  # fmt: skip


@pytest.mark.parametrize("args", ["text", 5, ["list"], b"bytes", {1: 2}, {("a",): 1}])
def test_arguments_that_are_no_object_of_names_are_refused(args: Any, place: Any) -> None:
    answer = place.toolset.call_sync("harness_rule_status", args)
    assert answer["ok"] is False and answer["error"].startswith("Refused: harness_rule_status: ")


def test_null_is_the_same_as_leaving_an_optional_argument_out(place: Any) -> None:
    answer = place.well("harness_rule_add", rule="Do it.", rationale="so", notice_id=None, metric=None, tags=None)
    assert answer["rule"]["metric"] is None and answer["rule"]["tags"] == []
    assert place.well("harness_journal", limit=None, types=None)["events"]


@pytest.mark.parametrize("text", ["1e5", "007", "true", "null", "1_000", "١٢", " a ", "a::b", "NaN"])
def test_a_text_that_looks_like_something_else_stays_the_text_that_it_was(text: str, place: Any) -> None:
    place.report(text, agent_reliability=0.9)
    answer = place.well("harness_history", metric="agent_reliability", session_id=text)
    assert answer["session_id"] == text
    assert [point["session_id"] for point in answer["local"]] == [text]
    assert place.well("harness_history", metric="agent_reliability", session_id=text + "0")["local"] == []


PATHLIKE = [
    "../../x", "..", ".", "/etc/passwd", "C:\\x", "NUL", "nul.json", "-rf", "--upload-pack=x", "x" * 300, "🙂", "a/b",
    "a\\b", "a\x00b", "a\nb", "n-1.", " n-1", "%2e%2e", "ｎ-1", "n-\u202e1", "\ud83d", "con", "com1.txt", "~root",
]  # fmt: skip
IDS = [
    ("harness_mailbox_read", "notice_id", {}),
    ("harness_mailbox_ack", "notice_id", {}),
    ("harness_rule_add", "notice_id", {"rule": "x", "rationale": "y"}),
    ("harness_mailbox_ack", "rule_id", {"notice_id": "n-1"}),
    ("harness_rule_retire", "rule_id", {}),
    ("harness_rule_status", "rule_id", {}),
]


@pytest.mark.parametrize("text", PATHLIKE)
@pytest.mark.parametrize(("name", "argument", "rest"), IDS)
def test_an_id_that_could_be_a_path_is_refused_before_any_file_is_touched(
    name: str, argument: str, rest: dict[str, object], text: str, place: Any
) -> None:
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        answer = place.toolset.call_sync(name, {**rest, argument: text})
    assert answer["ok"] is False
    assert answer["error"].startswith(f"Refused: {name}: {argument}: "), answer["error"]
    assert steps == []


def test_a_trace_id_never_becomes_a_file_name(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place.notice("s-1")
    place.write("secret.json", {"session_id": "stolen"})
    read: list[str] = []
    wrapped = place.workspace.ports.files.read
    spy: Callable[[str], bytes | None] = lambda name: (read.append(name), wrapped(name))[1]  # noqa: E731
    monkeypatch.setattr(type(place.workspace.ports.files), "read", lambda self, name: spy(name))
    for text in [*PATHLIKE, "../secret", "secret"]:
        assert place.call("harness_trace_inspect", trace_id=text)["ok"] is False
    assert set(read) == {f"traces/{name}" for name in fs.listdir(place.root / "traces")}


OVERSIZE = [
    ("harness_rules_search", "query", {}, 2000),
    ("harness_mailbox_ack", "note", {"notice_id": "n-1"}, 2000),
    ("harness_rule_retire", "reason", {"rule_id": RULE}, 2000),
]


@pytest.mark.parametrize(("name", "argument", "rest", "limit"), OVERSIZE)
def test_a_text_that_is_too_long_is_refused_with_its_figures_and_not_clipped(
    name: str, argument: str, rest: dict[str, object], limit: int, place: Any
) -> None:
    error = place.ill(name, **rest, **{argument: "x" * 84_000})
    assert f"{argument}: 84000 characters; at most {limit} are allowed." in error
    assert f"{limit + 1} characters" in place.ill(name, **rest, **{argument: "x" * (limit + 1)})
    assert "characters;" not in str(place.call(name, **rest, **{argument: "x" * limit}).get("error"))


def test_tags_are_few_and_short(place: Any) -> None:
    add = {"rule": "x", "rationale": "y"}
    assert "65 tags, the longest of 1 characters" in place.ill("harness_rule_add", **add, tags=["x"] * 65)
    assert "1 tags, the longest of 201 characters" in place.ill("harness_rule_add", **add, tags=["x" * 201])
    assert "At most 64 of at most 200" in place.ill("harness_journal", types=["x" * 10_000_000])
