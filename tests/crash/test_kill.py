"""S1 and S2 under `kill -9`: many processes on one workspace, killed at random and between any two steps of a write."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.crash.worker import open_store

from ruleproof.edge import fs

WORKERS = 8
ADDS = 2000
KILLS = 104
BOUNDARIES = {
    **{"lock": 80, "append.begin": 120, "append.write": 120, "append.sync": 120},
    **{"replace.write": 2, "replace.rename": 2, "unlock": 80},
}
"""Steps of a write, and within how many of them a chosen writer dies."""
SCRIPT = Path(__file__).with_name("worker.py")


class Worker:
    """One of the writers: started again, from what it has acknowledged, each time it was killed."""

    def __init__(self, root: Path, folder: Path, number: int, chance: random.Random) -> None:
        self.root, self.number, self.chance = root, number, chance
        self.acks = folder / f"acks-{number}"
        self.kills: Counter[str] = Counter()
        self.process: subprocess.Popen[bytes] | None = None
        self.boundary = ""

    def acknowledged(self) -> list[list[str]]:
        text = self.acks.read_text() if self.acks.exists() else ""
        return [line.split() for line in text.splitlines()]

    def next(self) -> int:
        return max((int(ack[1]) + 1 for ack in self.acknowledged() if ack[0] == "rule"), default=0)

    def start(self, kill: bool) -> None:
        first = self.next()
        command = [sys.executable, str(SCRIPT), str(self.root), str(self.acks), str(self.number), str(first), str(ADDS)]
        self.boundary = self.chance.choice(list(BOUNDARIES)) if kill and self.chance.random() < 0.6 else ""
        if self.boundary:
            command += [self.boundary, str(self.chance.randint(1, BOUNDARIES[self.boundary]))]
        self.process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def reap(self) -> bool:
        """Whether it is done with all its adds; counts the kill if it was killed."""
        assert self.process is not None
        code = self.process.wait(timeout=300)
        assert code in (0, -signal.SIGKILL), code
        if code:
            self.kills[self.boundary or "random"] += 1
        return code == 0


def run(workers: list[Worker], chance: random.Random) -> Counter[str]:
    kills: Counter[str] = Counter()
    for worker in workers:
        worker.start(kill=True)
    running = list(workers)
    while running:
        time.sleep(0.02)
        enough = sum(kills.values()) >= KILLS
        for worker in list(running):
            assert worker.process is not None
            if worker.process.poll() is None:
                if not worker.boundary and not enough and chance.random() < 0.06:
                    worker.process.kill()
                continue
            if worker.reap():
                running.remove(worker)
            else:
                worker.start(kill=not enough)
            kills = sum((w.kills for w in workers), Counter())
    return kills


def test_s1_eight_writers_and_a_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    _, rules = open_store(root)
    watched = rules.add("The watched candidate.", metric="m")
    chance = random.Random(20260703)
    workers = [Worker(root, tmp_path, number, chance) for number in range(WORKERS)]
    kills = run(workers, chance)
    assert sum(kills.values()) >= 100, kills
    assert sum(count for name, count in kills.items() if name != "random") >= 50, kills

    records = [json.loads(line) for line in (root / "rules.jsonl").read_bytes().splitlines()]  # no line is torn
    assert max(Counter(record["id"] for record in records).values()) == 1
    assert max(Counter(record["rule"] for record in records).values()) == 1
    texts = {record["id"]: record["rule"] for record in records}
    for worker in workers:
        acks = worker.acknowledged()
        for kind, number, name in acks:
            if kind == "rule":
                assert texts[name] == f"Worker {worker.number} says {number}."
        assert worker.next() == ADDS
    assert len(records) == WORKERS * ADDS + 1

    workspace, rules = open_store(root)
    observed = set(rules.trial(watched.id).observed)
    assert {name for w in workers for kind, _, name in w.acknowledged() if kind == "session"} <= observed
    with fs.lock(root / ".lock", timeout_s=1):  # no lock is left
        pass
    with workspace.transaction():  # the next writer completes the journal of the last one that died
        pass
    journal = [json.loads(line) for line in (root / "journal.jsonl").read_bytes().splitlines()]
    added = Counter(event["event"] for event in journal if event["type"] == "rule_add")
    assert set(added) == {record["event"] for record in records}
    assert max(added.values()) == 1
    assert not workspace.rulebook.problems and not any(workspace.problems.values())
