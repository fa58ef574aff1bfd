"""What a workspace holds and how its trials stand, as one value. Looking at it writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ruleproof.codec.sessionlog import seconds_of
from ruleproof.core.breaker import release
from ruleproof.core.rule import Rule
from ruleproof.core.trial import Baseline, Policy, TrialState
from ruleproof.engine.compose import Composer
from ruleproof.engine.evidence import Evidence
from ruleproof.engine.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Standing:
    """One trial: `observed` of `needed` sessions count, `breached` of them alerted; `uncounted`: why -> sessions."""

    rule_id: str
    rule: str
    metric: str | None
    observed: int
    needed: int
    breached: int
    baseline: Baseline
    uncounted: Mapping[str, tuple[str, ...]]
    policy: Policy


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of one workspace. `in_force` is 0 where it is not trusted or everything is paused."""

    active: int
    candidates: int
    retired: int
    unknown: int
    """Rules whose status nobody knows."""
    held: int
    """Live rules that wait for a person."""
    paused: int
    in_force: int
    all_paused: bool
    context_tokens: int
    """Estimated tokens of the context without a task."""
    pending: int
    severity: str | None
    """The worst of what waits in the mailbox."""
    suppressed: int
    """Notices that the circuit breaker holds back."""
    tripped: bool
    reports: int
    unscored: int
    """Reports without any score: neither health nor breach."""
    ingested: int
    """Recorded sessions that were read in."""
    trials: tuple[Standing, ...]
    monitored: int
    """Active rules that are compared since their promotion: watched or rechecked."""
    rechecks: tuple[str, ...]
    """Those of them whose recheck is open."""
    problems: int


def status(
    workspace: Workspace, composer: Composer, evidence: Evidence, *, paused: bool = False, watching: bool = False
) -> Status:
    """The status of now. `evidence`: says how many sessions a trial needs; `paused`: this process pauses all.

    `watching`: this process monitors active rules.
    """
    book, sessions = workspace.refresh(), workspace.refresh_sessions()
    trials = workspace.refresh_trials()
    workspace.refresh_journal()
    context = composer.context()
    mailbox = workspace.ports.mailbox
    waiting = mailbox.status()
    counts = Counter(rule.status for rule in book.all())
    live = [*book.active(), *book.candidates()]
    all_paused = book.all_paused or paused
    problems = (*book.problems, *mailbox.problems(), *(p for found in workspace.problems.values() for p in found))
    return Status(
        active=counts["active"],
        candidates=counts["candidate"],
        retired=counts["retired"],
        unknown=counts["unknown"],
        held=sum(rule.held for rule in live),
        paused=sum(rule.paused for rule in live),
        in_force=sum(rule.in_force for rule in live) if workspace.ports.trusted and not all_paused else 0,
        all_paused=all_paused,
        context_tokens=context.tokens,
        pending=waiting.pending_count,
        severity=waiting.max_severity,
        suppressed=len(sessions.held),
        tripped=release(sessions.breaker, seconds_of(workspace.now()))[1].tripped,
        reports=sessions.reports,
        unscored=sessions.unscored,
        ingested=len(sessions.ingested),
        trials=tuple(
            standing(rule, trial, evidence.needed(rule, trial))
            for rule in book.candidates()
            for trial in (trials.in_detail(rule.id, rule.metric, rule.trial),)
        ),
        monitored=sum(rule.trial is not None and bool(rule.trial.running(watching)) for rule in book.checked()),
        rechecks=tuple(rule.id for rule in book.checked() if rule.trial is not None and rule.trial.running(False)),
        problems=len(problems),
    )


def standing(rule: Rule, trial: TrialState, needed: int) -> Standing:
    """How one trial stands."""
    uncounted: dict[str, list[str]] = {}
    for session, why in trial.uncounted.items():
        uncounted.setdefault(why, []).append(session)
    return Standing(
        rule_id=rule.id,
        rule=rule.rule,
        metric=rule.metric,
        observed=len(trial.observed),
        needed=needed,
        breached=len(trial.breached),
        baseline=trial.baseline,
        uncounted={why: tuple(found) for why, found in sorted(uncounted.items())},
        policy=trial.policy,
    )
