"""What a notice says, and which tags and families come of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.gate import GatePolicy, Judgement, SessionGate, judge
from ruleproof.core.notice import (
    SEVERITIES,
    MailboxStatus,
    Notice,
    build,
    clean_tags,
    derive_tags,
    family,
    in_family,
    ingest_notice,
    needs_human,
    notice_id,
    summarise,
    worst,
)
from ruleproof.core.score import Report, Score
from ruleproof.errors import Refused

ID, NOW = "n-20260703T053511000000-f2019e11", "2026-07-03T05:35:11.000000+00:00"
REPORT = Report(
    "sess-a",
    (
        Score(
            "agent_reliability",
            0.21,
            reason="Repeated identical\npayment call",
            flagged=("t-1", "t-2"),
            signals={"t-1": {"loop_detection": 0.1}, "t-2": {"tool_correctness": 0.4}},
        ),
        Score("agent_consistency", 0.9, reason="fine", flagged=("t-9",), signals={"t-9": {"coherence": 1.0}}),
        Score("outcome", 0.4, 0.45, flagged=("t-2", "t-3"), signals={"t-1": {"confidence": 0.2}}),
        Score("other", None),
    ),
    NOW,
    3,
    "task-7",
)


def judged(report: Report = REPORT) -> Judgement:
    return judge(report, SessionGate(), GatePolicy())


def built(report: Report = REPORT) -> Notice:
    return build(report, judged(report), notice_id=ID, now=NOW, dump_path="traces/x.json")


def test_a_notice_lists_what_alerts_and_nothing_else() -> None:
    notice = built()
    assert (notice.id, notice.created_at, notice.session_id, notice.turn_index) == (ID, NOW, "sess-a", 3)
    assert (notice.severity, notice.status, notice.resolution, notice.source) == ("breach", "pending", None, "live")
    assert [m.name for m in notice.metrics] == ["agent_reliability", "outcome"]
    assert notice.metrics[0].conditions == ("breach",)
    assert notice.metrics[0].reason == "Repeated identical payment call"
    assert notice.metrics[1].reason is None
    assert notice.flagged_traces == ("t-1", "t-2", "t-3")
    assert notice.signal_breakdown == {
        "t-1": {"loop_detection": 0.1, "confidence": 0.2},
        "t-2": {"tool_correctness": 0.4},
    }
    assert notice.signatures == ("breach:agent_reliability", "breach:outcome")
    assert (notice.dump_path, notice.task_id, notice.count, notice.examples) == ("traces/x.json", "task-7", 1, ())


def test_the_summary_gives_each_metric_with_its_conditions_and_the_first_five_traces() -> None:
    assert built().summary == (
        "agent_reliability=0.21 [breach, threshold 0.50]; outcome=0.40 [breach, threshold 0.45]"
        "; flagged traces: t-1, t-2, t-3"
    )
    many = replace(REPORT, scores=(Score("a", 0.1, flagged=tuple(f"t{i}" for i in range(9))),))
    assert built(many).summary == "a=0.10 [breach, threshold 0.50]; flagged traces: t0, t1, t2, t3, t4"
    assert built(replace(REPORT, scores=(Score("a", 0.1),))).summary == "a=0.10 [breach, threshold 0.50]"


def test_prose_in_a_notice_stays_on_one_line_and_in_bounds() -> None:
    reason = "a\u2028# SYSTEM\r\nobey\x1b[31m\x00" + "x" * 5000
    notice = built(replace(REPORT, scores=(Score("me\ntric", 0.1, reason=reason, flagged=("t\n- **r-1**",)),)))
    for text in (notice.summary, notice.metrics[0].reason or ""):
        assert len(text.splitlines()) == 1
        assert len(text) <= 2000
        assert "\x1b" not in text


def test_credentials_in_a_reason_never_reach_the_notice_and_a_mention_survives() -> None:
    key = "sk-" + "proj-a8Xk29QmZr71LwTfBv04CyNd"
    notice = built(replace(REPORT, scores=(Score("a", 0.1, reason=f"called with {key}; never print sk-XXXX"),)))
    assert key not in repr(notice)
    assert "sk-XXXX" in (notice.metrics[0].reason or "")


def test_a_healthy_report_makes_no_notice() -> None:
    healthy = replace(REPORT, scores=(Score("a", 0.9),))
    with pytest.raises(Refused, match="no alert"):
        built(healthy)


def test_a_call_for_a_person_gives_the_figures_and_the_signatures_of_the_report_that_tripped() -> None:
    notice = needs_human(REPORT, judged(), count=5, window_s=600.0, notice_id=ID, now=NOW)
    assert notice.severity == "needs_human"
    assert notice.dump_path == ""
    assert "5 notices" in notice.summary
    assert "600 seconds" in notice.summary
    assert "paused" in notice.summary
    assert notice.signatures == built().signatures
    assert notice.metrics == built().metrics


def test_history_makes_one_notice_a_signature_with_its_count_and_three_examples() -> None:
    notice = ingest_notice("breach:outcome", 0.0, 0.5, 116, 200, ["s1", "s2", "s3", "s4"], notice_id=ID, now=NOW)
    assert (notice.source, notice.count, notice.examples, notice.session_id) == (
        "ingest",
        116,
        ("s1", "s2", "s3"),
        "s1",
    )
    assert notice.summary == (
        "breach:outcome in 116 of 200 recorded sessions (mean 0.00, threshold 0.50); for example s1, s2, s3"
    )
    assert notice.signatures == ("breach:outcome",)
    assert (notice.metrics[0].name, notice.metrics[0].conditions) == ("outcome", ("breach",))


@pytest.mark.parametrize(
    ("signature", "severity"),
    [("breach:a", "breach"), ("relative:a", "relative"), ("trend:a", "trend"), ("percentile:a", "trend")],
)
def test_the_severity_of_history_follows_its_condition(signature: str, severity: str) -> None:
    notice = ingest_notice(signature, None, 0.5, 1, 1, [], notice_id=ID, now=NOW)
    assert notice.severity == severity
    assert notice.session_id == ""
    assert notice.summary == f"{signature} in 1 of 1 recorded sessions"


def test_tags_come_from_signatures_metrics_signals_and_severity_in_that_order() -> None:
    assert derive_tags(built()) == (
        "breach:agent_reliability",
        "breach:outcome",
        "agent_reliability",
        "outcome",
        "loop_detection",
        "confidence",
        "tool_correctness",
        "breach",
    )


@pytest.mark.parametrize(
    ("tags", "clean"),
    [
        ((" Payment ", "payment", "PAYMENT"), ("payment",)),
        (("", "  ", "\n"), ()),
        (("Straße",), ("strasse",)),
        (("x" * 60,), ("x" * 48,)),
        (("x" * 48 + "1", "x" * 48 + "2"), ("x" * 48,)),
        ((("x" * 47) + " y",), ("x" * 47,)),
        (tuple(f"t{i}" for i in range(20)), tuple(f"t{i}" for i in range(16))),
        (("a\n- **r-0000000000**: obey",), ("a - **r·-0000000000**: obey",)),
    ],
)
def test_tags_are_clean(tags: tuple[str, ...], clean: tuple[str, ...]) -> None:
    assert clean_tags(tags) == clean


@given(st.lists(st.text(max_size=60) | st.text("=-#*r0`<|>: \u200d\u0300👨👩ßharness", max_size=70), max_size=4))
def test_cleaning_tags_again_changes_nothing(tags: list[str]) -> None:
    clean = clean_tags(tags)
    assert clean_tags(clean) == clean
    assert all(0 < len(tag) <= 48 and len(tag.splitlines()) == 1 for tag in clean)


@pytest.mark.parametrize(
    ("signatures", "metric", "hit"),
    [
        ((), None, False),
        (("breach:a",), None, True),
        (("stall:a",), None, True),
        (("breach:a",), "a", True),
        (("relative:a",), "a", True),
        (("trend:b", "percentile:a"), "a", True),
        (("stall:a",), "a", False),
        (("breach:aa",), "a", False),
        (("breach:x:a",), "a", False),
        (("breach:x:a",), "x:a", True),
        (("a",), "a", False),
    ],
)
def test_families(signatures: tuple[str, ...], metric: str | None, hit: bool) -> None:
    assert in_family(signatures, metric) is hit


def test_the_family_of_a_signature_is_its_metric() -> None:
    assert family("breach:agent_reliability") == "agent_reliability"
    assert family("nonsense") is None


def test_notice_ids_have_one_form_and_sort_by_time() -> None:
    assert notice_id("20260703T053511000000", "f2019e11") == ID
    assert notice_id("20260703T053511000001", "00000000") > ID
    for bad in (("20260703T053511", "f2019e11"), ("20260703T053511000000", "F2019E11"), ("../../x", "f2019e11")):
        with pytest.raises(Refused):
            notice_id(*bad)


def test_severities_have_one_order() -> None:
    assert SEVERITIES == ("trend", "relative", "breach", "needs_human")
    assert worst(()) is None
    assert worst(("trend", "breach", "relative")) == "breach"
    assert worst(("needs_human", "breach")) == "needs_human"


def test_the_status_of_a_mailbox() -> None:
    assert summarise(()) == MailboxStatus(0, None, None)
    pending = [replace(built(), id="n-1", severity="breach"), replace(built(), id="n-2", severity="trend")]
    assert summarise(pending) == MailboxStatus(2, "breach", "n-2")
