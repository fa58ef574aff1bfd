"""An eval case: one recorded session that can be run again, and which cases speak about which rule.

A failure shows whether a rule helps, a win whether it does harm. Input and baseline are written once: evidence rests on
them, so neither an agent nor a later capture ever replaces them. Failures are evicted oldest first, wins never.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from ruleproof.core.gate import metric_of, signature
from ruleproof.core.notice import clean_tags
from ruleproof.core.rule import Rule

CaseKind = Literal["failure", "win"]
KINDS: tuple[CaseKind, ...] = get_args(CaseKind)
By = Literal["", "harness", "person", "agent"]
"""Who gave the input; empty where there is none, or where an older system wrote it."""

FAILURES, WINS = 3, 2
"""Cases that one validation round replays at most."""
NO_SCORES: Mapping[str, float] = MappingProxyType({})
_NOTHING: Mapping[str, object] = MappingProxyType({})


class _OnDisk:
    """The input of a case that was listed, and is read when it is replayed."""

    def __repr__(self) -> str:
        return "ON_DISK"


ON_DISK = _OnDisk()


@dataclass(frozen=True, slots=True)
class EvalCase:
    """One case. `created_at` is ISO-8601, UTC; `baseline_scores` lie in [0, 1], higher is better.

    `replay_input` is any JSON value, None where there is none, `ON_DISK` in a listing.
    """

    id: str
    created_at: str
    session_id: str
    kind: CaseKind = "failure"
    signature: tuple[str, ...] = ()
    baseline_scores: Mapping[str, float] = field(default_factory=lambda: NO_SCORES)
    replay_input: object = None
    notes: str = ""
    input_by: By = ""
    extra: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    """Fields of the file that we do not know, or that hold what we cannot read; kept and written back."""

    @property
    def replayable(self) -> bool:
        """Whether there is an input to run again."""
        return self.replay_input is not None

    @property
    def key(self) -> tuple[str, tuple[str, ...], CaseKind]:
        """What makes two captures the same case."""
        return self.session_id, tuple(sorted(self.signature)), self.kind


@dataclass(frozen=True, slots=True)
class CaseLimits:
    """Cases in all (0: no limit), bytes of one file, days that a failure is kept (0: always), wins captured unasked."""

    max_cases: int = 200
    max_bytes: int = 256 << 10
    retention_days: int = 0
    auto_wins: int = 20


def age(case: EvalCase) -> tuple[str, str]:
    """Oldest first."""
    return case.created_at, case.id


def select(rule: Rule, cases: Iterable[EvalCase]) -> tuple[tuple[EvalCase, ...], tuple[EvalCase, ...]]:
    """(the newest replayable failures that carry what the rule is about, at most 3; the newest such wins, at most 2).

    A rule is about those of its tags that hold a colon, and about `breach:<metric>` where it names a metric.
    """
    usable = sorted((case for case in cases if case.replayable), key=age, reverse=True)
    about = frozenset(tag for tag in rule.tags if ":" in tag)
    breach = signature("breach", rule.metric) if rule.metric else ""
    failures = [
        case
        for case in usable
        if case.kind == "failure" and any(said == breach or about & {*clean_tags((said,))} for said in case.signature)
    ]
    return tuple(failures[:FAILURES]), tuple(case for case in usable if case.kind == "win")[:WINS]


def target_metric(rule: Rule, failures: Sequence[EvalCase]) -> str | None:
    """The metric that the rule is to mend: its own, else that of the first failure's first signature."""
    if rule.metric is not None or not failures:
        return rule.metric
    return next((metric for said in failures[0].signature if (metric := metric_of(said))), None)


def to_evict(cases: Sequence[EvalCase], max_cases: int) -> tuple[EvalCase, ...] | None:
    """The failures that must go, oldest first, so that one more case fits; None where only wins are left to go."""
    over = len(cases) + 1 - max_cases
    if not max_cases or over <= 0:
        return ()
    failures = sorted((case for case in cases if case.kind == "failure"), key=age)
    return tuple(failures[:over]) if len(failures) >= over else None
