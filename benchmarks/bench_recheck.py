"""What happens to a promoted rule whose effect is known: how often and how soon a watch opens a recheck, how it ends.

    python benchmarks/bench_recheck.py [--repeats 200] [--seed 1]

Outcomes are a pass rate of 0.45 without the rule, units without tasks in common. Prints the tables of docs/evidence.md.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence

from ruleproof.core.evidence.intervals import wilson
from ruleproof.core.evidence.operating import Life, recheck_once, watch_once

RATE, PROMOTED_WITH = 0.45, 0.25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"\n### The first recheck of a rule, half withheld, at most 2,000 sessions ({options.repeats} lives a row)\n")
    print("| effect now | kept: it helps | kept: undecided | retired: too small | retired: harm | median sessions |")
    print("|---|---|---|---|---|---|", flush=True)
    for effect in (0.25, 0.1, 0.05, 0.0, -0.1, -0.25):
        print(_rechecks(Life(RATE, effect), options.repeats, options.seed), flush=True)
    print(f"\n### A watch since a promotion at {PROMOTED_WITH:+.2f}, 2,000 sessions ({options.repeats} lives a row)\n")
    print("| withheld | effect now | recheck opened | 95 % limits | median sessions | four in five by |")
    print("|---|---|---|---|---|---|", flush=True)
    for holdout in (0.1, 0.3):
        for effect in (0.25, 0.125, 0.0, -0.25):
            print(_watches(Life(RATE, effect, holdout), options.repeats, options.seed), flush=True)
    return 0


def _rechecks(life: Life, repeats: int, seed: int) -> str:
    uniform = random.Random(seed).random
    ends = [recheck_once(life, uniform) for _ in range(repeats)]
    counts = Counter("undecided" if ending == "kept" and at == life.most else ending for ending, at in ends)
    shares = [f"{counts[name] / repeats:.1%}" for name in ("kept", "undecided", "inconclusive", "retired")]
    return f"| {life.effect:+.2f} | {' | '.join(shares)} | {_quantile([at for _, at in ends], repeats, 0.5)} |"


def _watches(life: Life, repeats: int, seed: int) -> str:
    uniform = random.Random(seed).random
    opened = [at for _ in range(repeats) if (at := watch_once(life, PROMOTED_WITH, uniform)) is not None]
    low, high = wilson(len(opened), repeats)
    by = [_quantile(opened, repeats, chance) for chance in (0.5, 0.8)]
    share = len(opened) / repeats
    return f"| {life.holdout:.0%} | {life.effect:+.3f} | {share:.1%} | {low:.1%} - {high:.1%} | {by[0]} | {by[1]} |"


def _quantile(values: Sequence[int], repeats: int, chance: float) -> str:
    ordered, place = sorted(values), int(chance * repeats)
    return str(ordered[place]) if place < len(ordered) else "-"


if __name__ == "__main__":
    raise SystemExit(main())
