"""After the promotion: watch active rules, recheck them, end rechecks. Composing writes nothing; rounds do it all.

A watch starts with the first round in which the setting is on. A recheck opens where a watch says so, once for each new
fingerprint of model and prompt, or by hand. Nothing here looks at a rule that is not watched or rechecked, unless the
settings ask for it and the active rules have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Literal

from ruleproof.core import ids
from ruleproof.core.evidence import recheck
from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, AnytimeVerdict
from ruleproof.core.evidence.summary import number, summary
from ruleproof.core.gate import Judgement
from ruleproof.core.lifecycle import decide
from ruleproof.core.notice import in_family
from ruleproof.core.recheck import Comparison
from ruleproof.core.rule import NOTHING, Rule
from ruleproof.core.score import Report
from ruleproof.core.trial import Told, TrialFold, TrialState
from ruleproof.core.verdict import Outcome, Verdict
from ruleproof.engine.anytime import unit_from
from ruleproof.engine.workspace import Transaction, Workspace
from ruleproof.errors import Conflict, Refused

log = logging.getLogger("ruleproof")
NAME = "recheck"
BY_HAND = "a person asked for it"
NOTED = "rule_update", "the fingerprint of model and prompt was noted"
_OUTCOMES: Mapping[str, Outcome] = {"open": "pending", "kept": "keep", "retired": "retire"}


@dataclass(frozen=True, slots=True)
class RecheckSettings:
    """`active_holdout`: share of units that a watch withholds, 0 = no watch. `holdout`: of a recheck; 0: no control.

    `fingerprint`: of the model and the prompt, any text; `observing`: no rule moves.
    """

    active_holdout: float = 0.0
    holdout: float = 0.0
    fingerprint: str = ""
    least: float = 0.05
    most: int = 2000
    window: int = 5
    observing: bool = False


@dataclass(frozen=True, slots=True)
class After:
    """How one active rule stands since its promotion. `kind`: what runs; `evidence`: arms, effect, interval so far."""

    rule_id: str
    kind: Literal["none", "watch", "recheck"]
    since: str = ""
    why: str = ""
    number: int = 0
    holdout: float = 0.0
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    last: str = ""
    """How the last recheck ended, and when; empty before the first."""

    @property
    def line(self) -> str:
        """The same in one sentence."""
        arms = [self.evidence.get(arm) for arm in ("shown", "withheld")]
        counted = self.evidence.get("sessions") or any(isinstance(arm, dict) and arm.get("counted") for arm in arms)
        said = f"evidence {summary(self.evidence)}" if counted else "nothing was counted yet"
        if self.kind == "none":
            said = "not monitored: it is withheld from nobody"
        elif self.kind == "watch":
            said = f"monitored since {self.since}, withheld from {self.holdout:.0%} of sessions; {said}"
        else:
            control = f"withheld from {self.holdout:.0%} of sessions" if self.holdout else "withheld from nobody"
            said = f"recheck {self.number} open since {self.since} ({self.why}), {control}; {said}"
        return f"{said}; last recheck: {self.last}" if self.last else said

    def as_json(self) -> dict[str, object]:
        """The same as JSON values."""
        return {**{name.name: getattr(self, name.name) for name in fields(self)}, "evidence": dict(self.evidence)}


def telling(
    workspace: Workspace, report: Report, judgement: Judgement, assumed: Container[str], watching: bool
) -> Iterator[Told]:
    """What the report says to each comparison of an active rule whose context the session asked for."""
    exposed, unit = workspace.trials.exposures(report.session_id), workspace.trials.unit(report.session_id)
    metrics = {score.metric: score.value for score in report.scores if score.value is not None}
    costs = dict(report.costs)
    for rule in workspace.rulebook.checked():
        running = _running(rule, watching)
        if running is None or not rule.in_force:
            continue
        how = exposed.get(rule.id, "assumed" if rule.id in assumed else "unknown")
        if how not in (("shown", "withheld") if running.holdout else ("shown", "assumed")):
            continue
        breached = in_family(judgement.signatures, rule.metric)
        value = metrics.get(rule.metric) if rule.metric is not None else 1.0 - breached if metrics else None
        arm = running.arm(unit)
        if arm is None:
            continue
        yield Told(rule.id, report.session_id, unit, arm, breached, value, report.task_id, metrics, costs, running.name)


def _running(rule: Rule, watching: bool) -> Comparison | None:
    return rule.trial.running(watching) if rule.trial is not None else None


class Rechecks:
    """What happens to active rules of one workspace."""

    def __init__(self, workspace: Workspace, settings: RecheckSettings) -> None:
        self._workspace, self.settings = workspace, settings
        self._fingerprint = ids.digest(settings.fingerprint)[:16] if settings.fingerprint else ""
        self._settled: tuple[object, int] | None = None
        self._states: dict[str, tuple[TrialFold, int, AnytimeState]] = {}
        self._next_look: dict[str, int] = {}

    @property
    def watching(self) -> bool:
        """Whether active rules are monitored here."""
        return self.settings.active_holdout > 0.0

    def due(self) -> bool:
        """Whether a round has anything to do; asks no rule where nothing is watched and no setting changed."""
        return any(_running(rule, self.watching) for rule in self._workspace.rulebook.checked()) or self._unsettled()

    def _unsettled(self) -> bool:
        book = self._workspace.rulebook
        return bool(self.watching or self._fingerprint) and self._settled != (book, book.active_version)

    def run(self) -> list[Verdict]:
        """One round: what the settings ask for, then what the figures say. Returns the word on each open recheck."""
        self._workspace.refresh()
        self._settle()
        said = []
        for rule in self._workspace.rulebook.checked():
            try:
                verdict = self._look(rule) if rule.in_force else None
            except Conflict as moved:
                log.info("%s", moved)
            except Exception:
                log.exception("rechecking rule %s failed; it stays active", rule.id)
            else:
                said += [verdict] if verdict is not None else []
        return said

    # --- opening -----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Note the fingerprint, open what a new one asks for, start watches."""
        if not self._unsettled():
            return
        book = self._workspace.rulebook
        version = book, book.active_version
        if not any(map(self._step, book.active())):
            self._settled = version
            return
        with self._workspace.transaction() as plan:
            for rule in self._workspace.rulebook.active():
                step = self._step(rule)
                if step == "changed":
                    self._open(plan, rule, "the fingerprint of model and prompt changed", NOTHING)
                elif step and rule.trial is not None:
                    trial = self._noted(rule.trial)
                    watch = self._watch(plan, rule, None) if trial.comparison is None else None
                    trial = replace(trial, watch=watch or trial.watch)
                    kind, why = (
                        ("rule_watch", f"monitored: withheld from {watch.holdout:.0%} of units") if watch else NOTED
                    )
                    plan.rule(replace(rule, trial=trial), kind, reason=why)

    def _step(self, rule: Rule) -> str:
        """What the settings ask for this rule: a recheck, a note or a watch; empty where it is as they want it."""
        trial = rule.trial
        if trial is None or not rule.in_force:
            return ""
        if self._fingerprint and self._fingerprint not in trial.fingerprints:
            return "changed" if trial.fingerprints else "unknown"
        return "unwatched" if self.watching and trial.comparison is None else ""

    def _noted(self, trial: TrialState) -> TrialState:
        known = (*trial.fingerprints, self._fingerprint) if self._fingerprint else trial.fingerprints
        return replace(trial, fingerprints=tuple(dict.fromkeys(known)))

    def _watch(self, plan: Transaction, rule: Rule, effect: float | None) -> Comparison | None:
        """A new watch, where the setting is on. `effect`: as just measured; None: as the promotion had it."""
        if not self.watching:
            return None
        if effect is None:
            verdict = self._workspace.refresh_journal().verdicts.get(rule.id, {})
            known = number(verdict.get("effect")) if verdict.get("policy") == "anytime" else None
            effect = max(0.0, min(1.0, known or 0.0))
        key = self._workspace.new_id("", 16)
        return Comparison(plan.at, key, rule.digest, self.settings.active_holdout, effect=effect)

    def open(self, rule_id: str, why: str = BY_HAND) -> Rule:
        """Open a recheck of an active rule by hand. Raises NotFound, or Refused where there is nothing to open."""
        ids.rule_id(rule_id)
        if self.settings.observing:
            raise Refused("Nothing is decided in mode observe_only.", hint="Set mode to suggest or auto.")
        with self._workspace.transaction() as plan:
            rule = self._workspace.rulebook.get(rule_id)
            decide(rule, "update", rule_id)
            assert rule is not None
            if rule.status != "active":
                raise Refused(f"Rule {rule_id} is a candidate.", hint="Its trial is running: `ruleproof trial`.")
            before = rule.trial.recheck if rule.trial is not None else None
            if before is not None and not before.ended:
                raise Refused(f"A recheck of {rule_id} is open since {before.since}.", hint="It ends by itself.")
            return self._open(plan, rule, why, NOTHING)

    def _open(self, plan: Transaction, rule: Rule, why: str, evidence: Mapping[str, object]) -> Rule:
        trial = rule.trial or TrialState()
        count = trial.recheck.number + 1 if trial.recheck is not None else 1
        key = self._workspace.new_id("", 16)
        opened = Comparison(plan.at, key, rule.digest, self.settings.holdout, count, why)
        trial = replace(self._noted(trial), recheck=opened, watch=None)
        more = {"evidence": dict(evidence)} if evidence else {}
        return plan.rule(replace(rule, trial=trial), "rule_recheck", reason=why, why=why, recheck=count, **more)

    # --- looking and ending ------------------------------------------------------------------------------------------

    def _look(self, rule: Rule) -> Verdict | None:
        running = _running(rule, self.watching)
        if running is None:
            return None
        if not running.number:
            why, found = self._decayed(rule, running) if self._has_grown(rule, running) else ("", None)
            if found is not None and why:
                with self._workspace.transaction() as plan:
                    self._open(plan, self._same(rule, running), why, _evidence(found, running))
            return None
        ending, reason, figures = self._ruling(rule, running)
        if ending != "open":
            self._end(rule, running, ending, f"recheck {running.number}: {reason}", figures)
        return Verdict(rule.id, _OUTCOMES.get(ending, "inconclusive"), NAME, f"recheck: {reason}", figures)

    def _has_grown(self, rule: Rule, running: Comparison) -> bool:
        """Whether a watch is a fiftieth longer than at the last look: many are watched, and none is urgent."""
        count = len(self._told(rule, running))
        if count < self._next_look.get(running.name, 1):
            return False
        self._next_look[running.name] = count + 1 + count // 50
        return True

    def _decayed(self, rule: Rule, running: Comparison) -> tuple[str, AnytimeVerdict]:
        least = self.settings.least
        policy = recheck.watch_policy(running.holdout, least, self.settings.most)
        state = self._state(rule, running, policy)
        return recheck.decayed(state, running.effect, least, rule.metric or "outcome")

    def _ruling(self, rule: Rule, running: Comparison) -> tuple[recheck.Ending, str, Mapping[str, object]]:
        """How an open recheck stands: (ending, reason, figures)."""
        with self._workspace.mutex:
            if not running.holdout:
                told = [one for one in self._told(rule, running) if one.value is not None][: self.settings.window]
                baseline = rule.trial.baseline if rule.trial is not None else None
                before = (baseline.breached, baseline.sessions) if baseline is not None else (0, 0)
                hit = sum(one.breached for one in told)
                found = recheck.judge_window(hit, len(told), self.settings.window, before, running.level)
                return found.ending, found.reason, {**found.figures, "recheck": running.number}
            least, most = self.settings.least, self.settings.most
            policy = recheck.recheck_policy(running.holdout, running.level, least, most)
            state = self._state(rule, running, policy)
            ending, reason, look = recheck.judge(state, running.level, least, most, rule.metric or "outcome")
            return ending, reason, _evidence(look, running)

    def _told(self, rule: Rule, running: Comparison) -> Sequence[Told]:
        return self._workspace.refresh_trials().told(rule.id, running.name)

    def _state(self, rule: Rule, running: Comparison, policy: AnytimePolicy) -> AnytimeState:
        """The comparison folded as far as the records go; a look costs what is new."""
        with self._workspace.mutex:
            trials = self._workspace.refresh_trials()
            told = trials.told(rule.id, running.name)
            fold, done, state = self._states.get(running.name, (None, 0, None))
            if state is None or fold is not trials:
                done, state = 0, AnytimeState(policy)
            for one in told[done:]:
                state.add(unit_from(one, rule.metric, running.arm(one.unit), None))
            self._states[running.name] = trials, len(told), state
            return state

    def _same(self, rule: Rule, running: Comparison) -> Rule:
        """The rule as it is now, under the lock. Raises Conflict where the comparison is over."""
        now = self._workspace.rulebook.get(rule.id)
        found = now.trial.comparison if now is not None and now.status == "active" and now.trial is not None else None
        if now is None or found is None or found.name != running.name:
            raise Conflict(f"Rule {rule.id} is not compared any more.", hint="Another process decided it first.")
        return now

    def _end(
        self, rule: Rule, running: Comparison, ending: recheck.Ending, reason: str, figures: Mapping[str, object]
    ) -> None:
        with self._workspace.transaction() as plan:
            now = self._same(rule, running)
            trial = now.trial or TrialState()
            over = replace(running, ended=plan.at, verdict=f"{ending}:{reason}")
            details = {"reason": reason, "validator": NAME, "evidence": dict(figures)}
            if ending == "kept":
                effect = max(0.0, number(figures.get("effect")) or 0.0)
                trial = replace(trial, recheck=over, watch=self._watch(plan, now, effect))
                plan.rule(replace(now, trial=trial), "rule_kept", **details)
                return
            self._workspace.refresh_trials()
            trial = replace(self._workspace.trial_of(replace(now, trial=trial)), recheck=over, watch=None)
            moved = replace(now, status=decide(now, "retire", now.id), reason=reason, trial=trial)
            plan.rule(moved, "rule_retire", **details)

    # --- asking ------------------------------------------------------------------------------------------------------

    def after(self, rule: Rule) -> After:
        """How the rule stands since its promotion; changes nothing."""
        before = rule.trial.recheck if rule.trial is not None else None
        last = f"{before.verdict} ({before.ended})" if before is not None and before.ended else ""
        running = _running(rule, self.watching) if rule.status == "active" else None
        if running is None:
            return After(rule.id, "none", last=last)
        if running.number:
            kind: Literal["watch", "recheck"] = "recheck"
            figures = self._ruling(rule, running)[2]
        else:
            kind, figures = "watch", _evidence(self._decayed(rule, running)[1], running)
        return After(rule.id, kind, running.since, running.why, running.number, running.holdout, figures, last)


def _evidence(found: AnytimeVerdict, running: Comparison) -> dict[str, object]:
    """A look as JSON values, without the key."""
    figures = {name: value for name, value in asdict(found).items() if name not in ("outcome", "reasons")}
    more = {"recheck": running.number} if running.number else {"promoted_with": running.effect, "units_needed": None}
    return {**figures, "policy": NAME, "holdout": running.holdout, **more}
