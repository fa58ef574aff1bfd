"""What of a record of `trials.jsonl` cannot be read. Such a part has no effect: it is no evidence and hides none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ruleproof.codec.reading import mapping
from ruleproof.codec.records import attempt_from, exposure_from, noticed_from, observations_from, told_from
from ruleproof.codec.replayrounds import KIND, round_from
from ruleproof.core.ids import is_rule_id, shown
from ruleproof.core.problems import Problem

_TABLES = {"exposure": "rules", "notice": "pool", "observation": "seen", "check": "seen"}
"""Kind of a record about a session -> what it says of rules, rule id -> what."""


def trial_problem(value: Mapping[str, object], where: str) -> Problem | None:
    """What is wrong with one record; None where all of it reads."""
    kind = value.get("kind")
    if kind == KIND:
        said = _about_round(value)
    elif kind == "attempt":
        said = "" if is_rule_id(attempt_from(value)) else "it names no rule"
    elif isinstance(kind, str) and kind in _TABLES:
        said = _about_session(value, kind)
    else:
        message = "no record of a trial that we know; it is kept and has no effect"
        return Problem("unknown-record", message, where)
    return Problem("wrong-type", f"{kind}: {said}; that has no effect", where) if said else None


def _about_round(value: Mapping[str, object]) -> str:
    cases, found = value.get("cases"), round_from(value)
    if not is_rule_id(value.get("rule")) or not value.get("target") or not isinstance(cases, list):
        return "it names no rule, no target or no cases"
    read = len(found.cases) if found is not None else 0  # none at all: each of its sessions was counted before
    return "a case in it is none" if read < len(cases) else ""


def _about_session(value: Mapping[str, object], kind: str) -> str:
    table = value.get(_TABLES[kind])
    if not isinstance(value.get("session"), str):
        return "it names no session"
    if not isinstance(table, dict):
        return f"{_TABLES[kind]} is no object"
    read: Iterable[str]
    if kind in ("exposure", "notice"):
        found = exposure_from(value) or noticed_from(value)
        read = found[1] if found is not None else ()
    else:
        read = [*(seen.rule_id for seen in observations_from(value)), *(told.rule_id for told in told_from(value))]
    lost = table.keys() - set(read)
    if lost:
        return f"what it says of {shown(min(lost))} is nothing that we know"
    wrong = [name for name in ("scores", "costs") if name in value and value[name] is not mapping(value[name])]
    return f"{wrong[0]} is no object" if wrong else ""
