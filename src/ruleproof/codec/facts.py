"""The ledger of approvals: one curation fact a line, compact JSON, in the order of its keys.

Reading is total and closed: a line that names a rule and is otherwise not understood takes that rule out of force, even
a torn one; every bad line is a Problem with its number. The pool gets the same lines as a copy that decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from ruleproof.codec.jsonl import decode_line
from ruleproof.core.approval import CurationFact, FactStatus, is_digest
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import rule_id_of
from ruleproof.errors import Refused

TYPE = "rule-status"
DISPUTES = "disputes.json"
"""The file, in a pool's private store, that names the paths in dispute."""

_RULE = re.compile(rb'"rule" *: *"([^"]{1,200})"')


def write_fact(fact: CurationFact) -> bytes:
    """One line: keys type, rule, digest, status, at."""
    return json.dumps(_record(fact), separators=(",", ":")).encode() + b"\n"


def _record(fact: CurationFact) -> dict[str, str]:
    return {"type": TYPE, "rule": fact.rule, "digest": fact.digest, "status": fact.status, "at": fact.at}


def write_facts(facts: Iterable[CurationFact]) -> bytes:
    return b"".join(map(write_fact, facts))


def read_facts(data: bytes, where: str) -> tuple[tuple[CurationFact, ...], tuple[Problem, ...]]:
    """The facts in `data`, in their order, and what could not be read. Never raises."""
    facts: list[CurationFact] = []
    problems: list[Problem] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        value = decode_line(raw, f"{where}:{number}")
        if isinstance(value, Problem):
            problems.append(value)
            facts.extend(CurationFact(rule, "", "unknown", "") for rule in _named(raw))
        elif value is not None:
            found = _fact(value, f"{where}:{number}", problems)
            if found is not None:
                facts.append(found)
    return tuple(facts), tuple(problems)


def write_disputes(paths: Iterable[str]) -> bytes:
    return json.dumps(sorted(paths)).encode()


def read_named(data: bytes | None) -> dict[CurationFact, str]:
    """Fact -> when a notice first named it (ISO-8601), as `write_named` wrote it; what cannot be read is not there."""
    found: dict[CurationFact, str] = {}
    for raw in (data or b"").split(b"\n"):
        value = decode_line(raw, "")
        if isinstance(value, dict) and isinstance(value.get("named"), str):
            fact = _fact(value, "", [])
            if fact is not None:
                found[fact] = str(value["named"])
    return found


def write_named(named: Mapping[CurationFact, str]) -> bytes:
    """One fact a line, with the key `named` after its own."""
    return b"".join(json.dumps({**_record(fact), "named": at}).encode() + b"\n" for fact, at in named.items())


def read_disputes(data: bytes | None) -> frozenset[str]:
    """Pool paths in dispute, as the last pass found them; none where there was no pass. Never raises."""
    try:
        found = json.loads(data or b"[]")
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(path for path in found if isinstance(path, str)) if isinstance(found, list) else frozenset()


def _fact(value: dict[str, object], where: str, problems: list[Problem]) -> CurationFact | None:
    if value.get("type") != TYPE:
        problems.append(
            Problem("foreign-fact", f"a fact of type {shown(value.get('type'))}; ignored", where, "warning")
        )
        return None
    rule = value.get("rule")
    if not isinstance(rule, str) or not _is_id(rule):
        problems.append(Problem("bad-fact", f"{shown(rule)} is not the id of a pool rule; ignored", where))
        return None
    digest, status, at = value.get("digest"), value.get("status"), value.get("at")
    known: FactStatus = "unknown"
    if status == "core" and is_digest(digest):
        known = "core"
    elif status == "revoked":
        known = "revoked"
    if known == "unknown":
        message = f"{rule}: status {shown(status)} with digest {shown(digest)} approves nothing; not in force"
        problems.append(Problem("unknown-status", message, where))
    return CurationFact(rule, digest if isinstance(digest, str) else "", known, at if isinstance(at, str) else "")


def _named(raw: bytes) -> list[str]:
    """The rules that a broken line names: it may have been their revocation."""
    names = [name.decode("ascii", "replace") for name in _RULE.findall(raw)]
    return [name for name in names if _is_id(name)]


def _is_id(text: str) -> bool:
    try:
        return "/" in text and rule_id_of(text, "") == text
    except Refused:
        return False
