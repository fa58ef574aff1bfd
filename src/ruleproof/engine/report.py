"""Handle one report: the gate, the mailbox, the journal, the trials, all in one transaction.

A report without any score is an outage: kept, counted, and neither breach nor health. The same report twice changes
nothing the second time. The notice reaches the mailbox before the records that say so, so that a crash can repeat a
notice but never lose one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from ruleproof.codec import notices
from ruleproof.codec.records import checks_to, observations_to
from ruleproof.codec.sessionlog import released_to, reported_to, seconds_of
from ruleproof.core.breaker import Breaker, decide, release
from ruleproof.core.gate import Judgement
from ruleproof.core.notice import Notice, build, in_family, needs_human, notice_id
from ruleproof.core.score import Report
from ruleproof.core.secrets import redact_json
from ruleproof.core.sessions import Did
from ruleproof.core.trial import Exposure, Observation, why_not
from ruleproof.engine import recheck
from ruleproof.engine.anytime import telling
from ruleproof.engine.workspace import Transaction, Workspace

Also = Callable[[Transaction, Report, Judgement, Did], None]
"""Whatever else is to be written with a report. It must not raise."""


@dataclass(frozen=True, slots=True)
class Handled:
    """What one report led to: the judgement, the notice that was posted (or held), and what it said about trials."""

    report: Report
    judgement: Judgement
    did: Did
    notice: Notice | None = None
    released: tuple[Notice, ...] = ()
    observations: tuple[Observation, ...] = field(default=())


def handle_report(
    workspace: Workspace,
    report: Report,
    *,
    shadow: bool = False,
    assumed: Container[str] = frozenset(),
    window: int = 0,
    watching: bool = False,
    also: Also | None = None,
) -> Handled:
    """Handle `report`. `shadow` evaluates and journals only. `assumed`: rules that a context without an id held.

    `window`: a fixed trial enrols so many sessions at most; 0 = any number. `watching`: active rules are monitored.
    """
    with workspace.transaction() as plan:
        sessions, trials = workspace.refresh_sessions(), workspace.refresh_trials()
        now = seconds_of(plan.at)
        breaker = sessions.breaker
        released: tuple[Notice, ...] = ()
        if not shadow:
            released, breaker = _release(workspace, plan, now)
        judgement = sessions.judge(report)
        did, notice = _notice(workspace, plan, report, judgement, shadow, breaker)
        if judgement.recovered:
            plan.event("recovery", session_id=report.session_id)
        fresh: tuple[Observation, ...] = ()
        scores = {score.metric: score.value for score in report.scores}
        if not judgement.repeated and workspace.rulebook.candidates():
            found = tuple(o for o in _observe(workspace, report, judgement, assumed, window) if trials.news(o))
            told = tuple(one for one in telling(workspace, report, judgement) if trials.is_told(one))
            valued = (m for m, value in scores.items() if value is not None)
            if found or told or not trials.knows(report.session_id, valued):
                plan.trials.append(observations_to(report.session_id, found, scores, plan.at, told, report.costs))
            counted = (one for one in told if one.value is not None)
            fresh = (*found, *(Observation(one.rule_id, one.session_id, one.breached, one.arm) for one in counted))
        if not judgement.repeated and workspace.rulebook.checked():
            said = recheck.telling(workspace, report, judgement, assumed, watching)
            fresh_checks = tuple(one for one in said if trials.is_told(one))
            if fresh_checks:
                plan.trials.append(checks_to(report.session_id, fresh_checks, scores, plan.at))
        if not judgement.repeated:
            plan.sessions.append(reported_to(report, did, notice if did == "hold" else None))
        if also is not None:
            also(plan, report, judgement, did)
    return Handled(report, judgement, did, notice, released, fresh)


def _notice(
    workspace: Workspace, plan: Transaction, report: Report, judgement: Judgement, shadow: bool, breaker: Breaker
) -> tuple[Did, Notice | None]:
    if not judgement.wants_notice:
        return "nothing", None
    new_id = fresh_notice_id(workspace)
    notice = build(
        report, judgement, notice_id=new_id, now=plan.at, dump_path="" if shadow else f"traces/{new_id}.json"
    )
    if shadow:
        journal_notice(plan, notice, observe_only=True)
        return "shadow", notice
    decision, _ = decide(breaker, seconds_of(plan.at))
    if decision == "hold":
        return "hold", notice
    dump(workspace, notice, report)
    if decision == "needs_human":
        count, window = len(breaker.times), breaker.policy.window_s
        notice = needs_human(report, judgement, count=count, window_s=window, notice_id=new_id, now=plan.at)
    post(workspace, plan, notice)
    return decision, notice


def _release(workspace: Workspace, plan: Transaction, now: float) -> tuple[tuple[Notice, ...], Breaker]:
    """Post held notices as far as the breaker lets them through, oldest first."""
    count, breaker = release(workspace.sessions.breaker, now)
    due = tuple(list(workspace.sessions.held.values())[:count])
    for notice in due:
        post(workspace, plan, notice)
        plan.sessions.append(released_to(notice.id, plan.at))
    return due, breaker


def post(workspace: Workspace, plan: Transaction, notice: Notice) -> None:
    """Put a notice into the mailbox and journal it."""
    workspace.ports.mailbox.post(notice)
    journal_notice(plan, notice, observe_only=False)


def journal_notice(plan: Transaction, notice: Notice, *, observe_only: bool) -> None:
    """The journal event of a notice: its whole record."""
    plan.events.append({**notices.to_json(notice), "type": "notice", "ts": plan.at, "observe_only": observe_only})


def fresh_notice_id(workspace: Workspace) -> str:
    """A notice id of this moment."""
    return notice_id(workspace.ports.system.now().strftime("%Y%m%dT%H%M%S%f"), workspace.ports.system.hex(8))


def dump(workspace: Workspace, notice: Notice, report: Report) -> None:
    """Keep the report behind a notice, with credentials redacted."""
    value = {
        "session_id": report.session_id,
        "turn_index": report.turn,
        "task_id": report.task_id,
        "flagged_traces": list(notice.flagged_traces),
        "signal_breakdown": {trace: dict(signals) for trace, signals in notice.signal_breakdown.items()},
        "scores": [
            {
                "metric": score.metric,
                "value": score.value,
                "threshold": score.threshold,
                "breach": score.breached,
                "pending": score.value is None,
                "source": score.source,
                "reason": score.reason,
            }
            for score in report.scores
        ],
    }
    data = json.dumps(redact_json(value), ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2).encode()
    workspace.ports.files.write(notice.dump_path or f"traces/{notice.id}.json", data)


def _observe(
    workspace: Workspace, report: Report, judgement: Judgement, assumed: Container[str], window: int
) -> tuple[Observation, ...]:
    """What the report says about each candidate for which its session counts."""
    exposed = workspace.trials.exposures(report.session_id)
    metrics = [score.metric for score in report.scores if score.value is not None]
    found = []
    for rule in workspace.rulebook.candidates():
        anytime = rule.trial is not None and rule.trial.policy == "anytime"
        if rule.in_force and not anytime and (rule.id in exposed or rule.id in assumed):
            exposure: Exposure = exposed.get(rule.id, "assumed")
            exposure = "assumed" if exposure == "read" and rule.id in assumed else exposure
            room = workspace.trials.has_room(rule.id, report.session_id, rule.trial, window)
            if room and why_not(report.session_id, exposure, rule.metric, metrics, rule.trial) is None:
                breached = in_family(judgement.signatures, rule.metric)
                found.append(Observation(rule.id, report.session_id, breached, exposure))
    return tuple(found)
