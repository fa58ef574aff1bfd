"""What the rule store costs at 50 to 50,000 live rules and after a long history, beside the 0.6 system.

    python benchmarks/bench_store.py [--peer-python PATH] [--quick] [--only "5,000"] [--json FILE]

The peer is pandaprobe-harness 0.6.3 in an interpreter of its own (Python 3.13): name it with --peer-python or in
RULEPROOF_PEER_PYTHON; without one its tables are left out. Both get the same rules, queries and calls (store_steps.py).
Medians of wall time; every write of ours is synced before it counts. Nothing is written outside a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from store_steps import CANDIDATES, HINTS, METRIC, TRIAL_SESSIONS, Clock, Plan, run_worker, texts, write

from ruleproof.codec.records import observations_to
from ruleproof.core.trial import Observation
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.harness import Harness

Result = dict[str, Any]

PLANS = {
    "50": Plan(50, 0, 9, 60, 30, 0, 20.0),
    "500": Plan(500, 0, 9, 60, 30, 10_000, 20.0),
    "5,000": Plan(5_000, 0, 7, 60, 30, 0, 30.0),
    "50,000": Plan(50_000, 0, 5, 60, 20, 0, 60.0),
    "50 after 50,000 retired": Plan(50, 50_000, 3, 60, 20, 0, 60.0),
}
PEER_SECONDS = {"50": 10.0, "500": 10.0, "5,000": 10.0, "50,000": 12.0, "50 after 50,000 retired": 12.0}
QUICK = ("50", "500", "5,000")
STEPS = (
    ("open", "open, list the live rules"),
    ("first search", "first search after opening"),
    ("search, new words", "search, words not asked before"),
    ("search", "search, warm"),
    ("search, a tag that all share", "search `breach:agent_reliability`, warm"),
    ("first context, hint", "first context with a hint"),
    ("context, hint", "context with a hint, warm"),
    ("first context, no hint", "first context without a hint (every rule)"),
    ("context after an add, no hint", "context without a hint, after an add"),
    ("context, no hint", "context without a hint, nothing changed"),
    ("first add", "first add after opening"),
    ("add", "add"),
    ("trial update", "trial update"),
    ("promote", "promote"),
    ("report", f"handled report, {CANDIDATES} candidates"),
    ("round", f"validation round, {CANDIDATES} candidates (behind a report)"),
    ("markdown", "markdown projection, whole file"),
    ("add, anytime", "anytime policy: add"),
    ("report, anytime", "anytime policy: handled report, 21 to 41 candidates"),
    ("round, anytime", "anytime policy: validation round"),
)
FIFTY_TIMES = ("add", "promote", "report")
TWENTY_TIMES = ("search", "search, a tag that all share", "context, hint", "context after an add, no hint")
HISTORY = (
    *("search", "first search", "context, hint", "first context, hint", "context, no hint", "first context, no hint"),
    *("add", "trial update", "promote", "report", "round", "markdown"),
    *("add, anytime", "report, anytime", "round, anytime"),
)


class Ours:
    """`store_steps.Subject`."""

    name = "ruleproof"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.harness: Harness | None = None

    @property
    def here(self) -> Harness:
        assert self.harness is not None
        return self.harness

    def close(self) -> None:
        self.harness = None

    def open(self) -> int:
        self.harness = self._harness("fsync")
        return len(self.harness.rules.active()) + len(self.harness.rules.candidates())

    def _harness(self, durability: str, sessions: int = TRIAL_SESSIONS, **settings: Any) -> Harness:
        return Harness.create(
            harness_root=self.root,
            max_active_rules=0,
            rule_trial_min_sessions=sessions,
            durability=durability,
            **settings,
        )

    def search(self, query: str) -> int:
        return len(self.here.rules.search(query))

    def context(self, hint: str | None) -> int:
        return len(self.here.system_context(hint))

    def add(self, text: str, rationale: str, tags: Sequence[str]) -> str:
        return self.here.rules.add(text, rationale, metric=METRIC, tags=tags, author="agent").id

    def update_trial(self, rule_id: str, session: str) -> None:
        workspace = self.here.workspace
        with workspace.transaction() as plan:
            seen = (Observation(rule_id, session, False, "shown"),)
            plan.trials.append(observations_to(session, seen, {METRIC: 0.9}, plan.at))

    def promote(self, rule_id: str) -> None:
        rule = self.here.rules.get(rule_id)
        apply_verdict(self.here.workspace, rule, promote=True, reason="no breach", validator="forward_trial")

    def before_report(self, session: str) -> None:
        self.here.context(HINTS[0], session_id=session)
        self.settle()

    def report(self, session: str) -> None:
        self.here.report(session, {METRIC: 0.9})

    def round(self) -> None:
        asyncio.run(self.here.validate_candidates())

    def more(self, plan: Plan, clock: Clock) -> None:
        """The same under the anytime policy, which withholds: what `ruleproof init` writes."""
        self.close()
        self.harness = self._harness("fsync", rule_trial_policy="anytime", rule_holdout=0.5)
        made = texts(4)
        self.add(*next(made))
        self.settle()
        for _ in clock.turns("add, anytime", plan.writes):
            clock.time("add, anytime", self.add, *next(made))
        for turn in clock.turns("report, anytime", plan.writes + 1):
            self.before_report(f"s-anytime-{turn}")
            clock.time("report, anytime" if turn else "first report, anytime", self.report, f"s-anytime-{turn}")
        self.settle()
        for _ in clock.turns("round, anytime", 3):
            clock.time("round, anytime", self.round)

    def project(self) -> None:
        self.here._projection.write()

    def settle(self) -> None:
        asyncio.run(self.here.drain_validation())
        self.here.close()

    def grow(self, updates: int) -> tuple[int, int]:
        """Reports that each update ten trials, with all that they write; not synced, because only the size is asked."""
        sessions = updates // CANDIDATES
        self.harness = self._harness("os", 2 * sessions)
        before = self._size()
        for number in range(sessions):
            self.here.context(HINTS[0], session_id=f"s-grow-{number}")
            self.report(f"s-grow-{number}")
        self.settle()
        return sessions * CANDIDATES, self._size() - before

    def _size(self) -> int:
        return sum(file.stat().st_size for file in self.root.glob("*.jsonl"))


# --- running ---------------------------------------------------------------------------------------------------------


def synced_append() -> float:
    """Median seconds of one synced append of 1 KB: what this disk asks for each promise."""
    with tempfile.NamedTemporaryFile() as file:
        taken = []
        for _ in range(40):
            start = time.perf_counter()
            os.write(file.fileno(), b"x" * 1023 + b"\n")
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def run(command: Sequence[str], plan: Plan, *, own_keys: bool) -> Result:
    """Lay out a workspace, measure it in a process of its own, return what that says."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as name:
        write(Path(name), plan, own_keys=own_keys)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HARNESS_")}
        done = subprocess.run(
            [*command, name, json.dumps(asdict(plan))], stdout=subprocess.PIPE, text=True, check=False, env=environment
        )
    if done.returncode:
        raise SystemExit(f"{command[-1]} failed with exit code {done.returncode}")
    result: Result = json.loads(done.stdout)
    return result


