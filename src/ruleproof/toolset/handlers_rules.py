"""Rules: add, retire, ask how a trial stands, search, list. What is in force the engine and a person decide."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ruleproof.codec.records import rule_to
from ruleproof.core import ids
from ruleproof.core.evidence.summary import summary
from ruleproof.core.rule import NOTHING, Rule
from ruleproof.core.secrets import redact
from ruleproof.core.text import sanitize_text
from ruleproof.core.trial import TrialState
from ruleproof.engine.add_rule import Draft
from ruleproof.engine.rules import LIVE
from ruleproof.errors import Refused
from ruleproof.toolset.arguments import RuleAdd, RuleRetire, RulesList, RulesSearch, RuleStatus
from ruleproof.toolset.bounded import WHOLE, Bounded, rows
from ruleproof.toolset.spec import Bench, Result
from ruleproof.toolset.standing import evidence_note, exposures

FOUND, MOST_FOUND = 10, 50
PAGE = 100
SESSIONS = 100
"""Sessions that a record names; its counts are of all."""


def record_of(bench: Bench, rule: Rule, **more: object) -> Result:
    """A rule as the tools show it: its record with the trial as of now, whether it is in force, and `more`.

    Fields of other systems are left out, since nobody here can say what they hold, and so are the keys of a trial and
    of what comes after it, which would tell arms in advance. Call it under the workspace's mutex.
    """
    trial = bench.workspace.trial_of(rule)
    known = None if rule.trial is None and trial == TrialState() else replace(trial.without_keys, extra=NOTHING)
    in_force = rule.in_force and not bench.workspace.rulebook.all_paused
    return {**rule_to(replace(rule, trial=known, extra=NOTHING)), "in_force": in_force, **more}


def bounded_record(bench: Bench, rule: Rule) -> object:
    """One rule as an answer holds it."""
    with bench.workspace.mutex:
        bench.workspace.refresh_trials()
        record = record_of(bench, rule)
    return Bounded(2 * WHOLE, longest=WHOLE, items=SESSIONS).of(record)


def rule_add(bench: Bench, args: RuleAdd) -> Result:
    """Add a candidate, or answer with the live rule that says the same."""
    metric, notes = args.metric, []
    if args.notice_id is not None:
        notice = bench.workspace.ports.mailbox.read(args.notice_id)
        if notice is None:
            notes.append(f"No notice {args.notice_id} is known here; its id was kept, and no tags came from it.")
        elif metric is None and len(notice.metrics) == 1:
            with suppress(Refused):
                metric = ids.opaque(notice.metrics[0].name, "metric")
    added = bench.rules.draft(Draft(args.rule, args.rationale, args.notice_id, metric, args.tags or (), "agent"))
    if not added.created:
        notes = ["A live rule says the same; it stands as it was, and nothing was written."]
    elif added.rule.held:
        notes.append("It waits for a person and is not in force until then.")
    return {
        "rule": bounded_record(bench, added.rule),
        "created": added.created,
        "redacted": list(added.redacted),
        "notes": notes,
    }


def rule_retire(bench: Bench, args: RuleRetire) -> Result:
    """Retire a live rule; the reason is kept with it."""
    reason = redact(sanitize_text(args.reason or ""))[0]
    return {"rule": bounded_record(bench, bench.rules.retire(args.rule_id, reason=reason, author="agent"))}


def rule_status(bench: Bench, args: RuleStatus) -> Result:
    """How a rule stands: its lifecycle, which sessions did not count and why, and how much the figures are worth."""
    with bench.workspace.mutex:
        rule, trial = bench.rules.get(args.rule_id), bench.rules.trial(args.rule_id)
        paused = rule.paused or bench.workspace.rulebook.all_paused
    lifecycle: Result = {"status": rule.status}
    on_trial = rule.trial is not None or bool(trial.observed)
    if on_trial:
        lifecycle |= {
            "baseline_rate": trial.baseline.rate,
            "trial_rate": trial.rate,
            "sessions_observed": len(trial.observed),
            "sessions_needed": bench.rules.sessions_needed(rule.id)
            if trial.policy != "fixed"
            else bench.trial_sessions,
            "replay_attempts": trial.replay_attempts,
            "verdict": trial.verdict,
        }
    else:
        trial = TrialState()
    said, found = Bounded(), bench.rules.evidence(rule.id)
    return {
        "untrusted": True,
        "rule": bounded_record(bench, rule),
        "lifecycle": said.of(lifecycle),
        "uncounted": said.of(dict(list(trial.uncounted.items())[-SESSIONS:])),
        "uncounted_sessions": len(trial.uncounted),
        "exposure": exposures(trial),
        "paused": paused,
        "held": rule.held,
        "after_promotion": said.of(bench.rules.after(rule.id).as_json()),
        "evidence": said.of(dict(found)),
        "evidence_note": evidence_note(trial, found)
        if trial.policy == "fixed" and found.get("policy") != "paired"
        else f"Evidence: {summary(found) or 'none'}.",
    }


def rules_search(bench: Bench, args: RulesSearch) -> Result:
    """Rules by relevance, each with its score and why."""
    limit = FOUND if args.limit <= 0 else min(args.limit, MOST_FOUND)
    statuses: Sequence[str] = LIVE if args.status is None else (args.status,)
    with bench.workspace.mutex:
        bench.workspace.refresh_trials()
        ranked = bench.rules.ranked(args.query, limit=limit, statuses=statuses)
        records = [record_of(bench, hit.rule, score=hit.score, why=hit.why) for hit in ranked]
    found, cut = rows(records, keep="first", longest=WHOLE, items=SESSIONS)
    return {"rules": found, "cut": cut}


def rules_list(bench: Bench, args: RulesList) -> Result:
    """Rules, oldest first, a page at a time: `next_offset` is where the next page begins, null after the last."""
    offset = max(0, args.offset)
    with bench.workspace.mutex:
        bench.workspace.refresh_trials()
        rules = [rule for rule in bench.rules.all() if args.status in (None, rule.status)]
        page = [record_of(bench, rule) for rule in rules[offset : offset + PAGE]]
    shown, _ = rows(page, keep="first", longest=WHOLE, items=SESSIONS)
    after = offset + len(shown)
    return {"rules": shown, "total": len(rules), "next_offset": after if after < len(rules) else None}
