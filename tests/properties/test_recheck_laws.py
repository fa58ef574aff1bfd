"""E6 as a law: whatever two processes do to a promoted rule, a recheck moves it nowhere but to retired, once."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ruleproof.config import HarnessConfig
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.errors import Refused
from ruleproof.harness import Harness

SETTINGS: dict[str, Any] = {
    "rule_trial_policy": "anytime",
    "rule_holdout": 0.5,
    "durability": "os",
    "circuit_breaker_max_notices": 1,
    "rule_trial_most_sessions": 20,
    "rule_promote_margin": 0.4,
}
WHO = st.integers(0, 1)


class Promoted(RuleBasedStateMachine):
    """One rule, two processes with settings of their own, reports, rounds and persons."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.processes = [self.opened(rule_holdout_active=0.3, model_fingerprint="a"), self.opened()]
        added = self.processes[0].rules.add("One.", metric="m")
        kind = {"reason": "anytime: It helps.", "validator": "anytime_trial"}
        self.id = apply_verdict(self.processes[0].workspace, added, promote=True, **kind).id  # type: ignore[arg-type]
        self.sessions = 0
        self.over = False

    def opened(self, **more: Any) -> Harness:
        config = HarnessConfig(harness_root=self.root / "w", **SETTINGS, **more)
        return Harness.create(config, state_dir=self.root / "state")

    def teardown(self) -> None:
        for process in self.processes:
            process.close()
        shutil.rmtree(self.root)

    @rule(who=WHO, value=st.sampled_from([0.0, 1.0, None]), count=st.integers(1, 12), loyal=st.booleans())
    def sessions_are_reported(self, who: int, value: float | None, count: int, loyal: bool) -> None:
        for _ in range(count):
            self.sessions += 1
            made = self.processes[who].context(session_id=f"s{self.sessions}")
            given = float(self.id in made.rules) if loyal and value is not None else value
            self.processes[1 - who].report(f"s{self.sessions}", {"m": given})

    @rule(who=WHO)
    def a_round_runs(self, who: int) -> None:
        self.processes[who]._rounds.run()

    @rule(who=WHO)
    def a_person_asks(self, who: int) -> None:
        try:
            self.processes[who].rules.recheck(self.id)
        except Refused:
            assert self.over or self.trial["recheck"].get("ended", "") == ""

    @rule(who=WHO, name=st.sampled_from(["a", "b", "c"]))
    def the_model_changes(self, who: int, name: str) -> None:
        self.processes[who].close()
        self.processes[who] = self.opened(rule_holdout_active=0.3, model_fingerprint=name)

    @rule(who=WHO, paused=st.booleans())
    def it_is_paused_or_resumed(self, who: int, paused: bool) -> None:
        if not self.over:
            (self.processes[who].rules.pause if paused else self.processes[who].rules.resume)(self.id)

    @property
    def trial(self) -> dict[str, Any]:
        trial = self.records("rules.jsonl")[-1]["trial"]
        assert isinstance(trial, dict)
        return trial

    def records(self, name: str) -> list[dict[str, Any]]:
        file = self.root / "w" / name
        return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []

    @invariant()
    def the_status_is_active_until_it_is_retired_for_good(self) -> None:
        for process in self.processes:
            process._rounds.drain(30)
        statuses = [record["status"] for record in self.records("rules.jsonl")]
        after = statuses[statuses.index("active") :]
        self.over = after[-1] == "retired"
        assert after.count("retired") <= 1 and set(after[:-1]) <= {"active"}
        assert self.trial["verdict"].startswith("promoted:")

    @invariant()
    def rechecks_are_numbered_and_each_ends_at_most_once(self) -> None:
        seen = [r["trial"]["recheck"] for r in self.records("rules.jsonl") if (r["trial"] or {}).get("recheck")]
        numbers = [recheck["number"] for recheck in seen]
        assert numbers == sorted(numbers) and set(numbers) <= set(range(1, max(numbers, default=0) + 1))
        assert len({recheck["number"] for recheck in seen}) == len({recheck["key"] for recheck in seen})
        ended = {(recheck["number"], recheck["ended"]) for recheck in seen if recheck.get("ended")}
        assert len(ended) == len({number for number, _ in ended})
        assert all("watch" not in r["trial"] or r["trial"].get("recheck", {"ended": 1}).get("ended")
                   for r in self.records("rules.jsonl") if r["trial"])  # fmt: skip

    @invariant()
    def a_fresh_fold_and_one_of_every_line_twice_say_the_same(self) -> None:
        for process in self.processes:
            process._rounds.drain(30)
        known = self.processes[0].rules
        fresh = self.opened(rule_holdout_active=0.3)
        try:
            one = fresh.rules.get(self.id)
            assert one == known.get(self.id)
            running = one.trial.comparison if one.trial is not None else None
            if running is not None:
                told = fresh.workspace.refresh_trials().told(self.id, running.name)
                assert list(told) == list(self.processes[0].workspace.refresh_trials().told(self.id, running.name))
                assert all(unit.arm == running.arm(unit.unit) for unit in told)
                for unit in list(told):
                    fresh.workspace.trials.tell(unit)
                assert len(fresh.workspace.trials.told(self.id, running.name)) == len(told)
        finally:
            fresh.close()


TestPromoted = Promoted.TestCase
TestPromoted.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
