"""Error rates, power and price of every gate, on recorded outcomes: the tables of docs/evidence.md, in one run.

    RULEPROOF_DATA=path/to/data python benchmarks/bench_evidence.py

Options: --repeats 2000, --seed 1, --workers 2, --only one table.

Seeded: the same arguments print the same tables (the speed table excepted). Nothing is written.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path
from statistics import mean
from typing import Any

from evidence_gates import (
    Bench,
    above,
    airline,
    coverage,
    graded_gate,
    graded_replays,
    graded_sessions,
    mcnemar_once,
    mcnemar_size,
    peek_z,
    percent,
    plain_two_sample,
    plug_in_pairs,
    queries,
    rates,
    replay_gate,
    table,
    waits,
)

from ruleproof.core.evidence.anytime import AnytimePolicy, Unit, fold
from ruleproof.core.evidence.budget import level as budget_level
from ruleproof.core.evidence.exact import binomial_tail, fisher_size
from ruleproof.core.evidence.forecast import forecast_pairs, forecast_sessions
from ruleproof.core.evidence.paired import PairedPolicy
from ruleproof.core.evidence.pretest import false_promotion_chance, fixed_gate_passes
from ruleproof.core.simulate import (
    FamilySpec,
    FamilyTally,
    FixedSpec,
    ForwardSpec,
    PairsSpec,
    Tally,
    base_rate,
    simulate_family,
    simulate_fixed,
    simulate_forward,
    simulate_pairs,
)

BASE = 0.42
EFFECTS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
LAST_OF_TWENTY = budget_level(20, 0)


def false_promotions(bench: Bench, data: Path) -> None:
    """A rule that does nothing, on recorded outcomes."""
    outcomes = airline(data)

    def rows() -> Iterator[Sequence[object]]:
        named = {"session": "drawn by session", "task": "drawn by task", "blocked": "blocked by task"}
        for kind, words in named.items():
            spec = ForwardSpec(outcomes, 0.0, 500, kind)  # type: ignore[arg-type]
            tally = bench.row(simulate_forward, spec)
            yield (
                f"anytime, a look after every session, horizon 500, {words}",
                *rates(tally),
                above(tally.promoted, tally),
            )
        for baseline in (0, 5, 20, 100):
            for sessions in (5, 20, 50) if baseline == 20 else (5,):
                tally = bench.row(simulate_fixed, FixedSpec(outcomes, 0.0, sessions=sessions, baseline=baseline))
                known = f"baseline from {baseline} sessions" if baseline else "no history (baseline 1.0)"
                yield f"fixed forward gate, n = {sessions}, {known}", *rates(tally), above(tally.promoted, tally)
        for failures, wins in ((3, 2), (3, 0)):
            tally = bench.row(replay_gate, (outcomes, failures, wins))
            yield f"fixed replay gate, {failures} failures + {wins} wins", *rates(tally), above(tally.promoted, tally)
        tally = bench.row(peek_z, ForwardSpec(outcomes, 0.0, 500))
        yield (
            "two-sample z >= 1.96, looked at after every pair, horizon 500",
            *rates(tally),
            above(tally.promoted, tally),
        )

    heads = ("gate", "promoted", "95 % limits", "retired", "P(so many or more at 5 %)")
    table(f"A useless rule ({bench.repeats} trials a row)", heads, rows())


def twenty_rules(bench: Bench, data: Path) -> None:
    outcomes = airline(data)

    def rows() -> Iterator[Sequence[object]]:
        for words, effects, horizon, repeats in (
            ("20 useless", (0.0,) * 20, 500, bench.repeats),
            (
                "17 useless, 3 of +0.30",
                (*(0.0, 0.0, 0.0, 0.0, 0.0, 0.3) * 3, 0.0, 0.0),
                1000,
                max(1, bench.repeats // 4),
            ),
        ):
            for kind in ("session", "task"):
                spec = FamilySpec(outcomes, effects, horizon, kind)  # type: ignore[arg-type]
                tally: FamilyTally = bench.row(simulate_family, spec, repeats)
                rate, useful = tally.false_share / tally.repeats, sum(effect > 0 for effect in effects)
                found = percent(tally.useful / tally.repeats / useful) if useful else "-"
                chance = f"{binomial_tail(tally.any_false, tally.repeats, 0.05):.2g}"
                any_false = percent(tally.any_false / tally.repeats)
                yield words, horizon, kind, repeats, percent(rate), any_false, chance, found

    heads = (
        "rules", "horizon", "drawn by", "families", "false discovery rate", "any useless promoted", "P(at 5 %)",
        "useful found",
    )  # fmt: skip
    table("Twenty rules tried together on the same sessions, one budget of 5 %", heads, rows())


def harm(bench: Bench, data: Path) -> None:
    outcomes = airline(data)

    def rows() -> Iterator[Sequence[object]]:
        for effect, horizon in ((-0.25, 500), (-0.15, 500), (-0.15, 800)):
            spec = ForwardSpec(outcomes, effect, horizon)
            yield line("plain two-sample e-process, unpaired", bench.row(plain_two_sample, spec), effect, horizon)
            for kind, words in (("session", "unpaired"), ("task", "paired by task"), ("blocked", "blocked by task")):
                tally = bench.row(simulate_forward, replace(spec, draw=kind))
                yield line(f"anytime, {words}", tally, effect, horizon)

    def line(words: str, tally: Tally, effect: float, horizon: int) -> Sequence[object]:
        retired, promoted = percent(tally.retired / tally.repeats), percent(tally.promoted / tally.repeats)
        return (
            f"{effect:+.2f}",
            horizon,
            words,
            retired,
            promoted,
            tally.quantile(0.5) or "-",
            tally.quantile(0.8) or "-",
        )

    heads = ("effect", "within", "test", "retired", "promoted", "median sessions", "four in five by")
    table(f"A harmful rule, pass rate 0.42, half withheld ({bench.repeats} trials a row)", heads, rows())


def power_on_pairs(bench: Bench, data: Path) -> None:
    pairs = queries(data)

    def rows() -> Iterator[Sequence[object]]:
        spec = PairsSpec(pairs, 60)
        yield "paired policy, a look after every pair", *line(bench.row(simulate_pairs, spec))
        yield "plain plug-in bet on the discordant pairs", *line(bench.row(plug_in_pairs, spec))
        yield "exact McNemar, once, at 60 pairs", *line(bench.row(mcnemar_once, spec))
        yield "exact McNemar, once, at 31 pairs", *line(bench.row(mcnemar_once, PairsSpec(pairs, 31)))
        both = pairs + tuple((treated, control) for control, treated in pairs)
        yield (
            "paired policy, arms swapped by a coin (useless), 200 pairs",
            *line(bench.row(simulate_pairs, PairsSpec(both, 200))),
        )

    def line(tally: Tally) -> Sequence[object]:
        decided = f"{mean(tally.decided_at):.1f}" if tally.decided_at else "-"
        return percent(tally.promoted / tally.repeats), percent(tally.retired / tally.repeats), decided

    heads = ("test at level 0.05", "promoted", "retired", "mean pairs when decided")
    table(f"Recorded pairs, +26 points ({bench.repeats} trials a row)", heads, rows())


def price_of_looking(bench: Bench, data: Path) -> None:
    outcomes, some = airline(data), max(1, bench.repeats // 5)

    def rows() -> Iterator[Sequence[object]]:
        for effect in EFFECTS:
            cells: list[object] = [f"+{effect:.2f}"]
            for level in (0.05, LAST_OF_TWENTY):
                for kind in ("session", "blocked"):
                    spec = ForwardSpec(outcomes, effect, 6000, kind, level)  # type: ignore[arg-type]
                    cells.append(waits(bench.row(simulate_forward, spec, some), 6000))
                cells.append(2 * fisher_size(BASE + effect, BASE, level))
            yield cells

    heads = (
        "effect", "alone, unpaired", "alone, blocked by task", "Fisher, once, unpaired", "last of 20, unpaired",
        "last of 20, blocked", "Fisher at that level",
    )  # fmt: skip
    table(
        f"Sessions to a verdict from a pass rate of 0.42: median / mean / four in five ({some} trials a row); "
        f"Fisher: sessions for 80 % power; last of 20: level {LAST_OF_TWENTY:.2g}",
        heads,
        rows(),
    )


def price_in_pairs(bench: Bench, data: Path) -> None:
    some = max(1, bench.repeats // 5)

    def rows() -> Iterator[Sequence[object]]:
        for effect in EFFECTS:
            gain, loss = round(1000 * (0.05 + effect)), 50
            pairs = ((0.0, 1.0),) * gain + ((1.0, 0.0),) * loss + ((1.0, 1.0),) * (1000 - gain - loss)
            cells: list[object] = [f"+{effect:.2f}"]
            for level in (0.05, LAST_OF_TWENTY):
                policy = PairedPolicy(most_pairs=100_000)
                spec = PairsSpec(pairs, 1500, level, policy)
                cells += [waits(bench.row(simulate_pairs, spec, some), 1500), mcnemar_size(gain / 1000, 0.05, level)]
            yield cells

    heads = ("effect", "alone", "McNemar, once", "last of 20", "McNemar at that level")
    table(
        f"Pairs to a verdict (5 % lost, 5 % + effect gained): median / mean / four in five ({some} trials a row); "
        "McNemar: pairs for 80 % power",
        heads,
        rows(),
    )


def graded_noise(bench: Bench, data: Path) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for words, effect, sd, repeats, rounds, level in (
            ("useless", 0.0, 0.15, 5, 1, 0.05),
            ("useless, up to 6 rounds", 0.0, 0.15, 5, 6, 0.05),
            ("+0.30", 0.3, 0.15, 5, 1, 0.05),
            ("+0.30", 0.3, 0.15, 3, 1, 0.05),
            ("+0.30, first of many rules", 0.3, 0.15, 5, 1, budget_level(1, 0)),
            ("+0.30, last of 20", 0.3, 0.15, 8, 1, LAST_OF_TWENTY),
            ("+0.20", 0.2, 0.15, 5, 1, 0.05),
            ("+0.20", 0.2, 0.15, 8, 1, 0.05),
            ("+0.15, up to 4 rounds", 0.15, 0.15, 5, 4, 0.05),
            ("+0.30", 0.3, 0.25, 8, 1, 0.05),
        ):
            spec = {"effect": effect, "sd": sd, "repeats": repeats, "rounds": rounds, "level": level}
            tally = bench.row(graded_replays, spec)
            yield (
                f"{words}, sd {sd}",
                repeats,
                f"{level:.2g}",
                percent(tally.promoted / tally.repeats),
                percent(tally.retired / tally.repeats),
            )
        for effect in (0.0, 0.3):
            tally = bench.row(graded_gate, {"effect": effect, "sd": 0.15})
            yield (
                f"fixed replay gate, {effect:+.2f}, sd 0.15",
                1,
                "-",
                *(percent(count / tally.repeats) for count in (tally.promoted, tally.retired)),
            )

    heads = ("3 failures, 2 wins, 2 metrics", "repeats", "level", "promoted", "retired")
    table(f"Graded metrics: identical agents with noise, and true gains ({bench.repeats} trials a row)", heads, rows())


def graded_metrics(bench: Bench, data: Path) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for effect in (0.0, 0.05, 0.10, 0.20, -0.10):
            tally = bench.row(graded_sessions, {"effect": effect, "sd": 0.15})
            shares = [percent(count / tally.repeats) for count in (tally.promoted, tally.retired)]
            yield f"{effect:+.2f}", *shares, tally.quantile(0.5) or "-", tally.quantile(0.8) or "-"

    heads = ("effect", "promoted", "retired", "median sessions", "four in five by")
    table(f"Forward trials on a graded metric, sd 0.15, horizon 500 ({bench.repeats} trials a row)", heads, rows())


def forecasts(bench: Bench, data: Path) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for level in (0.05, LAST_OF_TWENTY):
            for effect in (0.10, 0.15, 0.20, 0.30):
                spec = ForwardSpec(base_rate(BASE), effect, 6000, level=level)
                tally = bench.row(simulate_forward, spec, 1000)
                forecast = forecast_sessions(effect, rate=BASE, level=level)
                yield "sessions", f"+{effect:.2f}", f"{level:.2g}", *line(forecast, tally)
        pairs = ((0.0, 1.0),) * 307 + ((1.0, 0.0),) * 51 + ((1.0, 1.0),) * 642
        tally = bench.row(simulate_pairs, PairsSpec(pairs, 1000), 1000)
        yield "pairs", "+0.256", "0.05", *line(forecast_pairs(0.307, 0.051), tally)

    def line(forecast: Any, tally: Tally) -> Sequence[object]:
        median = tally.quantile(0.5) or 0
        off = percent((forecast.median or 0) / median - 1) if median else "-"
        return forecast.median, median, off, forecast.likely, tally.quantile(0.8)

    heads = (
        "unit",
        "effect",
        "level",
        "forecast median",
        "simulated median",
        "off by",
        "forecast four in five",
        "simulated",
    )
    table("Forecasts beside the median of 1,000 simulated trials", heads, rows())


def intervals(bench: Bench, data: Path) -> None:
    outcomes, some = airline(data), max(1, bench.repeats // 5)

    def rows() -> Iterator[Sequence[object]]:
        for effect in (0.0, 0.15, -0.25):
            for tasks in (False, True):
                tally = bench.row(coverage, (outcomes, effect, tasks), some)
                width = mean(tally.decided_at) / 1000
                yield (
                    f"{effect:+.2f}",
                    "paired by task" if tasks else "unpaired",
                    percent(tally.retired / tally.repeats),
                    f"{width:.3f}",
                )

    heads = ("effect", "sessions", "missed at any of 20 looks", "mean width after 500 sessions")
    table(f"The 95 % confidence sequence ({some} trials a row)", heads, rows())


def told_chances(bench: Bench, data: Path) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for breached, sessions in ((0, 0), (3, 5), (12, 20), (58, 100), (18, 18)):
            for n in (5, 20):
                rate = breached / sessions if sessions else 1.0
                most = max(k for k in range(n + 1) if fixed_gate_passes(k, n, rate, 0.05))
                chance = false_promotion_chance(breached, sessions, n, 0.05)
                yield f"{breached} of {sessions}" if sessions else "no history", n, most, percent(chance)

    heads = ("baseline breaches", "trial sessions", "passes up to", "chance that a useless rule passes")
    table("What a verdict of the fixed gate says of itself", heads, rows())


def speed(bench: Bench, data: Path) -> None:
    def decision(more: bool) -> str:
        chance, took = random.Random(bench.seed), []
        units = [
            Unit(
                f"s{place}",
                "shown" if chance.random() < 0.5 else "withheld",
                float(chance.random() < BASE),
                f"t{place % 50}",
                metrics={"tone": chance.random()} if more else {},
                costs={"tokens": 100.0 * chance.random()} if more else {},
            )
            for place in range(10_000)
        ]
        for _ in range(15):
            start = time.process_time()
            fold(units, AnytimePolicy()).verdict(0.05)
            took.append(time.process_time() - start)
        return f"{1000 * min(took):.0f} ms of processor time (best of 15)"

    start = time.perf_counter()
    bench.row(simulate_forward, ForwardSpec(airline(data), 0.0, 500, "task"), 2000)
    simulated = time.perf_counter() - start
    rows = [
        ("a decision over 10,000 recorded sessions, from nothing, the target alone", decision(more=False)),
        ("the same with one other metric and one cost", decision(more=True)),
        ("2,000 simulated trials x 500 sessions, a look after each", f"{simulated:.1f} s"),
    ]
    table("Speed", ("what", "time"), rows)


TABLES = (
    speed, false_promotions, twenty_rules, harm, power_on_pairs, price_of_looking, price_in_pairs, graded_noise,
    graded_metrics, forecasts, intervals, told_chances,
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=[each.__name__ for each in TABLES])
    options = parser.parse_args()
    folder = os.environ.get("RULEPROOF_DATA")
    if not folder:
        parser.error("RULEPROOF_DATA is not set: it names the folder that holds tau_bench/ and intercode/")
    start = time.perf_counter()
    with Pool(options.workers) as pool:
        bench = Bench(options.repeats, options.seed, pool)
        for each in TABLES:
            if options.only in (None, each.__name__):
                each(bench, Path(folder))
    print(f"\n{options.repeats} repeats, seed {options.seed}, {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
