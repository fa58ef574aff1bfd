"""What the verbs say and do on one workspace: JSON for programs, 80 cells for people, nothing raw for the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import HARMFUL, HOSTILE, Cli
from tests.surfaces.test_cli_help import VERBS

import ruleproof.governance as governance
from ruleproof.core.projectkey import project_key
from ruleproof.surfaces.cli.layout import WIDTH, width

SESSION = "s \u202e\u2066evil\x7f"[:2] + "予約" * 30
NOTICE = "n-20260703T053511123456-f2019e57"
CASE = "c-0123456789"
PROJECT = project_key(None, "", "p").key


def notice(name: str = NOTICE) -> dict[str, object]:
    return {
        "id": name,
        "created_at": HOSTILE,
        "session_id": HOSTILE,
        "turn_index": 1,
        "severity": "breach",
        "metrics": [{"name": HOSTILE, "value": 0.1, "threshold": 0.5, "reason": HOSTILE, "conditions": [HOSTILE]}],
        "flagged_traces": [HOSTILE],
        "signal_breakdown": {HOSTILE: {HOSTILE: 0.5}},
        "dump_path": HOSTILE,
        "summary": HOSTILE,
        "signatures": [HOSTILE],
        "status": "pending",
        "resolution": None,
        "examples": [HOSTILE],
        "task_id": HOSTILE,
        "count": 3,
    }


def rule(rule_id: str, status: str) -> dict[str, object]:
    trial = {
        "baseline_rate": 1.0,
        "sessions": {HOSTILE: True, "plain": False},
        "observed": [HOSTILE, "plain"],
        "breached": [HOSTILE],
        "uncounted": {HOSTILE: "no score"},
        "verdict": f"retired:{HOSTILE}",
        "recheck": {
            **{"since": HOSTILE, "key": "00ff", "digest": HOSTILE, "holdout": 0.5, "number": 2, "why": HOSTILE},
            **({"ended": HOSTILE, "verdict": f"kept:{HOSTILE}"} if status != "active" else {}),
        },
    }
    return {
        "id": rule_id,
        "created_at": HOSTILE,
        "rule": f"{rule_id} {HOSTILE}",
        "rationale": HOSTILE,
        "source_notice_id": HOSTILE,
        "metric": HOSTILE,
        "status": status,
        "tags": [HOSTILE, "flights"],
        "trial": trial,
        "reason": HOSTILE,
        "author": HOSTILE,
    }


def case() -> dict[str, object]:
    return {
        "id": CASE,
        "created_at": HOSTILE,
        "session_id": HOSTILE,
        "kind": "failure",
        "signature": [HOSTILE],
        "baseline_scores": {HOSTILE: 0.2},
        "replay_input": {HOSTILE: [HOSTILE]},
        "notes": HOSTILE,
    }


POOL_RULE = f"""---
number: {HOSTILE}
kind: rule
category: {HOSTILE}
title: {HOSTILE}
status: {HOSTILE}
sourceSession: {HOSTILE}
authoredAt: {HOSTILE}
topics: [{HOSTILE}]
evidence: {{"x": "{HOSTILE.replace(chr(34), "")}"}}
---
flights {HOSTILE}
"""


@pytest.fixture
def hostile(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A workspace and pool rules in which every text is hostile, as a foreign program could have left them."""
    root = cli.folder / ".ruleproof"
    base = cli.folder / "state"
    monkeypatch.setattr(governance, "default_base", lambda: base)
    monkeypatch.setenv("HARNESS_PROJECT_KEY", "p")
    pool_rules = base / "checkouts" / PROJECT / "rules" / PROJECT / "hA"
    pool_rules.mkdir(parents=True, mode=0o700)
    (pool_rules / "001-a.md").write_text(POOL_RULE, encoding="utf-8", errors="replace")
    (pool_rules / "002-b.md").write_bytes(HOSTILE.encode("utf-8", "surrogatepass"))
    records = [rule("r-0123456789", "candidate"), rule("r-1111111111", "active"), rule("r-2222222222", "retired")]
    records.append({**rule("r-3333333333", "active"), "status": HOSTILE})
    (root / "rules.jsonl").write_text("".join(json.dumps(value) + "\n" for value in records), encoding="utf-8")
    (root / "mailbox" / "pending" / f"{NOTICE}.json").write_text(json.dumps(notice()), encoding="utf-8")
    (root / "evalset" / f"{CASE}.json").write_text(json.dumps(case()), encoding="utf-8")
    broken = f"{HOSTILE} not json".encode("utf-8", "surrogatepass")
    events = [{"type": HOSTILE, "ts": HOSTILE, "id": HOSTILE, "summary": HOSTILE}, {"type": [], "ts": 5}]
    (root / "journal.jsonl").write_bytes(b"".join(json.dumps(e).encode() + b"\n" for e in events) + broken + b"\n")
    return cli


