"""The workload of bench_store.py: the same rules, the same calls and the same clock for every store that is measured.

Standard library only, because one of the stores runs in another interpreter that knows nothing of ruleproof. `write`
lays out a workspace line by line in the record format; `measure` drives a `Subject` through every step.
"""

from __future__ import annotations

import gc
import itertools
import json
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SHARED_TAGS = ("breach:agent_reliability", "agent_reliability", "loop_detection", "tool_correctness", "breach")
METRIC = "agent_reliability"
GLOBALS, CANDIDATES = 3, 10
TRIAL_SESSIONS = 100
"""So long a trial that no candidate is decided while it is measured."""
HINTS = (
    "charge a customer payment",
    "change a flight booking and refund the difference",
    "cancel an order that was shipped already",
    "restore the archive before the release",
)
QUERIES = (
    "breach:agent_reliability",
    "breach agent_reliability loop_detection",
    "payment breach",
    "topic7 refund",
    "word3 word40 word500",
    "tool_correctness topic11 check the archive before every restore of word17 and word23 again",
    "nothingmatchesthis",
    *HINTS,
)
_COMMON = [
    "the",
    "a",
    "to",
    "of",
    "and",
    "before",
    "after",
    "every",
    "never",
    "always",
    "check",
    "verify",
    "call",
    "tool",
    "payment",
    "refund",
    "order",
    "customer",
    "flight",
    "user",
    "booking",
    "status",
    "archive",
    "restore",
    "retry",
    "time-out",
    "transaction",
    "result",
    "again",
    "ask",
    "release",
    "identifier",
    "first",
    "unless",
    "send",
    "system",
    "end",
    "start",
    "response",
]


@dataclass(frozen=True)
class Plan:
    """One size: how many rules live, how many were retired before, and how often each step is repeated at most."""

    live: int
    retired: int
    opens: int
    reads: int
    writes: int
    growth: int
    """Trial updates whose file growth is measured."""
    seconds: float
    """A step that took longer than this in all is not repeated any more."""


class Subject(Protocol):
    """A store under measurement. Every call does the whole of its work before it returns."""

    name: str

    def open(self) -> int:
        """Open the workspace and list its live rules; how many there are."""
        ...

    def close(self) -> None:
        """Forget everything that is open."""
        ...

    def search(self, query: str) -> int: ...
    def context(self, hint: str | None) -> int: ...
    def add(self, text: str, rationale: str, tags: Sequence[str]) -> str: ...
    def update_trial(self, rule_id: str, session: str) -> None: ...
    def promote(self, rule_id: str) -> None: ...
    def before_report(self, session: str) -> None:
        """What is not storage: compose the session's context, let background work end."""
        ...

    def report(self, session: str) -> None: ...
    def round(self) -> None:
        """Look at every candidate once, as it happens behind each report."""
        ...

    def project(self) -> None:
        """Write the markdown file."""
        ...

    def settle(self) -> None:
        """Finish background work."""
        ...

    def more(self, plan: Plan, clock: Clock) -> None:
        """Steps that only this store has."""
        ...

    def grow(self, updates: int) -> tuple[int, int]:
        """(trial updates that were made, bytes that they added)."""
        ...


# --- the workspace ---------------------------------------------------------------------------------------------------


