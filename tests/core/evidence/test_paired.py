"""The paired replay policy: what cancels, what is a regression, and what few replays cannot say."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.caserounds import CaseRound, Replay
from ruleproof.core.evidence.exact import mcnemar
from ruleproof.core.evidence.paired import COPIES, LACKING, UNEVEN, PairedPolicy, PairedState, decide_paired
from ruleproof.core.evidence.permutation import BlockBet
from ruleproof.errors import Refused

POLICY = PairedPolicy()


def case(name, treated, control, kind="failure", metric="outcome"):
    return CaseRound(
        name,
        kind,
        tuple(Replay({metric: value}) for value in treated),
        tuple(Replay({metric: value}) for value in control),
    )


def noisy(chance, mean, sd, count):
    return [min(1.0, max(0.0, chance.gauss(mean, sd))) for _ in range(count)]


def graded(effect, repeats, seed=1, sd=0.15):
    chance = random.Random(seed)
    failures = [
        case(f"f{i}", noisy(chance, 0.3 + effect, sd, repeats), noisy(chance, 0.3, sd, repeats)) for i in range(3)
    ]
    wins = [case(f"w{i}", noisy(chance, 0.8, sd, repeats), noisy(chance, 0.8, sd, repeats), "win") for i in range(2)]
    return failures + wins


def test_a_clear_gain_on_the_failures_is_promoted():
    verdict = decide_paired(graded(0.3, 5), POLICY, 0.05)
    assert verdict.outcome == "promote"
    assert verdict.pairs == 15
    assert verdict.effect == pytest.approx(0.3, abs=0.12)
    assert verdict.chance <= 0.05


def test_regression_to_the_mean_is_no_gain():
    """Every failure passes now, with the candidate and without it."""
    verdict = decide_paired([case(f"f{i}", [1.0] * 5, [1.0] * 5) for i in range(3)], POLICY, 0.05)
    assert (verdict.outcome, verdict.e_help, verdict.effect) == ("not_yet", pytest.approx(1.0), 0.0)


def test_an_outage_is_evidence_of_nothing():
    dead = CaseRound("f", "failure", (Replay(), Replay({"outcome": None})), (Replay({"outcome": 1.0}),))
    verdict = decide_paired([dead] * 4, POLICY, 0.05)
    assert (verdict.outcome, verdict.e_help, verdict.pairs, verdict.unusable) == ("not_yet", 1.0, 0, 4)
    assert "no failure case" in verdict.reasons[0]


def test_a_drop_within_the_noise_of_the_metric_is_no_regression():
    chance, cases = random.Random(3), graded(0.3, 5)
    for i in range(2):
        steady = [Replay({"outcome": 0.8, "tone": value}) for value in noisy(chance, 0.55, 0.15, 5)]
        before = [Replay({"outcome": 0.8, "tone": value}) for value in noisy(chance, 0.6, 0.15, 5)]
        cases.append(CaseRound(f"t{i}", "win", tuple(steady), tuple(before)))
    verdict = decide_paired(cases, POLICY, 0.05)
    assert (verdict.outcome, verdict.harmed) == ("promote", ())


def test_a_drop_beyond_the_noise_of_a_metric_retires_and_names_it():
    chance, cases = random.Random(3), graded(0.3, 5)
    for i in range(3):
        worse = [Replay({"outcome": 0.8, "tone": value}) for value in noisy(chance, 0.2, 0.1, 5)]
        before = [Replay({"outcome": 0.8, "tone": value}) for value in noisy(chance, 0.8, 0.1, 5)]
        cases.append(CaseRound(f"t{i}", "win", tuple(worse), tuple(before)))
    verdict = decide_paired(cases, POLICY, 0.05)
    assert (verdict.outcome, verdict.harmed) == ("retire", ("tone",))
    assert "tone" in verdict.reasons[0]


def test_wins_that_are_lost_retire_a_rule_that_helps_its_failures():
    cases = [case(f"f{i}", [1.0], [0.0]) for i in range(8)]
    cases += [case(f"w{i}", [0.0], [1.0], "win") for i in range(10)] + [
        case(f"v{i}", [1.0], [1.0], "win") for i in range(4)
    ]
    verdict = decide_paired(cases, POLICY, 0.05)
    assert (verdict.outcome, verdict.harmed) == ("retire", ("outcome",))


def test_one_ruined_case_holds_a_promotion_up_and_is_named():
    cases = [*graded(0.4, 5), case("w9", [0.2] * 5, [0.9] * 5, "win")]
    verdict = decide_paired(cases, POLICY, 0.05)
    assert verdict.e_help >= 20
    assert verdict.outcome in ("not_yet", "retire")
    assert "outcome in w9" in verdict.suspected


def test_few_replays_are_told_that_they_cannot_decide():
    verdict = decide_paired([case(f"f{i}", [1.0], [0.0]) for i in range(3)], POLICY, 0.05)
    assert verdict.outcome == "not_yet"
    assert any("so few replays" in reason for reason in verdict.reasons)
    assert verdict.pairs_needed is not None


def test_a_useless_rule_is_inconclusive_at_the_limit_of_pairs():
    cases = [case(f"f{i}", [float(i % 2)], [float(i // 2 % 2)]) for i in range(40)]
    assert decide_paired(cases, PairedPolicy(most_pairs=40), 0.05).outcome == "inconclusive"


def test_planned_pairs_are_judged_once_by_the_exact_test():
    policy = PairedPolicy(planned_pairs=10)
    gains = [case(f"f{i}", [1.0], [0.0]) for i in range(6)]
    ties = [case(f"g{i}", [1.0], [1.0]) for i in range(4)]
    early = decide_paired(gains, policy, 0.05)
    assert (early.outcome, early.pairs_needed, early.chance) == ("not_yet", 4, 1.0)
    done = decide_paired(gains + ties, policy, 0.05)
    assert (done.outcome, done.exact_p) == ("promote", mcnemar(6, 0))
    late = decide_paired(gains[:2] + ties + ties + gains, policy, 0.05)
    assert late.outcome == "inconclusive"  # the pairs after the planned ones do not count


def test_costs_are_told_and_a_price_without_a_gain_is_named():
    rounds = [
        CaseRound(
            f"f{i}", "failure",
            tuple(Replay({"outcome": 0.0}, {"tokens": 900.0 + i}) for _ in range(5)),
            tuple(Replay({"outcome": 0.0}, {"tokens": 500.0 + i}) for _ in range(5)),
        )
        for i in range(3)
    ]  # fmt: skip
    verdict = decide_paired(rounds, replace(POLICY, most_pairs=15), 0.05)
    assert verdict.outcome == "inconclusive" and verdict.rows[-1].difference == pytest.approx(400.0)
    assert any("buys nothing measurable, at a price: tokens" in reason for reason in verdict.reasons)


def test_what_is_not_decided_yet_has_a_price_and_is_not_said_to_buy_nothing():
    tokens = (100.0, 140.0)
    rounds = [
        CaseRound(
            f"f{i}", "failure",
            *(
                tuple(Replay({"outcome": float(n < passed)}, {"tokens": tokens[passed > 2]}) for n in range(5))
                for passed in (4, 1)
            ),
        )
        for i in range(3)
    ]  # fmt: skip
    verdict = decide_paired(rounds, POLICY, 0.0005)
    assert verdict.outcome == "not_yet" and verdict.pairs_needed and "more pairs at the effect" in verdict.reasons[0]
    assert not any("buys nothing" in reason for reason in verdict.reasons)
    assert "It costs more: tokens 100 -> 140 a session." in verdict.reasons
    assert verdict.rows[-1].interval is None, "where nothing varied an interval would have no width"


def test_what_a_guard_holds_up_has_no_forecast_of_pairs():
    copies = [case(f"f{n}", [1.0] * 5, [0.0] * 5) for n in range(3)]
    verdict = decide_paired(copies, PairedPolicy(), 0.0045)
    assert verdict.outcome == "not_yet" and COPIES in verdict.suspected and verdict.e_help >= 1 / 0.0045
    assert verdict.pairs_needed is None
    assert not any("more pairs" in reason or "no gain" in reason for reason in verdict.reasons)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=30))
@settings(max_examples=30, deadline=None)
def test_the_fold_and_the_quick_look_agree_with_the_verdict(pairs):
    cases = [case(f"f{i}", [float(one)], [float(other)]) for i, (one, other) in enumerate(pairs)]
    state = PairedState(POLICY)
    for each in cases:
        state.add(each)
    verdict = decide_paired(cases, POLICY, 0.05)
    assert state.look(0.05) == verdict.outcome
    assert state.verdict(0.05) == verdict
    assert (state.pairs, state.e_help) == (verdict.pairs, verdict.e_help)


@pytest.mark.parametrize("bad", [1.5, -0.1, float("nan")])
def test_values_outside_the_range_are_refused_and_leave_no_trace(bad):
    state = PairedState(POLICY)
    state.add(case("f", [1.0], [0.0]))
    before = state.verdict(0.05)
    for wrong in (
        case("g", [bad], [0.5]),
        CaseRound("g", "win", (Replay({"outcome": 1.0}, {"tokens": -1.0}),), (Replay({"outcome": 1.0}),)),
    ):
        with pytest.raises(Refused):
            state.add(wrong)
    assert state.verdict(0.05) == before


@pytest.mark.parametrize("bad", [{"harm_level": 0.0}, {"coverage": 1.0}, {"planned_pairs": -1}, {"most_pairs": 0}])
def test_a_policy_out_of_range_is_refused(bad):
    with pytest.raises(Refused):
        PairedPolicy(**bad)
    with pytest.raises(Refused):
        decide_paired([], POLICY, 0.0)


def test_a_round_without_controls_enters_no_mean():
    """Regression to the mean would creep in with the treated replays of rounds that have no control."""
    whole = case("f", [0.5, 0.5], [0.4, 0.4])
    lonely = CaseRound("g", "failure", (Replay({"outcome": 1.0}),) * 5, (Replay(),) * 5)
    row = decide_paired([whole, lonely], POLICY, 0.05).rows[0]
    assert (row.shown, row.withheld, row.counted) == (0.5, 0.4, (2, 2))


def test_promotion_starts_exactly_where_the_evidence_reaches_one_over_the_level():
    cases = [case(f"f{i}", [1.0], [0.0]) for i in range(12)]
    e_help = decide_paired(cases, POLICY, 0.05).e_help
    assert decide_paired(cases, POLICY, 1.001 / e_help).outcome == "promote"
    assert decide_paired(cases, POLICY, 0.999 / e_help).outcome == "not_yet"


def test_treated_replays_that_keep_crashing_hold_a_promotion_up():
    crashing = [
        CaseRound(
            f"f{i}", "failure",
            (Replay({"outcome": 1.0}), *(Replay() for _ in range(4))),
            tuple(Replay({"outcome": 0.0}) for _ in range(5)),
        )
        for i in range(6)
    ]  # fmt: skip
    verdict = decide_paired(crashing, POLICY, 0.05)
    assert verdict.e_help >= 20
    assert verdict.outcome == "not_yet" and UNEVEN in verdict.suspected
    assert any("differ between the arms" in reason for reason in verdict.reasons)


# --- repeats that are copies, as at temperature 0 ---


def copied(moved: tuple[float, ...], repeats: int = 5, name: str = "c") -> list[CaseRound]:
    """One round of failures at 0.2 without the rule; `moved`: where each lies with it, every repeat a copy."""
    return [
        CaseRound(
            f"{name}{number}",
            "failure",
            tuple(Replay({"outcome": value}) for _ in range(repeats)),
            tuple(Replay({"outcome": 0.2}) for _ in range(repeats)),
        )
        for number, value in enumerate(moved)
    ]


def held(wins: int) -> list[CaseRound]:
    """One round of wins that stay what they are."""
    return [replace(case, kind="win") for case in copied((0.2,) * wins, name="w")]


@pytest.mark.parametrize(
    ("moved", "outcome", "grade"),
    [
        ((1.0, 0.2, 0.2), "not_yet", "none"),
        ((1.0,), "not_yet", "none"),
        ((1.0, 1.0, 0.2), "not_yet", "none"),
        ((1.0, 1.0), "not_yet", "none"),
        ((1.0, 1.0, 1.0), "promote", "weak"),
        ((1.0,) * 5, "promote", "moderate"),
        ((1.0,) * 7, "promote", "strong"),
        ((1.0,) * 3 + (0.2,), "not_yet", "weak"),
        ((1.0,) * 8 + (0.2,), "promote", "moderate"),
    ],
)
def test_copies_of_few_mended_failures_promote_nothing_and_a_grade_is_that_of_the_cases(moved, outcome, grade):
    rounds = [case for _ in range(4) for case in [*copied(moved), *held(2)]]
    found = decide_paired(rounds, PairedPolicy(), 0.0045)
    assert (found.outcome, found.grade) == (outcome, grade), found
    assert (COPIES in found.suspected) is (outcome == "not_yet")
    assert found.e_help > 220.0, "the bets alone would not have waited"
    if outcome == "not_yet":
        assert "three mended failures of three beside two wins" in " ".join(found.reasons)
    else:
        assert f"evidence about {len(moved)} failures" in " ".join(found.reasons)
    assert decide_paired(rounds[: len(moved)] * 4, PairedPolicy(), 0.0045).outcome == "not_yet", "without a win"


def test_a_win_that_fell_counts_against_copies_before_the_bets_suspect_it():
    """Two repeats are too few for the bets to suspect one case."""
    lost = replace(copied((0.0,), 2, "w")[0], kind="win")
    cases = [*copied((1.0,) * 3, 2), lost, replace(copied((0.2,), 2, "v")[0], kind="win")]
    found = decide_paired(cases, PairedPolicy(), 0.05)
    assert found.e_help >= 20.0 and found.suspected == (COPIES,)


@pytest.mark.parametrize(
    ("fell", "grade", "said"),
    [(1, "none", "7 cases, of which 1 fell"), (3, "weak", "of which 3 fell"), (7, "strong", "of which 7 fell")],
)
def test_copies_that_fall_retire_and_the_grade_is_that_of_the_cases(fell, grade, said):
    wins = [replace(case, kind="win") for case in copied((0.0,) * fell + (0.2,) * (7 - fell), name="w")]
    found = decide_paired(wins * 4, PairedPolicy(), 0.0045)
    assert (found.outcome, found.grade) == ("retire", grade), found
    assert found.e_harm > 100.0, "by repeats it would be strong"
    assert said in " ".join(found.reasons)


def jolted(seed: int, chance: random.Random, *, flips: float, noisy: int, turn: bool, pairs: int) -> list[CaseRound]:
    """Up to four rounds of 3 failures and 2 wins of a rule that turns each answer with chance 0.2, and nothing else.

    `flips`: chance that a repeat differs from its case; `noisy`: failures that pass by 0.3 in both arms; `turn`: the
    prompt of both arms changes after the first round; `pairs`: repeats of the last failure.
    """

    def arm(value: float, repeats: int) -> tuple[Replay, ...]:
        return tuple(Replay({"outcome": abs(value - (chance.random() < flips))}) for _ in range(repeats))

    cases, before = [], [0.0, 0.0, 0.0, 1.0, 1.0]
    for round_ in range(4):
        if turn and round_ == 1:
            before = [abs(value - (chance.random() < 0.2)) for value in before]
        if round_ == 0 or (turn and round_ == 1):
            after = [abs(value - (chance.random() < 0.2)) for value in before]
        for place in range(5):
            kind, repeats = ("failure" if place < 3 else "win"), pairs if place == 2 else 5
            arms = [arm(after[place], repeats), arm(before[place], repeats)]
            if place < noisy:
                arms = [tuple(Replay({"outcome": float(chance.random() < 0.3)}) for _ in range(5)) for _ in arms]
            cases.append(CaseRound(f"c{place}", kind, *arms))  # type: ignore[arg-type]
    return cases


@pytest.mark.parametrize(
    "agent",
    [
        {"flips": 0.0},
        {"flips": 0.01},
        {"flips": 0.03},
        {"noisy": 1},
        {"turn": True},
        {"pairs": 1},
    ],
    ids=str,
)
def test_copies_are_told_case_by_case_and_round_by_round(agent):
    """One repeat, one case or one changed prompt that differs does not let the others count as draws."""
    chance, promoted = random.Random(8), 0
    for seed in range(150):
        state = PairedState(PairedPolicy())
        for number, one in enumerate(
            jolted(seed, chance, **{"flips": 0.0, "noisy": 0, "turn": False, "pairs": 5, **agent}), 1
        ):
            state.add(one)
            if number % 5 == 0 and (outcome := state.look(0.0045)) in ("promote", "retire"):
                promoted += outcome == "promote"
                break
    assert promoted <= 150 * 0.06


def test_wins_that_cannot_fall_are_no_evidence_beside_copies():
    """They fail without the rule too, or vary by themselves."""
    chance = random.Random(3)
    lost = [replace(case, kind="win", control=case.treated) for case in copied((0.0, 0.0), 2, "w")]
    vary = [case(name, noisy(chance, 0.7, 0.15, 5), noisy(chance, 0.7, 0.15, 5), "win") for name in "vw"]
    for wins in (lost, vary):
        found = decide_paired([*copied((1.0,) * 3, 2), *wins], PairedPolicy(), 0.05)
        assert found.e_help >= 20.0 and found.suspected == (COPIES,)


@pytest.mark.parametrize(("after", "outcome"), [(0.9, "promote"), (0.1, "not_yet")])
def test_wins_that_are_scored_by_another_metric_count_beside_copies(after, outcome):
    wins = [
        CaseRound(name, "win", (Replay({"tone": value}),) * 2, (Replay({"tone": 0.9}),) * 2)
        for name, value in (("w", 0.9), ("v", after))
    ]
    found = decide_paired([*copied((1.0,) * 3, 2), *wins], PairedPolicy(), 0.05)
    assert (found.outcome, found.e_help >= 20.0) == (outcome, True), found


def test_failures_whose_repeats_vary_suffice_beside_copies():
    chance = random.Random(1)
    vary = [case(f"v{n}", noisy(chance, 0.7, 0.15, 5), noisy(chance, 0.3, 0.15, 5)) for n in range(3)]
    found = decide_paired([*copied((1.0,)), *vary], PairedPolicy(), 0.0045)
    assert found.outcome == "promote" and found.chance <= 0.0045, found


def test_a_useless_rule_that_jolts_a_steady_agent_is_rarely_promoted():
    """Every answer is certain, and any new text turns one in ten of them: failures can only gain, wins only lose."""
    chance = random.Random(5)
    promoted = 0
    for _ in range(400):
        failures = copied(tuple(1.0 if chance.random() < 0.1 else 0.2 for _ in range(3)))
        wins = [replace(case, kind="win") for case in copied((0.2, 0.2), name="w")]
        wins = [
            replace(case, treated=tuple(Replay({"outcome": 0.0}) for _ in case.treated))
            if chance.random() < 0.1
            else case
            for case in wins
        ]
        promoted += decide_paired([*failures, *wins] * 2, PairedPolicy(), 0.0045).outcome == "promote"
    assert promoted <= 400 * 0.05


@pytest.mark.parametrize("filled", [0.0, 1.0])
def test_replays_without_a_score_cannot_be_what_promotes(filled):
    """Treated replays that failed (or control replays that passed) are exactly those without a score."""
    chance, promoted = random.Random(6), 0
    for _ in range(120):
        state = PairedState(PairedPolicy())
        for place in range(12):
            arms: list[list[Replay]] = [[], []]
            for arm in (0, 1):
                for _ in range(5):
                    value = float(chance.random() < 0.6)
                    hidden = value == filled and arm == (0 if filled == 0.0 else 1)
                    arms[arm].append(Replay({"outcome": None if hidden else value}))
            state.add(CaseRound(f"c{place}", "failure", tuple(arms[0]), tuple(arms[1])))
            if state.verdict(0.05).outcome == "promote":
                promoted += 1
                break
    assert promoted <= 11


@pytest.mark.parametrize(("missing", "outcome"), [(0, "promote"), (2, "inconclusive")])
def test_planned_pairs_promote_nothing_that_replays_without_a_score_could_undo(missing, outcome):
    treated = tuple(Replay({"outcome": value}) for value in (1.0, 0.8, 0.9, 0.7, 0.95)) + (Replay(),) * missing
    control = tuple(Replay({"outcome": value}) for value in (0.0, 0.2, 0.1, 0.3, 0.05, *(1.0,) * missing))
    wins = [case(f"w{place}", [1.0, 0.9], [1.0, 0.9], "win") for place in range(2)]
    varied = case("f1", [0.4, 0.5], [0.4, 0.5])
    rounds = [CaseRound("f0", "failure", treated, control), varied, *wins]
    verdict = decide_paired(rounds, PairedPolicy(planned_pairs=7), 0.05)
    assert (verdict.outcome, verdict.exact_p) == (outcome, mcnemar(5, 0))
    assert (LACKING in verdict.suspected) == bool(missing)
    assert any("It is not promoted, because of" in reason for reason in verdict.reasons) == bool(missing)


def test_a_third_of_the_capital_against_a_metric_is_spread_over_single_cases_idle_or_not():
    state, alone = PairedState(PairedPolicy()), BlockBet(PairedPolicy().effects)
    for _ in range(2):
        fell = CaseRound("w", "win", (Replay({"m": 0.1}), Replay({"m": 0.2})), (Replay({"m": 0.8}), Replay({"m": 0.9})))
        state.add(fell)
        alone.add([0.1, 0.2], [0.8, 0.9])
    e_down = alone.e_down
    assert e_down > 2.0
    row = next(row for row in state.verdict(0.05).rows if row.name == "m")
    assert row.e_down == pytest.approx((2.0 * e_down + (e_down + 7.0) / 8.0) / 3.0)


def test_a_failure_that_fell_counts_as_not_mended_among_copies():
    """Three of three would do; of four that moved it would not."""
    fell = copied((0.1,), 2, "x")
    assert decide_paired([*copied((1.0,) * 3, 2), *fell, *held(2)] * 2, PairedPolicy(), 0.05).suspected == (COPIES,)
    assert decide_paired([*copied((1.0,) * 3, 2), *held(2)] * 2, PairedPolicy(), 0.05).suspected == ()


def test_cases_that_rose_count_against_the_grade_of_a_harm_that_is_seen_in_copies():
    fell = [replace(case, kind="win") for case in copied((0.0,) * 6, name="w")]
    rose = [replace(case, kind="win") for case in copied((1.0,) * 2, name="v")]
    grades = [decide_paired(cases * 4, PairedPolicy(), 0.0045).grade for cases in (fell, [*fell, *rose])]
    assert grades == ["moderate", "weak"]


def lively(seed: int, better: float, worse: float = 0.0) -> PairedState:
    """Up to four rounds: replays that are easy enough pass, and only those have a polish, the more the easier. The rule
    makes harder ones pass; polish falls by `worse` where it passes.
    """
    chance, state = random.Random(seed), PairedState(PairedPolicy())

    def runs(rate: float, lost: float) -> tuple[Replay, ...]:
        eases = [chance.random() for _ in range(5)]
        return tuple(
            Replay({"outcome": 1.0, "polish": max(0.0, ease - lost)} if ease > 1.0 - rate else {"outcome": 0.0})
            for ease in eases
        )

    for _ in range(4):
        for place in range(3):
            state.add(CaseRound(f"f{place}", "failure", runs(better, worse), runs(0.4, 0.0)))
        for place in range(2):
            state.add(CaseRound(f"w{place}", "win", runs(1.0, worse), runs(1.0, 0.0)))
        if state.look(0.0045) in ("promote", "retire"):
            break
    return state


def test_a_metric_that_only_passing_replays_have_does_not_retire_a_rule_that_makes_more_of_them_pass():
    outcomes = [lively(seed, 0.95).look(0.0045) for seed in range(60)]
    assert outcomes.count("retire") <= 1 and outcomes.count("promote") >= 50, outcomes


def test_another_metric_that_falls_retires_the_rule_although_some_replays_lack_it():
    outcomes = [lively(seed, 0.6, worse=0.6).look(0.0045) for seed in range(30)]
    assert outcomes.count("retire") >= 25, outcomes