def measure_all(names: Sequence[str], peer: str | None, quick: bool) -> tuple[dict[str, Result], dict[str, Result]]:
    """(ours, the peer's) by size; the two take turns, so that both see the same machine."""
    ours: dict[str, Result] = {}
    theirs: dict[str, Result] = {}
    for name in names:
        plan = PLANS[name]
        if quick:
            plan = Plan(**{**asdict(plan), "opens": 3, "reads": 20, "writes": 10, "growth": plan.growth // 10})
        say(f"{name}: ruleproof ...")
        ours[name] = {**run([sys.executable, __file__, "--worker"], plan, own_keys=True), "sync": synced_append()}
        if peer is not None:
            say(f"{name}: the peer ...")
            opens = 1 if plan.live + plan.retired > 10_000 else 3
            limits = {"opens": opens, "reads": 12, "writes": 10, "seconds": PEER_SECONDS[name]}
            their_plan = Plan(**{**asdict(plan), **limits})
            script = str(Path(__file__).with_name("peer_0_6.py"))
            theirs[name] = run([peer, script], their_plan, own_keys=False)
    return ours, theirs


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


# --- tables ----------------------------------------------------------------------------------------------------------


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(heads) + " |")
    print("|---" + "|--:" * (len(heads) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def duration(seconds: float) -> str:
    if seconds < 0.01:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def cell(result: Result, step: str, kind: str = "wall") -> str:
    found = result["steps"].get(step)
    return "-" if found is None else duration(found[kind])


def ratio(ours: Result, theirs: Result, step: str) -> float:
    return float(theirs["steps"][step]["wall"] / ours["steps"][step]["wall"])


def times(ours: Result, theirs: Result, step: str) -> str:
    if step not in theirs["steps"]:
        return "-"
    found = ratio(ours, theirs, step)
    return f"{found:,.0f}" if found >= 10 else f"{found:.1f}"


def tables(ours: Mapping[str, Result], theirs: Mapping[str, Result]) -> None:
    names = list(ours)
    heads = ("live rules", *names)
    for title, results, kind in (
        ("ruleproof, wall time", ours, "wall"),
        ("ruleproof, processor time", ours, "cpu"),
        (f"{next(iter(theirs.values()))['name']}, wall time" if theirs else "", theirs, "wall"),
    ):
        if results:
            there = [(step, label) for step, label in STEPS if any(step in results[n]["steps"] for n in names)]
            table(title, heads, [(label, *(cell(results[n], step, kind) for n in names)) for step, label in there])
    if theirs:
        both = [(step, label) for step, label in STEPS if any(step in theirs[n]["steps"] for n in names)]
        rows = [(label, *(times(ours[n], theirs[n], step) for n in names)) for step, label in both]
        table("How many times cheaper (wall time of the peer / of ruleproof)", heads, rows)
    table("Memory and files", heads, [*sizes("ruleproof", ours, names), *sizes("the peer", theirs, names)])
    goals(ours, theirs)


def sizes(who: str, results: Mapping[str, Result], names: Sequence[str]) -> list[tuple[str, ...]]:
    if not results:
        return []

    def row(what: str, value: Callable[[Result], str]) -> tuple[str, ...]:
        return (f"{who}: {what}", *(value(results[name]) for name in names))

    def growth(result: Result) -> str:
        made = result["growth"]
        if not made["updates"]:
            return "-"
        each = made["bytes"] / made["updates"]
        return f"{each * 10_000 / 1e6:.1f} MB ({made['updates']:,} made, {each:.0f} bytes each)"

    return [
        row("peak memory, reading", lambda result: f"{result['peak']['reading'] / 1e6:.0f} MB"),
        row("peak memory, all steps", lambda result: f"{result['peak']['all'] / 1e6:.0f} MB"),
        row("file growth per 10,000 trial updates", growth),
    ]


def goals(ours: Mapping[str, Result], theirs: Mapping[str, Result]) -> None:
    """Each goal, what was measured, met or not."""
    rows: list[tuple[str, str, str]] = []
    labels = dict(STEPS)
    if "5,000" in theirs:
        for least, steps in ((50, FIFTY_TIMES), (20, TWENTY_TIMES)):
            for step in steps:
                found = ratio(ours["5,000"], theirs["5,000"], step)
                rows.append(
                    (f"at 5,000: {labels[step]}, {least} times cheaper", f"{found:,.0f} times", met(found >= least))
                )
    big = ours.get("50,000")
    if big is not None:
        for step, limit in (("open", 1.0), ("first search", 3.0), ("search", 0.010), ("report", 0.005)):
            steps = big["steps"][step]
            said = f"{duration(steps['wall'])} ({duration(steps['cpu'])} of processor)"
            rows.append((f"at 50,000: {labels[step]}, below {duration(limit)}", said, met(steps["wall"] < limit)))
    few, old = ours.get("50"), ours.get("50 after 50,000 retired")
    if few is not None and old is not None:
        for step in HISTORY:
            wall, cpu = (old["steps"][step][kind] / few["steps"][step][kind] for kind in ("wall", "cpu"))
            said = f"{wall:.2f} times ({cpu:.2f} of processor)"
            rows.append((f"no cost of history: {labels[step]}", said, met(min(wall, cpu) < 1.5)))
    table("Goals", ("goal", "measured", ""), rows)


def met(yes: bool) -> str:
    return "met" if yes else "**not met**"


def machine(ours: Mapping[str, Result]) -> None:
    syncs = [result["sync"] for result in ours.values()]
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(
        f"\nCPython {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"load average {load} at the end; one synced append of 1 KB on this disk: "
        f"{duration(min(syncs))} to {duration(max(syncs))}."
    )


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        logging.getLogger("ruleproof").setLevel(logging.ERROR)
        run_worker(Ours(Path(sys.argv[2])), sys.argv[3])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=os.environ.get("RULEPROOF_PEER_PYTHON") or None)
    parser.add_argument("--quick", action="store_true", help="up to 5,000 rules, few repeats")
    parser.add_argument("--only", choices=PLANS, help="one size")
    parser.add_argument("--json", type=Path, help="write the raw figures to this file, too")
    options = parser.parse_args()
    names = [options.only] if options.only else list(QUICK if options.quick else PLANS)
    start = time.perf_counter()
    ours, theirs = measure_all(names, options.peer_python, options.quick)
    if options.json:
        options.json.write_text(json.dumps({"ours": ours, "theirs": theirs}, indent=1))
    tables(ours, theirs)
    machine(ours)
    print(f"{time.perf_counter() - start:.0f} s in all.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
