"""A regression run: the order, what is compared, what is skipped and why, and what is journaled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.core.evalcase import EvalCase
from ruleproof.engine.regress import RegressionReport
from ruleproof.errors import Refused
from ruleproof.harness import Harness

Open = Callable[..., Harness]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def open_harness(root: Path, tmp_path: Path) -> Iterator[Open]:
    opened: list[Harness] = []

    def make(replay: Any = None, **settings: Any) -> Harness:
        config = HarnessConfig(harness_root=root, **settings)
        opened.append(Harness.create(config, replay=replay, state_dir=tmp_path / "state"))
        return opened[-1]

    yield make
    for harness in opened:
        harness.close()


def case(harness: Harness, session: str, kind: str = "failure", **more: Any) -> EvalCase:
    made = {"replay_input": session, "baseline_scores": {"m": 0.5}, "signature": ["breach:m"], **more}
    return harness.evalset.capture(session_id=session, kind=kind, **made)  # type: ignore[arg-type]


def scored(**scores: float) -> Any:
    return lambda case, context: {"session_id": f"new-{case.session_id}", "scores": {"m": scores[case.session_id]}}


def run(harness: Harness, **more: Any) -> RegressionReport:
    return asyncio.run(harness.run_regression(**more))


def statuses(report: RegressionReport) -> dict[str, str]:
    return {result.session_id: result.status for result in report.results}


def test_wins_come_first_newest_first_and_each_case_has_its_status(open_harness: Open) -> None:
    harness = open_harness(scored(f0=0.9, f1=0.5, w0=0.4, w1=0.52))
    case(harness, "f0"), case(harness, "w0", "win"), case(harness, "f1"), case(harness, "w1", "win")
    report = run(harness)
    assert list(statuses(report).items()) == [
        ("w1", "unchanged"), ("w0", "regressed"), ("f1", "unchanged"), ("f0", "improved"),
    ]  # fmt: skip
    assert (report.replayed, report.clean, report.count("regressed")) == (4, False, 1)
    assert report.results[1].deltas == {"m": pytest.approx(-0.1)} and report.results[1].replay_session_id == "new-w0"


def test_a_sample_is_the_first_of_that_order_and_a_setting_gives_it(open_harness: Open) -> None:
    harness = open_harness(scored(f0=0.5, f1=0.5, w0=0.5), regression_sample=2)
    case(harness, "w0", "win"), case(harness, "f0"), case(harness, "f1")
    assert list(statuses(run(harness))) == ["w0", "f1"]
    assert list(statuses(run(harness, sample=1))) == ["w0"]
    assert len(run(harness, sample=0).results) == 3
    with pytest.raises(Refused, match="sample of -1"):
        run(harness, sample=-1)


def broken(case: EvalCase, context: str) -> Any:
    raise RuntimeError("model down")


@pytest.mark.parametrize(
    ("replay", "reason"),
    [
        (None, "no replay function is wired"),
        (broken, "RuntimeError: model down"),
        (lambda case, context: None, "None is not a session id"),
        (lambda case, context: "new", "the replay has no score"),
        (lambda case, context: {"session_id": "n", "scores": {"k": 1.0}}, "no metric in common with the baseline"),
    ],
)  # fmt: skip
def test_what_could_not_be_compared_is_skipped_with_its_reason_and_is_no_success(
    open_harness: Open, replay: Any, reason: str
) -> None:
    harness = open_harness(replay)
    case(harness, "f0")
    report = run(harness)
    (result,) = report.results
    assert (result.status, report.replayed) == ("skipped", 0) and reason in result.reason
    assert not report.clean and report.as_json()["clean"] is False


def test_a_case_without_an_input_is_skipped_and_the_others_run(open_harness: Open) -> None:
    harness = open_harness(scored(f0=0.5))
    case(harness, "f0"), case(harness, "bare", replay_input=None)
    assert statuses(run(harness)) == {"bare": "skipped", "f0": "unchanged"}


def test_one_session_for_all_cases_counts_once(open_harness: Open) -> None:
    harness = open_harness(lambda case, context: {"session_id": "same", "scores": {"m": 0.9}})
    case(harness, "f0"), case(harness, "f1")
    told: dict[str, str] = {}
    report = run(harness, progress=lambda done, total, one: told.update({one.session_id: one.status}))
    assert statuses(report) == told == {"f1": "improved", "f0": "skipped"} and report.replayed == 1


def test_the_rules_of_now_stand_in_the_context(open_harness: Open) -> None:
    contexts: list[str] = []
    harness = open_harness(lambda case, context: contexts.append(context) or "new")
    rule = harness.rules.add("Verify first.")
    case(harness, "f0")
    run(harness)
    assert contexts == [harness.system_context()] and rule.id in contexts[0]


def test_the_run_is_journaled_with_its_counts_and_at_most_fifty_results(open_harness: Open, root: Path) -> None:
    harness = open_harness(lambda case, context: {"session_id": f"new-{case.session_id}", "scores": {"m": 0.9}})
    for number in range(52):
        case(harness, f"f{number}")
    report = run(harness)
    events = [json.loads(line) for line in (root / "journal.jsonl").read_text().splitlines()]
    (event,) = [event for event in events if event["type"] == "regression"]
    assert {key: event[key] for key in ("total_cases", "replayed", "improved", "regressed", "skipped", "clean")} == {
        "total_cases": 52, "replayed": 52, "improved": 52, "regressed": 0, "skipped": 0, "clean": True,
    }  # fmt: skip
    assert len(event["results"]) == 50 and len(report.results) == 52
    assert report.started_at <= report.finished_at == event["finished_at"]


def test_a_run_moves_no_rule_and_leaves_no_session(open_harness: Open, root: Path) -> None:
    harness = open_harness(scored(w0=0.0))
    rule = harness.rules.add("Verify first.")
    case(harness, "w0", "win")
    assert not run(harness).clean
    assert harness.rules.get(rule.id).status == "candidate"
    assert not (root / "sessions.jsonl").exists() and not (root / "trials.jsonl").exists()


def test_progress_is_told_case_by_case_and_skipped_ones_first(open_harness: Open) -> None:
    harness = open_harness(scored(f0=0.5, f1=0.9))
    case(harness, "f0"), case(harness, "f1"), case(harness, "bare", replay_input=None)
    told: list[tuple[int, int, str, str]] = []
    run(harness, progress=lambda done, total, one: told.append((done, total, one.session_id, one.status)))
    assert told == [(1, 3, "bare", "skipped"), (2, 3, "f1", "improved"), (3, 3, "f0", "unchanged")]


def test_of_a_workspace_that_is_not_trusted_nothing_is_run(root: Path, tmp_path: Path) -> None:
    ran: list[str] = []
    (tmp_path / "ruleproof.toml").write_text('harness_root = "w"\n')
    owner = Harness.create(HarnessConfig.load(folder=tmp_path, environ={}), state_dir=tmp_path / "one")
    case(owner, "f0")
    owner.close()
    config = HarnessConfig.load(folder=tmp_path, environ={})
    foreign = Harness.create(config, replay=lambda case, context: ran.append(case.id), state_dir=tmp_path / "two")
    assert not foreign.trust.trusted
    with pytest.raises(Refused, match="not trusted"):
        run(foreign)
    assert ran == []
