"""A real model behind the router: opt-in, with `RULEPROOF_MODEL_URL=http://... pytest -m model`.

Verdicts are asserted, rates are printed: what a model gets right is its own affair, and a model that gets everything
right, or obeys no rule, fails here, because then it demonstrates nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruleproof.demo.endpoint import Endpoint
from ruleproof.demo.router import ModelRouter
from ruleproof.demo.router_run import run
from ruleproof.demo.router_seen import Seen, tally
from ruleproof.surfaces.cli.demo_router import text_of

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    url = os.environ.get("RULEPROOF_MODEL_URL")
    if not url:
        pytest.skip("RULEPROOF_MODEL_URL is not set: no model is served")
    name, key = os.environ.get("RULEPROOF_MODEL_NAME", "default"), os.environ.get("RULEPROOF_MODEL_KEY", "")
    router = ModelRouter(Endpoint(url, name, key=key))
    found = run(tmp_path_factory.mktemp("model") / "seen", router, watch=print)
    print(text_of(found))
    assert found.gave_up == ""
    return found


def test_the_rule_that_does_nothing_is_not_promoted(seen: Seen) -> None:
    vague = seen.tried[0]
    assert (vague.guess.name, vague.status, vague.harmed) == ("vague", "retired", ())


def test_the_rule_that_helps_is_promoted_and_more_messages_reach_their_queue(seen: Seen) -> None:
    narrow = seen.tried[2]
    assert (narrow.guess.name, narrow.status) == ("narrow", "active")
    assert tally(narrow.routed).right > tally(narrow.before).right
    assert tally(narrow.routed).queues[narrow.guess.queue] > tally(narrow.before).queues[narrow.guess.queue]


def test_the_rule_that_helps_its_target_and_harms_others_is_retired_with_the_regression_named(seen: Seen) -> None:
    broad = seen.tried[1]
    assert (broad.guess.name, broad.status) == ("broad", "retired")
    assert broad.harmed and broad.guess.queue not in broad.harmed
    target = next(row for row in broad.rows if row.queue == broad.guess.queue)
    assert target.treated is not None and target.control is not None and target.treated > target.control
    assert f"lowers {', '.join(broad.harmed)}" in broad.words
    assert tally(broad.routed).right < tally(broad.before).right


def test_the_workspace_says_the_same_as_the_run(seen: Seen) -> None:
    text = (Path(seen.folder) / ".ruleproof" / "harness_rules.md").read_text(encoding="utf-8")
    assert [one.guess.text in text for one in seen.tried] == [one.status == "active" for one in seen.tried]
