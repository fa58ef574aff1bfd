"""Looking back: scores over time, the journal, reflection. Logs are read from their end; what is left out is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ruleproof.codec.sessionlog import session_record_from
from ruleproof.core.rule import Rule
from ruleproof.core.score import Score
from ruleproof.core.sessions import Ingested, Reported
from ruleproof.toolset.arguments import History, Journal, NoArguments
from ruleproof.toolset.backwards import newest
from ruleproof.toolset.bounded import ANSWER, WHOLE, Bounded, rows
from ruleproof.toolset.handlers_rules import SESSIONS, record_of
from ruleproof.toolset.spec import Bench, Result

MOST = 500
REFLECTED = 20
PART = ANSWER // 3
"""Characters of each part of a reflection."""
_VERDICTS = frozenset({"rule_promote", "rule_retire", "rule_kept"})


def history(bench: Bench, args: History) -> Result:
    """The newest scores of a metric, oldest first. A missing score is null, never 0."""

    def row(value: Mapping[str, object]) -> Result | None:
        if args.session_id is not None and value.get("session") != args.session_id:
            return None
        record = session_record_from(value)
        if isinstance(record, Reported):
            report = record.report
            return _row(args.metric, report.scores, report.session_id, report.at, report.turn)
        if isinstance(record, Ingested):
            return _row(args.metric, record.scores, record.session_id, record.at, None)
        return None

    found, gave_up = newest(bench.workspace.ports.sessions, row, _limit(args.limit), {args.metric})
    shown, cut = rows(found, keep="last")
    return {
        "untrusted": True,
        "metric": args.metric,
        "session_id": args.session_id,
        "local": shown,
        "missing": sum(point["value"] is None for point in found),
        "cut": gave_up or cut,
    }


def _row(metric: str, scores: tuple[Score, ...], session_id: str, at: str, turn: int | None) -> Result | None:
    """One point; `turn` is null for recorded history that was ingested."""
    score = next((score for score in scores if score.metric == metric), None)
    if score is None:
        return None
    return {
        "value": score.value,
        "ts": at,
        "session_id": session_id,
        "turn": turn,
        "threshold": score.threshold,
        "breached": score.breached,
        "source": score.source,
        "ingested": turn is None,
    }


def journal(bench: Bench, args: Journal) -> Result:
    """The newest events, oldest first."""
    events, cut = _events(bench, None if args.types is None else frozenset(args.types), _limit(args.limit), ANSWER)
    return {"untrusted": True, "events": events, "cut": cut}


def _events(bench: Bench, types: frozenset[str] | None, limit: int, budget: int) -> tuple[list[object], str | None]:
    """(the newest `limit` events of these types, oldest first; what is missing, in words)."""

    def wanted(event: Mapping[str, object]) -> Mapping[str, object] | None:
        kind = event.get("type")
        return _keyless(event) if types is None or (isinstance(kind, str) and kind in types) else None

    found, gave_up = newest(bench.workspace.ports.journal, wanted, limit, types)
    events, cut = rows(found, keep="last", budget=budget)
    return events, gave_up or cut


def _keyless(event: Mapping[str, object]) -> Mapping[str, object]:
    """The event without the keys of its rule's trial and of what came after it, which would tell arms in advance."""
    trial = event.get("trial")
    if not isinstance(trial, dict):
        return event
    parts = {name: part for name, part in trial.items() if name != "key"}
    for name, part in parts.items():
        if isinstance(part, dict) and "key" in part:
            parts[name] = {inner: value for inner, value in part.items() if inner != "key"}
    return {**event, "trial": parts}


def reflect(bench: Bench, _: NoArguments) -> Result:
    """What happened lately, which rules stand, which verdicts fell, and notices before and after each live rule."""
    with bench.workspace.mutex:
        bench.workspace.refresh_trials()
        active, candidates = bench.rules.active(), bench.rules.candidates()
        records = [[record_of(bench, rule) for rule in rules] for rules in (active, candidates)]
        effects = _effects(bench, [*active, *candidates])
    parts = {
        "recent_notices": _events(bench, frozenset({"notice"}), REFLECTED, PART),
        "recent_validations": _events(bench, _VERDICTS, REFLECTED, PART),
        "active_rules": _standing(records[0]),
        "candidate_rules": _standing(records[1]),
    }
    with bench.workspace.transaction() as plan:
        plan.event(
            "reflect",
            notice_count=len(parts["recent_notices"][0]),
            active_rule_count=len(active),
            candidate_rule_count=len(candidates),
        )
    return {
        "untrusted": True,
        **{name: shown for name, (shown, _) in parts.items()},
        "effectiveness": Bounded(PART, items=MOST).of(effects),
        "cut": {name: cut for name, (_, cut) in parts.items() if cut} or None,
    }


def _standing(records: Sequence[Result]) -> tuple[list[object], str | None]:
    return rows(records, keep="last", budget=PART, longest=WHOLE, items=SESSIONS)


def _effects(bench: Bench, rules: Iterable[Rule]) -> dict[str, Result]:
    """Notices of each rule's metric (of any, where it names none) before it was added, and since: counts, not proof."""
    journaled = bench.workspace.refresh_journal()
    effects: dict[str, Result] = {}
    for rule in rules:
        before, after = journaled.notices_around(rule.metric, rule.created_at)
        effects[rule.id] = {
            "metric": rule.metric,
            "status": rule.status,
            "created_at": rule.created_at,
            "notices_before": before,
            "notices_after": after,
        }
    return effects


def _limit(asked: int) -> int:
    return MOST if asked <= 0 else min(asked, MOST)
