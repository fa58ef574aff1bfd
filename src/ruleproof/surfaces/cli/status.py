"""`ruleproof status`: what the workspace holds, what is in force, what waits, how the trials stand."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ruleproof.surfaces.cli.layout import facts, paragraph, table
from ruleproof.surfaces.cli.opening import distrust, opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.status import Standing, Status
    from ruleproof.harness import Harness

UNKNOWN = "unknown exposure"
WAY_OUT = (
    f"Of sessions with {UNKNOWN} nobody knows whether they saw the rule. Compose the context of each by its id, before "
    "its report: `ruleproof context --session ID`."
)
NAMED = 3
"""Sessions that a line names."""


@verb("ruleproof status", "ruleproof status --json")
def status() -> Reply:
    """Show rules, notices, sessions and running trials.

    Of each trial it says which sessions did not count, and why.
    """
    from ruleproof.engine.status import status as status_of

    with opened() as harness:
        config = harness.config
        watching = config.rule_holdout_active > 0.0
        found = status_of(harness.workspace, harness.composer, harness.evidence, paused=config.pause, watching=watching)
        trust = harness.trust
        data = {
            "workspace": str(config.root),
            "trusted": trust.trusted,
            "reason": trust.reason,
            "git_tracks_it": trust.tracked,
            "mode": config.mode,
            **asdict(found),
        }
        return Reply(data, _text(harness, found))


def _text(harness: Harness, found: Status) -> str:
    parts = [facts(_lines(harness, found))]
    warning = distrust(harness)
    if warning:
        parts.insert(0, paragraph(warning))
    if found.trials:
        parts.append(trials_table(found.trials))
        parts.append(uncounted_lines(found.trials))
    return "\n\n".join(part for part in parts if part)


def _lines(harness: Harness, found: Status) -> list[tuple[str, str | None]]:
    cap = harness.config.max_active_rules
    resting = [
        f"{count} {word}" for count, word in ((found.held, "waiting for a person"), (found.paused, "paused")) if count
    ]
    if found.all_paused:
        resting.append("everything is paused")
    if found.unknown:
        resting.append(f"{found.unknown} of unknown status")
    waiting = f"{found.pending} pending" + (f" (worst: {found.severity})" if found.severity else "")
    if found.suppressed or found.tripped:
        waiting += f"; {found.suppressed} held back by the circuit breaker"
    return [
        ("workspace", f"{harness.config.root} ({'trusted' if harness.trust.trusted else 'not trusted'})"),
        ("mode", harness.config.mode),
        (
            "rules",
            f"{found.in_force} in force; {found.active} active, {found.candidates} candidates, {found.retired} retired"
            + (f" ({'; '.join(resting)})" if resting else "")
            + (f"; at most {cap} live" if cap else ""),
        ),
        ("since promotion", _since(found) if found.active else None),
        ("context", f"about {found.context_tokens:,} tokens (estimated from above, no task given)"),
        ("notices", waiting),
        ("sessions", f"{found.reports} reports ({found.unscored} without a score), {found.ingested} ingested"),
        ("problems", f"{found.problems}; `ruleproof doctor` names them" if found.problems else "none seen in passing"),
    ]


def _since(found: Status) -> str:
    """How many active rules are compared after their promotion."""
    if not found.monitored:
        return "not monitored: active rules are withheld from nobody (rule_holdout_active)"
    said = f"{found.monitored} of {found.active} active rules are monitored"
    open_ = ", ".join(found.rechecks[:NAMED]) + (" and others" if len(found.rechecks) > NAMED else "")
    return f"{said}; open rechecks: {open_}" if found.rechecks else said


def trials_table(trials: tuple[Standing, ...]) -> str:
    """The running trials, one a line. An anytime trial has no fixed length, and no baseline decides it."""
    rows = [
        (
            trial.rule_id,
            f"{trial.observed}/{trial.needed}" if trial.policy == "fixed" else f"{trial.observed:,}",
            trial.breached,
            trial.baseline.rate if trial.policy == "fixed" else None,
            sum(map(len, trial.uncounted.values())),
            trial.rule,
        )
        for trial in trials
    ]
    return table(("trial", "seen", "alerted", "baseline", "uncounted", "rule"), rows)


def uncounted_lines(trials: tuple[Standing, ...]) -> str:
    """Which sessions the trials did not count, and why."""
    lines = []
    for trial in trials:
        reasons = [
            f"{why}: {', '.join(found[:NAMED])}" + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
            for why, found in trial.uncounted.items()
        ]
        if reasons:
            lines.append(paragraph(f"{trial.rule_id} did not count {'; '.join(reasons)}", indent="  "))
    if any(UNKNOWN in trial.uncounted for trial in trials):
        lines.append(paragraph(WAY_OUT))
    return "\n".join(lines)
