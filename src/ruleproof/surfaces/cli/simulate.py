"""`ruleproof simulate`: what the gates of your settings do to rules whose effect is known.

Each part of the work has a seed of its own, so that the table does not depend on how many processes made it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.output import Output, Reply, as_value
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.core.problems import Problem
    from ruleproof.core.simulate import FixedSpec, ForwardSpec, Outcomes, ReplaysSpec, Tally

    Spec = FixedSpec | ForwardSpec | ReplaysSpec

EFFECTS = (0.0, 0.1, 0.2, 0.3, -0.2)
PART = 25
"""Repeats of one part."""


@verb(
    "ruleproof simulate --base-rate 0.42",
    "ruleproof simulate --outcomes outcomes.csv --effect 0 --repeats 2000",
    "ruleproof simulate --base-rate 0.42 --horizon 800 --number 20 --jobs 4",
)
def simulate(
    out: Output,
    base_rate: Annotated[float | None, typer.Option(min=0, max=1, help="The pass rate without any rule.")] = None,
    outcomes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded outcomes, a line each: `value` or `task,value`.")
    ] = None,
    effect: Annotated[
        list[float] | None, typer.Option(min=-1, max=1, help="What a rule adds to the mean. May be repeated.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1_000_000, help="Trials of each effect.")] = 500,
    horizon: Annotated[int, typer.Option(min=1, max=100_000, help="Sessions of a trial at most.")] = 500,
    number: Annotated[int, typer.Option(min=0, help="Place in the error budget; 0: alone, with all of it.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same table.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 2,
) -> Reply:
    """Show what each gate does to rules of a known effect.

    The fixed gate and the anytime trial are run as your settings have them, on outcomes drawn from a file or from a
    pass rate; so are paired replays, of three failures and two wins, where replay_policy is paired. Effect 0 is a
    useless rule: whatever is promoted there is a mistake.
    """
    from ruleproof.config import HarnessConfig
    from ruleproof.errors import Refused

    if (base_rate is None) == (outcomes is None):
        raise typer.BadParameter("give one of --base-rate and --outcomes", param_hint="--base-rate")
    drawn, problems = _outcomes(base_rate, outcomes)
    for one in effect or ():
        if not _possible(drawn.mean, one):
            raise Refused(
                f"An effect of {one:g} on a mean outcome of {drawn.mean:.3g} cannot be.",
                hint="Both means must lie in 0 to 1.",
            )
    config = HarnessConfig.load()
    specs = [
        spec
        for one in effect or [one for one in EFFECTS if _possible(drawn.mean, one)]
        for spec in _specs(config, drawn, one, horizon, number, by_task=bool(outcomes))
    ]
    tallies = _run(out, specs, repeats, seed, jobs)
    rows = [_row(spec, tally) for spec, tally in zip(specs, tallies, strict=True)]
    data = {
        "mean": drawn.mean,
        "repeats": repeats,
        "horizon": horizon,
        "seed": seed,
        "number": number,
        "rows": rows,
        "problems": [as_value(problem) for problem in problems],
    }
    return Reply(data, _text(rows, drawn.mean, repeats, horizon), notes=tuple(str(problem) for problem in problems[:5]))


def _possible(mean: float, effect: float) -> bool:
    return -1e-9 <= mean + effect <= 1.0 + 1e-9


def _outcomes(base_rate: float | None, file: Path | None) -> tuple[Outcomes, tuple[Problem, ...]]:
    from ruleproof.codec.outcomes import read_outcomes
    from ruleproof.core.simulate import Outcomes
    from ruleproof.core.simulate import base_rate as rate_of

    if file is None:
        assert base_rate is not None
        return rate_of(base_rate), ()
    try:
        tasks, problems = read_outcomes(file.read_bytes())
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--outcomes") from None
    return Outcomes(tasks), problems


def _specs(
    config: HarnessConfig, drawn: Outcomes, effect: float, horizon: int, number: int, *, by_task: bool
) -> list[Spec]:
    from ruleproof.core.evidence import budget
    from ruleproof.core.evidence.anytime import AnytimePolicy
    from ruleproof.core.evidence.paired import PairedPolicy
    from ruleproof.core.simulate import FixedSpec, ForwardSpec, ReplaysSpec

    alpha = config.rule_trial_alpha
    level = budget.level(number, 0, alpha) if number else alpha
    policy = AnytimePolicy(
        config.rule_holdout or 0.5,
        least_effect=min(config.rule_promote_margin, 0.99),
        most_units=config.rule_trial_most_sessions,
    )
    specs: list[Spec] = [
        FixedSpec(drawn, effect, config.rule_trial_min_sessions, config.rule_promote_margin),
        ForwardSpec(
            drawn,
            effect,
            horizon,
            "task" if by_task and len(drawn.tasks) > 1 else "session",
            level,
            policy,
        ),
    ]
    if config.replay_policy == "paired":
        pairs = PairedPolicy(planned_pairs=config.replay_planned_pairs, most_pairs=config.replay_max_pairs)
        specs.append(ReplaysSpec(drawn, effect, config.replay_repeats, level=level, policy=pairs))
    return specs


@dataclass(frozen=True, slots=True)
class Part:
    """Some repeats of one simulation, with chance of their own."""

    place: int
    spec: Spec
    repeats: int
    seed: str


def run_part(part: Part) -> tuple[int, Tally]:
    """(which simulation, what became of its repeats). Runs in any process."""
    from ruleproof.core.simulate import ForwardSpec, ReplaysSpec, simulate_fixed, simulate_forward, simulate_replays

    uniform = random.Random(part.seed).random
    if isinstance(part.spec, ReplaysSpec):
        return part.place, simulate_replays(part.spec, part.repeats, uniform)
    if isinstance(part.spec, ForwardSpec):
        return part.place, simulate_forward(part.spec, part.repeats, uniform)
    return part.place, simulate_fixed(part.spec, part.repeats, uniform)


def _run(out: Output, specs: Sequence[Spec], repeats: int, seed: int, jobs: int) -> list[Tally]:
    from ruleproof.core.simulate import Tally

    parts = [
        Part(place, spec, min(PART, repeats - begin), f"{seed}/{place}/{begin}")
        for place, spec in enumerate(specs)
        for begin in range(0, repeats, PART)
    ]
    tallies = [Tally() for _ in specs]
    with _results(parts, jobs) as results, out.progress(len(parts), "trials") as progress:
        done = 0
        for number, (place, tally) in enumerate(results, 1):
            tallies[place] += tally
            done += tally.repeats
            progress(number, done)
    return tallies


@contextmanager
def _results(parts: Sequence[Part], jobs: int) -> Iterator[Iterator[tuple[int, Tally]]]:
    if jobs == 1 or len(parts) == 1:
        yield map(run_part, parts)
        return
    with get_context("spawn").Pool(min(jobs, len(parts))) as pool:
        yield pool.imap(run_part, parts)


def _row(spec: Spec, tally: Tally) -> dict[str, object]:
    from ruleproof.core.simulate import FixedSpec, ForwardSpec

    promoted, low, high = tally.share(tally.promoted)
    return {
        "policy": "anytime" if isinstance(spec, ForwardSpec) else "fixed" if isinstance(spec, FixedSpec) else "paired",
        "effect": spec.effect,
        "promoted": promoted,
        "promoted_interval": [low, high],
        "retired": tally.share(tally.retired)[0],
        "half_decided_by": tally.quantile(0.5),
        "four_in_five_decided_by": tally.quantile(0.8),
        "level": None if isinstance(spec, FixedSpec) else spec.level,
    }


def _text(rows: Sequence[dict[str, object]], mean: float, repeats: int, horizon: int) -> str:
    shown: Callable[[object], str] = lambda share: f"{share:.1%}" if isinstance(share, float) else "-"  # noqa: E731
    lines = []
    for row in rows:
        low, high = row["promoted_interval"] if isinstance(row["promoted_interval"], list) else (0.0, 1.0)
        by = [row[name] for name in ("half_decided_by", "four_in_five_decided_by")]
        lines.append(
            (
                f"{row['effect']:+.2f}",
                str(row["policy"]),
                shown(row["promoted"]),
                f"{shown(low)} to {shown(high)}",
                shown(row["retired"]),
                *(value if isinstance(value, int) else None for value in by),
            )
        )
    heads = ("effect", "gate", "promoted", "95 %", "retired", "half by", "4 in 5 by")
    said = (
        f"{repeats:,} trials of each, mean outcome {mean:.2f} without a rule; an anytime trial is looked at after "
        f"every session, up to {horizon:,}. Effect 0 is a useless rule: what is promoted there is a mistake."
    )
    if any(row["policy"] == "paired" for row in rows):
        said += (
            " Paired replays are counted in pairs of failure replays, and looked at after every round, or once at "
            "replay_planned_pairs where that is set."
        )
    return f"{table(heads, lines, whole=1)}\n\n{paragraph(said)}"
