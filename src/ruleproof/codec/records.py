"""The records of `rules.jsonl` and `trials.jsonl`: JSON objects <-> values.

Keys and their meaning are those of the 0.6 format, so that both systems can read the file; what is ours alone stands in
keys of its own, and a key that we do not know is kept and written back. Reading never raises: an unknown status becomes
`unknown`, any other wrong type makes the record a Problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast, get_args

from ruleproof.codec.reading import costs_of, count, mapping, maybe_text, number, text, texts, unit, units_of
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.ids import is_rule_id, shown
from ruleproof.core.problems import Problem
from ruleproof.core.recheck import Comparison
from ruleproof.core.rule import NOTHING, STATUSES, Rule
from ruleproof.core.rulebook import PauseAll, Record, Tombstone
from ruleproof.core.trial import Baseline, Exposure, Observation, Policy, Told, TrialState, Uncounted

_RULE_KEYS = frozenset(
    (
        *("id", "created_at", "rule", "rationale", "source_notice_id", "metric", "status", "tags", "trial"),
        *("held", "paused", "event", "reason", "at", "author", "pool", "event_details"),
    ),
)
_TRIAL_KEYS = frozenset(
    (
        *("baseline_breached_sessions", "baseline_sessions", "baseline_window", "trial_started_at"),
        *("observed_sessions", "breached_sessions", "observed_breaches", "replay_attempts", "verdict"),
        *("birth_session", "exposures", "policy", "key", "holdout", "digest", "number", "blocked"),
    ),
)
_AFTER = frozenset(("watch", "recheck", "fingerprints"))
_EXPOSURES = frozenset(get_args(Exposure))
_TEXT_KEYS = ("created_at", "rationale", "source_notice_id", "metric", "event", "reason", "at", "author", "pool")
_NOT_ASKED = cast("Mapping[str, Uncounted]", NOTHING)
"""Which sessions did not count is asked of the fold, never stored."""
_TEXT, _TEXT_OR_NULL = {str}, {str, type(None)}


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
    rule_id, rule_text, tags, trial, status = get("id"), get("rule"), get("tags"), get("trial"), get("status")
    if not is_rule_id(rule_id):
        return Problem("bad-id", f"{shown(rule_id)} is not a rule id; the record has no effect", where)
    if not isinstance(rule_text, str) or not rule_text.strip():
        return Problem("wrong-type", f"rule {rule_id} has no text; the record has no effect", where)
    if tags is None:
        tags = ()
    if not isinstance(tags, (list, tuple)) or not set(map(type, tags)) <= _TEXT:
        return Problem("wrong-type", f"rule {rule_id}: tags are not a list of texts; the record has no effect", where)
    texts_of = [get(key) for key in _TEXT_KEYS]
    if not set(map(type, texts_of)) <= _TEXT_OR_NULL:
        key = next(key for key in _TEXT_KEYS if type(get(key)) not in _TEXT_OR_NULL)
        return Problem("wrong-type", f"rule {rule_id}: {key} is not text; the record has no effect", where)
    if trial is not None and not isinstance(trial, dict):
        return Problem("wrong-type", f"rule {rule_id}: trial is not an object; the record has no effect", where)
    created_at, rationale, source, metric, event, reason, at, author, pool = cast("list[str | None]", texts_of)
    return Rule(  # by position: by keyword it takes twice as long, and a big store opens record by record
        cast(str, rule_id),
        created_at or "",
        rule_text,
        rationale or "",
        source,
        metric,
        status if status in STATUSES else "unknown",
        _shared(tuple(tags)),
        None if trial is None else trial_from(trial),
        get("held", False) is not False,
        get("paused", False) is not False,
        event or None,
        reason or "",
        at or "",
        author or "",
        NOTHING if value.keys() <= _RULE_KEYS else {k: v for k, v in value.items() if k not in _RULE_KEYS},
        pool or "",
        NOTHING if get("event_details") is None else mapping(get("event_details")),
    )


_baseline = lru_cache(maxsize=4096)(Baseline)


@lru_cache(maxsize=4096)
def _shared(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, once in memory for all the rules that have the same."""
    return tags


def rule_to(rule: Rule) -> dict[str, object]:
    """The record of a rule without `details`; keys that only we know are left out where they say nothing."""
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
        ("pool", rule.pool),
    ):
        if value:
            record[key] = value
    return record


def event_to(rule: Rule, kind: str, at: str) -> dict[str, object]:
    """The journal event of a rule record. `kind`: where the details of the record name none."""
    more = {key: value for key, value in rule.details.items() if key not in _RULE_KEYS or key == "reason"}
    said = more.get("type")
    kind = said if isinstance(said, str) and said.startswith("rule_") else kind
    return {**rule_to(rule), **more, "type": kind, "ts": at}


