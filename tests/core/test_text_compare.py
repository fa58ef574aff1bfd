"""When two texts are the same rule."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests.core.language_cases import LANGUAGE_CASES

from ruleproof.core.text import normalise

RULE = "Never call the payment tool twice"

SAME = (
    "never call the PAYMENT tool twice.",
    "  Never  call\tthe\npayment tool twice!!! ",
    "Never call the payment tool twice。",
    "Ｎｅｖｅｒ call the ｐａｙｍｅｎｔ tool twice！",
    "Ne\u200bver call the pay\u00adment to\u2060ol twice",
    "Nеvеr cаll thе рауmеnt tооl twiсе",
    "Νever call the payment tool twice",
    "𝐍𝐞𝐯𝐞𝐫 call the payment tool twice",
    "Never\u00a0call\u2028the payment tool twice ;",
    "Never call the payment tool\x07 twice",
)


@pytest.mark.parametrize("text", SAME)
def test_case_width_space_invisible_and_lookalike_make_no_difference(text: str) -> None:
    assert normalise(text) == normalise(RULE) == "never call the payment tool twice"


@pytest.mark.parametrize(
    "text",
    [
        "Never call the payment tool thrice",
        "Always call the payment tool twice",
        "Never call the payments tool twice",
        "Never call the payment-tool twice",
        "Never call the payment tool, twice",
        "call the payment tool twice",
        "Never call the payment tool twice now",
    ],
)
def test_another_word_is_another_rule(text: str) -> None:
    assert normalise(text) != normalise(RULE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use == here", "Use = here"),
        ("Compare with ==, not ===", "Compare with ===, not =="),
        ("Write C", "Write C++"),
        ("Write C#", "Write C"),
        ("Use `..` in ranges", "Use `...` in ranges"),
        ("Use ! for unwrap", "Use !! for unwrap"),
        ("Pass --force", "Pass -force"),
        ("Keep x != y", "Keep x = y"),
        ("sınır", "sinir"),
        ("Der Maße wegen", "Der Mase wegen"),
        ("が", "か"),
        ("ばす", "はす"),
        ("削除する", "削除しない"),
        ("ファイルを削除する。", "ファイルを保存する。"),
        ("нет", "нос"),
        ("вам", "нам"),
        ("кот", "ком"),
        ("ο νόμος", "ο τόμος"),
        ("किताब", "कितब"),
        ("résumé", "resume"),
        ("1. first", "2. first"),
    ],
)
def test_different_rules_keep_different_keys(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_long_shared_boilerplate_absorbs_nothing() -> None:
    boilerplate = "When you work on the billing service, in whatever environment and for whatever customer, " * 20
    assert normalise(boilerplate + "never retry.") != normalise(boilerplate + "always retry.")


def test_all_rules_of_all_languages_have_keys_of_their_own() -> None:
    rules = [rule for cases in LANGUAGE_CASES.values() for rule, _ in cases]
    for one, other in combinations(rules, 2):
        assert normalise(one) != normalise(other)
        assert normalise(one) == normalise(f" {one.upper() if one.upper().lower() == one.lower() else one} ")


def test_words_of_lookalikes_in_one_script_never_meet() -> None:
    letters = "авекмнорстухіјѕ"
    words = {normalise(first + second + third) for first in letters for second in letters for third in letters}
    assert len(words) == len(letters) ** 3


def test_a_word_of_lookalikes_alone_is_the_word_it_looks_like() -> None:
    assert normalise("Stор the сору аt оnсе: \u0441\u043e\u0440") == normalise("stop the copy at once: cop")


@pytest.mark.parametrize("text", ["НЕ ТРОГАТЬ ТО", "Не Трогать То", "не трогать то"])
def test_case_makes_no_difference_in_words_that_look_latin(text: str) -> None:
    assert normalise(text) == normalise("не трогать то")


def test_nothing_but_punctuation_has_the_empty_key() -> None:
    assert normalise(" .!;。 ") == normalise("") == ""
