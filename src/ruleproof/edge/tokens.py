"""Exact token counts, where the extra `tokens` is installed; without it the estimate of `core.tokencount` serves.

The vocabularies come with the package: counting needs no network and no cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

from ruleproof.errors import ConfigError

VOCABULARIES = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "llama3": "llama3",
    "qwen3": "qwen3",
}
"""Our name -> the name of the bundled vocabulary."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def exact_counter(vocabulary: str = "o200k") -> Callable[[str], int]:
    """A function from a text to its exact number of tokens; special tokens in it count as plain text.

    Raises ConfigError where the vocabulary is unknown or the extra `tokens` is missing.
    """
    name = VOCABULARIES.get(vocabulary.removesuffix("_base"))
    if name is None:
        raise ConfigError(
            f"There is no vocabulary {vocabulary!r:.60}.", hint=f"Choose one of {', '.join(sorted(VOCABULARIES))}."
        )
    try:
        quicktok = import_module("quicktok")
    except ImportError as missing:
        raise ConfigError(
            "Exact token counts need the extra `tokens`.",
            hint="Install it with: pip install 'ruleproof[tokens]'. The estimate, from above, needs nothing.",
        ) from missing
    encode: Callable[[str], list[int]] = quicktok.get_encoding(name).encode_ordinary

    def count(text: str) -> int:
        return len(encode(_SURROGATE.sub("\ufffd", text)))

    return count
