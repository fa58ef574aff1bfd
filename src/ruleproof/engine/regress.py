"""A regression run: every case replayed with the rules of now, wins first, each compared with its captured scores.

What could not be replayed or compared is skipped, and skipped is never clean: a run that compared nothing says so in
`replayed`. It moves no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from ruleproof.core.evalcase import CaseKind, EvalCase, age
from ruleproof.core.evidence.replay import CaseStatus, Margins, Replayed, once_each, status_of
from ruleproof.engine.compose import Composer
from ruleproof.engine.replay import Job, Replayer
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused

JOURNALED = 50
"""Results that the journal's event holds."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case. `deltas`: replay minus baseline per metric; `reason` says why it was skipped. `missing`: metrics of the
    baseline that the replay lacks, where others were compared.
    """

    case_id: str
    kind: CaseKind
    session_id: str
    status: CaseStatus
    replay_session_id: str = ""
    deltas: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """One run. Times are ISO-8601, UTC; `replayed` counts the cases that could be compared."""

    started_at: str
    finished_at: str
    results: tuple[CaseResult, ...] = ()

    def count(self, status: CaseStatus) -> int:
        """How many cases ended so."""
        return sum(result.status == status for result in self.results)

    @property
    def replayed(self) -> int:
        return len(self.results) - self.count("skipped")

    @property
    def partly(self) -> tuple[CaseResult, ...]:
        """The cases that were compared on some of their metrics."""
        return tuple(result for result in self.results if result.missing)

    @property
    def clean(self) -> bool:
        """Something was compared, and nothing regressed."""
        return self.replayed > 0 and not self.count("regressed")

    def as_json(self) -> dict[str, object]:
        """The run as JSON values."""
        return {
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "total_cases": len(self.results),
            "replayed": self.replayed,
            **{status: self.count(status) for status in ("improved", "unchanged", "regressed", "skipped")},
            "partly_compared": len(self.partly),
            "clean": self.clean,
            "results": [asdict(result) for result in self.results],
        }


Progress = Callable[[int, int, CaseResult], None]
"""(cases done, cases in all, the one that was done last)."""


async def run_regression(
    workspace: Workspace,
    composer: Composer,
    replayer: Replayer | None,
    margins: Margins,
    *,
    sample: int = 0,
    progress: Progress | None = None,
) -> RegressionReport:
    """Replay the eval-set: wins, then failures, each newest first; only the first `sample` of them unless it is 0.

    Without a replayer everything is skipped. Raises Refused where the workspace is not trusted: its inputs are somebody
    else's.
    """
    if sample < 0:
        raise Refused(f"A sample of {sample} cases.", hint="Give 0 for all, or how many.")
    if not workspace.ports.trusted:
        raise Refused("This workspace is not trusted, so nothing in it is run.", hint="`ruleproof trust` after a look.")
    started, tell = workspace.now(), progress or (lambda _done, _all, _result: None)
    chosen = _chosen(workspace.ports.evalset.listed(), sample)
    found: dict[str, CaseResult] = {}

    used: set[str] = set()

    def done(result: CaseResult) -> None:
        found[result.case_id] = result
        tell(len(found), len(chosen), result)

    def ended(place: int, replayed: Replayed) -> None:
        one = once_each([[replayed]], used)[0][0]
        used.update(() if one.failure else (one.session_id,))
        done(_result(runnable[place], one, margins))

    for case in chosen:
        if replayer is None or not case.replayable:
            why = "no replay input" if not case.replayable else "no replay function is wired"
            done(CaseResult(case.id, case.kind, case.session_id, "skipped", reason=why))
    runnable = [case for case in chosen if case.id not in found]
    if replayer is not None and runnable:
        context = composer.context()
        await replayer.run(workspace.ports.evalset, [Job(case, context) for case in runnable], ended)
    report = RegressionReport(started, workspace.now(), tuple(found[case.id] for case in chosen))
    with workspace.transaction() as plan:
        told = report.as_json()
        plan.event("regression", **{**told, "results": [asdict(result) for result in report.results[:JOURNALED]]})
    return report


def _chosen(listed: Sequence[EvalCase], sample: int) -> list[EvalCase]:
    newest = sorted(listed, key=age, reverse=True)
    ordered = [case for kind in ("win", "failure") for case in newest if case.kind == kind]
    return ordered[:sample] if sample else ordered


def _result(case: EvalCase, one: Replayed, margins: Margins) -> CaseResult:
    status = status_of(one, margins)
    missing = one.missing if one.deltas else ()
    return CaseResult(case.id, case.kind, case.session_id, status, one.session_id, one.deltas, one.why_not, missing)
