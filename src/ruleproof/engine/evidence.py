"""What is known about a rule: the evidence of its last verdict as journaled, or of its running trial as of now."""

from __future__ import annotations

from collections.abc import Mapping

from ruleproof.config import HarnessConfig
from ruleproof.core.evidence import forward
from ruleproof.core.evidence.fixed import fixed_evidence
from ruleproof.core.evidence.replay import ReplayPolicy
from ruleproof.core.evidence.summary import summary
from ruleproof.core.journal import verdict_of
from ruleproof.core.rule import Rule
from ruleproof.core.trial import TrialState
from ruleproof.engine.anytime import AnytimeTrial, evidence
from ruleproof.engine.replaytrial import beside, standing
from ruleproof.engine.workspace import Workspace


class Evidence:
    """The evidence of one workspace. `sessions` and `margin`: the fixed gate's; `anytime`: judges the other policy;
    `replays`: that of replays.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        sessions: int = 5,
        margin: float = 0.05,
        anytime: AnytimeTrial | None = None,
        replays: ReplayPolicy | None = None,
    ) -> None:
        self._workspace, self._sessions, self._margin = workspace, sessions, margin
        self.anytime = anytime or AnytimeTrial(workspace)
        self._replays = replays or ReplayPolicy()

    @classmethod
    def configured(cls, workspace: Workspace, config: HarnessConfig) -> Evidence:
        """With the settings of `config`."""
        margin = config.rule_promote_margin
        anytime: AnytimeTrial = AnytimeTrial(
            workspace,
            alpha=config.rule_trial_alpha,
            most_sessions=config.rule_trial_most_sessions,
            least_effect=margin,
            replays=lambda rule: beside(workspace, rule, config.replays(), anytime.e_lent),
        )
        sessions = config.rule_trial_min_sessions
        return cls(workspace, sessions=sessions, margin=margin, anytime=anytime, replays=config.replays())

    def of(self, rule: Rule) -> Mapping[str, object]:
        """JSON values; empty for a rule that was never on trial."""
        with self._workspace.mutex:
            if rule.status != "candidate":
                evidence = verdict_of(rule.details)  # the journal has the older ones, and may not have this one yet
                return evidence or self._workspace.refresh_journal().verdicts.get(rule.id, {})
            if rule.trial is None:
                return {}
            self._workspace.refresh_trials()
            return self._now(rule, self._workspace.trial_of(rule))

    def _now(self, rule: Rule, trial: TrialState) -> Mapping[str, object]:
        replayed = standing(self._workspace, rule, self._replays, self.anytime.e_lent)
        if replayed:
            sessions = self.anytime.beside(rule).evidence
            return {**replayed, "sessions": sessions} if sessions else replayed
        if trial.policy == "fixed":
            judged = forward.judge(rule.id, trial, sessions=self._sessions, margin=self._margin)
            return {**judged.details, **fixed_evidence(trial, self._sessions, self._margin)}
        return evidence(self.anytime.look(rule, trial), trial) if trial.randomised else {}

    def line(self, rule: Rule) -> str:
        """The same in one sentence; empty where there is none."""
        return summary(self.of(rule))

    def needed(self, rule: Rule, trial: TrialState) -> int:
        """Sessions that a trial needs in all: those of the fixed gate, or a forecast that ends at the limit."""
        if trial.policy == "fixed":
            return self._sessions
        most = self.anytime.most_sessions
        if rule.status != "candidate" or not trial.randomised:
            return len(trial.observed) if rule.status != "candidate" else most
        found = self.anytime.look(rule, trial)
        more = found.units_needed
        return most if more is None else min(most, found.shown.counted + found.withheld.counted + more)
