"""Many calls at once: every line parses, every acknowledged write is there, and nobody wins twice."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from ruleproof.core.journal import JournalFold
from ruleproof.core.retrieval import Index
from ruleproof.core.rulebook import Rulebook
from ruleproof.core.trial import TrialFold
from ruleproof.engine.add_rule import Limits


def all_at_once(calls: list[tuple[Any, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The answers of calls on (place, tool, arguments), started together."""

    async def run() -> list[dict[str, Any]]:
        return await asyncio.gather(*(place.toolset.call(name, args) for place, name, args in calls))

    return asyncio.run(run())


def test_fifty_writing_calls_at_once_lose_nothing_and_tear_nothing(opened: Any) -> None:
    places = [opened(limits=Limits(max_live=0)) for _ in range(3)]
    place = places[0]
    notices = [place.notice(f"s-{number}") for number in range(5)]
    retired = [place.rules.add(f"Old rule {number}.").id for number in range(10)]
    calls: list[tuple[Any, str, dict[str, Any]]] = [
        ("harness_rule_add", {"rule": f"New rule {number}.", "rationale": "é\u2028" * number}) for number in range(20)
    ]  # type: ignore[misc]
    calls += [("harness_rule_retire", {"rule_id": rule_id, "reason": "x" * 500}) for rule_id in retired]  # type: ignore[misc]
    calls += [("harness_mailbox_ack", {"notice_id": notice_id, "note": "done"}) for notice_id in notices]  # type: ignore[misc]
    calls += [("harness_reflect", {})] * 15  # type: ignore[list-item]
    answers = all_at_once([(places[i % 3], *call) for i, call in enumerate(calls)])  # type: ignore[misc]
    assert len(answers) == 50 and all(answer["ok"] for answer in answers), answers

    rules, events = place.lines("rules.jsonl"), place.lines("journal.jsonl")
    assert len(rules) == 10 + 20 + 10
    added = {answer["rule"]["id"] for answer in answers[:20]}
    assert len(added) == 20 and added <= {record["id"] for record in rules}
    kinds = Counter(event["type"] for event in events)
    assert kinds == {"notice": 5, "rule_add": 30, "rule_retire": 10, "ack": 5, "reflect": 15}
    fold = JournalFold()
    for event in events:
        fold.feed(event)
    assert set(fold.retired) == set(retired)
    assert sorted(path.stem for path in (place.root / "mailbox/processed").iterdir()) == notices
    for one in places:
        listed = one.well("harness_rules_list")
        assert listed["total"] == 30
        assert {rule["id"] for rule in listed["rules"] if rule["status"] == "candidate"} == added


def test_of_fifty_that_add_one_text_one_makes_it_and_all_get_it(opened: Any) -> None:
    places = [opened() for _ in range(2)]
    call = ("harness_rule_add", {"rule": "The same rule.", "rationale": "so"})
    answers = all_at_once([(places[i % 2], *call) for i in range(50)])
    assert sum(answer["created"] for answer in answers) == 1
    assert len({answer["rule"]["id"] for answer in answers}) == 1
    assert len(places[0].lines("rules.jsonl")) == 1


def test_of_fifty_that_settle_one_notice_one_does(opened: Any) -> None:
    places = [opened() for _ in range(2)]
    notice_id = places[0].notice("s-1")
    answers = all_at_once([(places[i % 2], "harness_mailbox_ack", {"notice_id": notice_id}) for i in range(50)])
    assert sum(answer["ok"] for answer in answers) == 1
    assert all("acknowledged already" in answer["error"] for answer in answers if not answer["ok"])
    assert [event["type"] for event in places[0].lines("journal.jsonl")].count("ack") == 1


def test_readers_and_writers_at_once_never_fail(opened: Any) -> None:
    place = opened(limits=Limits(max_live=0))
    rule_id = place.rules.add("Watch this.", metric="agent_reliability").id
    stop = threading.Event()
    failures: list[dict[str, Any]] = []

    def read() -> None:
        while not stop.is_set():
            for name, args in READS:
                answer = place.toolset.call_sync(name, {**args, **({"rule_id": rule_id} if "status" in name else {})})
                if not answer["ok"]:
                    failures.append(answer)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(40):
        place.workspace.append_exposure({"kind": "exposure", "session": f"s-{number}", "rules": {rule_id: "shown"}})
        place.report(f"s-{number}", agent_reliability=0.9)
        place.rules.add(f"Rule number {number}.")
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert place.well("harness_rule_status", rule_id=rule_id)["lifecycle"]["sessions_observed"] == 40


READS: list[tuple[str, dict[str, Any]]] = [
    ("harness_rule_status", {}),
    ("harness_rules_list", {}),
    ("harness_rules_search", {"query": "watch rule"}),
    ("harness_reflect", {}),
]


@pytest.mark.parametrize(("name", "args"), READS)
def test_what_is_folded_is_read_under_the_mutex_of_its_workspace_alone(
    name: str, args: dict[str, Any], place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold changes size while another thread commits: whoever walks it without the mutex fails now and then."""
    rule_id = place.rules.add("Watch this rule.").id
    held: list[bool] = []

    def free_for_others() -> bool:
        got: list[bool] = []
        other = threading.Thread(target=lambda: got.append(place.workspace.mutex.acquire(blocking=False)))
        other.start()
        other.join()
        return got[0]

    for owner, method in ((TrialFold, "state"), (Index, "rank"), (JournalFold, "notices_around"), (Rulebook, "all")):
        original = getattr(owner, method)

        def watched(self: Any, *args: Any, original: Any = original, **more: Any) -> Any:
            held.append(not free_for_others())
            return original(self, *args, **more)

        monkeypatch.setattr(owner, method, watched)
    place.well(name, **args, **({"rule_id": rule_id} if "status" in name else {}))
    assert held and all(held)
