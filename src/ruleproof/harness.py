"""Harness: the facade that users hold.

Nothing in here decides: it opens a workspace, hands turns to the evaluator, reports to the engine, and contexts to the
host. The host never breaks because of us: whatever fails behind a turn is a log line, and a context that cannot be
composed is empty.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ruleproof.assembly import limits, make_composer, open_ports, pace, rechecks
from ruleproof.config import HarnessConfig
from ruleproof.core import ids
from ruleproof.core.context import Context
from ruleproof.core.continuation import Chapter
from ruleproof.core.evidence.replay import best_scores
from ruleproof.core.score import Report, Score, checked_cost, checked_value
from ruleproof.core.verdict import Verdict
from ruleproof.edge.evaluators.trace import TraceEvaluator
from ruleproof.edge.trust import Trust
from ruleproof.engine.capture import Capture
from ruleproof.engine.evalset import EvalCases
from ruleproof.engine.evaluate import Evaluations, TurnContext
from ruleproof.engine.evidence import Evidence
from ruleproof.engine.exposure import Exposures
from ruleproof.engine.notice import Notice, delivered
from ruleproof.engine.ports import Evaluator, Ports, Replay
from ruleproof.engine.project import Projection
from ruleproof.engine.regress import Progress, RegressionReport, run_regression
from ruleproof.engine.replay import REPLAYING, Replayer
from ruleproof.engine.replaytrial import ReplayValidator, awaited
from ruleproof.engine.report import Handled, handle_report
from ruleproof.engine.rounds import Rounds
from ruleproof.engine.rules import Rules
from ruleproof.engine.scored import as_scores
from ruleproof.engine.turn import Turn, Turns, current, quietly, session_now
from ruleproof.engine.validate import ForwardTrial, Validator
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused
from ruleproof.governance import Governance
from ruleproof.toolset.dispatch import Toolset

log = logging.getLogger("ruleproof")
T = TypeVar("T")


class Harness:
    """One workspace with everything around it. Make it with `Harness.create`; share it between threads and tasks."""

    def __init__(
        self,
        config: HarnessConfig,
        ports: Ports,
        evaluator: Evaluator | None,
        trust: Trust,
        replay: Replay | None = None,
    ) -> None:
        self.config = config
        self.trust = trust
        self.workspace = Workspace(ports, config.gate(), config.breaker(), durable=config.durability == "fsync")
        self.evidence = Evidence.configured(self.workspace, config)
        self.composer = make_composer(config, self.workspace, self.evidence)
        self._rechecks = rechecks(config, self.workspace)
        self.rules = Rules(self.workspace, self.composer, limits(config), self.evidence, session_now, self._rechecks)
        self.evalset = EvalCases(self.workspace, config.cases())
        self._capture = Capture(self.evalset, ports.system.monotonic, on=config.capture_eval_cases)
        self.governance = Governance(config)
        self.toolset = Toolset(
            self.workspace,
            self.rules,
            config.rule_trial_min_sessions,
            self.evalset,
            lambda: self.governance.agents_search,
            session_now,
            self._told,
        )
        self._projection = Projection(self.workspace, self.composer)
        evaluate = evaluator or TraceEvaluator(thresholds=config.threshold, weights=config.signal_weights)
        self._replayer: Replayer | None = None
        fixed = ForwardTrial(
            config.rule_trial_min_sessions,
            config.rule_promote_margin,
            lambda rule, trial: awaited(self.workspace, rule, trial, config.replays()),
        )
        validators: list[Validator] = [fixed, self.evidence.anytime]
        if replay is not None:
            bounds = config.replay_timeout_s, config.eval_timeout_s, config.replay_concurrency
            self._replayer = Replayer(replay, evaluate, config.threshold, *bounds)
            replays = ReplayValidator(
                self.workspace, self.composer, self._replayer, config.replays(), self.evidence.anytime.beside
            )
            validators.insert(0, replays)
        self._rounds = Rounds(self.workspace, validators, self._rechecks, replay=replay is not None)
        self._evaluations = Evaluations(evaluate, self._evaluated, pace(config), ports.system.monotonic)
        self._exposures = Exposures(self.workspace)
        self._turns = Turns(self.workspace, self._exposures, self._submit)
        self._healthy = True
        if not trust.trusted:
            log.warning("nothing of %s is in force: %s; `ruleproof trust` decides", config.root, trust.reason)
        _open.add(self)

    @classmethod
    def create(
        cls,
        config: HarnessConfig | None = None,
        *,
        evaluator: Evaluator | None = None,
        replay: Replay | None = None,
        state_dir: Path | None = None,
        **settings: Any,
    ) -> Harness:
        """Open (or make) the workspace of `config`; without one, of `ruleproof.toml`, `HARNESS_*` and `settings`.

        `evaluator(turn)` returns scores: a mapping of metric to a number in [0, 1] or None, a sequence of Score, or an
        awaitable of either; without one, turns that carry `messages` are scored by the deterministic trace evaluator.
        `replay(case, context)` runs a captured case again (`engine.ports.Replay`); with it, replays judge candidates.
        A workspace that was not made on this machine is not trusted unless its root was given here or in HARNESS_ROOT:
        then nothing in it is in force. Raises ConfigError or StoreError.
        """
        if config is None:
            config = HarnessConfig.load(**settings)
        elif settings:
            config = config.having(**settings)
        ports, trust = open_ports(config, state_dir)
        return cls(config, ports, evaluator, trust, replay)

    # --- the prompt ------------------------------------------------------------------------------------------------

    def system_context(
        self, task_hint: str | None = None, *, session_id: str | None = None, task_id: str | None = None
    ) -> str:
        """What belongs into the system prompt now. `session_id` makes the exposure of that session certain.

        Inside `turn()` the session is known; `task_id` will do where it is not. Under the anytime policy a rule on
        trial is withheld from some sessions. Never raises: on any failure the context is empty and the log says why.
        """
        return self.context(task_hint, session_id=session_id, task_id=task_id).text

    def context(
        self, task_hint: str | None = None, *, session_id: str | None = None, task_id: str | None = None
    ) -> Context:
        """Like `system_context`, with the rules that stand in it, its estimated tokens and its warnings.

        Inside a replay it is the context of the replay, and nothing is recorded.
        """
        replayed = REPLAYING.get()
        if replayed is not None:
            return replayed
        turn = current()
        if turn is not None and session_id in (None, turn.session_id):
            session_id, task_id = turn.session_id, task_id or turn.task_id
        try:
            made = self.composer.context(task_hint, self._exposures.unit(session_id, task_id))
        except Exception:
            log.exception("composing the context failed; it is empty")
            return Context("")
        for warning in made.warnings:
            log.warning("%s", warning)
        self._exposures.saw(made, session_id, task_id)
        return made

    def _told(self, rules: Iterable[str]) -> None:
        session_id = session_now()
        if session_id is not None and REPLAYING.get() is None:
            self._exposures.read(session_id, rules)

    def command(self, line: str) -> str:
        """What a person's `/chapters-rule` line did, in words for that person. It approves and revokes nothing."""
        return self.governance.command(line)

    def continuation_notice(
        self, title: str, *, handoff: str = "", chapters: Sequence[Chapter] = (), session_id: str | None = None
    ) -> str:
        """What a new or compacted session begins with, with the approved pool rules. Raises Refused over the budget.

        `session_id`, or the turn that it is called in, says who sees it; for nobody nothing is recorded.
        """
        made = self.governance.notice(title, handoff=handoff, chapters=chapters)
        for problem in made.absent:
            log.warning("%s", problem)
        self.noticed(made, session_id)
        delivered(self.governance.desk, made)
        return made.text

    def noticed(self, notice: Notice, session_id: str | None = None) -> None:
        """The session was given this notice: record which pool rules it was shown. Never raises."""
        session_id = session_id or session_now()
        if session_id is not None and REPLAYING.get() is None:
            quietly(self._exposures.noticed, dict(notice.shown), session_id)

    # --- turns and reports -----------------------------------------------------------------------------------------

    def turn(self, session_id: str, *, task_id: str | None = None) -> Turn:
        """One turn: `with` or `async with` around it, or a decorator. Ends when the block ends, by an exception too."""
        return self._turns.turn(session_id, task_id)

    async def run_turn(self, session_id: str, fn: Callable[..., Awaitable[T] | T], /, *args: Any, **kwargs: Any) -> T:
        """Run `fn` as one turn of the session and return what it returns."""
        async with self.turn(session_id):
            result = fn(*args, **kwargs)
            return await result if isinstance(result, Awaitable) else result

    def on_turn_end(self, payload: Mapping[str, object]) -> None:
        """A turn ended: `{"session_id": ..., "turn_index": 0, "end_state": {...}, "task_id": ...}`. Never raises."""
        self._turns.ended(payload)

    def report(
        self,
        session_id: str,
        scores: Mapping[str, float | None],
        *,
        turn_index: int = 0,
        task_id: str | None = None,
        costs: Mapping[str, float] | None = None,
    ) -> Handled:
        """Scores from any evaluator that the host already has: metric -> number in [0, 1], None = missing.

        Handled before it returns, without an event loop. Raises Refused for a bad id, a NaN, a 7, a boolean.
        """
        for name, given in (("scores", scores), ("costs", costs or {})):
            if not isinstance(given, Mapping):
                raise Refused(
                    f"{name} are {type(given).__name__}, not a mapping.", hint='For example {"outcome": 0.4}.'
                )
        if isinstance(turn_index, bool) or not isinstance(turn_index, int) or turn_index < 0:
            raise Refused(f"turn_index is {ids.shown(turn_index)}.", hint="Give a whole number, 0 or more.")
        checked = tuple(
            Score(ids.opaque(metric, "metric"), checked_value(metric, value), self.config.threshold(metric))
            for metric, value in scores.items()
        )
        return self._handle(self._report(session_id, checked, turn_index, task_id, costs or {}))

    def _report(
        self, session_id: str, scores: tuple[Score, ...], turn: int, task_id: str | None, costs: Mapping[str, float]
    ) -> Report:
        return Report(
            session_id=ids.opaque(session_id),
            scores=scores,
            at=self.workspace.now(),
            turn=turn,
            task_id=ids.opaque(task_id, "task") if task_id is not None else None,
            costs={name: checked_cost(name, value) for name, value in costs.items()},
        )

    def _handle(self, report: Report) -> Handled:
        if REPLAYING.get() is not None:
            return Handled(report, self.workspace.sessions.judge(report), "nothing")
        for conflict in best_scores(report.scores)[1]:
            log.warning("session %r, %s", report.session_id, conflict)
        self._exposures.reported(report.session_id, report.task_id, report.at)
        assumed = self._exposures.assumed
        shadow = self.config.mode == "observe_only"
        also = None if shadow else self._capture
        window = self.config.rule_trial_min_sessions
        watching = self._rechecks.watching
        handled = handle_report(
            self.workspace, report, shadow=shadow, assumed=assumed, window=window, watching=watching, also=also
        )
        on_trial = self.config.rule_validation and self.workspace.rulebook.candidates()
        if not shadow and (on_trial or self._rechecks.due()):
            self._rounds.kick()
        return handled

    def _submit(self, turn: TurnContext) -> None:
        quietly(self._capture.remember, turn)
        skipped = self._evaluations.skipped
        self._evaluations.submit(turn)
        if self._evaluations.skipped and not skipped:
            log.warning("the evaluation budget of %d is used up", self.config.max_evals_per_run)
            quietly(self._journal, "skip", reason="budget", session_id=turn.session_id)

    def _evaluated(self, turn: TurnContext, raw: object) -> Handled | None:
        scores, failure = as_scores(raw, self.config.threshold)
        if failure:
            log.warning("evaluating turn %d of session %r failed: %s", turn.turn, turn.session_id, failure)
        if self._healthy == bool(failure):
            self._healthy = not failure
            quietly(self._journal, "health", ok=self._healthy, reason=failure)
        if not scores and not failure:
            return None
        return self._handle(self._report(turn.session_id, scores, turn.turn, turn.task_id, {}))

    def _journal(self, kind: str, **details: object) -> None:
        with self.workspace.transaction() as plan:
            plan.event(kind, **details)

    # --- waiting ---------------------------------------------------------------------------------------------------

    async def refresh(self, session_id: str) -> Handled | None:
        """Wait (at most `drain_timeout_s`) for the session's evaluations; what the last one led to, or None."""
        return await asyncio.to_thread(self.wait, session_id)

    async def refresh_all(self) -> None:
        """Wait (at most `drain_timeout_s`) for every evaluation."""
        await asyncio.to_thread(self.wait)

    def wait(self, session_id: str | None = None) -> Handled | None:
        """`refresh` for hosts without an event loop; without an id, waits for all."""
        done = self._evaluations.wait(session_id, self.config.drain_timeout_s)
        result = self._evaluations.result(session_id) if session_id is not None and done else None
        return result if isinstance(result, Handled) else None

    async def validate_candidates(self) -> list[Verdict]:
        """Run one round now; all verdicts, those of rechecks last. None in mode `observe_only`, where no rule moves."""
        if self.config.mode == "observe_only":
            return []
        return await asyncio.to_thread(self._rounds.run)

    async def drain_validation(self) -> bool:
        """Join any validation round in flight, at most `drain_timeout_s`. False when time ran out."""
        return await asyncio.to_thread(self._rounds.drain, self.config.drain_timeout_s)

    async def run_regression(self, *, sample: int | None = None, progress: Progress | None = None) -> RegressionReport:
        """Replay the eval-set with the rules of now, wins first; `sample` (else `regression_sample`) 0 = all of it.

        Raises Refused where the workspace is not trusted.
        """
        chosen = self.config.regression_sample if sample is None else sample
        margins = self.config.replays().margins
        return await run_regression(
            self.workspace, self.composer, self._replayer, margins, sample=chosen, progress=progress
        )

    def project(self) -> None:
        """Write `harness_rules.md` now. Raises StoreError."""
        self._projection.write()

    def close(self) -> None:
        """Finish what is queued, write the projection. Happens by itself when the program ends."""
        self._evaluations.wait(None, self.config.drain_timeout_s)
        self._rounds.drain(self.config.drain_timeout_s)
        self._projection.flush()


_open: weakref.WeakSet[Harness] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for harness in list(_open):
        with contextlib.suppress(Exception):
            harness.close()
