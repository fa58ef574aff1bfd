"""The peer of bench_store.py: pandaprobe-harness 0.6, driven through its public classes in its own interpreter.

    PYTHON_WITH_THE_PEER benchmarks/peer_0_6.py WORKSPACE PLAN

Called by bench_store.py. A handled report is `ValidationEngine.observe_report` alone: its score history and its
validation round, which it also runs for every report, are left out in its favour.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pandaprobe_harness import (  # type: ignore[import-not-found]
    EvalSet,
    HarnessConfig,
    Journal,
    Mailbox,
    RulesStore,
    TrialState,
    ValidationEngine,
    __version__,
    compose_system_preamble,
)
from store_steps import CANDIDATES, METRIC, TRIAL_SESSIONS, Clock, Plan, run_worker


class Peer:
    """`store_steps.Subject`."""

    name = f"pandaprobe-harness {__version__}"

    def __init__(self, root: Path) -> None:
        self.config = HarnessConfig(
            harness_root=root, max_active_rules=0, rule_trial_min_sessions=TRIAL_SESSIONS, health_check=False
        )
        self.close()

    def close(self) -> None:
        self.journal = Journal(self.config)
        self.rules = RulesStore(self.config, journal=self.journal)
        self.mailbox = Mailbox(self.config)
        self.engine = ValidationEngine(
            config=self.config, rules=self.rules, evalset=EvalSet(self.config), evaluator=None, journal=self.journal
        )

    def open(self) -> int:
        return len(self.rules.live())

    def search(self, query: str) -> int:
        return len(self.rules.search(query, statuses=("active", "candidate")))

    def context(self, hint: str | None) -> int:
        return len(compose_system_preamble(self.rules, self.mailbox, task_hint=hint))

    def add(self, text: str, rationale: str, tags: Sequence[str]) -> str:
        return str(self.rules.add(text, rationale, metric=METRIC, tags=tags).id)

    def update_trial(self, rule_id: str, session: str) -> None:
        def seen(trial: TrialState) -> TrialState:
            return replace(trial, observed_sessions=(*trial.observed_sessions, session))

        self.rules.update_trial(rule_id, seen)

    def promote(self, rule_id: str) -> None:
        self.rules.promote(rule_id, reason="no breach", validator="forward_trial")

    def before_report(self, session: str) -> None:
        pass

    def report(self, session: str) -> None:
        self.engine.observe_report(session, set())

    def round(self) -> None:
        asyncio.run(self.engine.evaluate_candidates())

    def more(self, plan: Plan, clock: Clock) -> None:
        pass

    def project(self) -> None:
        self.rules.sync_markdown()

    def settle(self) -> None:
        pass

    def grow(self, updates: int) -> tuple[int, int]:
        """Five sessions for each candidate, the default window: an update of a longer trial is longer."""
        file = self.config.rules_store_file
        candidates = self.rules.candidates()[:CANDIDATES]
        for rule in candidates:
            self.rules.update_trial(rule.id, lambda trial: replace(trial, observed_sessions=()))
        before = file.stat().st_size
        for rule in candidates:
            for number in range(5):
                self.update_trial(rule.id, f"s-grow-{number}")
        return 5 * len(candidates), file.stat().st_size - before


if __name__ == "__main__":
    logging.disable()
    run_worker(Peer(Path(sys.argv[1])), sys.argv[2])
