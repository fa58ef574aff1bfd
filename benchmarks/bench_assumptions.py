"""What the error rates rest on, taken away: scores that go missing, repeats that are copies; and the harness itself.

    python benchmarks/bench_assumptions.py [--repeats 400] [--seed 1] [--workers 2] [--only one table]

Seeded: the same arguments print the same tables. The last table opens temporary workspaces; nothing else is written.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Literal

from evidence_gates import Bench, percent, rates, table

from ruleproof import Harness, HarnessConfig
from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, Unit
from ruleproof.core.evidence.caserounds import CaseKind, CaseRound, Replay
from ruleproof.core.evidence.effects import dropout_evidence
from ruleproof.core.evidence.paired import PairedPolicy, PairedState
from ruleproof.core.simulate import Tally
from ruleproof.engine.errorbudget import joint_level

Decided = Literal["promote", "retire"]
FIRST_OF_MANY = 0.0045
"""About the level of the first rule in an error budget of 5 %."""


def tally(one: Callable[[random.Random], tuple[Decided | None, int]], repeats: int, uniform: Any) -> Tally:
    """`repeats` trials, each (what was decided, when)."""
    chance = random.Random(int(uniform() * 2**53))
    found = [one(chance) for _ in range(repeats)]
    outcomes = [outcome for outcome, _ in found]
    at = tuple(when for outcome, when in found if outcome)
    return Tally(repeats, outcomes.count("promote"), outcomes.count("retire"), at)


def lost_scores(spec: tuple[float, float, bool], repeats: int, uniform: Any) -> Tally:
    """A useless rule, pass rate 0.45, 400 sessions; a session that saw it and failed loses its score with a chance."""
    share, level, guarded = spec

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        state, missing = AnytimeState(AnytimePolicy()), {"shown": 0, "withheld": 0}
        for at in range(1, 401):
            shown, value = chance.random() < 0.5, float(chance.random() < 0.45)
            lost = shown and not value and chance.random() < share
            arm: Literal["shown", "withheld"] = "shown" if shown else "withheld"
            missing[arm] += lost
            state.add(Unit(str(at), arm, None if lost else value))
            if state.e_help < 1.0 / level:
                continue
            if not guarded and dropout_evidence(missing, 0.5) < 100.0:
                return "promote", at
            if guarded and state.verdict(level).outcome == "promote":
                return "promote", at
        return None, 0

    return tally(one, repeats, uniform)


def rescued(guarded: bool, repeats: int, uniform: Any) -> Tally:
    """A rule that lifts hard sessions from 0.05 to 0.55; how polished an answer is, is scored where a session passed.

    Easy sessions (0.95 pass with it or without) are polished at 0.9, hard ones at 0.6: no session loses polish.
    """

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        state = AnytimeState(AnytimePolicy())
        for at in range(1, 601):
            shown, easy = chance.random() < 0.5, chance.random() < 0.4
            passes = chance.random() < (0.95 if easy else 0.55 if shown else 0.05)
            polish = min(1.0, max(0.0, chance.gauss(0.9 if easy else 0.6, 0.15)))
            metrics = {"polish": polish} if passes else {}
            state.add(Unit(str(at), "shown" if shown else "withheld", float(passes), metrics=metrics))
            if at % 5:
                continue
            found = state.verdict(FIRST_OF_MANY)
            if not guarded and next((row.e_down >= 40.0 for row in found.rows if row.name == "polish"), False):
                return "retire", at
            if found.outcome in ("promote", "retire"):
                return found.outcome, at  # type: ignore[return-value]
        return None, 0

    return tally(one, repeats, uniform)


def lost_replays(spec: tuple[float, float, float], repeats: int, uniform: Any) -> Tally:
    """A useless rule, up to 13 rounds of 3 failures and 2 steady wins, 5 repeats; treated replays that fail lose their
    score with a chance.
    """
    level, rate, share = spec

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        def runs(lost: float) -> tuple[Replay, ...]:
            values = [float(chance.random() < rate) for _ in range(5)]
            return tuple(Replay({} if not value and chance.random() < lost else {"outcome": value}) for value in values)

        state, steady = PairedState(PairedPolicy()), (Replay({"outcome": 1.0}),) * 5
        for round_ in range(1, 14):
            for place in range(3):
                state.add(CaseRound(f"f{place}", "failure", runs(share), runs(0.0)))
            for place in range(2):
                state.add(CaseRound(f"w{place}", "win", steady, steady))
            outcome = state.look(level)
            if outcome in ("promote", "retire"):
                return outcome, round_  # type: ignore[return-value]
        return None, 0

    return tally(one, repeats, uniform)


def copies(spec: tuple[float, float, float, int, int, bool], repeats: int, uniform: Any) -> Tally:
    """Every repeat is a copy of the first. Whatever stands in the prompt anew mends a failure with chance `rise` and
    breaks a win with chance `fall`; the rule mends failures with chance `mends` besides. Up to four rounds of five
    repeats.
    """
    rise, fall, mends, failures, wins, guarded = spec

    def case(name: str, kind: CaseKind, before: float, after: float) -> CaseRound:
        return CaseRound(name, kind, (Replay({"outcome": after}),) * 5, (Replay({"outcome": before}),) * 5)

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        rises = [chance.random() < rise or chance.random() < mends for _ in range(failures)]
        falls = [chance.random() < fall for _ in range(wins)]
        cases = [case(f"f{place}", "failure", 0.0, float(rose)) for place, rose in enumerate(rises)]
        cases += [case(f"w{place}", "win", 1.0, float(not fell)) for place, fell in enumerate(falls)]
        state = PairedState(PairedPolicy())
        for round_ in range(1, 5):
            for each in cases:
                state.add(each)
            found = state.verdict(FIRST_OF_MANY)
            if found.outcome == "retire":
                return "retire", round_
            if found.outcome == "promote" or (not guarded and found.e_help >= 1.0 / FIRST_OF_MANY):
                return "promote", round_
        return None, 0

    return tally(one, repeats, uniform)


def both_kinds(spec: tuple[float, float, bool], repeats: int, uniform: Any) -> Tally:
    """400 sessions, pass rate 0.4, half withheld, and every 40 of them a round of replays (3 failures at 0.4 and 2 wins
    at 0.8, 5 repeats), five rounds in all; each kind of evidence decides with what the other lends.
    """
    level, effect, replays = spec

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        def runs(rate: float) -> tuple[Replay, ...]:
            return tuple(Replay({"outcome": float(chance.random() < rate)}) for _ in range(5))

        sessions, rounds = AnytimeState(AnytimePolicy()), PairedState(PairedPolicy())
        lent = 1.0
        for at in range(1, 401):
            if replays and at % 40 == 1 and at < 200:
                for place in range(3):
                    rounds.add(CaseRound(f"f{place}", "failure", runs(0.4 + effect), runs(0.4)))
                for place in range(2):
                    rounds.add(CaseRound(f"w{place}", "win", runs(0.8), runs(0.8)))
                outcome = rounds.look(joint_level(level, sessions.e_lent, 0.05))
                if outcome in ("promote", "retire"):
                    return outcome, at  # type: ignore[return-value]
                lent = rounds.e_lent
            shown = chance.random() < 0.5
            value = float(chance.random() < 0.4 + effect * shown)
            sessions.add(Unit(str(at), "shown" if shown else "withheld", value))
            now = joint_level(level, lent, 0.05)
            if sessions.e_harm >= 20.0 or sessions.e_help >= 1.0 / now:
                found = sessions.verdict(now).outcome
                if found in ("promote", "retire"):
                    return found, at  # type: ignore[return-value]
        return None, 0

    return tally(one, repeats, uniform)


def live(spec: tuple[float, bool], repeats: int, uniform: Any) -> Tally:
    """160 sessions of five tasks through two harness objects on one folder, as two processes have it; the engine
    decides, at level 0.05.
    """
    effect, by_task = spec
    logging.disable(logging.CRITICAL)

    def one(chance: random.Random) -> tuple[Decided | None, int]:
        with tempfile.TemporaryDirectory() as folder:
            return asyncio.run(live_trial(Path(folder), effect, by_task, chance))

    return tally(one, repeats, uniform)


async def live_trial(folder: Path, effect: float, by_task: bool, chance: random.Random) -> tuple[Decided | None, int]:
    config = HarnessConfig(
        harness_root=folder, rule_trial_policy="anytime", rule_holdout=0.5, durability="os", rule_trial_alpha=0.55,
        circuit_breaker_max_notices=0, rule_trial_most_sessions=10_000,
    )  # fmt: skip
    desks = (Harness.create(config), Harness.create(config))
    easy = [chance.random() for _ in range(5)]

    def session(number: int, rule: Any) -> None:
        desk, place = chance.choice(desks), chance.randrange(5)
        task = f"t{place}" if by_task else None
        with desk.turn(f"s{number}", task_id=task):
            shown = rule is not None and rule.id in desk.context().rules
        rate = min(1.0, max(0.0, easy[place] + effect * shown))
        desk.report(f"s{number}", {"outcome": float(chance.random() < rate)}, task_id=task)

    try:
        for number in range(25):
            session(number, None)
        rule = desks[0].rules.add("Say what was done.", metric="outcome")
        for number in range(25, 185):
            session(number, rule)
            for found in await desks[0].validate_candidates():
                if found.decided:
                    return found.outcome, number - 24  # type: ignore[return-value]
        return None, 0
    finally:
        for desk in desks:
            desk.close()


def missing_sessions(bench: Bench) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for level in (0.05, FIRST_OF_MANY):
            for share in (0.0, 0.1, 0.3, 0.6, 1.0):
                found = bench.row(lost_scores, (share, level, True))
                counts = bench.row(lost_scores, (share, level, False))
                yield level, f"{share:.0%}", *rates(found)[:2], percent(counts.promoted / counts.repeats)

    heads = ("level", "failures that lose their score", "promoted", "95 % limits", "by bets and counts of the missing")
    table(f"A useless rule whose failing sessions lose their score ({bench.repeats} trials a row)", heads, rows())

    def metrics() -> Iterator[Sequence[object]]:
        for words, guarded in (("as it decides", True), ("by bets alone", False)):
            found = bench.row(rescued, guarded)
            yield words, percent(found.promoted / found.repeats), percent(found.retired / found.repeats)

    table(
        f"A rule that rescues sessions, and a metric that only passing ones have ({bench.repeats} trials a row)",
        ("decision", "promoted", "retired"),
        metrics(),
    )


def missing_replays(bench: Bench) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for level in (0.05, FIRST_OF_MANY):
            for rate in (0.3, 0.6):
                for share in (0.0, 0.5, 1.0):
                    found = bench.row(lost_replays, (level, rate, share))
                    yield level, rate, f"{share:.0%}", *rates(found)

    heads = ("level", "pass rate", "failed treated replays that lose their score", "promoted", "95 % limits", "retired")
    table(f"A useless rule whose failing replays lose their score ({bench.repeats} trials a row)", heads, rows())


def steady_agents(bench: Bench) -> None:
    jolts = ((0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.42, 0.42), (0.6, 0.6), (0.67, 0.17))

    def rows() -> Iterator[Sequence[object]]:
        for mends in (0.0, 0.9):
            for rise, fall in jolts[1:] if mends == 0.0 else jolts[:3]:
                for failures, wins in ((3, 2), (3, 0), (9, 6)):
                    found = bench.row(copies, (rise, fall, mends, failures, wins, True))
                    alone = bench.row(copies, (rise, fall, mends, failures, wins, False))
                    yield (
                        f"{mends:.0%}", f"{rise:.0%}, {fall:.0%}", f"{failures} + {wins}", *rates(found),
                        percent(alone.promoted / alone.repeats),
                    )  # fmt: skip

    heads = (
        "failures it mends", "any text mends, breaks", "failures + wins", "promoted", "95 % limits", "retired",
        "promoted by bets alone",
    )  # fmt: skip
    table(f"An agent without noise: repeats are copies ({bench.repeats} trials a row)", heads, rows())


def together(bench: Bench) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for effect in (0.0, 0.15, 0.25):
            for level in (0.05, FIRST_OF_MANY):
                for words, replays in (("sessions", False), ("sessions and replays", True)):
                    found = bench.row(both_kinds, (level, effect, replays))
                    yield f"{effect:+.2f}", level, words, *rates(found), found.quantile(0.5) or "-"

    heads = ("effect", "level", "evidence", "promoted", "95 % limits", "retired", "median sessions")
    table(f"Replays and sessions of one rule, which pay once ({bench.repeats} trials a row)", heads, rows())


def the_harness(bench: Bench) -> None:
    def rows() -> Iterator[Sequence[object]]:
        for words, by_task in (("blocked by task", True), ("no tasks", False)):
            for effect, share in ((0.0, 1), (0.35, 4), (-0.35, 4)):
                found = bench.row(live, (effect, by_task), max(1, bench.repeats // share))
                yield f"{effect:+.2f}", words, found.repeats, *rates(found), found.quantile(0.5) or "-"

    heads = ("effect", "sessions", "trials", "promoted", "95 % limits", "retired", "median sessions")
    table("Trials of 160 sessions through the harness itself, a look after each, level 0.05", heads, rows())


TABLES = (missing_sessions, missing_replays, steady_agents, together, the_harness)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=[each.__name__ for each in TABLES])
    options = parser.parse_args()
    start = time.perf_counter()
    with Pool(options.workers) as pool:
        bench = Bench(options.repeats, options.seed, pool)
        for each in TABLES:
            if options.only in (None, each.__name__):
                each(bench)
    print(f"\n{options.repeats} repeats, seed {options.seed}, {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
