"""What holds of every text: idempotence, bounds, and nothing that a stored string must not hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.text_cases import FORGERIES, HARMLESS

from ruleproof.core.secrets import redact, redact_json
from ruleproof.core.text import LINE_BREAKS, hidden_code_points, normalise, one_line, sanitize_text, tokenise
from ruleproof.core.tokencount import estimate_tokens

MARKS = r"""
    < <! ! - -- > /> ` `` ~ ~~ = ===== # ## * ** _ __ r-0123456789 r- harness HARNESS : system SYSTEM alert pandaprobe
    RULE PROOF RULES CORE LEARNED END OF THE | im_start |> <| [ INST ] SYS << >> / tool_call function_calls ns: invoke
    user Human Assistant System AI instruction: · … [truncated] a word а С О Н ＜ － ！ ＝ ： . ! 。 \ 漢 か ア ก က 한
    é ß İ ı ſ ﬁ 1 ❤ 👩 🏽 क ا
"""
PIECES = [
    *MARKS.split(),
    *(" ", "\t", "\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\x1c", "\xa0", "\u3000"),
    *("\x1b[31m", "\x1b]0;", "\x07", "\x1b", "\x9d", "\x9c", "\x00", "\ud83d", "\ude00"),
    *(
        "\u200b",
        "\u200c",
        "\u200d",
        "\ufe0f",
        "\u20e3",
        "\u094d",
        "\u0301",
        "\u0345",
        "\u202e",
        "\U000e0041",
        "\U000e0100",
    ),
    *("core rules", "in flight", "—" * 9, "-" * 9),
    *FORGERIES,
    *HARMLESS,
]
CREDENTIALS = """
    sk- sk-ant- ghp_ AKIA eyJ . -----BEGIN -----END PRIVATE KEY ----- :// @ : = " ' password token secret bearer is & ?
    https authorization [redacted: ] Abc123Def456Ghi789 hunter2secret9 AAAABBBB11112222 --
"""
SECRETS = [
    *CREDENTIALS.split(),
    *(" ", "\n", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "x" * 24, "Aa1" * 9),
]

HOSTILE = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=24).map("".join),
)
LIMIT = st.one_of(st.just(2000), st.just(0), st.integers(1, 90))

laws = settings(max_examples=250, deadline=None)


@laws
@given(HOSTILE, LIMIT)
def test_sanitizing_is_idempotent_bounded_and_leaves_nothing_hidden(text: str, limit: int) -> None:
    clean = sanitize_text(text, limit)
    assert sanitize_text(clean, limit) == clean
    assert limit == 0 or len(clean) <= limit
    assert hidden_code_points(clean) == ()
    assert not any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in clean)
    assert not any(mark in clean for mark in LINE_BREAKS if mark != "\n")


@laws
@given(HOSTILE, LIMIT)
def test_one_line_is_one_line_idempotent_and_bounded(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert one_line(line, limit) == line
    assert limit == 0 or len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert "  " not in line
    assert hidden_code_points(line) == ()
    assert not line.startswith(("- ", "* ", "+ ", "# ", "## "))
    for mark in (
        "<!--",
        "-->",
        "```",
        "~~~",
        "=" * 8,
        "-" * 8,
        "#" * 8,
        "**r-0",
        "<|im",
        "[INST]",
        "<<SYS>>",
        "RULEPROOF",
    ):
        assert mark not in line


@laws
@given(HOSTILE)
def test_what_was_stored_renders_as_what_was_given(text: str) -> None:
    assert one_line(sanitize_text(text, 0), 0) == one_line(text, 0)


@laws
@given(HOSTILE)
def test_nothing_is_added_but_dots_and_replacements(text: str) -> None:
    added = set(sanitize_text(text, 0)) - set(text)
    assert added <= {"·", "\n", "\ufffd"}


@laws
@given(HOSTILE)
def test_the_key_of_a_rule_is_stable(text: str) -> None:
    key = normalise(text)
    assert normalise(key) == key
    assert normalise(sanitize_text(key, 0)) == normalise(sanitize_text(sanitize_text(key, 0), 0))
    assert normalise(f"  {text}\u200b ") == key
    assert hidden_code_points(key) == ()


@laws
@given(HOSTILE)
def test_tokens_are_the_same_in_any_case_and_any_form(text: str) -> None:
    tokens = tokenise(text)
    assert all(tokens)
    if "\u0345" not in unicodedata.normalize("NFD", text):  # str.casefold makes a letter of this mark, where it stands
        assert tokenise(text.casefold()) == tokens
    assert tokenise(unicodedata.normalize("NFKC", text)) == tokens
    assert tokenise(unicodedata.normalize("NFD", text)) == tokens
    assert set(tokenise(" ".join(tokens))) >= {token for token in tokens if token.isascii()}


@laws
@given(st.lists(st.one_of(st.sampled_from(SECRETS), st.text(max_size=4)), max_size=24).map("".join))
def test_redacting_is_idempotent(text: str) -> None:
    clean, kinds = redact(text)
    again, none = redact(clean)
    assert (again, none) == (clean, ())
    assert bool(kinds) == (clean != text)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(SECRETS)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@laws
@given(JSON)
def test_redacting_json_keeps_its_shape_and_is_idempotent(value: object) -> None:
    clean = redact_json(value)
    assert redact_json(clean) == clean
    assert type(clean) is type(value)
    if isinstance(value, dict | list) and isinstance(clean, dict | list):
        assert len(clean) == len(value)


@laws
@given(HOSTILE)
def test_the_estimate_never_falls_below_the_count_of_either_vocabulary(text: str) -> None:
    pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")
    from ruleproof.edge.tokens import exact_counter

    assert estimate_tokens(text) >= max(exact_counter("cl100k")(text), exact_counter("o200k")(text))
