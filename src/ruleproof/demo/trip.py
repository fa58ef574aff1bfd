"""What the demo saw, in figures: of each customer, of the customers before and after the rule, of the verdict.

Everything is counted from what the shop's database and the harness's workspace hold; here is only arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path

from ruleproof.core.evidence.pretest import beta_binomial_pmf, false_promotion_chance, fixed_gate_passes
from ruleproof.core.rule import Rule
from ruleproof.core.score import DEFAULT_THRESHOLD
from ruleproof.core.trial import TrialState
from ruleproof.demo.agent import Lesson
from ruleproof.demo.shop import Books


@dataclass(frozen=True, slots=True)
class Customer:
    """One session. `scores`: metric -> value, None = missing; `outage`: why it has no outcome, else empty."""

    session_id: str
    order_id: str
    books: Books
    scores: Mapping[str, float | None]
    context: str
    outage: str = ""

    @property
    def outcome(self) -> float | None:
        """1.0 where the order was charged exactly once, else 0.0; None where nobody can say."""
        return self.scores.get("outcome")

    @property
    def line(self) -> str:
        """What happened, in a line."""
        charged = ("not charged", "charged once", "charged twice")
        said = charged[self.books.kept] if self.books.kept < len(charged) else f"charged {self.books.kept} times"
        return f"{self.order_id}: {'time-out, ' if self.books.timed_out else ''}{self.outage or said}"


@dataclass(frozen=True, slots=True)
class Tally:
    """Some customers, added up. Means are over the sessions that have the score; None without any.

    Money is counted whatever came of the session; one that an outage cut short has no scores.
    """

    customers: int
    timed_out: int
    charged_twice: int
    never_charged: int
    outages: int
    cents_twice: int
    outcome: float | None
    agent_reliability: float | None


def tally(customers: Sequence[Customer]) -> Tally:
    """Add up what the books and the evaluator say of each."""
    books = [customer.books for customer in customers]
    return Tally(
        customers=len(customers),
        timed_out=sum(found.timed_out for found in books),
        charged_twice=sum(found.kept > 1 for found in books),
        never_charged=sum(found.kept < 1 for found in books),
        outages=sum(bool(customer.outage) for customer in customers),
        cents_twice=sum(found.cents_twice for found in books),
        outcome=_mean([customer.outcome for customer in customers]),
        agent_reliability=_mean([customer.scores.get("agent_reliability") for customer in customers]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class Judged:
    """The rule's trial and how little it proves.

    `chance`: that a useless rule would have passed, by the baseline that the gate compares with, which counts only
    sessions with an incident. `chance_by_all`: the same by all customers before the rule (`failed` of `scored`).
    `chance_as_good`: that as few breaches as were seen, or fewer, come about at the rate of those customers.
    """

    status: str
    words: str
    baseline_breached: int
    baseline_sessions: int
    sessions: int
    breached: int
    timed_out: int
    """How many of the sessions that were observed met a time-out at all: only they could show anything."""
    failed: int
    scored: int
    chance: float
    chance_by_all: float
    chance_as_good: float


def judged(
    rule: Rule, trial: TrialState, margin: float, before: Sequence[Customer], after: Sequence[Customer]
) -> Judged:
    """The figures of a trial. `margin` is that of the gate; `before` and `after` are the customers around the rule."""
    base, seen = trial.baseline, len(trial.observed)
    values = [customer.scores.get(rule.metric or "") for customer in before]
    scored = [value for value in values if value is not None]
    failed = sum(value < DEFAULT_THRESHOLD for value in scored)
    passing = [hit for hit in range(seen + 1) if seen and fixed_gate_passes(hit, seen, base.rate, margin)]
    return Judged(
        status=rule.status,
        words=trial.verdict,
        baseline_breached=base.breached,
        baseline_sessions=base.sessions,
        sessions=seen,
        breached=len(trial.breached),
        timed_out=sum(customer.books.timed_out for customer in after if customer.session_id in trial.observed),
        failed=failed,
        scored=len(scored),
        chance=false_promotion_chance(base.breached, base.sessions, seen, margin) if seen else 1.0,
        chance_by_all=_chance(passing, seen, failed, len(scored)) if seen else 1.0,
        chance_as_good=_chance(range(len(trial.breached) + 1), seen, failed, len(scored)),
    )


def _chance(hits: Iterable[int], seen: int, failed: int, scored: int) -> float:
    """That the number of breaches in `seen` sessions is one of `hits`, at the rate of which `failed` of `scored` tell.

    The rate has the posterior Beta(failed + 1/2, passed + 1/2), as in `core.evidence.pretest`.
    """
    return min(1.0, fsum(beta_binomial_pmf(hit, seen, failed + 0.5, scored - failed + 0.5) for hit in hits))


@dataclass(frozen=True, slots=True)
class Trip:
    """The whole demo. `lesson` is None where nothing was to be learned; `gave_up`: why the agent could not go on."""

    agent: str
    folder: str
    seed: int
    before: tuple[Customer, ...]
    after: tuple[Customer, ...]
    notices: int
    lesson: Lesson | None
    verdict: Judged | None
    gave_up: str
    findings: tuple[str, ...]
    calls: int
    """Calls of a model, where one stood behind the agent."""

    @property
    def contexts(self) -> dict[str, str]:
        """What the agent was given: before the rule, during its trial, at the end."""
        seen = {"before": self.before[-1].context} if self.before else {}
        if self.after:
            seen |= {"trial": self.after[min(2, len(self.after) - 1)].context, "end": self.after[-1].context}
        return seen

    @property
    def files(self) -> dict[str, str]:
        """Where everything lies."""
        names = {"database": "shop.db", "conversations": "conversations.jsonl", "workspace": ".ruleproof"}
        return {"folder": self.folder, **{what: str(Path(self.folder) / name) for what, name in names.items()}}

    def as_json(self) -> dict[str, object]:
        """Every figure, as plain JSON values."""
        return {
            "agent": self.agent,
            "files": self.files,
            "seed": self.seed,
            "before": asdict(tally(self.before)),
            "after": asdict(tally(self.after)) if self.after else None,
            "notices": self.notices,
            "lesson": asdict(self.lesson) if self.lesson else None,
            "verdict": asdict(self.verdict) if self.verdict else None,
            "contexts": self.contexts,
            "customers": [_as_json(customer) for customer in (*self.before, *self.after)],
            "gave_up": self.gave_up,
            "findings": list(self.findings),
            "model_calls": self.calls,
        }


def _as_json(customer: Customer) -> dict[str, object]:
    return {
        "session_id": customer.session_id,
        "order_id": customer.order_id,
        **asdict(customer.books),
        "scores": dict(customer.scores),
        "outage": customer.outage,
    }
