"""Which pairs of rules are named, and which are not: labelled pairs of our own, laws, and what a hostile set costs."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core import overlap
from ruleproof.core.overlap import CONTRADICTS, MOST_COMPARED, REPEATS, overlaps
from ruleproof.core.rule import Rule

CONTRADICT = [
    ("Always retry a failed payment.", "Never retry a failed payment."),
    ("Ask for the order id before you look up the customer.", "Look up the customer, and ask for the order id after."),
    ("Retry a request at most 3 times.", "Retry a request at most five times."),
    ("Refunds are allowed within 30 days of delivery.", "Refunds are allowed within 14 days of delivery."),
    ("Enable the cache in tests.", "Disable the cache in tests."),
    ("Do not mention the discount to the customer.", "Mention the discount to the customer."),
    ("Don't use enums for states.", "Use enums for states."),
    ("Sort results by oldest date.", "Sort results by newest date."),
    ("Indent with tabs.", "Indent with spaces."),
    ("Include the price in the summary.", "Exclude the price from the summary."),
    ("Avoid global variables.", "Use global variables."),
    ("Keep log files of the session.", "Remove log files of the session."),
    ("Erstatte den Kaufpreis niemals ohne Beleg.", "Erstatte den Kaufpreis immer ohne Beleg."),
    ("Rufe den Kunden nicht an.", "Rufe den Kunden an."),
    ("Ne remboursez jamais une commande ouverte.", "Remboursez toujours une commande ouverte."),
    ("Nunca cambies el vuelo sin permiso.", "Siempre cambies el vuelo sin permiso."),
    ("Никогда не повторяй платёж.", "Всегда повторяй платёж."),
    ("不要重试付款请求", "必须重试付款请求"),
    ("支払いを再試行しないでください", "支払いを再試行してください"),
]
REPEAT = [
    (
        "Check the payment status before retrying a charge.",
        "Before you retry a charge, check the status of the payment.",
    ),
    ("Never cancel a booking before reading its terms.", "Read the terms before you cancel a booking."),
    ("Refund only with an approval.", "Never refund without an approval."),
    ("Always ask for the booking reference.", "Ask every customer for the booking references."),
    ("Do not enable the cache.", "Disable the cache."),
    ("Use named exports in modules.", "Prefer named exports in modules."),
    ("Prüfe die Rechnung, bevor du zahlst.", "Bevor du zahlst, prüfe die Rechnung!"),
    ("付款前检查订单状态", "检查订单状态，付款前"),
]
APART = [
    ("Check the payment status before retrying a charge.", "Check the seat map before changing a flight."),
    ("Never log passwords.", "Log every request with its id."),
    ("Ask for the order id.", "Ask for a photo of the damage."),
    ("Restart a worker at most 3 times.", "Wait 30 seconds for the payment page."),
    ("Use tabs.", "Answer in the customer's language."),
    ("Quote the fare rules before a change.", "Offer a voucher after a delay of 3 hours."),
    ("不要重试付款请求", "检查航班状态"),
    ("Never promise a delivery date.", "Give the delivery address to the courier."),
]
KNOWN_MISSES = [
    ("Be brief.", "Explain every step at length."),
    ("Escalate angry customers at once.", "Handle complaints yourself."),
    ("Tagli sempre il prezzo.", "Non tagli mai il prezzo."),
]
"""Opposed in meaning, and in no word that is known here."""
FALSE_ALARMS = [
    ("Give gold members 10 percent off.", "Give silver members 20 percent off."),
    ("Move finished notes to the archive.", "Do not move unfinished notes to the archive."),
    ("Close a ticket of kind A after an answer.", "Close a ticket of kind B before an answer."),
]
"""Named, although the rules are for different situations: words do not say that."""


def rules(*texts: str) -> list[Rule]:
    return [
        Rule(id=f"r-{number:010x}", created_at=f"2026-01-01T00:00:00.{number:06}+00:00", rule=text)
        for number, text in enumerate(texts)
    ]


def kind_of(pair: tuple[str, str]) -> str:
    found = overlaps(rules(*pair)).pairs
    return found[0].kind if found else ""


@pytest.mark.parametrize("pair", CONTRADICT, ids=lambda pair: pair[0][:40])
def test_opposed_rules_about_one_subject_may_contradict(pair: tuple[str, str]) -> None:
    assert kind_of(pair) == "may contradict"
    assert kind_of(pair[::-1]) == "may contradict"


@pytest.mark.parametrize("pair", REPEAT, ids=lambda pair: pair[0][:40])
def test_the_same_advice_in_other_words_is_a_repetition(pair: tuple[str, str]) -> None:
    assert kind_of(pair) == kind_of(pair[::-1]) == "repeats"


@pytest.mark.parametrize("pair", APART, ids=lambda pair: pair[0][:40])
def test_rules_about_different_things_are_not_named(pair: tuple[str, str]) -> None:
    assert kind_of(pair) == ""


@pytest.mark.parametrize("pair", KNOWN_MISSES, ids=lambda pair: pair[0][:40])
def test_what_no_known_word_opposes_is_missed(pair: tuple[str, str]) -> None:
    assert kind_of(pair) != "may contradict"


@pytest.mark.parametrize("pair", FALSE_ALARMS, ids=lambda pair: pair[0][:40])
def test_two_situations_in_nearly_the_same_words_are_a_false_alarm(pair: tuple[str, str]) -> None:
    assert kind_of(pair) == "may contradict"


def test_precision_and_recall_on_all_labelled_rules_together_are_as_the_docs_say() -> None:
    """All texts in one store, so that every pair across the labelled ones is a chance to be wrong."""
    wanted = {frozenset(pair): "may contradict" for pair in CONTRADICT} | {
        frozenset(pair): "repeats" for pair in REPEAT
    }
    missed = {frozenset(pair): "may contradict" for pair in KNOWN_MISSES}
    texts = list(
        dict.fromkeys(
            text for pair in (*wanted, *missed, *map(frozenset, FALSE_ALARMS + APART)) for text in sorted(pair)
        )
    )
    found = {frozenset((one.first.rule, one.second.rule)): one.kind for one in overlaps(rules(*texts)).pairs}
    right = sum(wanted.get(pair) == kind for pair, kind in found.items())
    print(f"{len(texts)} rules: {len(found)} pairs named, {right} rightly, {len(wanted) + len(missed)} to be named")
    assert (len(found), right, len(wanted) + len(missed)) == (30, 27, 30)


words = st.lists(
    st.sampled_from(
        ["pay", "refund", "order", "never", "before", "after", "3", "5", "not", "card", "退款", "订单", "ship"]
    ),
    max_size=8,
)


@given(st.lists(words.map(" ".join), max_size=12))
def test_the_prefix_filter_finds_exactly_what_comparing_every_pair_finds(texts: list[str]) -> None:
    made = rules(*texts)
    apart = [overlap._take_apart(text) for text in texts]
    slow = {
        (made[one].id, made[other].id)
        for one, other in combinations(range(len(made)), 2)
        if overlap._compare(apart[one], apart[other]) is not None
    }
    found = overlaps(made)
    assert {(pair.first.id, pair.second.id) for pair in found.pairs} == slow
    assert found.unchecked == 0
    assert all(pair.similarity >= (REPEATS if pair.kind == "repeats" else CONTRADICTS) for pair in found.pairs)


@given(st.lists(st.text(max_size=60), max_size=6))
def test_any_text_is_taken_and_the_order_of_the_rules_makes_no_difference(texts: list[str]) -> None:
    made = rules(*texts)
    assert overlaps(made) == overlaps(reversed(made))


def test_thousands_of_rules_about_one_word_are_compared_within_the_bound_and_it_says_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0
    real = overlap._compare

    def counted(*pair: object) -> object:
        nonlocal compared
        compared += 1
        return real(*pair)  # type: ignore[arg-type]

    monkeypatch.setattr(overlap, "_compare", counted)
    found = overlaps(rules(*(f"Charge the card number{number}" for number in range(1500))))
    assert 0 < compared <= 1500 * MOST_COMPARED
    assert found.unchecked > 0


def test_thousands_of_rules_about_different_things_are_hardly_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(*_: object) -> None:
        nonlocal compared
        compared += 1

    monkeypatch.setattr(overlap, "_compare", counted)
    made = rules(*(f"For task{n} check field{n * 7 % 5000} and table{n * 11 % 5000} of the order" for n in range(5000)))
    overlaps(made)
    assert compared < 20_000, "all pairs would be twelve million"


def test_real_rules_print_what_is_named_and_name_few_contradictions(data_dir: Path) -> None:
    playbook = next((data_dir / "playbooks").glob("*")).read_text(encoding="utf-8")
    bullets = [found[1] for found in re.findall(r"^\[(\w+-\d+)\] (.+)$", playbook, re.MULTILINE)]
    lines = [
        line.strip(" -*")
        for file in sorted((data_dir / "cursor_rules").glob("*"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*[-*] \S", line) and len(line) > 25
    ]
    for texts, least, most in ((bullets, 50, 20), (lines, 200, 40)):
        found = overlaps(rules(*texts))
        repeats = sum(pair.kind == "repeats" for pair in found.pairs)
        print(f"{len(texts)} rules: {repeats} repeat, {len(found.pairs) - repeats} may contradict")
        assert repeats >= least and len(found.pairs) - repeats <= most and found.unchecked == 0
