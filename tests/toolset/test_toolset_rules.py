"""The rule operations: add, retire, status, search, list; what an agent may do to rules, and what it may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ruleproof.codec import notices
from ruleproof.codec.records import rule_to
from ruleproof.core.evidence.fixed import fixed_evidence
from ruleproof.core.evidence.forward import judge
from ruleproof.core.notice import Notice, NoticeMetric
from ruleproof.core.trial import Baseline, TrialState
from ruleproof.engine import change_rule
from ruleproof.engine.add_rule import Limits
from ruleproof.toolset.standing import evidence_note, exposures

SECRET = "sk-" + "9fK2mQx7Lw0ZrV5cHt8YbN3d" + "Gs6PjE1uAoX4WiRe"
TEXT = "Never charge twice without checking the transaction status."


def add(place: Any, rule: str = TEXT, rationale: str = "It charged twice.", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = place.well("harness_rule_add", rule=rule, rationale=rationale, **more)
    return answer


# --- add -------------------------------------------------------------------------------------------------------------


def test_an_added_rule_is_a_candidate_by_an_agent_with_its_whole_record(place: Any) -> None:
    answer = add(place, metric="agent_reliability", tags=["Payment", "payment", "retry"])
    assert set(answer) == {"ok", "rule", "created", "redacted", "notes"}
    assert answer["created"] is True and answer["redacted"] == [] and answer["notes"] == []
    stored = place.rules.get(answer["rule"]["id"])
    assert answer["rule"] == {**rule_to(stored), "in_force": True}
    assert stored.status == "candidate" and stored.author == "agent" and stored.tags == ("payment", "retry")
    assert place.lines("journal.jsonl")[-1]["type"] == "rule_add"


def test_a_duplicate_answers_with_the_first_and_says_that_nothing_was_written(place: Any) -> None:
    first = add(place)
    before = (place.root / "rules.jsonl").read_bytes(), (place.root / "journal.jsonl").read_bytes()
    again = add(place, rule=f"  {TEXT.upper()}!! ", rationale="another", tags=["new"])
    assert again["created"] is False and again["rule"] == first["rule"]
    assert "nothing was written" in again["notes"][0]
    assert ((place.root / "rules.jsonl").read_bytes(), (place.root / "journal.jsonl").read_bytes()) == before


def test_a_notice_gives_its_tags_and_its_one_metric(place: Any) -> None:
    notice_id = place.notice("s-1", metric="agent_consistency")
    rule = add(place, notice_id=notice_id, tags=["mine"])["rule"]
    assert rule["metric"] == "agent_consistency" and rule["source_notice_id"] == notice_id
    assert rule["tags"][0] == "mine" and "breach:agent_consistency" in rule["tags"] and "breach" in rule["tags"]
    assert rule["trial"]["birth_session"] == "s-1"


def test_a_metric_that_is_given_stands_and_of_several_none_is_guessed(place: Any) -> None:
    notice_id = place.report("s-1", agent_reliability=0.1, agent_consistency=0.1).notice.id
    assert add(place, notice_id=notice_id)["rule"]["metric"] is None
    assert add(place, rule="Another.", notice_id=notice_id, metric="outcome")["rule"]["metric"] == "outcome"
    single = place.notice("s-2")
    assert add(place, rule="A third.", notice_id=single, metric="outcome")["rule"]["metric"] == "outcome"


def test_a_foreign_notice_whose_metric_has_no_usable_name_does_not_stand_in_the_way(place: Any) -> None:
    notice = Notice("n-9", "now", "s-1", metrics=(NoticeMetric("bad\nname", 0.1, 0.5),))
    place.write("mailbox/pending/n-9.json", notices.encode(notice))
    assert add(place, notice_id="n-9")["rule"]["metric"] is None


def test_a_settled_notice_still_gives_its_tags(place: Any) -> None:
    notice_id = place.notice("s-1")
    place.well("harness_mailbox_ack", notice_id=notice_id)
    assert "breach:agent_reliability" in add(place, notice_id=notice_id)["rule"]["tags"]


def test_a_notice_that_nobody_knows_is_kept_and_said(place: Any) -> None:
    answer = add(place, notice_id="n-0")
    assert answer["rule"]["source_notice_id"] == "n-0" and answer["rule"]["tags"] == []
    assert answer["notes"] == ["No notice n-0 is known here; its id was kept, and no tags came from it."]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"rule": ""}, "The rule has no text."),
        ({"rule": " \n\t "}, "The rule has no text."),
        ({"rule": "x" * 84_000}, "The rule has 84000 characters; at most 2000 are allowed (sanitize_max_len)."),
        ({"rationale": "x" * 2001}, "The rationale has 2001 characters; at most 2000 are allowed (sanitize_max_len)."),
        ({"rule": "Pay \u202etwice"}, "U+202E"),
        ({"rule": "Pay\U000e0041 now"}, "U+E0041"),
        ({"metric": "a\nb"}, "metric: 'a\\nb' is not a metric id."),
    ],
)
def test_what_cannot_be_a_rule_is_refused_as_the_library_refuses_it(
    args: dict[str, str], said: str, place: Any
) -> None:
    given = {"rule": TEXT, "rationale": "why", **args}
    error = place.ill("harness_rule_add", **given)
    assert error.startswith("Refused: ") and said in error
    if "metric" not in args:
        with pytest.raises(ValueError) as raised:
            place.rules.add(given["rule"], given["rationale"])
        assert error == f"Refused: {raised.value}"
    assert not (place.root / "rules.jsonl").exists()


def test_the_limit_of_rule_texts_is_the_setting_and_not_a_number_of_the_tools(opened: Any) -> None:
    place = opened(limits=Limits(max_len=100_000))
    assert add(place, rule="x " * 40_000, rationale="y" * 100_000)["rule"]["rationale"] == "y" * 100_000
    assert len(place.well("harness_rules_list")["rules"][0]["rule"]) == 79_999
    assert "has 100001 characters; at most 100000" in place.ill("harness_rule_add", rule="x" * 100_001, rationale="y")


def test_at_the_cap_nothing_is_evicted_and_a_duplicate_still_succeeds(opened: Any) -> None:
    place = opened(limits=Limits(max_live=2))
    add(place)
    add(place, rule="Another.")
    error = place.ill("harness_rule_add", rule="A third.", rationale="y")
    assert error.startswith("CapReached: ") and "max_active_rules is 2" in error and "harness_rule_retire" in error
    assert add(place)["created"] is False
    assert place.well("harness_rules_list")["total"] == 2


def test_a_text_that_evidence_retired_is_answered_with_the_verdict_whatever_the_agent_tries(place: Any) -> None:
    old = add(place)["rule"]["id"]
    place.decided(old, promote=False, reason="forward-trial: breach rate 0.80")
    for extra in ({}, {"tags": ["again"]}, {"metric": "other"}):
        error = place.ill("harness_rule_add", rule=TEXT.upper(), rationale="again", **extra)
        assert error.startswith(
            f"Refused: The same text was retired by evidence as {old}: forward-trial: breach rate 0.80"
        )
    assert "there is no argument 'again'" in place.ill("harness_rule_add", rule=TEXT, rationale="x", again=True)
    assert place.well("harness_rules_list")["total"] == 1


def test_a_text_that_was_only_retired_on_wish_may_come_back(place: Any) -> None:
    place.well("harness_rule_retire", rule_id=add(place)["rule"]["id"])
    assert add(place)["created"] is True


def test_credentials_are_redacted_before_they_reach_the_disk_and_said(place: Any) -> None:
    answer = add(place, rule=f"Use {SECRET} never.", rationale=f"saw {SECRET}")
    assert answer["redacted"] and SECRET not in json.dumps(answer)
    assert SECRET not in (place.root / "rules.jsonl").read_text() + (place.root / "journal.jsonl").read_text()
    kept = add(place, rule="Never print tokens such as sk-XXXX.")
    assert kept["redacted"] == [] and "sk-XXXX" in kept["rule"]["rule"]


def test_a_lone_surrogate_is_replaced_and_the_rule_stands(place: Any) -> None:
    answer = add(place, rule="Do \ud83d it.", rationale="\udc00", tags=["\ud83d"])
    assert answer["created"] is True and answer["rule"]["rule"] == "Do \ufffd it."
    (place.root / "rules.jsonl").read_bytes().decode("utf-8")


def test_in_suggest_mode_a_rule_waits_for_a_person_and_the_agent_is_told(opened: Any) -> None:
    place = opened(limits=Limits(hold=True))
    answer = add(place)
    assert answer["rule"]["held"] is True and answer["rule"]["in_force"] is False
    assert answer["notes"] == ["It waits for a person and is not in force until then."]
    status = place.well("harness_rule_status", rule_id=answer["rule"]["id"])
    assert status["held"] is True and status["paused"] is False


def test_with_validation_off_a_rule_is_active_at_once(opened: Any) -> None:
    place = opened(limits=Limits(validation=False))
    rule = add(place)["rule"]
    assert rule["status"] == "active" and rule["trial"] is None
    other = opened()
    add(other, rule="Another, on trial.")
    other.report("s-1", agent_reliability=0.9)
    answer = place.well("harness_rule_status", rule_id=rule["id"])
    assert answer["lifecycle"] == {"status": "active"} and answer["uncounted"] == {}
    assert set(answer["exposure"].values()) == {0} and "nothing is known" in answer["evidence_note"]


# --- retire ----------------------------------------------------------------------------------------------------------


def test_the_author_of_a_rule_is_whoever_added_it_whoever_moves_it(place: Any) -> None:
    retired, promoted = add(place)["rule"]["id"], add(place, "Another rule.")["rule"]["id"]
    place.rules.retire(retired, reason="a person decides")
    change_rule.apply_verdict(
        place.workspace, place.rules.get(promoted), promote=True, reason="it helped", validator="forward_trial"
    )
    assert [place.rules.get(rule_id).author for rule_id in (retired, promoted)] == ["agent", "agent"]
    moves = {event["id"]: event for event in place.lines("journal.jsonl") if event["type"] != "rule_add"}
    assert moves[retired]["by"] == "person" and moves[promoted]["validator"] == "forward_trial"


def test_retiring_is_final_and_recorded_with_reason_and_author(place: Any) -> None:
    rule_id = add(place)["rule"]["id"]
    rule = place.well("harness_rule_retire", rule_id=rule_id, reason=f"superseded; key {SECRET}")["rule"]
    assert rule["status"] == "retired" and rule["author"] == "agent" and rule["in_force"] is False
    assert rule["reason"].startswith("superseded; key ") and SECRET not in rule["reason"]
    event = place.lines("journal.jsonl")[-1]
    assert event["type"] == "rule_retire" and event["reason"] == rule["reason"] and event["by"] == "agent"
    assert SECRET not in (place.root / "journal.jsonl").read_text()
    assert "retired is final" in place.ill("harness_rule_retire", rule_id=rule_id)
    assert "NotFound: There is no rule r-0000000000." in place.ill("harness_rule_retire", rule_id="r-0000000000")


def test_a_reason_may_be_left_out(place: Any) -> None:
    rule_id = add(place)["rule"]["id"]
    assert place.well("harness_rule_retire", rule_id=rule_id)["rule"]["status"] == "retired"


def test_a_retired_rule_is_gone_from_search_at_once_and_stays_in_the_list(place: Any) -> None:
    rule_id = add(place)["rule"]["id"]
    assert place.well("harness_rules_search", query="charge")["rules"]
    place.well("harness_rule_retire", rule_id=rule_id)
    assert place.well("harness_rules_search", query="charge")["rules"] == []
    assert [rule["id"] for rule in place.well("harness_rules_list")["rules"]] == [rule_id]
    assert place.well("harness_rules_search", query="charge", status="retired")["rules"][0]["id"] == rule_id


# --- status ----------------------------------------------------------------------------------------------------------


def test_the_status_counts_what_counted_and_names_what_did_not(place: Any) -> None:
    notice_id = place.notice("s-0")
    rule_id = add(place, notice_id=notice_id)["rule"]["id"]
    place.workspace.append_exposure({"kind": "exposure", "session": "s-1", "rules": {rule_id: "shown"}})
    place.workspace.append_exposure({"kind": "exposure", "session": "s-2", "rules": {rule_id: "assumed"}})
    place.workspace.append_exposure({"kind": "exposure", "session": "s-3", "rules": {rule_id: "withheld"}})
    place.report("s-1", agent_reliability=0.9)
    place.report("s-2", agent_reliability=0.1)
    for session in ("s-3", "s-4"):
        place.report(session, agent_reliability=0.9)
    place.report("s-5", agent_reliability=None)
    place.report("s-0", turn=2, agent_reliability=0.1)
    answer = place.well("harness_rule_status", rule_id=rule_id)
    assert answer["lifecycle"] == {
        "status": "candidate", "baseline_rate": 1.0, "trial_rate": 0.5, "sessions_observed": 2, "sessions_needed": 5,
        "replay_attempts": 0, "verdict": "",
    }  # fmt: skip
    assert answer["uncounted"] == {
        "s-3": "withheld", "s-4": "unknown exposure", "s-5": "no score", "s-0": "birth session",
    }  # fmt: skip
    assert answer["uncounted_sessions"] == 4
    assert answer["exposure"] == {"shown": 1, "assumed": 1, "withheld": 1, "read": 0, "unknown": 1, "unrecorded": 0}
    assert answer["rule"]["trial"]["observed_sessions"] == ["s-1", "s-2"], "the record shows the trial as of now"
    assert "1 of 2 sessions alerted" in answer["evidence_note"] and "1 of 1 before" in answer["evidence_note"]


def test_the_status_of_an_unknown_rule_is_an_error(place: Any) -> None:
    assert place.ill("harness_rule_status", rule_id="r-0000000000").startswith(
        "NotFound: There is no rule r-0000000000."
    )


def test_a_paused_rule_says_so_and_no_tool_can_resume_it(place: Any) -> None:
    rule_id = add(place)["rule"]["id"]
    change_rule.pause(place.workspace, rule_id)
    assert place.well("harness_rule_status", rule_id=rule_id)["paused"] is True
    assert place.well("harness_rules_list")["rules"][0]["in_force"] is False
    change_rule.pause(place.workspace, rule_id, False)
    change_rule.pause_all(place.workspace)
    answer = place.well("harness_rule_status", rule_id=rule_id)
    assert answer["paused"] is True and answer["rule"]["in_force"] is False


def test_many_uncounted_sessions_are_named_in_part_and_counted_in_full(place: Any) -> None:
    rule_id = add(place)["rule"]["id"]
    for number in range(130):
        place.report(f"s-{number}", agent_reliability=0.9)
    answer = place.well("harness_rule_status", rule_id=rule_id)
    assert answer["uncounted_sessions"] == 130 and next(iter(answer["uncounted"])) == "s-30"
    assert len(answer["uncounted"]) == 100


NOTES = [
    ((0, 0, 0, 0), "No session counts yet, so nothing is known of the rule in use. Evidence: none"),
    (
        (0, 5, 0, 0),
        "0 of 5 sessions alerted: the true rate may lie anywhere from 0.00 to 0.43 (95 %). There is no usable baseline",
    ),
    ((0, 5, 2, 8), "The baseline, 2 of 8 sessions, is biased high. Evidence: none (0 of 5 sessions alerted, 2 of 8"),
    ((0, 5, 4, 4), "Evidence: none (0 of 5 sessions alerted"),
    ((0, 20, 8, 8), "Evidence: none (0 of 20 sessions alerted"),
    ((2, 2, 1, 4), "chance that a useless rule passes this gate: 0.56"),
]


def evidence_of(trial: TrialState) -> dict[str, object]:
    return {**judge("r", trial, sessions=5, margin=0.05).details, **fixed_evidence(trial, 5, 0.05)}


@pytest.mark.parametrize(("counts", "said"), NOTES)
def test_the_note_says_how_weak_a_few_sessions_are(counts: tuple[int, int, int, int], said: str) -> None:
    hit, seen, breached, sessions = counts
    observed = tuple(f"s-{number}" for number in range(seen))
    trial = TrialState(Baseline(breached, sessions), observed=observed, breached=observed[:hit])
    assert said in evidence_note(trial, evidence_of(trial))


def test_a_foreign_baseline_of_more_breaches_than_sessions_breaks_nothing() -> None:
    trial = TrialState(Baseline(9, 3), observed=("s-1",), breached=())
    assert "no usable baseline" in evidence_note(trial, evidence_of(trial))
    assert evidence_note(trial, {}).endswith("Evidence: none.")
    assert exposures(trial) == {"shown": 0, "assumed": 0, "withheld": 0, "read": 0, "unknown": 0, "unrecorded": 1}


# --- search and list -------------------------------------------------------------------------------------------------


def test_search_ranks_and_says_why(place: Any) -> None:
    add(place, rule="Verify the invoice.", tags=["payment"])
    add(place, rule="Look at the payment first.")
    add(place, rule="Something else.")
    found = place.well("harness_rules_search", query="payment")["rules"]
    assert [hit["rule"] for hit in found] == ["Verify the invoice.", "Look at the payment first."]
    assert [hit["score"] for hit in found] == [2.0, 1.0]
    assert found[0]["why"] == "tags match payment (double weight)" and found[1]["why"] == "text matches payment"
    assert found[0]["status"] == "candidate" and found[0]["in_force"] is True


def test_search_takes_limits_and_statuses(place: Any) -> None:
    ids = [add(place, rule=f"Payment rule number {number}.")["rule"]["id"] for number in range(60 - 10)]
    for limit, count in ((0, 10), (-5, 10), (3, 3), (50, 50), (51, 50), (10**30, 50)):
        assert len(place.well("harness_rules_search", query="payment", limit=limit)["rules"]) == count
    assert len(place.well("harness_rules_search", query="payment")["rules"]) == 10
    place.decided(ids[0], promote=True)
    for status, count in (("active", 1), ("candidate", 49), ("retired", 0)):
        assert len(place.well("harness_rules_search", query="payment", limit=50, status=status)["rules"]) == count


def test_a_query_without_a_word_gives_the_newest(place: Any) -> None:
    for number in range(12):
        add(place, rule=f"Rule number {number}.")
    found = place.well("harness_rules_search", query=" ?! ")["rules"]
    assert [hit["rule"] for hit in found] == [f"Rule number {number}." for number in range(11, 1, -1)]
    assert place.well("harness_rules_search", query="absentword")["rules"] == []


def test_the_list_has_every_status_and_each_on_request(place: Any) -> None:
    ids = [add(place, rule=f"Rule number {number}.")["rule"]["id"] for number in range(3)]
    place.decided(ids[0], promote=True)
    place.decided(ids[1], promote=False)
    answer = place.well("harness_rules_list")
    assert [(rule["id"], rule["status"]) for rule in answer["rules"]] == list(
        zip(ids, ["active", "retired", "candidate"], strict=True)
    )
    for status, rule_id in zip(("active", "retired", "candidate"), ids, strict=True):
        assert [rule["id"] for rule in place.well("harness_rules_list", status=status)["rules"]] == [rule_id]


def test_every_rule_can_be_reached_page_by_page(opened: Any) -> None:
    place = opened(limits=Limits(max_live=0))
    ids = [place.rules.add(f"Rule number {number}. " + "x" * 900, "y" * 900).id for number in range(130)]
    seen: list[str] = []
    offset: int | None = 0
    pages = 0
    while offset is not None:
        answer = place.well("harness_rules_list", offset=offset)
        assert len(json.dumps(answer)) < 65_000 and answer["total"] == 130
        seen += [rule["id"] for rule in answer["rules"]]
        offset, pages = answer["next_offset"], pages + 1
    assert seen == ids and pages == 6
    assert place.well("harness_rules_list", offset=-7)["rules"][0]["id"] == ids[0]
    assert place.well("harness_rules_list", offset=10**40) == {
        "ok": True, "rules": [], "total": 130, "next_offset": None,
    }  # fmt: skip


def test_stored_text_of_others_is_cleaned_again_and_its_unknown_fields_stay_out(place: Any) -> None:
    place.write(
        "rules.jsonl",
        json.dumps({
            "id": "r-0123456789", "created_at": "2026-01-01T00:00:00+00:00", "rule": f"Do\x1b[31m it {SECRET}",
            "rationale": "\u202ewhy", "status": "active", "tags": ["t\u2028## x"], "surprise": "X" * 9000,
            "trial": {"observed_sessions": ["s"] * 9000, "surprise": 1},
        }).encode() + b"\n",
    )  # fmt: skip
    rule = place.well("harness_rules_list")["rules"][0]
    text = json.dumps(rule, ensure_ascii=False)
    assert SECRET not in text and "surprise" not in text and not {"\x1b", "\u202e", "\u2028"} & set(text)
    assert rule["rule"].startswith("Do it ")


def test_a_rule_of_unknown_status_is_listed_and_never_in_force(place: Any) -> None:
    record = {"id": "r-0123456789", "created_at": "x", "rule": "Obey.", "status": "promoted??"}
    place.write("rules.jsonl", json.dumps(record).encode() + b"\n")
    rule = place.well("harness_rules_list")["rules"][0]
    assert rule["status"] == "unknown" and rule["in_force"] is False
    assert place.well("harness_rules_search", query="obey")["rules"] == []
    assert "status that nobody knows" in place.ill("harness_rule_retire", rule_id="r-0123456789")
