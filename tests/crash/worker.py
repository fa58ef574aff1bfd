"""A writer that may be killed: adds rules, reports sessions, and notes each acknowledged write in a file of its own.

    python worker.py WORKSPACE ACKS WORKER FIRST LAST [STEP NTH]

With STEP it kills itself with SIGKILL at the NTH step of that name in `edge.fs`, otherwise whoever started it may.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from ruleproof.assembly import open_ports
from ruleproof.config import HarnessConfig
from ruleproof.core.breaker import BreakerPolicy
from ruleproof.core.context import Settings
from ruleproof.core.score import Report, Score
from ruleproof.edge import fs
from ruleproof.engine.add_rule import Limits
from ruleproof.engine.compose import Composer
from ruleproof.engine.report import handle_report
from ruleproof.engine.rules import Rules
from ruleproof.engine.workspace import Workspace


def open_store(root: Path) -> tuple[Workspace, Rules]:
    """A workspace without its projection, whose cost has nothing to do with what is tried here."""
    ports, _ = open_ports(HarnessConfig(harness_root=root, lock_timeout_s=120))
    workspace = Workspace(ports, breaker=BreakerPolicy(0))
    return workspace, Rules(workspace, Composer(workspace, Settings(), trial_sessions=5), Limits(max_live=0))


class Killer:
    """Ends the process at the nth step of one name, in the middle of whatever it was doing."""

    def __init__(self, step: str, nth: int) -> None:
        self.step, self.left = step, nth

    def __call__(self, event: fs.Event) -> None:
        if event[0] == self.step:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    root, acks, worker = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    first, last = int(sys.argv[4]), int(sys.argv[5])
    workspace, rules = open_store(root)
    watched = rules.candidates()[0].id
    out = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    killer = fs.observe(Killer(sys.argv[6], int(sys.argv[7]))) if len(sys.argv) > 6 else contextlib.nullcontext()
    with killer:
        write(workspace, rules, worker, range(first, last), out, watched)


def write(workspace: Workspace, rules: Rules, worker: str, numbers: range, out: int, watched: str) -> None:
    """Add a rule a number, report a session every tenth; acknowledge each by a line."""
    for number in numbers:
        rule = rules.add(f"Worker {worker} says {number}.", f"Because of {number}.", tags=["crash"])
        os.write(out, f"rule {number} {rule.id}\n".encode())
        if number % 10 == 0:
            session = f"{worker}-{number}"
            report = Report(session, (Score("m", 0.9 if number % 50 else 0.1),), workspace.now())
            handle_report(workspace, report, assumed=frozenset({watched}))
            os.write(out, f"session {number} {session}\n".encode())


if __name__ == "__main__":
    main()
