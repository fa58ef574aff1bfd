"""Validate candidates: ask each validator in turn, apply what is decided. One bad candidate never stops the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ruleproof.core.evidence import forward
from ruleproof.core.evidence.fixed import fixed_evidence
from ruleproof.core.rule import Rule
from ruleproof.core.trial import TrialState
from ruleproof.core.verdict import Verdict
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Conflict

log = logging.getLogger("ruleproof")
NO_REPLAY = "no replay function is wired"


class Validator(Protocol):
    """Judges one candidate. It may take its time (a replay does); nothing is locked while it works.

    None: it has nothing to say of this rule, and the next validator is asked. A pending verdict is a word all the same:
    those behind it observe and do not decide.
    """

    @property
    def name(self) -> str: ...
    async def judge(self, rule: Rule, trial: TrialState) -> Verdict | None: ...


class ForwardTrial:
    """The fixed forward trial as a validator."""

    name = forward.NAME

    def __init__(
        self, sessions: int, margin: float, awaited: Callable[[Rule, TrialState], bool] = lambda rule, trial: False
    ) -> None:
        """`awaited(rule, trial)`: whether replays of the rule have begun, and are to decide."""
        self.sessions, self.margin, self._awaited = sessions, margin, awaited

    async def judge(self, rule: Rule, trial: TrialState) -> Verdict | None:
        """`core.evidence.forward.judge` with this trial's settings; None for a trial of another policy."""
        if trial.policy != "fixed":
            return None
        if self._awaited(rule, trial):
            said = "forward trial: its paired replays decide, in a process that has the replay function"
            return Verdict(rule.id, "pending", self.name, said)
        verdict = forward.judge(rule.id, trial, sessions=self.sessions, margin=self.margin)
        return replace(verdict, details={**verdict.details, **fixed_evidence(trial, self.sessions, self.margin)})


async def validate_candidates(workspace: Workspace, validators: Sequence[Validator]) -> list[Verdict]:
    """One round over every candidate in force; the first validator that has a word is heard. Returns every verdict."""
    workspace.refresh()
    workspace.refresh_trials()
    verdicts = []
    for rule in workspace.rulebook.candidates():
        if not rule.in_force:
            continue
        try:
            verdicts.append(await _validate(workspace, rule, validators))
        except Conflict as moved:
            log.info("%s", moved)
        except Exception:
            log.exception("validating rule %s failed; it stays a candidate", rule.id)
    return verdicts


async def _validate(workspace: Workspace, rule: Rule, validators: Sequence[Validator]) -> Verdict:
    for validator in validators:
        with workspace.mutex:
            trial = workspace.trial_of(rule)
        verdict = await validator.judge(rule, trial)
        if verdict is None:
            continue
        if verdict.decided:
            apply_verdict(
                workspace,
                rule,
                promote=verdict.outcome == "promote",
                inconclusive=verdict.outcome == "inconclusive",
                reason=verdict.reason,
                validator=verdict.validator,
                evidence=dict(verdict.details),
            )
        return verdict
    return Verdict(rule.id, "pending", "none", "no validator")


def announce_fallback(workspace: Workspace, *, aloud: bool = True) -> None:
    """Say once a workspace, in its journal and (`aloud`) in the log, that without replays forward trials decide."""
    if workspace.refresh_journal().announced:
        return
    with workspace.transaction() as plan:
        if workspace.refresh_journal().announced:
            return
        plan.event("validation", mode="forward_trial", reason=NO_REPLAY)
    if aloud:
        log.warning("%s: forward trials decide about candidates", NO_REPLAY)
