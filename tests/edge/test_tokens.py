"""Exact counts, and what is said where they cannot be had."""

from __future__ import annotations

import sys

import pytest

from ruleproof.edge.tokens import VOCABULARIES, exact_counter
from ruleproof.errors import ConfigError


@pytest.fixture
def installed() -> None:
    pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("vocabulary", "tokens"), [("o200k", 10), ("cl100k", 11), ("cl100k_base", 11)])
def test_a_text_is_counted_as_the_vocabulary_has_it(vocabulary: str, tokens: int) -> None:
    assert exact_counter(vocabulary)("Prüfe den Status, ehe du zahlst") == tokens


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_special_tokens_and_half_pairs_are_plain_text(vocabulary: str) -> None:
    count = exact_counter(vocabulary)
    assert count("") == 0
    assert count("<|endoftext|>") > 1
    assert count("\ud800") == count("\ufffd") > 0


@pytest.mark.parametrize("vocabulary", ["gpt5", "", "O200K", "../x"])
def test_an_unknown_vocabulary_is_refused_with_those_that_exist(vocabulary: str) -> None:
    with pytest.raises(ConfigError, match="cl100k, llama3, o200k, qwen3"):
        exact_counter(vocabulary)


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)
    with pytest.raises(ConfigError, match=r"pip install 'ruleproof\[tokens\]'"):
        exact_counter()


def test_importing_the_module_does_not_import_the_package() -> None:
    import subprocess

    code = "import sys, ruleproof.edge.tokens; sys.exit('quicktok' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
