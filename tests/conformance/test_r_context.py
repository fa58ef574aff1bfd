"""R7 to R13, R15: what is rendered, in which order, and why."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import see

from ruleproof.core.context import FOOTER, PROTOCOL
from ruleproof.core.render import PROVISIONAL
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

GOLDEN = Path(__file__).parent.parent / "golden"
Open = Callable[..., Harness]


def golden(name: str, text: str) -> None:
    """Compare byte for byte; RULEPROOF_GOLDEN=write renews the file for a reviewer to read."""
    file = GOLDEN / name
    if os.environ.get("RULEPROOF_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8", newline="")
    assert file.read_bytes() == text.encode()


def furnished(open_harness: Open, **settings: Any) -> Harness:
    """Two validated rules, one of them global, one candidate with 2 of 5 sessions, one pending notice."""
    harness = open_harness(system=FixedSystem(tick=1), **settings)
    notice = harness.report("birth", {"agent_reliability": 0.31}).notice
    assert notice is not None
    first = harness.rules.add(
        "Never call the payment tool twice without first verifying the transaction status identifier.",
        "Repeated identical payment call flagged by the reliability eval.",
        metric="agent_reliability",
        tags=["payment"],
        source_notice_id=notice.id,
    )
    second = harness.rules.add("Read before you change.", metric="agent_reliability")
    for number in range(5):
        see(harness, f"s{number}", 0.9)
    harness._rounds.run()
    assert {rule.id for rule in harness.rules.active()} == {first.id, second.id}
    harness.rules.add("Verify the transaction status before retrying.", "A retry charged twice.", metric="outcome")
    for number in range(2):
        see(harness, f"t{number}", 1.0, "outcome")
    return harness


def test_r7_the_projection_is_exact_on_return_and_golden(open_harness: Open, root: Path) -> None:
    furnished(open_harness)
    golden("harness_rules.md", (root / "harness_rules.md").read_text(encoding="utf-8"))


def test_r7_an_empty_store_renders_its_preamble(open_harness: Open, root: Path) -> None:
    harness = open_harness(system=FixedSystem())
    harness._projection.write()
    golden("harness_rules_empty.md", (root / "harness_rules.md").read_text(encoding="utf-8"))


def test_r7_a_rule_and_its_rationale_are_one_line_each(harness: Harness) -> None:
    harness.rules.add("Say " + "this " * 300, "Because " + "that " * 300, metric="m")
    text = harness.system_context()
    (entry,) = [line for line in text.splitlines() if line.startswith("- **r-")]
    assert len(entry) > 1500
    following = text.splitlines()[text.splitlines().index(entry) + 1]
    assert following.startswith("  - rationale: Because") and following.endswith("trial: 0/5 sessions observed)")


def test_r7_above_200_rules_the_projection_is_written_at_close(open_harness: Open, root: Path) -> None:
    harness = open_harness(max_active_rules=0)
    for number in range(202):
        harness.rules.add(f"Rule number {number}.")
    harness.rules.add("The very last one.")
    harness.close()
    assert "The very last one." in (root / "harness_rules.md").read_text(encoding="utf-8")


def test_r8_candidates_always_render_apart_with_their_progress(open_harness: Open) -> None:
    text = furnished(open_harness).system_context("nothing in common with it")
    before, after = text.split(PROVISIONAL)
    assert "(candidate): Verify the transaction status before retrying." not in before
    assert re.search(r"\*\*r-[0-9a-f]{10}\*\* \(candidate\): Verify the transaction status before retrying\.", after)
    assert "trial: 2/5 sessions observed" in after
    assert "prefer validated rules" in PROTOCOL and PROTOCOL in text


def active_rules(open_harness: Open, count: int, **settings: Any) -> Harness:
    harness = open_harness(rule_validation=False, **settings)
    for number in range(count):
        harness.rules.add(f"Tagged rule {number} about topic{number}.", tags=[f"topic{number}"])
    harness.rules.add("A global rule.")
    return harness


def shown(text: str) -> list[str]:
    return re.findall(r"^- \*\*r-[0-9a-f]{10}\*\*(?: \(candidate\))?: (.*)$", text, re.MULTILINE)


def test_r9_a_query_shows_globals_and_the_top_k_tagged_and_says_what_was_trimmed(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    text = harness.system_context(task_hint="topic3 topic4")
    assert len(shown(text)) == 9
    assert shown(text)[0] == "A global rule."
    assert {"Tagged rule 3 about topic3.", "Tagged rule 4 about topic4."} <= set(shown(text))
    (note,) = [line for line in text.splitlines() if "not shown" in line]
    assert "12 active rules" in note and "`harness_rules_search`" in note and "`harness_rules_list`" in note


def test_r9_candidates_never_consume_slots(open_harness: Open) -> None:
    active_rules(open_harness, 20).close()
    harness = open_harness()
    for number in range(5):
        harness.rules.add(f"Candidate {number}.", tags=["topic3"])
    assert len(shown(harness.system_context(task_hint="topic3"))) == 9 + 5


def test_r9_pending_notices_are_a_query(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    harness.rules.add("About the metric.", tags=["outcome"])
    assert len(shown(harness.system_context())) == 22
    harness.report("s", {"outcome": 0.0})
    text = harness.system_context()
    assert len(shown(text)) == 9 and "About the metric." in shown(text)


def test_r9_the_first_or_second_of_two_tags_is_enough(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    harness.rules.add("Two tags.", tags=["first", "second"])
    assert "Two tags." in shown(harness.system_context("second"))


def test_r10_without_an_overlap_the_newest_k_render(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    assert set(shown(harness.system_context("zebra"))) == {
        "A global rule.", *(f"Tagged rule {n} about topic{n}." for n in range(12, 20)),
    }  # fmt: skip


def test_r10_without_a_signal_everything_renders(open_harness: Open) -> None:
    assert len(shown(active_rules(open_harness, 20).system_context())) == 21


def test_r11_retrieval_off_renders_everything_and_the_file_always_does(open_harness: Open, root: Path) -> None:
    harness = active_rules(open_harness, 20, rule_retrieval=False)
    assert len(shown(harness.system_context("topic3"))) == 21
    assert len(shown((root / "harness_rules.md").read_text(encoding="utf-8"))) == 21


def test_r12_programs_list_search_retire_and_count(open_harness: Open) -> None:
    harness = furnished(open_harness)
    assert [rule.rule[:5] for rule in harness.rules.active()] == ["Never", "Read "]
    assert [rule.rule[:6] for rule in harness.rules.candidates()] == ["Verify"]
    ranked = harness.rules.search("payment breach")
    assert ranked[0][0].tags[0] == "payment" and ranked[0][1] == 2.0
    assert harness.rules.search("zebra") == []
    effect = harness.rules.effectiveness()[ranked[0][0].id]
    assert (effect.notices_before, effect.notices_after) == (1, 0)
    assert harness.rules.retire(ranked[0][0].id, reason="superseded by a broader rule").status == "retired"
    assert harness.rules.search("payment breach") == []
    assert "payment tool" not in harness.system_context()


def test_r13_the_context_is_golden_and_byte_identical_while_nothing_changed(open_harness: Open) -> None:
    harness = furnished(open_harness)
    text = harness.system_context("charge a customer payment")
    golden("context.md", text)
    assert harness.system_context("charge a customer payment") == text
    assert open_harness().system_context("charge a customer payment") == text


def test_r13_what_changes_most_stands_last(open_harness: Open) -> None:
    text = furnished(open_harness).system_context("payment")
    marks = [
        "Self-healing contract",
        "Read before you change.",
        "Never call the payment tool",
        "### Provisional",
        "⚠ HARNESS",
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.endswith(FOOTER + "\n")


def test_r13_explain_names_every_reason(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    ids = {rule.rule: rule.id for rule in harness.rules.active()}
    why = {
        name: harness.composer.explain(ids[rule], "topic3")
        for name, rule in {
            "global": "A global rule.",
            "relevant": "Tagged rule 3 about topic3.",
            "trimmed": "Tagged rule 0 about topic0.",
        }.items()
    }
    assert {name: found.why for name, found in why.items()} == {name: name for name in why}
    assert why["relevant"].included and not why["trimmed"].included
    assert "topic3" in why["relevant"].reason
    harness.rules.retire(ids["A global rule."], reason="too broad")
    assert "too broad" in harness.composer.explain(ids["A global rule."]).reason
    assert harness.composer.explain("r-0000000000").why == "absent"


def test_r13_a_context_of_the_past_is_what_was_composed_then(open_harness: Open) -> None:
    clock = FixedSystem(tick=1)
    harness = open_harness(system=clock)
    seen: list[tuple[str, str]] = []

    def note() -> None:
        seen.append((harness.workspace.now(), harness.system_context("status")))

    note()
    handled = harness.report("s0", {"m": 0.1})
    note()
    rule = harness.rules.add("Check the status.", metric="m")
    note()
    see(harness, "s1", 0.9, "m")
    note()
    assert handled.notice is not None
    harness.toolset.call_sync("harness_mailbox_ack", {"notice_id": handled.notice.id})
    note()
    harness.rules.retire(rule.id)
    note()
    assert len({text for _, text in seen}) >= 5
    assert [harness.composer.at(moment, "status").text for moment, _ in seen] == [text for _, text in seen]


def test_r15_the_cost_is_reported_and_a_budget_trims_without_a_query(open_harness: Open) -> None:
    harness = active_rules(open_harness, 20)
    whole = harness.context()
    assert whole.tokens > 0 and not whole.warnings
    tight = active_rules(open_harness, 0, rules_context_max_tokens=whole.tokens - 1).context()
    assert tight.omitted == 12 and tight.tokens < whole.tokens and not tight.warnings
    over = open_harness(rules_context_max_tokens=10).context()
    assert re.search(r"about \d+ tokens, over rules_context_max_tokens \(10\)", over.warnings[0])
    assert "A global rule." in over.text


@pytest.mark.parametrize("change", ["pause", "retire"])
def test_s7_a_pause_and_a_retirement_count_at_the_next_compose(open_harness: Open, change: str) -> None:
    harness, other = open_harness(), open_harness()
    rule = harness.rules.add("Check the status.")
    assert "Check the status." in other.system_context()
    getattr(harness.rules, change)(rule.id)
    assert "Check the status." not in other.system_context()
    assert "Check the status." not in harness.system_context()
    if change == "pause":
        harness.rules.resume(rule.id)
        assert "Check the status." in other.system_context()
