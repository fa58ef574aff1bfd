"""R14: a workspace in the 0.6 format opens unchanged, and the 0.6 system can read what we wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.doctor import examine
from ruleproof.engine.forget import forget
from ruleproof.harness import Harness

ACTIVE, TRIED, FRESH, RETIRED = "r-e44382e172", "r-a5aeaaa427", "r-10353115a7", "r-d1ea687bd2"
SETTLED = "n-20260703T053511000000-f2019e11"


@pytest.fixture
def old(data_dir: Path, root: Path, open_harness: Callable[..., Harness]) -> Harness:
    shutil.copytree(data_dir / "workspace_0_6_3", root, copy_function=shutil.copyfile)
    for path in (root, *(path for path in root.rglob("*") if path.is_dir())):
        path.chmod(0o755)
    return open_harness()


def test_r14_rules_trials_and_notices_are_what_they_were(old: Harness) -> None:
    assert [rule.id for rule in old.rules.active()] == [ACTIVE]
    assert [rule.id for rule in old.rules.candidates()] == [TRIED, FRESH]
    assert old.rules.get(RETIRED).status == "retired" and len(old.rules.all()) == 4
    trial = old.rules.trial(TRIED)
    assert (trial.observed, trial.breached) == (("s1", "s2"), ("s2",))
    assert "trial: 2/5 sessions observed" in old.system_context()
    assert "注文の状態" in old.rules.get(FRESH).rule and old.rules.get(FRESH).rule in old.system_context()
    mailbox = old.workspace.ports.mailbox
    assert len(mailbox.pending()) == 2 and mailbox.status().max_severity == "breach"
    settled = mailbox.read(SETTLED)
    assert settled is not None and settled.status == "acknowledged"
    assert settled.resolution is not None and settled.resolution.rule_id == ACTIVE


def test_r14_doctor_finds_nothing_but_the_missing_projection(old: Harness) -> None:
    found = examine(old.workspace, composer=old.composer, folder=Housekeeping(old.config.root), cap=50)
    assert [problem.code for problem in found] == ["stale-projection"]


def test_r14_a_retired_text_is_still_known(old: Harness) -> None:
    assert old.rules.add("Be careful.").id != RETIRED  # retired without a verdict in its record: it may be tried again


def work(harness: Harness) -> list[str]:
    """Everything that writes rules; the ids of those that were added."""
    harness.rules.retire(ACTIVE, reason="superseded")
    added = harness.rules.add("Prüfe — 確認 — \u2028 twice.", "Because.", metric="agent_reliability", tags=["Payment"])
    for number in range(3, 6):
        harness.system_context(session_id=f"s{number}")
        harness.report(f"s{number}", {"agent_reliability": 0.9, "agent_consistency": 0.9})
    harness._rounds.run()
    return [added.id]


def test_r14_our_writes_leave_every_old_byte_where_it_was(old: Harness, root: Path) -> None:
    kept = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    work(old)
    for path, before in kept.items():
        after = path.read_bytes()
        assert after == before or (path.suffix == ".jsonl" and after.startswith(before)) or path.name == "status.json"
    assert old.rules.get(TRIED).status == "active"  # 2 of 5 came from the old records, 3 from ours
    assert old.rules.trial(TRIED).observed == ("s1", "s2", "s3", "s4", "s5")


def test_r14_unknown_fields_are_kept_and_written_back(old: Harness, root: Path) -> None:
    record = {**json.loads((root / "rules.jsonl").read_text().splitlines()[2]), "id": "r-00000000aa", "rule": "New."}
    record |= {"weight": 3, "trial": {**record["trial"], "later": [1]}}
    with (root / "rules.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    old.rules.retire("r-00000000aa", reason="x")
    written = json.loads((root / "rules.jsonl").read_text().splitlines()[-1])
    assert written["weight"] == 3 and written["trial"]["later"] == [1]
    assert written["status"] == "retired" and written["created_at"] == record["created_at"]


def test_r14_a_system_that_writes_beside_us_is_detected(old: Harness, root: Path) -> None:
    line = (root / "rules.jsonl").read_bytes().splitlines(keepends=True)[5]
    old.rules.add("Ours.")
    with (root / "rules.jsonl").open("ab") as file:
        file.write(line)
    found = examine(old.workspace, folder=Housekeeping(root))
    assert [(problem.code, problem.where) for problem in found] == [("foreign-writer", "rules.jsonl:10")]


def test_r14_old_texts_can_be_forgotten(old: Harness, root: Path) -> None:
    forget(old.workspace, FRESH, "asked", folder=Housekeeping(root))
    data = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert b"rifiez l" not in data and b"u6ce8" not in data and "注文".encode() not in data
    assert len(old.rules.all()) == 3


PEER = """
import importlib, importlib.metadata, json, sys
name = next(d.name for d in importlib.metadata.distributions() if d.version == "0.6.3").replace("-", "_")
peer = importlib.import_module(name)
config = peer.HarnessConfig(harness_root=sys.argv[1])
rules = [[r.id, r.rule, str(r.status.value if hasattr(r.status, "value") else r.status), list(r.tags)]
         for r in peer.RulesStore(config).all()]
notices = [n.id for n in peer.Mailbox(config).pending()]
events = len(peer.Journal(config).recent(0))
print(json.dumps([rules, notices, events]))
"""


@pytest.fixture(scope="session")
def peer() -> str:
    """An interpreter that has the 0.6.3 package."""
    path = os.environ.get("RULEPROOF_PEER_PYTHON")
    if not path:
        pytest.skip("RULEPROOF_PEER_PYTHON does not name an interpreter that has the 0.6.3 package")
    return path


def peer_reads(peer: str, root: Path) -> Any:
    ran = subprocess.run([peer, "-I", "-c", PEER, str(root)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_r14_the_06_system_reads_ids_texts_statuses_and_tags_of_ours(
    old: Harness, root: Path, peer: str, open_harness: Callable[..., Harness]
) -> None:
    added = work(old)
    forget(old.workspace, FRESH, "asked", folder=Housekeeping(root))
    rules, notices, events = peer_reads(peer, root)
    ours = open_harness()
    assert [[r.id, r.rule, r.status, list(r.tags)] for r in ours.rules.all()] == rules
    assert {rule[0] for rule in rules} == {ACTIVE, TRIED, RETIRED, *added}
    assert notices == [notice.id for notice in ours.workspace.ports.mailbox.pending()]
    assert events == len((root / "journal.jsonl").read_text().splitlines())
