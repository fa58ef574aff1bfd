"""R1 to R5: the rule store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import see

from ruleproof.errors import CapReached, NotFound, Refused
from ruleproof.harness import Harness

Log = Callable[[str], list[dict[str, Any]]]


def test_r1_the_store_only_grows_and_the_latest_record_counts(harness: Harness, root: Path) -> None:
    rule = harness.rules.add("Verify before a retry.", "It was charged twice.")
    before = (root / "rules.jsonl").read_bytes()
    harness.rules.retire(rule.id, reason="superseded")
    after = (root / "rules.jsonl").read_bytes()
    assert after.startswith(before) and after.count(b"\n") == 2
    assert harness.rules.get(rule.id).status == "retired"


def test_r1_retired_is_final(harness: Harness) -> None:
    rule = harness.rules.add("Verify before a retry.")
    harness.rules.retire(rule.id)
    with pytest.raises(Refused, match="final"):
        harness.rules.retire(rule.id)
    with pytest.raises(NotFound):
        harness.rules.retire("r-0000000000")


def test_r2_a_record_has_every_field(harness: Harness, log: Log) -> None:
    handled = harness.report("s0", {"agent_reliability": 0.2})
    assert handled.notice is not None
    rule = harness.rules.add("One.", "Why.", metric="agent_reliability", source_notice_id=handled.notice.id)
    record = log("rules.jsonl")[0]
    assert {
        "id", "created_at", "rule", "rationale", "source_notice_id", "metric", "status", "tags", "trial",
    } <= set(record)  # fmt: skip
    assert record["id"] == rule.id and rule.id.startswith("r-") and len(rule.id) == 12
    assert record["created_at"].endswith("+00:00")
    assert record["trial"]["baseline_sessions"] == 1


def test_r2_observations_are_deltas_and_the_verdict_folds_them(harness: Harness, log: Log) -> None:
    rule = harness.rules.add("One.", metric="agent_reliability")
    for number in range(4):
        see(harness, f"s{number}", 0.9)
    assert len(log("rules.jsonl")) == 1
    assert len([r for r in log("trials.jsonl") if r["kind"] == "observation"]) == 4
    see(harness, "s4", 0.9)
    harness._rounds.run()
    promoted = log("rules.jsonl")[-1]
    assert promoted["id"] == rule.id and promoted["status"] == "active"
    assert promoted["trial"]["observed_sessions"] == ["s0", "s1", "s2", "s3", "s4"]


def test_r2_unknown_fields_survive_a_promotion(open_harness: Callable[..., Harness], root: Path, log: Log) -> None:
    rule = open_harness().rules.add("One.")
    file = root / "rules.jsonl"
    file.write_bytes(file.read_bytes().replace(b'{"at"', b'{"a_later_field": {"x": 1}, "at"', 1))
    open_harness().rules.retire(rule.id)
    assert log("rules.jsonl")[-1]["a_later_field"] == {"x": 1}


def test_r3_explicit_tags_come_before_those_of_the_notice(harness: Harness) -> None:
    notice = harness.report("s0", {"agent_reliability": 0.2}).notice
    assert notice is not None
    rule = harness.rules.add("One.", tags=["Payment", "payment", " "], source_notice_id=notice.id)
    assert rule.tags == ("payment", "breach:agent_reliability", "agent_reliability", "breach")


def test_r3_a_rule_without_tags_is_global(harness: Harness) -> None:
    harness.rules.add("Global one.")
    assert harness.rules.candidates()[0].tags == ()


@pytest.mark.parametrize(
    "twin",
    [
        "verify  the status before retrying",
        "VERIFY THE STATUS BEFORE RETRYING!!",
        "Ｖｅｒｉｆｙ the status before retrying.",
        "Verify\nthe status before retrying",
        "Vеrify the status before retrying",  # a Cyrillic letter
    ],
)
def test_r4_a_live_twin_is_returned_instead_of_a_second_rule(harness: Harness, log: Log, twin: str) -> None:
    first = harness.rules.add("Verify the status before retrying.", "First.")
    assert harness.rules.add(twin, "Second.") == first
    assert len(log("rules.jsonl")) == 1


def test_r4_different_rules_in_one_script_stay_different(harness: Harness) -> None:
    ids = {
        harness.rules.add(text).id
        for text in ("注文の状態を確認する。", "支払いを確認する。", "Проверьте статус.", "Проверьте оплату.")
    }
    assert len(ids) == 4


def test_r4_shared_boilerplate_does_not_absorb_another_rule(harness: Harness) -> None:
    lead = "When the customer asks for a change of an order that was already paid, then before anything else " * 5
    assert harness.rules.add(lead + "verify the amount.").id != harness.rules.add(lead + "verify the address.").id


def test_r4_a_text_that_evidence_retired_is_answered_with_its_verdict(harness: Harness) -> None:
    rule = harness.rules.add("Be careful.", metric="agent_reliability")
    for number in range(5):
        see(harness, f"s{number}", 0.1)
    harness._rounds.run()
    assert harness.rules.get(rule.id).status == "retired"
    with pytest.raises(Refused, match=rule.id):
        harness.rules.add("be  careful")
    with pytest.raises(Refused, match="again"):
        harness.rules.add("Be careful", author="agent", again=True)
    assert harness.rules.add("Be careful", again=True).status == "candidate"


def test_r4_a_text_that_somebody_retired_without_evidence_may_come_back(harness: Harness) -> None:
    rule = harness.rules.add("Be careful.")
    harness.rules.retire(rule.id, reason="superseded")
    assert harness.rules.add("Be careful.").id != rule.id


def test_r5_at_the_cap_the_add_fails_with_figures_and_nothing_is_evicted(
    open_harness: Callable[..., Harness],
) -> None:
    harness = open_harness(max_active_rules=2)
    first = harness.rules.add("One.")
    harness.rules.add("Two.")
    with pytest.raises(CapReached, match=r"2 live rules.*max_active_rules is 2.*harness_rule_retire"):
        harness.rules.add("Three.")
    assert len(harness.rules.candidates()) == 2
    assert harness.rules.add("one").id == first.id  # a duplicate succeeds at the cap
    harness.rules.retire(first.id)
    assert harness.rules.add("Three.").status == "candidate"


def test_r5_zero_means_no_cap(open_harness: Callable[..., Harness]) -> None:
    harness = open_harness(max_active_rules=0)
    for number in range(60):
        harness.rules.add(f"Rule number {number}.")
    assert len(harness.rules.candidates()) == 60