LINES: tuple[tuple[str, ...], ...] = (
    ("init", "--yes"),
    ("trust",),
    ("ingest", "sessions.jsonl"),
    ("report", "予約::1e5", "outcome=0.1", "--task", "a::b"),
    ("status",),
    ("context",),
    ("context", "--task", "flights"),
    ("context", "--diff", "2026-01-01"),
    ("explain", "r-0123456789"),
    ("explain", "r-1111111111"),
    ("explain", "r-2222222222"),
    ("explain", "r-3333333333"),
    ("trial",),
    ("trial", "r-0123456789"),
    ("trial", "r-2222222222"),
    ("calibrate",),
    ("calibrate", "--labels", "labels.csv"),
    ("journal",),
    ("pause", "r-0123456789"),
    ("pause", "--all"),
    ("forget", "r-2222222222", "--reason", "予約" * 60),
    ("doctor",),
    ("doctor", "--repair"),
    ("demo", "--folder", "shop", "--sessions", "6"),
    ("notices",),
    ("notices", "list"),
    ("notices", "show", NOTICE),
    ("notices", "ack", NOTICE, "--note", "予約"),
    ("rules",),
    ("rules", "--all"),
    ("rules", "list", "--status", "retired"),
    ("rules", "show", "r-0123456789"),
    ("rules", "show", "r-3333333333"),
    ("rules", "search", "evil flights"),
    ("rules", "add", "Check the 運賃 first."),
    ("rules", "retire", "r-0123456789", "--reason", "予約"),
    ("rules", "accept", "r-0123456789"),
    ("rules", "adopt", "hA/001"),
    ("rules", "recheck", "r-1111111111"),
    ("rules", "status", "r-0123456789"),
    ("rules", "status", "r-1111111111"),
    ("rules", "dead"),
    ("rules", "overlap"),
    ("forecast", "r-0123456789"),
    ("simulate", "--base-rate", "0.4", "--repeats", "5", "--horizon", "20", "--effect", "0", "--jobs", "1"),
    ("evalset",),
    ("evalset", "list", "--kind", "failure"),
    ("evalset", "show", CASE),
    ("evalset", "capture", "--session", "予約", "outcome=0.1", "--prompt", "予約"),
    ("evalset", "attach", CASE, "--prompt", "予約"),
    ("evalset", "remove", CASE),
    ("validate", "--command", "false"),
    ("validate",),
    ("regress", "--sample", "5", "--junit", "regress.xml"),
    ("propose", "flights", "Check the 運賃 rules before a change."),
    ("review",),
    ("approve", "hA/001"),
    ("revoke", "hA/001"),
    ("notice", "--title", "予約\u202e"),
    ("search", "evil flights"),
    ("command", "/chapters-rule list"),
    ("import", "AGENTS.md", "--dry-run"),
    ("export", "agents-md"),
    ("lint-loaders",),
    ("install", "claude-code", "--dry-run"),
    ("hook", "claude-code"),
    ("approvals",),
    ("approvals", "export"),
    ("pool",),
    ("pool", "link", "nowhere"),
    ("pool", "sync"),
    ("pool", "status"),
    ("pool", "accept", "rules/予約"),
)
WHOLE = ("context", "demo", "notice", "command", "install", "approvals")
"""Prints a text as an agent or a host gets it, whatever the width of its lines."""


def test_every_command_is_run_below() -> None:
    tried = {
        line[:2]
        if line[0] in ("rules", "notices", "evalset", "pool", "approvals") and line[1:] and not line[1].startswith("-")
        else line[:1]
        for line in LINES
    }
    assert tried | {("tool",)} == set(VERBS)


def prepared(cli: Cli) -> None:
    rows = [{"session": f"s{i} 予約", "metric": "outcome", "value": i % 2} for i in range(6)]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"session": "\\u001b[31m", "metric": 5}\nnot json\n'
    (cli.folder / "sessions.jsonl").write_text(text, encoding="utf-8")
    (cli.folder / "AGENTS.md").write_text(f"# {HOSTILE}\n\nflights {HOSTILE}\n", encoding="utf-8", errors="replace")
    (cli.folder / "labels.csv").write_text(
        "session,failed\ns0 予約,yes\ns1 予約,no\ns2 予約,\x1b[31m\n", encoding="utf-8"
    )


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_hostile_text_never_reaches_the_terminal_raw_and_no_table_is_too_wide(
    line: tuple[str, ...], hostile: Cli
) -> None:
    prepared(hostile)
    result = hostile(*line)
    assert result.code in (0, 1, 5), result
    for name, text in (("out", result.out), ("err", result.err)):
        assert not set(text) & set(HARMFUL), (name, text)
    if line[0] not in WHOLE:
        assert [row for row in result.out.split("\n") if width(row) > WIDTH] == []
    assert result.out or result.err or line[0] in ("hook", "approvals")


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_json_is_one_harmless_document_that_says_how_it_went(line: tuple[str, ...], hostile: Cli) -> None:
    prepared(hostile)
    result = hostile(*line, "--json")
    document = result.json
    assert document["ok"] is (result.code == 0)
    assert ("error" in document) <= (not document["ok"])
    assert not set(result.out) & set(HARMFUL)
    assert result.out.count("\n{") == 0


@pytest.mark.parametrize("line", [line for line in LINES if line[:1] != ("init",)], ids=" ".join)
def test_looking_twice_says_the_same(line: tuple[str, ...], hostile: Cli) -> None:
    """What only looks changes nothing: the files stay byte for byte."""
    if line[0] in ("trust", "ingest", "report", "pause", "forget", "demo", "validate", "regress", "propose") or line[
        :2
    ] in (
        ("notices", "ack"),
        ("rules", "add"),
        ("rules", "retire"),
        ("rules", "accept"),
        ("rules", "recheck"),
        ("evalset", "capture"),
        ("evalset", "attach"),
        ("evalset", "remove"),
        ("doctor", "--repair"),
    ):
        pytest.skip("it is there to write")
    prepared(hostile)
    hostile("status")  # writes the projection, which the foreign program did not
    before = contents(hostile.folder)
    first = hostile(*line)
    assert contents(hostile.folder) == before
    assert hostile(*line) == first


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"
    }
