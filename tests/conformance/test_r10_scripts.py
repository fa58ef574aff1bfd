"""R10, the tokeniser: every script has tokens, and a reordered query meets the right rule first in each language."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.core.language_cases import LANGUAGE_CASES

from ruleproof.core.text import tokenise


def test_r10_a_signature_becomes_condition_and_metric() -> None:
    assert tokenise("breach:agent_reliability") == ("breach", "agent_reliability")


def test_r10_there_are_ten_languages_of_five_rules() -> None:
    assert len(LANGUAGE_CASES) >= 10
    assert all(len(cases) == 5 for cases in LANGUAGE_CASES.values())


@pytest.mark.parametrize("language", LANGUAGE_CASES)
def test_r10_every_rule_has_tokens_and_its_query_meets_it_first(language: str) -> None:
    rules = [set(tokenise(rule)) for rule, _ in LANGUAGE_CASES[language]]
    for own, (_, query) in zip(rules, LANGUAGE_CASES[language], strict=True):
        wanted = set(tokenise(query))
        ranked = sorted(rules, key=lambda rule: len(wanted & rule), reverse=True)
        assert ranked[0] is own
        assert len(wanted & ranked[0]) > len(wanted & ranked[1])


@pytest.mark.parametrize("run", ["删除文件", "ファイル", "ลบไฟล์งาน", "ລຶບໄຟລ໌", "លុបឯកសារ", "ဖျက်ဖိုင်"])
def test_r10_a_run_without_spaces_becomes_pairs(run: str) -> None:
    tokens = tokenise(run)
    assert len(tokens) > 1
    assert all(one[-1] in two or two[0] in one for one, two in pairwise(tokens))
