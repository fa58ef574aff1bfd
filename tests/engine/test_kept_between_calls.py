"""What is kept between calls, groups, blocks, lines and the index, must never show: every answer is a newcomer's."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.places import Place, open_place

from ruleproof.core.context import Settings
from ruleproof.engine import change_rule
from ruleproof.engine.compose import Composer
from ruleproof.engine.workspace import _MANY, collector_paused

EVERY = ("active", "candidate", "retired")
WORDS = ["payment", "refund", "order", "flight", "breach", "retry", "status", "archive"]


def settled(place: Place) -> Composer:
    return Composer(place.workspace, Settings(topk=2), trial_sessions=5)


def answers(composer: Composer) -> list[object]:
    """Contexts, the file, and searches among live rules and among all."""
    found: list[object] = [composer.context(), composer.context("refund the order"), composer.full()]
    for statuses in (("active",), ("active", "candidate"), EVERY):
        ranked = composer.search("payment refund breach", limit=5, statuses=statuses)
        found.append([(each.rule, each.score, each.tags, each.words) for each in ranked])
    return found


def act(place: Place, chance: random.Random) -> None:
    """One move that a process can make."""
    book = place.workspace.refresh()
    candidates, live = book.candidates(), [*book.active(), *book.candidates()]
    kind = chance.choice(("add", "add", "promote", "promote", "retire", "pause", "resume"))
    if kind == "add":
        tags = chance.sample(WORDS, chance.randrange(3))
        place.add(" ".join(chance.sample(WORDS, 4)) + f" {len(book)}", tags=tags, metric="agent_reliability")
    elif kind == "promote" and candidates:
        rule = chance.choice(candidates)
        change_rule.apply_verdict(place.workspace, rule, promote=True, reason="no breach", validator="forward_trial")
    elif kind == "retire" and live:
        change_rule.retire(place.workspace, chance.choice(live).id, "old")
    elif kind in ("pause", "resume") and live:
        change_rule.pause(place.workspace, chance.choice(live).id, kind == "pause")


def _tagged(place: Place) -> list[str]:
    return [rule.id for rule in place.workspace.rulebook.active() if rule.tags and rule.in_force]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("asked_first", [True, False])
def test_after_every_move_of_anybody_the_answers_are_those_of_a_newcomer(
    tmp_path: Path, seed: int, asked_first: bool
) -> None:
    """`asked_first`: searched among retired rules before the moves, so that the index holds them from the start."""
    here = open_place(tmp_path, projected=False)
    other = open_place(tmp_path, projected=False, seed="b")
    composer, chance = settled(here), random.Random(seed)
    if asked_first:
        answers(composer)
    for turn in range(25):
        act(chance.choice((here, other)), chance)
        if asked_first or turn % 5 == 4:
            newcomer = settled(open_place(tmp_path, projected=False, seed="c"))
            assert answers(composer) == answers(newcomer)
            assert [rule.id for rule in composer.in_force().tagged] == sorted(_tagged(here))
        else:
            composer.context()
            composer.search("payment", limit=3, statuses=("active", "candidate"))


def test_an_add_leaves_the_active_part_as_it_was(tmp_path: Path) -> None:
    place = open_place(tmp_path)
    rule = place.add("Verify the payment first.")
    change_rule.apply_verdict(place.workspace, rule, promote=True, reason="no breach", validator="forward_trial")
    before = place.composer.in_force()
    place.add("Ask before a refund.")
    assert place.composer.in_force().globals is before.globals
    assert len(place.composer.in_force().candidates) == 1


# --- the collector ---------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_the_collector_pauses_while_many_things_are_read_and_runs_again_even_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError), collector_paused(_MANY + 1):
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled() and gc.get_freeze_count() == 0
    with collector_paused(_MANY):
        assert gc.isenabled()


def test_a_program_that_has_switched_the_collector_off_finds_it_off() -> None:
    gc.disable()
    with collector_paused(_MANY + 1):
        pass
    assert not gc.isenabled()


def test_the_permanent_generation_of_a_program_stays_permanent() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector_paused(_MANY + 1):
        pass
    assert gc.isenabled() and gc.get_freeze_count() > frozen / 2 > 0, "some may have died, none was thawed"
