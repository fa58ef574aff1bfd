"""E2 under `kill -9`: the writer of a verdict dies between the rule's record and the journal; its evidence stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.engine.doctor import examine
from ruleproof.engine.repair import repair
from ruleproof.harness import Harness

if not hasattr(signal, "SIGKILL"):
    pytest.skip("kills its writer", allow_module_level=True)

FIXED = {"rule_trial_min_sessions": 3}
ANYTIME = {"rule_trial_policy": "anytime", "rule_holdout": 0.5, "circuit_breaker_max_notices": 0}
SCRIPT = """
import json, os, signal, sys
from tests.crash.test_verdict_kill import opened
from ruleproof.edge import fs

harness = opened(sys.argv[1], json.loads(sys.argv[2]))
rule = harness.rules.all()[0]
if rule.status == "active":
    harness.rules.recheck(rule.id)

def die(event):
    if event[0] == "append.begin" and event[1].endswith("journal.jsonl"):
        record = json.loads(open(event[1].replace("journal", "rules")).read().splitlines()[-1])
        if record["id"] == rule.id and record["status"] != rule.status:
            os.kill(os.getpid(), signal.SIGKILL)

with fs.observe(die):
    for number in range(200):
        shown = rule.id in harness.context(session_id=f"{rule.status}{number}").rules
        harness.report(f"{rule.status}{number}", {"m": float(shown == (rule.status == "candidate"))})
        harness._rounds.drain(30)
"""


def opened(root: str | Path, settings: dict[str, Any]) -> Harness:
    return Harness.create(HarnessConfig(harness_root=Path(root), durability="os", **settings))


def killed(root: Path, settings: dict[str, Any]) -> None:
    command = [sys.executable, "-c", SCRIPT, str(root), json.dumps(settings)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("by", ["the next writer", "repair"])
@pytest.mark.parametrize("settings", [FIXED, ANYTIME], ids=["fixed", "anytime"])
def test_e2_a_verdict_whose_writer_was_killed_keeps_its_evidence(
    settings: dict[str, Any], by: str, tmp_path: Path
) -> None:
    root = tmp_path / "workspace"
    rule = opened(root, settings).rules.add("One.", metric="m")
    fixed = [("active", "rule_promote", "forward_trial")]
    anytime = [("active", "rule_promote", "anytime_trial"), ("retired", "rule_retire", "recheck")]
    for status, kind, validator in fixed if settings is FIXED else anytime:
        killed(root, settings)
        harness = opened(root, settings)
        evidence = harness.rules.evidence(rule.id)
        assert harness.rules.get(rule.id).status == status
        assert {problem.code for problem in examine(harness.workspace)} == {"not-journaled"}
        assert evidence["grade"] and (validator != "recheck" or evidence["recheck"] == 1)
        if by == "repair":
            assert repair(harness.workspace)
        else:
            harness.rules.add(f"Another one, once the first is {status}.")
        events = map(json.loads, (root / "journal.jsonl").read_bytes().splitlines())
        (event,) = [event for event in events if event["type"] == kind]
        assert (event["evidence"], event["validator"], event["completed"]) == (evidence, validator, True)
        assert event["reason"] and "event_details" not in event
        assert opened(root, settings).rules.evidence(rule.id) == evidence
        assert examine(harness.workspace) == ()
        harness.rules.pause(rule.id) if status == "active" else None
        harness.rules.resume(rule.id) if status == "active" else None
        assert opened(root, settings).rules.evidence(rule.id) == evidence, "a later record hides none of it"
