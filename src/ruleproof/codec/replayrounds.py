"""Rounds of paired replays as records of `trials.jsonl`: JSON objects <-> values. Reading is total.

A replay that failed stands as an empty object: that it was tried in that arm is evidence about the arms. Which session
gave which scores stays, so that no session is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleproof.codec.reading import count, items, mapping, number, text, unit
from ruleproof.core.evalcase import KINDS
from ruleproof.core.evidence.caserounds import CaseRound, Replay
from ruleproof.core.evidence.replay import Replayed

KIND = "replay"


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was recorded. `planned`: the pairs at which its trial is judged once; 0 = after every round."""

    rule_id: str
    target: str
    cases: tuple[CaseRound, ...]
    sessions: tuple[str, ...]
    planned: int = 0


def round_to(
    rule_id: str, target: str, treated: Sequence[Replayed], control: Sequence[Replayed], at: str, planned: int = 0
) -> dict[str, object]:
    """One round; the arms hold the replays of all cases, in any order."""
    cases = {one.case_id: one.kind for one in (*treated, *control)}
    return {
        "kind": KIND,
        "rule": rule_id,
        "target": target,
        **({"planned": planned} if planned else {}),
        "at": at,
        "cases": [
            {
                "case": case_id,
                "kind": kind,
                "treated": [_replay_to(one) for one in treated if one.case_id == case_id],
                "control": [_replay_to(one) for one in control if one.case_id == case_id],
            }
            for case_id, kind in cases.items()
        ],
    }


def replayed_rule(value: Mapping[str, object]) -> str | None:
    """The rule of a round's record; None for anything else."""
    rule_id = value.get("rule")
    return rule_id if value.get("kind") == KIND and isinstance(rule_id, str) else None


def round_from(value: Mapping[str, object]) -> Round | None:
    """The round of a record; None for anything else, and without a target or any case: it would hide others."""
    rule_id, target = replayed_rule(value), text(value.get("target"))
    if rule_id is None or not target:
        return None
    cases, sessions = [], []
    for case in map(mapping, items(value.get("cases"))):
        kind = case.get("kind")
        arms = [[mapping(one) for one in items(case.get(arm))] for arm in ("treated", "control")]
        if kind in KINDS and any(arms):
            sessions += [text(one.get("session")) for arm in arms for one in arm if one.get("session")]
            treated, control = (tuple(map(_replay_from, arm)) for arm in arms)
            cases.append(CaseRound(text(case.get("case")), kind, treated, control))
    planned = count(value.get("planned"))
    return Round(rule_id, target, tuple(cases), tuple(sessions), planned) if cases else None


def _replay_to(one: Replayed) -> dict[str, object]:
    if one.failure:
        return {}
    costs: dict[str, object] = {"costs": dict(one.costs)} if one.costs else {}
    return {"session": one.session_id, "scores": dict(one.scores), **costs}


def _replay_from(value: Mapping[str, object]) -> Replay:
    return Replay(dict(_scores(value)), dict(_costs(value)))


def _scores(value: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, given in mapping(value.get("scores")).items():
        if (score := unit(given)) is not None:
            yield name, score


def _costs(value: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, given in mapping(value.get("costs")).items():
        if (cost := number(given)) is not None and cost >= 0.0:
            yield name, cost