def texts(seed: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(rule, rationale, tags) without end: common words, rare words, one in ten with typographic punctuation."""
    chance = random.Random(seed)

    def words(count: int) -> str:
        return " ".join(
            chance.choice(_COMMON) if chance.random() < 0.6 else f"word{int(chance.paretovariate(0.6)) % 9000}"
            for _ in range(count)
        )

    for number in itertools.count():
        rule = f"{words(20).capitalize()} (case {seed}-{number})."
        rationale = words(16).capitalize() + "."
        if chance.random() < 0.1:
            rule, rationale = rule.replace(" (", " — ("), f"It’s known: {rationale}"
        yield rule, rationale, (*SHARED_TAGS, f"topic{chance.randrange(40)}")


def write(root: Path, plan: Plan, *, own_keys: bool) -> None:
    """A workspace of `plan`: its rules, and the journal of how they came. `own_keys`: with those that 0.6 lacks."""
    for folder in ("mailbox/pending", "mailbox/processed", "traces", "evalset", "state"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    made, chance = texts(1), random.Random(2)
    with (root / "rules.jsonl").open("w") as rules, (root / "journal.jsonl").open("w") as journal:

        def put(record: dict[str, object], kind: str, at: str) -> None:
            if own_keys:
                record = {**record, "event": f"e-{chance.getrandbits(64):016x}", "at": at, "author": "agent"}
            rules.write(json.dumps(record, sort_keys=True) + "\n")
            journal.write(json.dumps({**record, "type": kind, "ts": at}, sort_keys=True) + "\n")

        for number in range(plan.retired + plan.live):
            record, at = _record(number, next(made), chance)
            living = number - plan.retired
            if 0 <= living < GLOBALS:
                record["tags"] = []
            if living < 0 or living >= plan.live - CANDIDATES:
                put({**record, "status": "candidate", "trial": _trial(at, "")}, "rule_add", at)
            else:
                put({**record, "status": "active", "trial": _trial(at, "promoted:no breach in 5")}, "rule_add", at)
            if living < 0:
                verdict = "retired:trial breach rate 0.60 is not below the baseline 0.50"
                put({**record, "status": "retired", "trial": _trial(at, verdict)}, "rule_retire", at)


def _record(
    number: int, text: tuple[str, str, tuple[str, ...]], chance: random.Random
) -> tuple[dict[str, object], str]:
    rule, rationale, tags = text
    seconds = number % 86_400
    day, rest = 1 + number // 86_400, f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    at = f"2026-03-{day:02d}T{rest}.{chance.randrange(10**6):06d}+00:00"
    record: dict[str, object] = {
        "id": f"r-{chance.getrandbits(40):010x}",
        "created_at": at,
        "rule": rule,
        "rationale": rationale,
        "source_notice_id": f"n-202603{day:02d}T{rest.replace(':', '')}000000-{chance.getrandbits(32):08x}",
        "metric": METRIC,
        "tags": list(tags),
    }
    return record, at


def _trial(at: str, verdict: str) -> dict[str, object]:
    observed = [f"session-{number}" for number in range(5)] if verdict else []
    return {
        "baseline_breached_sessions": 10,
        "baseline_sessions": 20,
        "baseline_window": 20,
        "trial_started_at": at,
        "observed_sessions": observed,
        "breached_sessions": [],
        "observed_breaches": 0,
        "replay_attempts": 0,
        "verdict": verdict,
    }


# --- the measurement -------------------------------------------------------------------------------------------------


class Clock:
    """How long each named step took, on the wall and in processor time, in seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}

    def time(self, step: str, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call it and note how long it took."""
        cpu, wall = time.process_time(), time.perf_counter()
        result = call(*arguments, **named)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.wall.setdefault(step, []).append(wall)
        self.cpu.setdefault(step, []).append(cpu)
        return result

    def turns(self, step: str, count: int) -> Iterator[int]:
        """0, 1, ... below `count`, but no second one once `step` took `seconds` in all."""
        for turn in range(count):
            if turn and sum(self.wall.get(step, ())) > self.seconds:
                return
            yield turn

    def result(self) -> dict[str, dict[str, float]]:
        """Per step: median wall, median processor time, worst wall, how often."""
        return {
            step: {
                "wall": statistics.median(taken),
                "cpu": statistics.median(self.cpu[step]),
                "worst": max(taken),
                "times": len(taken),
            }
            for step, taken in self.wall.items()
        }


def measure(subject: Subject, plan: Plan) -> dict[str, object]:
    """Every step on one workspace, in an order that keeps cold what is to be measured cold."""
    clock = Clock(plan.seconds)
    _cold(subject, plan, clock)
    _warm(subject, plan, clock)
    reading = _peak()
    _writes(subject, plan, clock)
    updates, grown = subject.grow(plan.growth) if plan.growth else (0, 0)
    subject.more(plan, clock)
    return {
        "name": subject.name,
        "plan": asdict(plan),
        "steps": clock.result(),
        "growth": {"updates": updates, "bytes": grown},
        "peak": {"reading": reading, "all": _peak()},
    }


def _cold(subject: Subject, plan: Plan, clock: Clock) -> None:
    def fresh() -> None:
        subject.close()
        gc.collect()
        live = clock.time("open", subject.open)
        assert live == plan.live, f"{live} live rules, not {plan.live}"

    for _ in clock.turns("open", plan.opens):
        fresh()
        clock.time("first search", subject.search, QUERIES[2])
        fresh()
        clock.time("first context, no hint", subject.context, None)
        fresh()
        clock.time("first context, hint", subject.context, HINTS[0])


def _warm(subject: Subject, plan: Plan, clock: Clock) -> None:
    for turn in clock.turns("search, new words", len(QUERIES)):
        clock.time("search, new words", subject.search, QUERIES[turn])
    for turn in clock.turns("search", max(plan.reads, len(QUERIES))):
        clock.time("search", subject.search, QUERIES[turn % len(QUERIES)])
    for _ in clock.turns("search, a tag that all share", plan.reads):
        clock.time("search, a tag that all share", subject.search, QUERIES[0])
    for turn in clock.turns("context, hint", plan.reads):
        clock.time("context, hint", subject.context, HINTS[turn % len(HINTS)])
    for _ in clock.turns("context, no hint", plan.reads):
        clock.time("context, no hint", subject.context, None)


def _writes(subject: Subject, plan: Plan, clock: Clock) -> None:
    made = texts(3)
    added = [clock.time("first add", subject.add, *next(made))]
    subject.settle()
    for _ in clock.turns("add", plan.writes):
        added.append(clock.time("add", subject.add, *next(made)))
        clock.time("context after an add, no hint", subject.context, None)
    subject.settle()
    for turn in clock.turns("trial update", len(added)):
        clock.time("trial update", subject.update_trial, added[turn], "s-update")
    for turn in clock.turns("promote", len(added)):
        clock.time("promote", subject.promote, added[turn])
    subject.settle()
    for turn in clock.turns("report", plan.writes + 1):
        session = f"s-report-{turn}"
        subject.before_report(session)
        clock.time("report" if turn else "first report", subject.report, session)
    subject.settle()
    for _ in clock.turns("round", min(3, plan.writes)):
        clock.time("round", subject.round)
    for _ in clock.turns("markdown", 3):
        clock.time("markdown", subject.project)


def _peak() -> int:
    """Peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_worker(subject: Subject, plan: str) -> None:
    """Measure, and print the result as one line of JSON."""
    print(json.dumps(measure(subject, Plan(**json.loads(plan)))))
