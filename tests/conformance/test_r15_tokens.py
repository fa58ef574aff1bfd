"""R15: the estimate never falls below the real count of cl100k and o200k, and is at most 1.6 times above on prose."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.core.language_cases import LANGUAGE_CASES
from tests.core.token_texts import CODE, ENGLISH, LANGUAGES, noise

from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge.tokens import exact_counter

Count = Callable[[str], int]


@pytest.fixture(scope="module")
def exact() -> Count:
    """The higher of both counts."""
    pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")
    counters = [exact_counter("cl100k"), exact_counter("o200k")]
    return lambda text: max(count(text) for count in counters)


def _below(texts: list[str], exact: Count) -> list[tuple[str, int, int]]:
    return [(text[:80], estimate_tokens(text), exact(text)) for text in texts if estimate_tokens(text) < exact(text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_r15_never_below_in_any_language(language: str, exact: Count) -> None:
    rules = [text for pair in LANGUAGE_CASES.get(language, ()) for text in pair]
    assert _below([LANGUAGES[language], LANGUAGES[language] * 20, *rules], exact) == []


def test_r15_never_below_on_code_and_markup(exact: Count) -> None:
    assert _below([*CODE, *(line for text in CODE for line in text.splitlines(keepends=True))], exact) == []
    source = Path(exact_counter.__code__.co_filename).parents[1]
    assert _below([file.read_text("utf-8") for file in source.rglob("*.py")], exact) == []


def test_r15_never_below_on_encoded_bytes_and_random_characters(exact: Count) -> None:
    assert _below(list(noise()), exact) == []


def test_r15_never_below_on_recorded_rules_and_attacks(data_dir: Path, exact: Count) -> None:
    rules = [file.read_text("utf-8") for file in sorted(data_dir.glob("cursor_rules/*"))]
    playbooks = [file.read_text("utf-8") for file in data_dir.glob("playbooks/*")]
    attacks = json.loads((data_dir / "injection" / "bipia_text_attack_train.json").read_text("utf-8"))
    assert len(rules) == 79
    assert len(attacks) > 10
    assert _below([*rules, *playbooks, *(text for texts in attacks.values() for text in texts)], exact) == []
    lines = [line for text in (*rules, *playbooks) for line in text.splitlines() if line.strip()]
    assert _below(lines, exact) == []


def test_r15_never_below_on_recorded_sessions(data_dir: Path, exact: Count) -> None:
    texts = [
        str(message.get("content"))
        for file in sorted(data_dir.glob("who_and_when/*.json"))[:12]
        for message in json.loads(file.read_text("utf-8"))["history"]
    ]
    assert texts
    assert _below(texts, exact) == []


@pytest.mark.parametrize("text", [*ENGLISH, "\n\n".join(ENGLISH)])
def test_r15_at_most_six_tenths_above_on_english_prose(text: str, exact: Count) -> None:
    assert exact(text) <= estimate_tokens(text) <= 1.6 * exact(text)


def test_r15_at_most_six_tenths_above_on_the_recorded_rules_together(data_dir: Path, exact: Count) -> None:
    texts = [file.read_text("utf-8") for file in sorted(data_dir.glob("cursor_rules/*"))]
    assert sum(map(estimate_tokens, texts)) <= 1.6 * sum(map(exact, texts))
