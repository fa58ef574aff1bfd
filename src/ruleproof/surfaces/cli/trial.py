"""`ruleproof trial`: which sessions a rule's trial counted, how they saw it, which it did not count and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.layout import facts, paragraph, table
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.status import UNKNOWN, WAY_OUT
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.rule import Rule
    from ruleproof.core.trial import Baseline, TrialState

BIAS = (
    "The baseline counts only sessions that journaled an incident or a recovery, so it is biased high, and a trial is "
    "lenient about promotion."
)

NEWEST = 20
"""Sessions that a table of one trial shows."""


@verb("ruleproof trial", "ruleproof trial r-9772c134b8")
def trial(
    rule: Annotated[str | None, typer.Argument(metavar="ID", help="One rule; without it every running trial.")] = None,
) -> Reply:
    """Show running trials, or one, session by session.

    Without an id also the active rules that are monitored or rechecked. With one: which sessions counted (the newest;
    --json has all), how they saw the rule, which did not count and why, the baseline and its bias, how many sessions
    are still needed, what the figures are worth, and what came after the promotion.
    """
    return running() if rule is None else one(rule)


def running() -> Reply:
    """Every running trial, one a line."""
    from dataclasses import asdict

    from ruleproof.engine.status import standing
    from ruleproof.surfaces.cli.status import trials_table, uncounted_lines

    with opened() as harness:
        rules = harness.rules
        found = tuple(
            standing(rule, rules.trial(rule.id), rules.sessions_needed(rule.id)) for rule in rules.candidates()
        )
        later = [rules.after(rule.id) for rule in harness.workspace.rulebook.checked()]
    later = [one for one in later if one.kind != "none"]
    data = {"trials": [asdict(one) for one in found], "after_promotion": [one.as_json() for one in later]}
    bias = paragraph(BIAS) if any(one.policy == "fixed" for one in found) else ""
    parts = [trials_table(found), uncounted_lines(found), bias] if found else ["No trial runs."]
    parts += [paragraph(f"{one.rule_id} (active): {one.line}") for one in later]
    return Reply(data, "\n\n".join(part for part in parts if part))


def one(rule_id: str) -> Reply:
    """The trial of one rule, whatever became of it."""
    from ruleproof.engine.replaytrial import pairs_of
    from ruleproof.toolset.standing import exposures

    with opened() as harness:
        rule, state = harness.rules.get(ids.rule_id(rule_id)), harness.rules.trial(rule_id)
        needed, found = harness.rules.sessions_needed(rule_id), harness.rules.evidence(rule_id)
        pairs = _pairs(pairs_of(harness.workspace, rule_id))
        after, most = harness.rules.after(rule_id), harness.config.rule_trial_most_sessions
    note = _note(state, found)
    data = {
        "rule_id": rule.id,
        "status": rule.status,
        "metric": rule.metric,
        "started_at": state.started_at,
        "birth_session": state.birth_session,
        "baseline": {
            "rate": state.baseline.rate,
            "breached": state.baseline.breached,
            "sessions": state.baseline.sessions,
            "bias": BIAS if state.policy == "fixed" else "",
        },
        "rate": state.rate,
        "alerted": {arm: {"alerted": hit, "sessions": seen} for arm, (hit, seen) in _arms(state).items()},
        "sessions_observed": len(state.observed),
        "sessions_needed": needed,
        "observed": [
            {"session": session, "alerted": session in state.breached, "exposure": state.exposures.get(session)}
            for session in state.observed
        ],
        "uncounted": [{"session": session, "why": why} for session, why in state.uncounted.items()],
        "exposures": exposures(state),
        "replay_attempts": state.replay_attempts,
        "verdict": state.verdict,
        "policy": state.policy,
        "holdout": state.holdout,
        "number": state.number,
        "blocked": state.blocked,
        "evidence": note,
        "figures": dict(found),
        "pairs": pairs,
        "after_promotion": after.as_json(),
    }
    seen = _seen(rule, state, needed) if state.policy == "fixed" else _seen_anytime(rule, state, found, most)
    paired = "; and paired replays" if found.get("policy") == "paired" or "replays" in found else ""
    parts = [_text(rule, state, seen, note, _effects(found), paired)]
    if pairs:
        parts.append(paragraph(_PAIRS.format(**pairs)))
    if rule.status == "active" or after.last:
        parts += [part for part in (paragraph(f"Since then: {after.line}."), _effects(after.evidence)) if part]
    return Reply(data, "\n\n".join(parts))


_PAIRS = (
    "Pairs of replays of failures: {count:,}, {mean:+.3f} on average, {low:+.3f} to {high:+.3f} (95 %, {method}). This "
    "interval takes pairs for independent and holds for one look; no verdict rests on it."
)


def _pairs(found: Sequence[tuple[float, float]]) -> dict[str, object]:
    """The pairs as one would show them that were looked at once; empty without any."""
    import random

    from ruleproof.core.evidence.intervals import pairs_interval

    if not found:
        return {}
    low, high, method = pairs_interval(found, random.Random(0).random)
    mean = sum(one - other for one, other in found) / len(found)
    return {"count": len(found), "mean": mean, "low": low, "high": high, "method": method}


def _note(state: TrialState, found: Mapping[str, object]) -> str:
    """What the figures of a trial are worth, in words."""
    from ruleproof.core.evidence.summary import summary
    from ruleproof.toolset.standing import evidence_note

    if state.policy == "fixed" and found.get("policy") != "paired":
        return evidence_note(state, found)
    return f"Evidence: {summary(found) or 'none: nothing was counted that can be compared'}."


def _effects(found: Mapping[str, object]) -> str:
    """What the rule buys and costs: every metric and cost of both arms; empty without arms. Replays and sessions
    apart.
    """
    from ruleproof.core.evidence.summary import KINDS

    replays = "Replays, of failures and wins, with the rule and without it:"
    own = replays if found.get("policy") == "paired" else "Sessions:"
    titles = {"replays": replays, "sessions": "Sessions:"}
    beside = [(titles[kind], other) for kind in KINDS if isinstance(other := found.get(kind), Mapping)]
    parts = [(title, _rows(one)) for title, one in ((own, found), *beside)]
    return "\n\n".join(f"{title}\n\n{rows}" if beside or title == replays else rows for title, rows in parts if rows)


def _rows(found: Mapping[str, object]) -> str:
    from ruleproof.core.evidence.summary import number

    rows = found.get("rows")
    lines = [
        (
            str(row.get("name")),
            str(row.get("kind")),
            *(number(row.get(key)) for key in ("shown", "withheld", "difference")),
        )
        for row in (rows if isinstance(rows, (list, tuple)) else ())
        if isinstance(row, dict)
    ]
    from ruleproof.core.evidence.fixed import ALONE

    alone = f"\n\n{paragraph(ALONE)}" if lines and found.get("policy") == "fixed" else ""
    return table(("what", "kind", "shown", "withheld", "difference"), lines) + alone if lines else ""


def _seen(rule: Rule, state: TrialState, needed: int) -> str:
    left = max(0, needed - len(state.observed))
    more = (
        f"; {left} more until the verdict"
        if left and rule.status == "candidate"
        else "; enough for a verdict"
        if not left
        else ""
    )
    return f"{len(state.observed)} of {needed} sessions{more}"


def _seen_anytime(rule: Rule, state: TrialState, found: Mapping[str, object], most: int) -> str:
    """What is known of the end of a trial that has no fixed length: a forecast, where there is one, and the limit."""
    said, needed = f"{len(state.observed):,} sessions", found.get("units_needed")
    if rule.status != "candidate":
        return said
    more = (
        f"about {needed:,} more at the effect seen so far"
        if isinstance(needed, int)
        else "how many more a verdict takes is not known yet"
    )
    return f"{said}; {more}; at {most:,} at the latest it ends as inconclusive"


def _newest(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    older = len(rows) - NEWEST
    return table(heads, rows[-NEWEST:]) + (f"\nand {older:,} more, older; --json has all" if older > 0 else "")


def _text(rule: Rule, state: TrialState, seen: str, note: str, effects: str, paired: str) -> str:
    parts = [
        facts(
            [
                ("rule", f"{rule.id} ({rule.status})"),
                ("text", rule.rule),
                ("metric", rule.metric or "any"),
                ("policy", _policy(state) + paired),
                ("baseline", _baseline(state.baseline) if state.policy == "fixed" else None),
                ("seen", seen),
                ("alerted", _alerted(state)),
                ("replays", f"{state.replay_attempts} inconclusive" if state.replay_attempts else None),
                ("verdict", state.verdict or None),
            ]
        )
    ]
    if state.observed:
        hit = set(state.breached)
        rows = [(s, state.exposures.get(s, "not recorded"), "yes" if s in hit else "no") for s in state.observed]
        parts.append(_newest(("session that counts", "saw the rule", "alerted"), rows))
    if state.uncounted:
        parts.append(_newest(("session that does not count", "why"), list(state.uncounted.items())))
        if UNKNOWN in state.uncounted.values():
            parts.append(paragraph(WAY_OUT))
    parts += [part for part in (effects, paragraph(note)) if part]
    return "\n\n".join([*parts, paragraph(BIAS)] if state.policy == "fixed" else parts)


def _arms(state: TrialState) -> dict[str, tuple[int, int]]:
    """How many sessions of each arm alerted, and how many there are; a fixed trial has no withheld ones."""
    hit, withheld = set(state.breached), {one for one in state.observed if state.exposures.get(one) == "withheld"}
    arms = {"shown": set(state.observed) - withheld, "withheld": withheld}
    return {arm: (len(hit & of), len(of)) for arm, of in arms.items() if arm == "shown" or state.policy != "fixed"}


def _alerted(state: TrialState) -> str | None:
    if not state.observed:
        return None
    arms = {
        arm: f"{hit} of {seen}" + (f" (rate {hit / seen:.2f})" if seen else "")
        for arm, (hit, seen) in _arms(state).items()
    }
    return arms["shown"] if state.policy == "fixed" else ", ".join(f"{arm} {said}" for arm, said in arms.items())


def _policy(state: TrialState) -> str:
    if state.policy == "fixed":
        return "fixed: sessions that saw the rule against the baseline"
    coin = "of every two sessions of a task one is withheld" if state.blocked else "each session has its own coin"
    return (
        f"anytime: shown against withheld, {state.holdout:.0%} withheld; number {state.number} in the error budget; "
        f"{coin}"
    )


def _baseline(baseline: Baseline) -> str:
    if not baseline.sessions:
        return "1.00 (no history: the rule was written against a live failure)"
    return f"{baseline.rate:.2f} ({baseline.breached} of {baseline.sessions} sessions with an incident or a recovery)"
