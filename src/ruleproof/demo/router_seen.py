"""What the router scenario saw, in figures: of each message, of each rule that was tried, of the whole run.

Everything is counted from the router's answers and from the verdicts of the product; here is only arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from ruleproof.demo.router_desk import MESSAGES, QUEUES, Kind, Message, Queue

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Routed:
    """One message and the queue that it was sent to. `outage`: why nobody answered, else empty."""

    message_id: str
    answer: str = ""
    outage: str = ""

    @property
    def message(self) -> Message:
        """The message."""
        return next(one for one in MESSAGES if one.id == self.message_id)

    @property
    def right(self) -> float | None:
        """1.0 where it is the right queue, else 0.0; None without an answer."""
        return None if self.outage else float(self.answer == self.message.queue)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of the messages that were answered went to the right queue: in all, by queue, by kind of message."""

    right: int
    answered: int
    queues: Mapping[Queue, tuple[int, int]]
    kinds: Mapping[Kind, tuple[int, int]]


def tally(routed: Sequence[Routed]) -> Tally:
    """Add up."""

    def part(wanted: Callable[[Message], bool]) -> tuple[int, int]:
        values = [one.right for one in routed if one.right is not None and wanted(one.message)]
        return int(sum(values)), len(values)

    right, answered = part(lambda _: True)
    kinds: tuple[Kind, ...] = ("plain", "gift card", "damaged")
    return Tally(
        right,
        answered,
        {queue: part(lambda message, queue=queue: message.queue == queue) for queue in QUEUES},  # type: ignore[misc]
        {kind: part(lambda message, kind=kind: message.kind == kind) for kind in kinds},  # type: ignore[misc]
    )


@dataclass(frozen=True, slots=True)
class Guess:
    """A rule that somebody might write, the queue whose failures it is to mend, and what we expect of it."""

    name: str
    queue: Queue
    text: str
    expected: str


@dataclass(frozen=True, slots=True)
class Row:
    """One queue over the replays of a trial: the share that reached it with the rule and without, and how many."""

    queue: str
    treated: float | None
    control: float | None
    counted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """One rule and what came of it. `routed`: all messages with the rule in force, measured beside the trial.

    `details`: the figures of the last verdict, as the product gives them. `problem`: why there is no verdict.
    """

    guess: Guess
    rule_id: str = ""
    status: str = ""
    words: str = ""
    details: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    routed: tuple[Routed, ...] = ()
    before: tuple[Routed, ...] = ()
    """The same messages with the rules that were in force before."""
    calls: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Mean of each queue over the replays with and without the rule, as the verdict gives them."""
        given = self.details.get("rows")
        return tuple(
            Row(str(row["name"]), row["shown"], row["withheld"], tuple(row["counted"]))
            for row in (given if isinstance(given, (list, tuple)) else ())
            if row["kind"] == "metric"
        )

    @property
    def harmed(self) -> tuple[str, ...]:
        """The queues that the verdict says it harms."""
        named = self.details.get("harmed")
        return tuple(map(str, named)) if isinstance(named, (list, tuple)) else ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The whole run. `calls` and `seconds` are those of the router, everything included."""

    router: str
    folder: str
    plain: tuple[Routed, ...]
    tried: tuple[Tried, ...]
    cases: tuple[int, int]
    """(failures, wins) that were captured."""
    calls: int
    seconds: float
    gave_up: str

    def as_json(self) -> dict[str, object]:
        """Every figure, as plain JSON values."""
        return {
            "scenario": "router",
            "router": self.router,
            "folder": self.folder,
            "without_rules": asdict(tally(self.plain)),
            "rules": [_as_json(one) for one in self.tried],
            "captured": {"failures": self.cases[0], "wins": self.cases[1]},
            "messages": [{**asdict(one.message), "answer": one.answer, "outage": one.outage} for one in self.plain],
            "model_calls": self.calls,
            "seconds": round(self.seconds, 1),
            "gave_up": self.gave_up,
        }


def _as_json(tried: Tried) -> dict[str, object]:
    return {
        **asdict(tried.guess),
        "rule_id": tried.rule_id,
        "status": tried.status,
        "verdict": tried.words,
        "harmed": list(tried.harmed),
        "evidence": dict(tried.details),
        "before": asdict(tally(tried.before)),
        "with": asdict(tally(tried.routed)),
        "answers": {one.message_id: one.answer for one in tried.routed},
        "model_calls": tried.calls,
        "seconds": round(tried.seconds, 1),
        "problem": tried.problem,
    }
