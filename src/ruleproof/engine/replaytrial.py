"""Replays as a validator: it stands before the forward trial, and is silent where it has nothing to replay.

Silent: no replayable failure that the rule is about, or three rounds that were evidence of nothing; then the forward
trial decides. Otherwise its word stands, a pending one too. The context of a replay is what a live turn would get now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from ruleproof.codec.records import attempt_to
from ruleproof.codec.replayrounds import Round, round_from, round_to
from ruleproof.core.context import Context
from ruleproof.core.evalcase import EvalCase, select, target_metric
from ruleproof.core.evidence.caserounds import values_of
from ruleproof.core.evidence.paired import PairedPolicy, PairedState, PairedVerdict
from ruleproof.core.evidence.replay import ATTEMPTS, COUNTED, NAME, Replayed, ReplayPolicy, judge, once_each
from ruleproof.core.rule import Rule
from ruleproof.core.trial import TrialState
from ruleproof.core.verdict import Outcome, Verdict
from ruleproof.engine.compose import Composer
from ruleproof.engine.errorbudget import Beside, joint_level, lent, level_of
from ruleproof.engine.replay import Job, Replayer
from ruleproof.engine.workspace import Workspace

PAIRED = "paired replay: "
"""How the reason of a paired verdict begins: `errorbudget.PAID` knows it."""


class ReplayValidator:
    """Judges a candidate by running captured cases again."""

    name = NAME

    def __init__(
        self,
        workspace: Workspace,
        composer: Composer,
        replayer: Replayer,
        policy: ReplayPolicy,
        sessions: Callable[[Rule], Beside] = lambda rule: Beside(),
    ) -> None:
        """`sessions(rule)`: what its sessions have shown so far; it counts together with ours."""
        self._sessions = sessions
        self._workspace, self._composer, self._replayer, self._policy = workspace, composer, replayer, policy
        self._evalset = workspace.ports.evalset

    async def judge(self, rule: Rule, trial: TrialState) -> Verdict | None:
        """The verdict of one round of replays; None where the forward trial is to decide."""
        failures, wins = select(rule, self._evalset.listed())
        past = rounds_of(self._workspace, rule.id) if self._policy.paired else []
        target = past[0].target if past else target_metric(rule, failures)  # chosen once, before any replay
        if not failures or target is None or trial.replay_attempts >= ATTEMPTS:
            return None
        contexts = self._composer.with_and_without(rule.id)
        if rule.id not in contexts[0].rules:
            return Verdict(
                rule.id, "pending", NAME, "replay: the rule stands in no context now, so nothing was replayed"
            )
        cases = (*failures, *wins)
        if self._policy.paired:
            verdict = await self._paired(rule, target, cases, contexts, past)
        else:
            verdict = await self._once(rule, target, cases, contexts)
        by_agents = [case.id for case in cases if case.input_by == "agent"]
        return replace(verdict, details={**verdict.details, "inputs_by_agents": by_agents}) if by_agents else verdict

    async def _once(
        self, rule: Rule, target: str, cases: Sequence[EvalCase], contexts: tuple[Context, Context]
    ) -> Verdict:
        jobs = [Job(case, contexts[0]) for case in cases]
        (replays,) = once_each([await self._replayer.run(self._evalset, jobs)])
        verdict = judge(rule.id, target, replays, self._policy.margins)
        if not verdict.decided:
            self._attempt(rule.id, verdict.reason)
        return verdict

    async def _paired(
        self,
        rule: Rule,
        target: str,
        cases: Sequence[EvalCase],
        contexts: tuple[Context, Context],
        past: Sequence[Round],
    ) -> Verdict:
        state, live = _folded(past, target, self._policy), self._sessions(rule)
        level = _level(self._workspace, rule, self._policy, live.e_value)
        planned = _planned(past, self._policy)
        if state.pairs >= (planned or self._policy.max_pairs):
            return _verdict(rule.id, target, state.verdict(level), len(past), live)
        known = [session for one in past for session in one.sessions]
        treated, control = once_each(await self._both_arms(cases, contexts), known)
        arms = [[one for one in arm if one.failure != COUNTED] for arm in (treated, control)]
        with self._workspace.transaction() as plan:
            record = round_to(rule.id, target, arms[0], arms[1], plan.at, planned)
            plan.trials.append(record)
        made, before = round_from(record), state.pairs
        for case in made.cases if made is not None else ():
            state.add(case)
        if state.pairs == before:
            why = sorted({one.why_not or f"no {target}" for one in (*treated, *control) if target not in one.scores})
            reason = f"{PAIRED}inconclusive, no failure has {target} in both arms ({'; '.join(why[:5])})"
            self._attempt(rule.id, reason)
            return Verdict(rule.id, "pending", NAME, reason)
        return _verdict(rule.id, target, state.verdict(level), len(past) + 1, live)

    async def _both_arms(
        self, cases: Sequence[EvalCase], contexts: tuple[Context, Context]
    ) -> tuple[list[Replayed], list[Replayed]]:
        """(treated, control): side by side, the first of a pair in turn, so that drift and outages hit both alike."""
        order = [
            (case, arm)
            for repeat in range(self._policy.repeats)
            for place, case in enumerate(cases)
            for arm in ((0, 1) if (repeat + place) % 2 == 0 else (1, 0))
        ]
        done = await self._replayer.run(self._evalset, [Job(case, contexts[arm]) for case, arm in order])
        treated, control = (
            [one for one, (_, arm) in zip(done, order, strict=True) if arm == wanted] for wanted in (0, 1)
        )
        return treated, control

    def _attempt(self, rule_id: str, reason: str) -> None:
        with self._workspace.transaction() as plan:
            plan.trials.append(attempt_to(rule_id, reason, plan.at))


def rounds_of(workspace: Workspace, rule_id: str) -> list[Round]:
    """The recorded rounds of paired replays of one rule, oldest first."""
    records = workspace.refresh_trials().rounds.get(rule_id, ())
    return [one for one in map(round_from, records) if one is not None]


def pairs_of(workspace: Workspace, rule_id: str) -> list[tuple[float, float]]:
    """The target with and without the candidate, in each pair of replays of a failure, in order."""
    past = rounds_of(workspace, rule_id)
    cases = [case for one in past for case in one.cases if case.kind == "failure"]
    target = past[0].target if past else ""
    arms = [(values_of(case.treated, target), values_of(case.control, target)) for case in cases]
    return [pair for treated, control in arms for pair in zip(treated, control, strict=False)]


def standing(
    workspace: Workspace, rule: Rule, policy: ReplayPolicy, live: Callable[[Rule], float]
) -> dict[str, object]:
    """What the paired replays of a candidate have shown so far, as its verdict would say it; empty before the first.

    `live(rule)`: the e-value that its sessions lend.
    """
    past = rounds_of(workspace, rule.id)
    if not past or not policy.paired:
        return {}
    target = past[0].target
    return _details(
        target, _folded(past, target, policy).verdict(_level(workspace, rule, policy, live(rule))), len(past)
    )


def beside(workspace: Workspace, rule: Rule, policy: ReplayPolicy, live: Callable[[Rule], float]) -> Beside:
    """What the paired replays say, for evidence of another kind; nothing before the first."""
    past = rounds_of(workspace, rule.id)
    if not past or not policy.paired:
        return Beside()
    return Beside(_folded(past, past[0].target, policy).e_lent, standing(workspace, rule, policy, live))


def awaited(workspace: Workspace, rule: Rule, trial: TrialState, policy: ReplayPolicy) -> bool:
    """Whether paired replays of the rule have begun and can go on, in whatever process has the replay function."""
    begun = policy.paired and trial.replay_attempts < ATTEMPTS and rounds_of(workspace, rule.id)
    return bool(begun and select(rule, workspace.ports.evalset.listed())[0])


def _level(workspace: Workspace, rule: Rule, policy: ReplayPolicy, live: float) -> float:
    return joint_level(level_of(workspace.rulebook, rule, policy.alpha), live, policy.alpha)


def _planned(rounds: Sequence[Round], policy: ReplayPolicy) -> int:
    """The pairs at which the trial is judged once, fixed by its first round; 0 = after every round."""
    return rounds[0].planned if rounds else policy.planned_pairs


def _folded(rounds: Sequence[Round], target: str, policy: ReplayPolicy) -> PairedState:
    fixed = PairedPolicy(planned_pairs=_planned(rounds, policy), most_pairs=policy.max_pairs)
    state = PairedState(fixed, target)
    for case in (case for one in rounds for case in one.cases):
        state.add(case)
    return state


def _verdict(rule_id: str, target: str, found: PairedVerdict, rounds: int, live: Beside) -> Verdict:
    outcome: Outcome = "pending" if found.outcome == "not_yet" else found.outcome
    details = _details(target, found, rounds)
    if live.evidence:
        details["sessions"] = live.evidence
    return Verdict(rule_id, outcome, NAME, f"{PAIRED}{' '.join((*found.reasons, *lent('sessions', live)))}", details)


def _details(target: str, found: PairedVerdict, rounds: int) -> dict[str, object]:
    figures = {name: value for name, value in asdict(found).items() if name != "outcome"}
    return {"policy": "paired", "decision": found.outcome, "target": target, "rounds": rounds, **figures}