def pause_all_to(record: PauseAll) -> dict[str, object]:
    """The record that pauses or resumes everything."""
    return {"kind": "pause_all", "paused": record.paused, "at": record.at}


def tombstone_to(stone: Tombstone) -> dict[str, object]:
    """The record that stands where a forgotten text was."""
    return {"kind": "tombstone", "of": stone.id, "digest": stone.digest, "reason": stone.reason, "at": stone.at}


def trial_from(value: Mapping[str, object]) -> TrialState:
    """A trial; anything of a wrong type reads as if it were absent."""
    get = value.get
    observed = dict.fromkeys(texts(get("observed_sessions")))
    breached = dict.fromkeys(texts(get("breached_sessions")))
    exposures, birth = get("exposures"), get("birth_session")
    more = NOTHING if value.keys() <= _TRIAL_KEYS else {k: v for k, v in value.items() if k not in _TRIAL_KEYS}
    trial = TrialState(
        _baseline(
            count(get("baseline_breached_sessions")), count(get("baseline_sessions")), count(get("baseline_window"))
        ),
        text(get("trial_started_at")),
        birth if isinstance(birth, str) else None,
        tuple(observed),
        tuple([session for session in breached if session in observed]) if breached else (),
        cast("Mapping[str, Exposure]", _words(exposures, _EXPOSURES) if exposures else NOTHING),
        _NOT_ASKED,
        count(get("replay_attempts")),
        text(get("verdict")),
        more,
        *(_randomised_from(value) if "policy" in value else ()),
    )
    return trial if more is NOTHING or more.keys().isdisjoint(_AFTER) else _with_after(trial)


def _with_after(trial: TrialState) -> TrialState:
    """The trial with what came after the promotion, which was taken for unknown so far."""
    known, extra = trial.extra, {key: item for key, item in trial.extra.items() if key not in _AFTER}
    return replace(
        trial,
        extra=extra,
        watch=_comparison_from(known.get("watch")),
        recheck=_comparison_from(known.get("recheck")),
        fingerprints=tuple(dict.fromkeys(texts(known.get("fingerprints")))),
    )


def _comparison_from(value: object) -> Comparison | None:
    """A watch or a recheck; None where it cannot say who saw the rule, and then nobody is withheld."""
    got = mapping(value)
    key, digest, holdout = text(got.get("key")), text(got.get("digest")), unit(got.get("holdout"))
    if not (key.isascii() and key and digest) or holdout is None or holdout >= 1.0:
        return None
    effect = number(got.get("effect"))
    return Comparison(
        text(got.get("since")),
        key,
        digest,
        holdout,
        count(got.get("number")),
        text(got.get("why")),
        max(-1.0, min(1.0, effect)) if effect is not None else 0.0,
        text(got.get("ended")),
        text(got.get("verdict")),
    )


def _comparison_to(found: Comparison) -> dict[str, object]:
    """The record of a watch or a recheck; what says nothing is left out."""
    record: dict[str, object] = {"since": found.since, "key": found.key, "digest": found.digest}
    record["holdout"] = found.holdout
    for name in ("number", "why", "effect", "ended", "verdict"):
        if getattr(found, name):
            record[name] = getattr(found, name)
    return record


def _randomised_from(value: Mapping[str, object]) -> tuple[Policy, str, float, str, int, bool]:
    """What fixes the arms. A policy that we do not know is no fixed trial: nothing then decides about its rule."""
    policy: Policy = "fixed" if value.get("policy") in (None, "fixed") else "anytime"
    key = text(value.get("key")) if value.get("policy") == "anytime" else ""
    holdout, blocked = unit(value.get("holdout")) or 0.0, value.get("blocked") is True
    return policy, key, holdout, text(value.get("digest")), count(value.get("number")), blocked


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
    if trial.policy != "fixed":
        record |= {"policy": trial.policy, "key": trial.key, "holdout": trial.holdout}
        record |= {"digest": trial.digest, "number": trial.number}
        if trial.blocked:
            record["blocked"] = True
    for name, found in (("watch", trial.watch), ("recheck", trial.recheck)):
        if found is not None:
            record[name] = _comparison_to(found)
    if trial.fingerprints:
        record["fingerprints"] = list(trial.fingerprints)
    return record


# --- trials.jsonl ----------------------------------------------------------------------------------------------------


def exposure_to(
    session_id: str, rules: Mapping[str, Exposure], at: str, unit_id: str | None = None
) -> dict[str, object]:
    """One turn began: which rules its context held or withheld. `unit_id`: what the coins fell for."""
    record: dict[str, object] = {"kind": "exposure", "session": session_id, "rules": dict(rules), "at": at}
    return record if unit_id in (None, session_id) else {**record, "unit": unit_id}


