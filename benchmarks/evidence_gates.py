"""What bench_evidence.py compares: recorded outcomes, the gates of others, and agents with noisy graded metrics.

Every function of the form (spec, repeats, uniform) runs that many trials and returns a tally; they run in processes of
their own.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, Unit
from ruleproof.core.evidence.binary import TwoSample
from ruleproof.core.evidence.caserounds import CaseRound, Replay
from ruleproof.core.evidence.exact import binomial_pmf, binomial_tail, mcnemar
from ruleproof.core.evidence.paired import PairedPolicy, PairedState
from ruleproof.core.evidence.stream import Stream
from ruleproof.core.simulate import ForwardSpec, Outcomes, PairsSpec, Tally, shifted

PARTS = 8
"""Every row is cut into so many parts, each with its own seed, so that the table does not depend on the workers."""

Job = tuple[Callable[..., Any], Any, int, int]


def run(job: Job) -> Any:
    function, spec, repeats, seed = job
    return function(spec, repeats, random.Random(seed).random)


class Bench:
    """Runs rows in parallel and adds their parts up."""

    def __init__(self, repeats: int, seed: int, pool: Any) -> None:
        self.repeats, self.seed, self._pool = repeats, seed, pool

    def row(self, function: Callable[..., Any], spec: Any, repeats: int | None = None) -> Any:
        repeats = repeats or self.repeats
        sizes = [repeats // PARTS + (part < repeats % PARTS) for part in range(PARTS)]
        jobs = [(function, spec, size, self.seed * 1000 + part) for part, size in enumerate(sizes) if size]
        parts = list(self._pool.imap(run, jobs))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def airline(data: Path) -> Outcomes:
    """200 sessions of one agent: 50 tasks, 4 runs each, 84 passed."""
    tasks: dict[int, list[float]] = {}
    for session in json.loads((data / "tau_bench" / "gpt-4o-airline.json").read_text(encoding="utf-8")):
        tasks.setdefault(session["task_id"], []).append(float(session["reward"]))
    return Outcomes(tuple(tuple(tasks[task]) for task in sorted(tasks)))


def queries(data: Path) -> tuple[tuple[float, float], ...]:
    """1,034 SQL tasks without and with an intervention; solved = full reward."""
    with (data / "intercode" / "gpt35_schema_in_prompt.csv").open(encoding="utf-8") as lines:
        return tuple(
            (float(float(row["control_reward"]) >= 1), float(float(row["treated_reward"]) >= 1))
            for row in csv.DictReader(lines)
        )


def peek_z(spec: ForwardSpec, repeats: int, uniform: Callable[[], float]) -> Tally:
    """A two-sample z-test at 1.96 that is looked at after every pair of sessions."""
    promoted = retired = 0
    decided: list[int] = []
    for _ in range(repeats):
        hits, centre = [0.0, 0.0], spec.outcomes.mean
        for n in range(1, spec.horizon // 2 + 1):
            hits[0] += shifted(draw(spec.outcomes, uniform), spec.effect, centre, uniform)
            hits[1] += draw(spec.outcomes, uniform)
            pooled = (hits[0] + hits[1]) / (2 * n)
            noise = (2 * pooled * (1 - pooled) / n) ** 0.5
            if n >= 5 and noise and abs(hits[0] - hits[1]) / n >= 1.96 * noise:
                promoted += hits[0] > hits[1]
                retired += hits[0] < hits[1]
                decided.append(2 * n)
                break
    return Tally(repeats, promoted, retired, tuple(decided))


def plain_two_sample(spec: ForwardSpec, repeats: int, uniform: Callable[[], float]) -> Tally:
    """The two-sample e-process on pairs of one shown and one withheld session, no tasks."""
    promoted = retired = 0
    decided: list[int] = []
    for _ in range(repeats):
        helps, harms, centre = TwoSample(), TwoSample(), spec.outcomes.mean
        for n in range(1, spec.horizon // 2 + 1):
            shown = int(shifted(draw(spec.outcomes, uniform), spec.effect, centre, uniform))
            withheld = int(draw(spec.outcomes, uniform))
            helps.add_block(shown, 1, withheld, 1)
            harms.add_block(withheld, 1, shown, 1)
            if max(helps.e_value, harms.e_value) >= 20:
                promoted += helps.e_value >= 20
                retired += helps.e_value < 20
                decided.append(2 * n)
                break
    return Tally(repeats, promoted, retired, tuple(decided))


def plug_in_pairs(spec: PairsSpec, repeats: int, uniform: Callable[[], float]) -> Tally:
    """A plain plug-in bet on the discordant pairs: the share of gains so far, Laplace-smoothed, at least one half."""
    promoted = 0
    decided: list[int] = []
    for _ in range(repeats):
        gains, losses, capital = 0, 0, 1.0
        for at in range(1, spec.horizon + 1):
            control, treated = spec.pairs[int(uniform() * len(spec.pairs))]
            if control != treated:
                share = max(0.5, (gains + 1) / (gains + losses + 2))
                capital *= 2 * (share if treated > control else 1 - share)
                gains, losses = gains + (treated > control), losses + (treated < control)
            if capital >= 1 / spec.level:
                promoted += 1
                decided.append(at)
                break
    return Tally(repeats, promoted, 0, tuple(decided))


def mcnemar_once(spec: PairsSpec, repeats: int, uniform: Callable[[], float]) -> Tally:
    """The exact McNemar test, once, at the horizon."""
    promoted = 0
    for _ in range(repeats):
        drawn = [spec.pairs[int(uniform() * len(spec.pairs))] for _ in range(spec.horizon)]
        gained, lost = sum(t > c for c, t in drawn), sum(t < c for c, t in drawn)
        promoted += mcnemar(gained, lost) <= spec.level
    return Tally(repeats, promoted, 0, (spec.horizon,) * promoted)


def replay_gate(spec: tuple[Outcomes, int, int], repeats: int, uniform: Callable[[], float]) -> Tally:
    """One replay of each of some failures and wins against one record each, margins 0.05: a rule that does nothing."""
    outcomes, failures, wins = spec
    promoted = 0
    for _ in range(repeats):
        gained = [replayed(outcomes, 0.0, uniform) for _ in range(failures)]
        kept = [replayed(outcomes, 1.0, uniform) for _ in range(wins)]
        promoted += any(gained) and all(kept)
    return Tally(repeats, promoted, repeats - promoted, ())


def replayed(outcomes: Outcomes, recorded: float, uniform: Callable[[], float]) -> float:
    """Another run of the task of a session that was recorded with this outcome."""
    while True:
        task = outcomes.tasks[int(uniform() * len(outcomes.tasks))]
        if task[int(uniform() * len(task))] == recorded:
            return task[int(uniform() * len(task))]


def draw(outcomes: Outcomes, uniform: Callable[[], float]) -> float:
    task = outcomes.tasks[int(uniform() * len(outcomes.tasks))]
    return task[int(uniform() * len(task))]


def graded_replays(spec: dict[str, Any], repeats: int, uniform: Callable[[], float]) -> Tally:
    """Rounds of 3 failures (mean 0.3) and 2 wins (mean 0.8), two metrics with noise `sd`; failures rise by `effect`."""
    chance = random.Random(int(uniform() * 2**53))
    promoted = retired = 0
    decided: list[int] = []

    def runs(mean_: float, shift: float) -> tuple[Replay, ...]:
        def value(centre: float) -> float:
            return min(1.0, max(0.0, chance.gauss(centre, spec["sd"])))

        return tuple(Replay({"outcome": value(mean_ + shift), "tone": value(0.6)}) for _ in range(spec["repeats"]))

    for _ in range(repeats):
        state = PairedState(PairedPolicy())
        for round_ in range(spec["rounds"]):
            for place in range(5):
                kind: Literal["failure", "win"] = "failure" if place < 3 else "win"
                centre, shift = (0.3, spec["effect"]) if place < 3 else (0.8, 0.0)
                state.add(CaseRound(f"c{place}", kind, runs(centre, shift), runs(centre, 0.0)))
            outcome = state.look(spec["level"])
            if outcome in ("promote", "retire"):
                promoted += outcome == "promote"
                retired += outcome == "retire"
                decided.append(round_ + 1)
                break
    return Tally(repeats, promoted, retired, tuple(decided))


def graded_sessions(spec: dict[str, float], repeats: int, uniform: Callable[[], float]) -> Tally:
    """Forward trials, horizon 500, on a metric with a normal spread `sd` around 0.5, raised by `effect` when shown."""
    chance = random.Random(int(uniform() * 2**53))
    promoted = retired = 0
    decided: list[int] = []
    for _ in range(repeats):
        state = AnytimeState(AnytimePolicy())
        for at in range(1, 501):
            shown = chance.random() < 0.5
            value = min(1.0, max(0.0, chance.gauss(0.5 + (spec["effect"] if shown else 0.0), spec["sd"])))
            state.add(Unit(str(at), "shown" if shown else "withheld", value))
            if max(state.e_help, state.e_harm) >= 20:
                outcome = state.verdict(0.05).outcome
                if outcome in ("promote", "retire"):
                    promoted += outcome == "promote"
                    retired += outcome == "retire"
                    decided.append(at)
                    break
    return Tally(repeats, promoted, retired, tuple(decided))


def graded_gate(spec: dict[str, Any], repeats: int, uniform: Callable[[], float]) -> Tally:
    """The replay gate of fixed margins on the same noise: one replay a case against one record."""
    chance = random.Random(int(uniform() * 2**53))
    promoted = 0
    for _ in range(repeats):
        worst, best = 1.0, -1.0
        for place in range(5):
            target = chance.gauss(0, spec["sd"]) - chance.gauss(0, spec["sd"]) + (spec["effect"] if place < 3 else 0.0)
            tone = chance.gauss(0, spec["sd"]) - chance.gauss(0, spec["sd"])
            worst = min(worst, target, tone)
            best = max(best, target) if place < 3 else best
        promoted += worst > -0.05 and best >= 0.05
    return Tally(repeats, promoted, repeats - promoted, ())


def coverage(spec: tuple[Outcomes, float, bool], repeats: int, uniform: Callable[[], float]) -> Tally:
    """How often the 95 % confidence sequence misses the effect at any of 20 looks over 500 sessions (`retired`)."""
    outcomes, effect, tasks = spec
    missed, widths = 0, []
    for _ in range(repeats):
        stream, wrong = Stream(0.5), False
        for at in range(1, 501):
            place = int(uniform() * len(outcomes.tasks))
            task = outcomes.tasks[place]
            value, shown = task[int(uniform() * len(task))], uniform() < 0.5
            if shown:
                value = shifted(value, effect, outcomes.mean, uniform)
            stream.add("shown" if shown else "withheld", str(place) if tasks else None, value)
            if at % 25 == 0:
                low, high = stream.payoffs.interval()
                wrong = wrong or not low <= effect <= high
        missed += wrong
        widths.append(round(1000 * (high - low)))
    return Tally(repeats, 0, missed, tuple(widths))


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n### {title}\n\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def rates(tally: Tally) -> tuple[str, str, str]:
    share, low, high = tally.share(tally.promoted)
    return percent(share), f"{percent(low)} - {percent(high)}", percent(tally.retired / tally.repeats)


def above(count: int, tally: Tally) -> str:
    return f"{binomial_tail(count, tally.repeats, 0.05):.2g}"


def waits(tally: Tally, horizon: int) -> str:
    undecided = tally.repeats - len(tally.decided_at)
    average = (sum(tally.decided_at) + horizon * undecided) / tally.repeats
    median, most = tally.quantile(0.5), tally.quantile(0.8)
    more = ">" if undecided else ""
    return f"{median or f'> {horizon}'} / {more}{average:.0f} / {most or f'> {horizon}'}"


def mcnemar_power(pairs: int, gain: float, loss: float, level: float) -> float:
    """Chance that the exact one-sided McNemar test at `level` on `pairs` pairs finds the gain."""
    power = 0.0
    discordant = gain + loss
    for n in range(pairs + 1):
        chance = binomial_pmf(n, pairs, discordant)
        if chance < 1e-12:
            continue
        needed = next((k for k in range(n + 2) if k > n or mcnemar(k, n - k) <= level), n + 1)
        power += chance * (binomial_tail(needed, n, gain / discordant) if needed <= n else 0.0)
    return power


def mcnemar_size(gain: float, loss: float, level: float) -> int:
    high = 8
    while mcnemar_power(high, gain, loss, level) < 0.8:
        high = int(high * 1.25) + 1
    low = int(high / 1.25) - 1
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if mcnemar_power(middle, gain, loss, level) >= 0.8 else (middle, high)
    return high
