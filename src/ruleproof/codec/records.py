"""The records of `rules.jsonl` and `trials.jsonl`: JSON objects <-> values.

Keys and their meaning are those of the 0.6 format, so that both systems can read the file; what is ours alone stands in
keys of its own, and a key that we do not know is kept and written back. Reading never raises: an unknown status becomes
`unknown`, any other wrong type makes the record a Problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from ruleproof.codec.reading import count, mapping, text, texts
from ruleproof.core.ids import is_rule_id, shown
from ruleproof.core.problems import Problem
from ruleproof.core.rule import NOTHING, STATUSES, Rule
from ruleproof.core.rulebook import PauseAll, Record, Tombstone
from ruleproof.core.trial import Baseline, Exposure, Observation, TrialState

_RULE_KEYS = frozenset(
    (
        *("id", "created_at", "rule", "rationale", "source_notice_id", "metric", "status", "tags", "trial"),
        *("held", "paused", "event", "reason", "at", "author"),
    ),
)
_TRIAL_KEYS = frozenset(
    (
        *("baseline_breached_sessions", "baseline_sessions", "baseline_window", "trial_started_at"),
        *("observed_sessions", "breached_sessions", "observed_breaches", "replay_attempts", "verdict"),
        *("birth_session", "exposures"),
    ),
)
_EXPOSURES = frozenset(get_args(Exposure))


# --- rules.jsonl -----------------------------------------------------------------------------------------------------


def record_from(value: Mapping[str, object], where: str = "") -> Record | Problem:
    """One object of `rules.jsonl` as a Rule, a PauseAll or a Tombstone."""
    if "id" in value:
        return _rule_from(value, where)
    kind = value.get("kind")
    if kind == "pause_all" and isinstance(value.get("paused"), bool):
        return PauseAll(value["paused"] is True, text(value.get("at")))
    if kind == "tombstone" and isinstance(value.get("of"), str):
        return Tombstone(text(value["of"]), text(value.get("digest")), text(value.get("reason")), text(value.get("at")))
    return Problem(
        "unknown-record", "neither a rule nor anything else that we know; it is kept and has no effect", where
    )


def _rule_from(value: Mapping[str, object], where: str) -> Rule | Problem:
    get = value.get
    rule_id, rule_text, tags = get("id"), get("rule"), get("tags", ())
    if not is_rule_id(rule_id):
        return Problem("bad-id", f"{shown(rule_id)} is not a rule id; the record has no effect", where)
    if not isinstance(rule_text, str) or not rule_text.strip():
        return Problem("wrong-type", f"rule {rule_id} has no text; the record has no effect", where)
    if tags is None:
        tags = ()
    if not isinstance(tags, (list, tuple)) or not all(isinstance(tag, str) for tag in tags):
        return Problem("wrong-type", f"rule {rule_id}: tags are not a list of texts; the record has no effect", where)
    for key in ("created_at", "rationale", "source_notice_id", "metric", "event", "reason", "at", "author"):
        if get(key) is not None and not isinstance(get(key), str):
            return Problem("wrong-type", f"rule {rule_id}: {key} is not text; the record has no effect", where)
    trial = get("trial")
    if trial is not None and not isinstance(trial, dict):
        return Problem("wrong-type", f"rule {rule_id}: trial is not an object; the record has no effect", where)
    status = get("status")
    return Rule(
        id=cast(str, rule_id),
        created_at=text(get("created_at")),
        rule=rule_text,
        rationale=text(get("rationale")),
        source_notice_id=cast("str | None", get("source_notice_id")),
        metric=cast("str | None", get("metric")),
        status=status if status in STATUSES else "unknown",
        tags=tuple(tags),
        trial=None if trial is None else trial_from(trial),
        held=get("held", False) is not False,
        paused=get("paused", False) is not False,
        event=cast("str | None", get("event")),
        reason=text(get("reason")),
        at=text(get("at")),
        author=text(get("author")),
        extra=NOTHING if value.keys() <= _RULE_KEYS else {k: v for k, v in value.items() if k not in _RULE_KEYS},
    )


def rule_to(rule: Rule) -> dict[str, object]:
    """The record of a rule; keys that only we know are left out where they say nothing."""
    record: dict[str, object] = {
        **rule.extra,
        "id": rule.id,
        "created_at": rule.created_at,
        "rule": rule.rule,
        "rationale": rule.rationale,
        "source_notice_id": rule.source_notice_id,
        "metric": rule.metric,
        "status": rule.status,
        "tags": list(rule.tags),
        "trial": None if rule.trial is None else trial_to(rule.trial),
    }
    for key, value in (
        ("held", rule.held),
        ("paused", rule.paused),
        ("event", rule.event),
        ("reason", rule.reason),
        ("at", rule.at),
        ("author", rule.author),
    ):
        if value:
            record[key] = value
    return record


def pause_all_to(record: PauseAll) -> dict[str, object]:
    """The record that pauses or resumes everything."""
    return {"kind": "pause_all", "paused": record.paused, "at": record.at}


def tombstone_to(stone: Tombstone) -> dict[str, object]:
    """The record that stands where a forgotten text was."""
    return {"kind": "tombstone", "of": stone.id, "digest": stone.digest, "reason": stone.reason, "at": stone.at}


def trial_from(value: Mapping[str, object]) -> TrialState:
    """A trial; anything of a wrong type reads as if it were absent."""
    observed = tuple(dict.fromkeys(texts(value.get("observed_sessions"))))
    birth = value.get("birth_session")
    return TrialState(
        baseline=Baseline(
            count(value.get("baseline_breached_sessions")),
            count(value.get("baseline_sessions")),
            count(value.get("baseline_window")),
        ),
        started_at=text(value.get("trial_started_at")),
        birth_session=birth if isinstance(birth, str) else None,
        observed=observed,
        breached=tuple(s for s in dict.fromkeys(texts(value.get("breached_sessions"))) if s in observed),
        exposures=cast("Mapping[str, Exposure]", _words(value.get("exposures"), _EXPOSURES)),
        replay_attempts=count(value.get("replay_attempts")),
        verdict=text(value.get("verdict")),
        extra=NOTHING if value.keys() <= _TRIAL_KEYS else {k: v for k, v in value.items() if k not in _TRIAL_KEYS},
    )


def trial_to(trial: TrialState) -> dict[str, object]:
    """The `trial` object of a rule record."""
    record: dict[str, object] = {
        **trial.extra,
        "baseline_breached_sessions": trial.baseline.breached,
        "baseline_sessions": trial.baseline.sessions,
        "baseline_window": trial.baseline.window,
        "trial_started_at": trial.started_at,
        "observed_sessions": list(trial.observed),
        "breached_sessions": list(trial.breached),
        "observed_breaches": len(trial.breached),
        "replay_attempts": trial.replay_attempts,
        "verdict": trial.verdict,
    }
    if trial.birth_session is not None:
        record["birth_session"] = trial.birth_session
    if trial.exposures:
        record["exposures"] = dict(trial.exposures)
    return record


# --- trials.jsonl ----------------------------------------------------------------------------------------------------


def exposure_to(session_id: str, rules: Mapping[str, Exposure], at: str) -> dict[str, object]:
    """One turn began: which rules its context held."""
    return {"kind": "exposure", "session": session_id, "rules": dict(rules), "at": at}


def observations_to(
    session_id: str, seen: tuple[Observation, ...], scores: Mapping[str, float | None], at: str
) -> dict[str, object]:
    """One report during trials: its scores, and the rules for which its session counts."""
    counted = {o.rule_id: {"breached": o.breached, "exposure": o.exposure} for o in seen}
    return {"kind": "observation", "session": session_id, "at": at, "scores": dict(scores), "seen": counted}


def attempt_to(rule_id: str, reason: str, at: str) -> dict[str, object]:
    """One inconclusive replay round."""
    return {"kind": "attempt", "rule": rule_id, "reason": reason, "at": at}


def exposure_from(value: Mapping[str, object]) -> tuple[str, Mapping[str, Exposure]] | None:
    """(session, rule -> exposure) of an exposure record; None for anything else."""
    session = value.get("session")
    if value.get("kind") != "exposure" or not isinstance(session, str):
        return None
    return session, cast("Mapping[str, Exposure]", _words(value.get("rules"), _EXPOSURES))


def observations_from(value: Mapping[str, object]) -> tuple[Observation, ...]:
    """The observations of an observation record; empty for anything else."""
    session = value.get("session")
    if value.get("kind") != "observation" or not isinstance(session, str):
        return ()
    found = []
    for rule_id, seen in mapping(value.get("seen")).items():
        if is_rule_id(rule_id) and isinstance(seen, dict) and isinstance(seen.get("breached"), bool):
            exposure = seen.get("exposure")
            known = cast(Exposure, exposure) if isinstance(exposure, str) and exposure in _EXPOSURES else "unknown"
            found.append(Observation(rule_id, session, seen["breached"], known))
    return tuple(found)


def reported_from(value: Mapping[str, object]) -> tuple[str, str, tuple[str, ...]] | None:
    """(session, time, metrics that had a value) of an observation record; None for anything else."""
    session = value.get("session")
    if value.get("kind") != "observation" or not isinstance(session, str):
        return None
    scores = mapping(value.get("scores"))
    return session, text(value.get("at")), tuple(name for name, score in scores.items() if score is not None)


def attempt_from(value: Mapping[str, object]) -> str | None:
    """The rule of an attempt record; None for anything else."""
    rule = value.get("rule")
    return rule if value.get("kind") == "attempt" and isinstance(rule, str) else None


def _words(value: object, allowed: frozenset[str]) -> dict[str, str]:
    return {key: word for key, word in mapping(value).items() if isinstance(word, str) and word in allowed}