def noticed_to(session_id: str, rules: Mapping[str, str], at: str) -> dict[str, object]:
    """A session was given a continuation notice with these approved pool rules: id -> digest of what it was shown."""
    return {"kind": "notice", "session": session_id, "pool": dict(rules), "at": at}


def noticed_from(value: Mapping[str, object]) -> tuple[str, tuple[str, ...]] | None:
    """(session, ids of pool rules) of a notice record; None for anything else."""
    session = value.get("session")
    if value.get("kind") != "notice" or not isinstance(session, str):
        return None
    return session, tuple(mapping(value.get("pool")))


def observations_to(
    session_id: str,
    seen: Iterable[Observation],
    scores: Mapping[str, float | None],
    at: str,
    told: Sequence[Told] = (),
    costs: Mapping[str, float] | None = None,
) -> dict[str, object]:
    """One report during trials: its scores and costs, and the rules for which its session counts.

    `told`: what it says to trials of the anytime policy; then its task is kept too.
    """
    counted: dict[str, object] = {o.rule_id: {"breached": o.breached, "exposure": o.exposure} for o in seen}
    record: dict[str, object] = {"kind": "observation", "session": session_id, "at": at, "scores": dict(scores)}
    record |= {"costs": dict(costs)} if costs else {}
    for one in told:
        entry = {"breached": one.breached, "exposure": one.arm, "value": one.value}
        counted[one.rule_id] = entry if one.unit == session_id else {**entry, "unit": one.unit}
        if one.task_id is not None:
            record["task"] = one.task_id
        if one.costs:
            record["costs"] = dict(one.costs)
    return {**record, "seen": counted}


def checks_to(session_id: str, told: Sequence[Told], scores: Mapping[str, float | None], at: str) -> dict[str, object]:
    """What one report says to the watches and rechecks of active rules; apart from every trial."""
    record = {**observations_to(session_id, (), scores, at, told), "kind": "check"}
    seen = mapping(record["seen"])
    return {**record, "seen": {one.rule_id: {**mapping(seen[one.rule_id]), "of": one.check} for one in told}}


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
            if "value" in seen:  # said to an anytime trial: `told_from`
                continue
            exposure = seen.get("exposure")
            known = cast(Exposure, exposure) if isinstance(exposure, str) and exposure in _EXPOSURES else "unknown"
            found.append(Observation(rule_id, session, seen["breached"], known))
    return tuple(found)


def told_from(value: Mapping[str, object]) -> tuple[Told, ...]:
    """What a record says to trials of the anytime policy, or to comparisons after them; empty for anything else."""
    session, checking = value.get("session"), value.get("kind") == "check"
    seen = mapping(value.get("seen")) if checking or value.get("kind") == "observation" else {}
    if not isinstance(session, str) or not any(isinstance(one, dict) and "value" in one for one in seen.values()):
        return ()
    scores, costs = units_of(value.get("scores")), costs_of(value.get("costs"))
    found = []
    for rule_id, one in seen.items():
        if not is_rule_id(rule_id) or not isinstance(one, dict) or "value" not in one:
            continue
        arm, breached, given = one.get("exposure"), one.get("breached"), one["value"]
        reached = unit(given)
        if (
            arm not in ("shown", "withheld")
            or not isinstance(breached, bool)
            or (given is not None and reached is None)
        ):
            continue
        unit_id = maybe_text(one.get("unit")) or session
        task, check = maybe_text(value.get("task")), text(one.get("of")) if checking else ""
        if check or not checking:
            found.append(Told(rule_id, session, unit_id, cast(Arm, arm), breached, reached, task, scores, costs, check))
    return tuple(found)


def exposure_unit(value: Mapping[str, object]) -> str | None:
    """What the coins of an exposure record were thrown for, where it is not the session."""
    return maybe_text(value.get("unit"))


def reported_from(value: Mapping[str, object]) -> tuple[str, str, Mapping[str, float], Mapping[str, float]] | None:
    """(session, time, metrics that had a value, costs) of an observation record; None for anything else."""
    session = value.get("session")
    if value.get("kind") != "observation" or not isinstance(session, str):
        return None
    return session, text(value.get("at")), units_of(value.get("scores")), costs_of(value.get("costs"))


def attempt_from(value: Mapping[str, object]) -> str | None:
    """The rule of an attempt record; None for anything else."""
    rule = value.get("rule")
    return rule if value.get("kind") == "attempt" and isinstance(rule, str) else None


def _words(value: object, allowed: frozenset[str]) -> dict[str, str]:
    return {key: word for key, word in mapping(value).items() if isinstance(word, str) and word in allowed}
