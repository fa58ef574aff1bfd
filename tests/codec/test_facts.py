"""The ledger's lines: what we write reads back; what is not understood closes and is named with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.facts import read_disputes, read_facts, write_disputes, write_fact, write_facts
from ruleproof.core.approval import CurationFact, fold

D1, D2 = "1" * 64, "2" * 64
CORE = CurationFact("hX/004", D1, "core", "2026-09-20T12:00:00.000Z")


def test_a_fact_is_one_compact_line_in_the_order_of_its_keys() -> None:
    assert write_fact(CORE) == (
        b'{"type":"rule-status","rule":"hX/004","digest":"' + b"1" * 64 + b'","status":"core",'
        b'"at":"2026-09-20T12:00:00.000Z"}\n'
    )


@given(st.lists(st.tuples(st.integers(1, 9_999), st.sampled_from(["core", "revoked"]), st.sampled_from([D1, D2]))))
def test_a_ledger_reads_back_in_its_order(rows: list[tuple[int, str, str]]) -> None:
    facts = tuple(CurationFact(f"hX/{number:03d}", digest, status, "") for number, status, digest in rows)  # type: ignore[arg-type]
    assert read_facts(write_facts(facts), "l") == (facts, ())


@given(st.binary(max_size=300))
def test_reading_never_raises_and_garbage_approves_nothing(data: bytes) -> None:
    facts, _ = read_facts(data, "l")
    assert fold(facts).approved() == ()


LINE = '{"type":"rule-status","rule":"hX/004","digest":"' + D1 + '","status":"core","at":""}'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (LINE.replace('"core"', '"promoted??"'), "unknown-status"),
        (LINE.replace('"core"', "[]"), "unknown-status"),
        (LINE.replace('"core"', "null"), "unknown-status"),
        (LINE.replace('"core"', "true"), "unknown-status"),
        (LINE.replace('"core"', '"Core"'), "unknown-status"),
        (LINE.replace(D1, "1" * 63), "unknown-status"),
        (LINE.replace(f'"{D1}"', "7"), "unknown-status"),
        (LINE[:-20], "broken-line"),
        (LINE.replace('"core"', "NaN"), "broken-line"),
        (LINE[:70], "broken-line"),
    ],
)
def test_a_line_that_names_an_approved_rule_and_is_not_understood_takes_it_out_of_force(line: str, code: str) -> None:
    facts, problems = read_facts(f"{LINE}\n{line}\n".encode(), "ledger")
    assert [(problem.code, problem.where) for problem in problems] == [(code, "ledger:2")]
    assert fold(facts).approved() == ()
    assert fold(read_facts(f"{line}\n{LINE}\n".encode(), "ledger")[0]).approved() == ("hX/004",)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (LINE.replace("rule-status", "topic-alias"), "foreign-fact"),
        (LINE.replace('"type":"rule-status",', ""), "foreign-fact"),
        (LINE.replace("hX/004", "hX/4"), "bad-fact"),
        (LINE.replace("hX/004", "004"), "bad-fact"),
        (LINE.replace("hX/004", "../x/004"), "bad-fact"),
        (LINE.replace('"hX/004"', "null"), "bad-fact"),
        ("[]", "wrong-type"),
        ("prose", "broken-line"),
        ("<<<<<<< mine", "conflict-marker"),
    ],
)
def test_a_foreign_or_broken_line_is_named_and_the_rest_stands(line: str, code: str) -> None:
    facts, problems = read_facts(f"\n{LINE}\n{line}\n".encode(), "ledger")
    assert [(problem.code, problem.where) for problem in problems] == [(code, "ledger:3")]
    assert fold(facts).approved() == ("hX/004",)


def test_disputes_read_back_and_garbage_is_none() -> None:
    assert read_disputes(write_disputes(["b", "a"])) == {"a", "b"}
    for data in (None, b"", b"{", b"{}", b"7", b"[" * 100_000, b"\xff", b"[1, null]"):
        assert read_disputes(data) == frozenset()


def test_a_fact_without_its_time_counts_and_an_empty_ledger_approves_nothing() -> None:
    facts, problems = read_facts(LINE.replace(',"at":""', "").encode() + b"\n", "ledger")
    assert (facts, problems) == ((CurationFact("hX/004", D1, "core", ""),), ())
    assert read_facts(b"", "ledger") == read_facts(b"\n\n", "ledger") == ((), ())


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    facts, problems = read_facts(b"\xef\xbb\xbf" + write_fact(CORE).replace(b"\n", b"\r\n"), "l")
    assert (facts, problems) == ((CORE,), ())
