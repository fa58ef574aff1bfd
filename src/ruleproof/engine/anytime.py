"""The anytime forward trial, wired: what a report tells it, its state, and its verdict with the evidence in full.

A unit counts in the arm that the recorded key gives, whatever became of its context afterwards; that a context held or
withheld the rule only says that the unit was in the trial. The state is folded as records come, so that a look costs
what is new, and is folded anew where the records are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, AnytimeVerdict, Unit
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.gate import Judgement
from ruleproof.core.notice import in_family
from ruleproof.core.rule import Rule
from ruleproof.core.score import Report
from ruleproof.core.trial import Told, TrialFold, TrialState, why_not
from ruleproof.core.verdict import Outcome, Verdict
from ruleproof.engine.errorbudget import Beside, joint_level, lent, level_of
from ruleproof.engine.workspace import Workspace

NAME = "anytime_trial"
_OUTCOMES: Mapping[str, Outcome] = {"not_yet": "pending", "promote": "promote", "retire": "retire"}


def telling(workspace: Workspace, report: Report, judgement: Judgement) -> Iterator[Told]:
    """What the report says to each anytime trial whose context the session asked for."""
    exposed = workspace.trials.exposures(report.session_id)
    unit = workspace.trials.unit(report.session_id)
    metrics = {score.metric: score.value for score in report.scores if score.value is not None}
    for rule in workspace.rulebook.candidates():
        arm = rule.trial.arm(unit) if rule.trial is not None and rule.in_force else None
        if arm is None or exposed.get(rule.id) not in ("shown", "withheld"):
            continue
        reason = why_not(report.session_id, arm, rule.metric, metrics, rule.trial)
        if reason not in (None, "no score"):
            continue
        breached = in_family(judgement.signatures, rule.metric)
        value = None if reason else metrics[rule.metric] if rule.metric is not None else 1.0 - breached
        yield Told(rule.id, report.session_id, unit, arm, breached, value, report.task_id, metrics, dict(report.costs))


class AnytimeTrial:
    """The validator of trials that withhold."""

    name = NAME

    def __init__(
        self,
        workspace: Workspace,
        *,
        alpha: float = 0.05,
        most_sessions: int = 2000,
        least_effect: float = 0.05,
        replays: Callable[[Rule], Beside] = lambda rule: Beside(),
    ) -> None:
        """`replays(rule)`: what replays of the rule have shown so far; it counts together with ours."""
        self._replays = replays
        self._workspace, self._alpha, self.most_sessions = workspace, alpha, most_sessions
        self._least = min(least_effect, 0.99)
        self._states: dict[str, tuple[TrialFold, int, AnytimeState]] = {}

    async def judge(self, rule: Rule, trial: TrialState) -> Verdict | None:
        """The verdict of now; None for a trial of another policy."""
        if trial.policy != "anytime":
            return None
        if not trial.randomised:
            return Verdict(rule.id, "pending", NAME, "anytime: the record of the trial does not say who saw the rule")
        found = self.look(rule, trial)
        outcome, replays = _OUTCOMES.get(found.outcome, "inconclusive"), self._replays(rule)
        details = evidence(found, trial)
        if replays.evidence:
            details["replays"] = replays.evidence
        reasons = " ".join((*found.reasons, *lent("replays", replays)))
        return Verdict(rule.id, outcome, NAME, f"anytime: {reasons}", details)

    def look(self, rule: Rule, trial: TrialState) -> AnytimeVerdict:
        """One look at a trial that can be recomputed; changes nothing."""
        with self._workspace.mutex:
            level = level_of(self._workspace.rulebook, rule, self._alpha)
            level = joint_level(level, self._replays(rule).e_value, self._alpha)
            return self._state(rule, trial).verdict(level, rule.metric or "outcome")

    def e_lent(self, rule: Rule) -> float:
        """The e-value that the sessions lend to other evidence; 1 where there is no trial that withholds."""
        trial = rule.trial
        if trial is None or not trial.randomised:
            return 1.0
        with self._workspace.mutex:
            return self._state(rule, trial).e_lent

    def beside(self, rule: Rule) -> Beside:
        """What the sessions say, for evidence of another kind; nothing where none was counted."""
        trial = rule.trial
        if trial is None or not trial.randomised:
            return Beside()
        with self._workspace.mutex:
            if not self._state(rule, trial).counted:
                return Beside()
            return Beside(self.e_lent(rule), evidence(self.look(rule, trial), trial))

    def _state(self, rule: Rule, trial: TrialState) -> AnytimeState:
        trials = self._workspace.refresh_trials()
        told = trials.told(rule.id)
        fold, done, state = self._states.get(rule.id, (None, 0, None))
        if state is None or fold is not trials:
            done = 0
            state = AnytimeState(AnytimePolicy(trial.holdout, least_effect=self._least, most_units=self.most_sessions))
        for one in told[done:]:
            state.add(unit_from(one, rule.metric, trial.arm(one.unit), trial.block(one.unit)))
        self._states[rule.id] = trials, len(told), state
        return state


def unit_from(told: Told, metric: str | None, arm: Arm | None, block: str | None) -> Unit:
    """One unit as the statistics take it: the target apart from the other metrics, the arm recomputed."""
    others = {name: value for name, value in told.metrics.items() if name != metric}
    return Unit(told.unit, arm or told.arm, told.value, told.task_id, block, others, told.costs)


def evidence(found: AnytimeVerdict, trial: TrialState) -> dict[str, object]:
    """A look as JSON values, with what fixed its arms but the key, which would tell arms in advance."""
    return {
        "policy": trial.policy,
        "decision": found.outcome,
        **{name: value for name, value in asdict(found).items() if name != "outcome"},
        "holdout": trial.holdout,
        "digest": trial.digest,
        "number": trial.number,
        "blocked": trial.blocked,
    }
