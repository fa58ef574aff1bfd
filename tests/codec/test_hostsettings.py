"""Settings of another program: ours go in and come out, and every byte that is not ours stays where it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ruleproof.codec.hostsettings import COMMAND_FILE, DENIED, OURS, with_ours, without_ours
from ruleproof.errors import Refused

EMPTY = st.sampled_from(["", " ", "\n", "\r\n\t", "  "])
KEYS = st.sampled_from(
    ["hooks", "permissions", "deny", "allow", "SessionStart", "UserPromptExpansion", "model", "\u00e9", 'q"']
)
WORDS = ["Bash(rm:*)", "", "\\", "]}", "\u2028"]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.sampled_from(WORDS))


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    """An object that a host could read, in whatever layout somebody gave it."""

    def listed(items: list[str], brackets: str) -> str:
        inner = ",".join(f"{draw(EMPTY)}{item}{draw(EMPTY)}" for item in items) or draw(EMPTY)
        return f"{brackets[0]}{inner}{brackets[1]}"

    def value(depth: int) -> str:
        return json.dumps(draw(SCALARS), ensure_ascii=draw(st.booleans())) if depth < 1 else obj(depth - 1)

    def obj(depth: int, *fixed: tuple[str, str]) -> str:
        held = dict(fixed)
        for key in draw(st.lists(KEYS, max_size=3, unique=True)):
            held.setdefault(key, value(depth))
        order = draw(st.permutations(sorted(held)))
        return listed([f"{json.dumps(key)}{draw(EMPTY)}:{draw(EMPTY)}{held[key]}" for key in order], "{}")

    def lists(*names: str) -> str:
        chosen = draw(st.lists(st.sampled_from(names), unique=True))
        return listed(
            [
                f"{json.dumps(name)}:{draw(EMPTY)}{listed([value(0) for _ in range(draw(st.integers(0, 2)))], '[]')}"
                for name in chosen
            ],
            "{}",
        )

    sections = {"permissions": lists("deny", "allow"), "hooks": lists("SessionStart", "UserPromptExpansion", "Stop")}
    kept = [(key, text) for key, text in sections.items() if draw(st.booleans())]
    others = [("model", value(1))] if draw(st.booleans()) else []
    items = [f"{json.dumps(key)}:{text}" for key, text in draw(st.permutations([*kept, *others]))]
    return f"{draw(EMPTY)}{listed(items, '{}')}{draw(EMPTY)}"


@given(settings_texts())
def test_what_goes_in_comes_out_again_to_the_byte(text: str) -> None:
    made = with_ours(text)
    assert without_ours(made) == text
    assert with_ours(made) == made
    was, now = json.loads(text), json.loads(made)
    for section, key, wanted in OURS:
        held = now[section][key]
        assert held[: len(held) - len(wanted)] == was.get(section, {}).get(key, [])
        assert held[len(held) - len(wanted) :] == list(wanted)
    assert {key: value for key, value in now.items() if key not in ("hooks", "permissions")} == {
        key: value for key, value in was.items() if key not in ("hooks", "permissions")
    }


@given(settings_texts(), st.sampled_from(["deny", "SessionStart"]))
def test_what_a_person_adds_behind_ours_stays(text: str, name: str) -> None:
    made = with_ours(text)
    assume(made.count(f'"{name}"') == 1)  # else the test would have to find out which one is meant
    mine = '"mine"'
    place = made.index("[", made.index(f'"{name}"')) + 1
    edited = f"{made[:place]}{mine}, {made[place:]}"
    out = without_ours(edited)
    assert out is not None and mine in out and not any(rule in out for rule in DENIED)


def test_without_a_file_one_is_made_and_goes_again() -> None:
    made = with_ours(None)
    assert json.loads(made)["permissions"]["deny"] == list(DENIED)
    assert without_ours(made) is None and without_ours(None) is None
    assert without_ours("{}") == "{}"


def test_an_entry_that_a_person_changed_is_theirs() -> None:
    made = with_ours(None).replace('"startup|resume|clear|compact"', '"startup"')
    left = without_ours(made)
    assert left is not None
    assert json.loads(left) == {"hooks": {"SessionStart": [json.loads(made)["hooks"]["SessionStart"][0]]}}


def test_ours_in_another_layout_are_ours() -> None:
    made = json.dumps(json.loads(with_ours('{"model": "x"}')), separators=(",", ":"))
    left = without_ours(made)
    assert left is not None
    assert json.loads(left) == {
        "model": "x",
        "permissions": {"deny": []},
        "hooks": {"SessionStart": [], "UserPromptExpansion": []},
    }


def test_a_byte_order_mark_stays() -> None:
    assert with_ours("\ufeff{}").startswith('\ufeff{"permissions"')
    assert without_ours(with_ours("\ufeff{}")) == "\ufeff{}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("// x\n{}", "not JSON"),
        ('{"a": 1,}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no JSON object"),
        ('{"hooks": 5}', "hooks is no object"),
        ('{"permissions": {"deny": {}}}', "deny is no list"),
        ('{"hooks": {}, "hooks": {}}', "hooks stands there twice"),
    ],
)
def test_a_file_that_means_nothing_or_two_things_is_refused(text: str, why: str) -> None:
    for change in (with_ours, without_ours):
        with pytest.raises(Refused, match=re.escape(why)):
            change(text)


def test_the_slash_command_puts_nothing_typed_into_a_shell_and_no_model_calls_it() -> None:
    head, _, body = COMMAND_FILE.removeprefix("---\n").partition("---\n")
    assert "disable-model-invocation: true" in head.splitlines()
    assert "!`" not in body and "```" not in body and "$ARGUMENTS" not in COMMAND_FILE and "@" not in body
    assert "allowed-tools" not in head
    assert all(json.loads(line.partition(": ")[2]) for line in head.splitlines() if line.startswith(("desc", "arg")))
