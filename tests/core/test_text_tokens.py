"""Text to search tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest
from tests.core.language_cases import LANGUAGE_CASES

from ruleproof.core.text import tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("breach:agent_reliability", ("breach", "agent_reliability")),
        ("Never retry a payment; NEVER!", ("never", "retry", "payment", "never")),
        ("a b 1 22 _x", ("22", "_x")),
        ("Öffne die Tür", ("öffne", "die", "tür")),
        ("café Cafe\u0301", ("café", "café")),
        ("Straße STRASSE", ("strasse", "strasse")),
        ("ﬁle ２４", ("file", "24")),
        ("я не удаляю", ("не", "удаляю")),
        ("删除文件", ("删除", "除文", "文件")),
        ("值", ("值",)),
        ("API密钥v2", ("api", "密钥", "v2")),
        ("設定ファイルを保存", ("設定", "ファ", "ァイ", "イル", "ルを", "保存")),
        ("ｶﾅ", ("カナ",)),
        ("か\u309aき", ("か\u309aき",)),
        ("파일을 값", ("파일을", "파일", "일을", "값")),
        ("फ़ाइलें हटाएँ", ("फ़ाइलें", "हटाएँ")),
        ("العربيّة", ("العربيّة",)),
        ("می\u200cخواهم", ("میخواهم",)),
        ("ลบไฟล์", ("ลบ", "บไ", "ไฟ", "ฟล์")),
        ("ຄຳ", ("ຄໍາ",)),
        ("", ()),
        ("- * ! … 🚀 ۝", ()),
    ],
)
def test_what_becomes_a_token(text: str, tokens: Sequence[str]) -> None:
    assert tokenise(text) == tuple(unicodedata.normalize("NFKC", token) for token in tokens)


def test_both_ways_agree_on_ascii() -> None:
    text = "Check breach:agent_reliability, then x = retry(2) -- twice_ OK?"
    assert tokenise(text + " é")[:-1] == tokenise(text) or tokenise(text + " é") == tokenise(text)


def test_half_a_surrogate_pair_is_no_obstacle() -> None:
    assert tokenise("ab\ud800cd") == ("ab", "cd")


def overlap(query: Sequence[str], rule: Sequence[str]) -> float:
    return len(set(query) & set(rule)) / len(set(query))


@pytest.mark.parametrize("language", LANGUAGE_CASES)
def test_a_reordered_query_meets_its_own_rule_most(language: str) -> None:
    rules = [tokenise(rule) for rule, _ in LANGUAGE_CASES[language]]
    assert len(rules) == 5
    for number, (_, query) in enumerate(LANGUAGE_CASES[language]):
        scores = [overlap(tokenise(query), rule) for rule in rules]
        assert scores[number] > max(score for other, score in enumerate(scores) if other != number)
