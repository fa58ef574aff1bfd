"""Approval: only a person, only here, only for the exact file that was shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ruleproof.core.approval import (
    NONE,
    Approvals,
    CurationFact,
    Decision,
    OneTimeToken,
    agent_signs,
    approve,
    closing,
    fold,
    newly_approved,
    revoke,
)
from ruleproof.core.proposal import Place, Proposal
from ruleproof.errors import Refused

D1, D2 = "1" * 64, "2" * 64
RULE = Proposal(Place("p-1", "hA", "001-a-b.md", 1), "security", "T", "Check the archive first.\n", D1)
HERE = Decision("terminal", D1, D1[:12])


def approved(rule: Proposal = RULE) -> Approvals:
    return fold([CurationFact(rule.id, rule.digest, "core", "t")])


def test_approving_binds_the_fact_to_the_digest_that_was_shown() -> None:
    assert approve(RULE, HERE, at="t1") == CurationFact("hA/001", D1, "core", "t1")


@pytest.mark.parametrize("typed", [D1[:8], D1, f" {D1[:12].upper()} "])
def test_eight_digits_of_the_digest_are_enough(typed: str) -> None:
    assert approve(RULE, replace(HERE, typed=typed), at="t").status == "core"


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (replace(HERE, presence="none"), "needs a person"),
        (replace(HERE, agent_signs=("variable CLAUDECODE",)), "CLAUDECODE"),
        (replace(HERE, presence="page", agent_signs=("process codex",)), "codex"),
        (replace(HERE, seen=D2), "changed since it was shown"),
        (replace(HERE, seen=""), "changed since it was shown"),
        (replace(HERE, presence="token", seen=D2), "changed since it was shown"),
        (replace(HERE, typed=""), "beginning of its digest"),
        (replace(HERE, typed="1111111"), "beginning of its digest"),
        (replace(HERE, typed="y"), "beginning of its digest"),
        (replace(HERE, typed=D2[:12]), "beginning of its digest"),
    ],
)
def test_without_a_person_who_saw_this_very_file_approval_is_refused(decision: Decision, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refused:
        approve(RULE, decision, at="t")
    assert refused.value.hint


def test_a_token_stands_for_the_person_who_made_it_even_under_an_agent() -> None:
    assert approve(RULE, Decision("token", D1, agent_signs=("process claude",)), at="t").status == "core"


def test_a_text_that_does_not_match_its_declared_digest_cannot_be_approved() -> None:
    with pytest.raises(Refused, match="declares"):
        approve(replace(RULE, intact=False), HERE, at="t")


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\U000e0041", "\x1b[2K", "\u2028", "\x00"])
def test_a_text_with_what_cannot_be_seen_cannot_be_approved_and_the_code_point_is_named(hidden: str) -> None:
    with pytest.raises(Refused, match=f"U\\+{ord(hidden[0]):04X}"):
        approve(replace(RULE, body=f"Check{hidden}the archive.\n"), HERE, at="t")


def test_a_file_in_dispute_can_neither_be_approved_nor_be_in_force() -> None:
    with pytest.raises(Refused, match="another text"):
        approve(RULE, HERE, at="t", disputed=(RULE.place.path,))
    assert approved().standing(RULE, (RULE.place.path,)) == "disputed"
    assert not approved().in_force(RULE, {RULE.place.path})


def test_a_rule_is_in_force_only_while_its_file_has_the_approved_digest() -> None:
    assert approved().in_force(RULE)
    assert approved().standing(replace(RULE, digest=D2)) == "changed"
    assert NONE.standing(RULE) == "proposed" and not NONE.in_force(RULE)


def test_of_two_files_with_one_number_only_the_approved_one_is_in_force_and_a_copy_of_it_counts_once() -> None:
    copy = replace(RULE, place=Place("p-1", "hA", "001-z-z.md", 1))
    other = replace(RULE, place=Place("p-1", "hA", "001-0-0.md", 1), digest=D2)
    assert approved().select([copy, other, RULE]) == (RULE,)


def test_approving_the_changed_file_puts_it_in_force_again() -> None:
    changed = replace(RULE, digest=D2)
    fact = approve(changed, Decision("terminal", D2, D2[:12]), at="t")
    assert fold([CurationFact("hA/001", D1, "core", "t"), fact]).in_force(changed)


def test_the_last_fact_in_the_ledger_decides_whatever_its_time_says() -> None:
    early, late = "2020-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"
    core, gone = CurationFact("hA/001", D1, "core", late), CurationFact("hA/001", D1, "revoked", early)
    assert fold([core, gone]).standing(RULE) == "revoked"
    assert fold([gone, core]).standing(RULE) == "core"


def test_an_unknown_status_closes() -> None:
    facts = [CurationFact("hA/001", D1, "core", "t"), CurationFact("hA/001", D1, "unknown", "t")]
    assert fold(facts).standing(RULE) == "unknown" and fold(facts).approved() == ()


def test_a_fact_without_a_file_has_no_effect_and_is_kept() -> None:
    ledger = fold([CurationFact("hB/009", D1, "core", "t")])
    assert ledger.approved() == ("hB/009",) and ledger.standing(RULE) == "proposed"


def test_revoking_withdraws_the_same_fact_and_can_be_followed_by_approving() -> None:
    gone = revoke("hA/001", approved(), HERE, at="t")
    assert gone == CurationFact("hA/001", D1, "revoked", "t")
    assert fold([*approved().latest.values(), gone, approve(RULE, HERE, at="t")]).in_force(RULE)


def test_a_proposed_rule_can_be_revoked() -> None:
    assert revoke("hA/001", NONE, HERE, at="t", digest=D2) == CurationFact("hA/001", D2, "revoked", "t")


def test_an_agent_can_no_more_withdraw_than_grant() -> None:
    for decision in (replace(HERE, presence="none"), replace(HERE, agent_signs=("process codex",))):
        with pytest.raises(Refused, match="revoke needs a person"):
            revoke("hA/001", approved(), decision, at="t")


NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)
TOKEN = OneTimeToken("approve", "hA/001", D1, NOW + timedelta(hours=24))


def test_a_token_allows_its_verb_on_its_file_until_it_is_over() -> None:
    TOKEN.check("approve", "hA/001", D1, NOW + timedelta(hours=23, minutes=59))
    for verb, rule, digest, now in (
        ("revoke", "hA/001", D1, NOW),
        ("approve", "hA/002", D1, NOW),
        ("approve", "hA/001", D2, NOW),
        ("approve", "hA/001", D1, NOW + timedelta(hours=24)),
    ):
        with pytest.raises(Refused, match="token"):
            TOKEN.check(verb, rule, digest, now)


def test_what_a_notice_names_as_new_is_every_approval_that_none_named_a_week_ago() -> None:
    one, two = CurationFact("hA/001", D1, "core", "t1"), CurationFact("hA/002", D1, "core", "t1")
    gone = CurationFact("hA/003", D1, "revoked", "t1")
    known = dict.fromkeys((one, two), "2026-09-13T12:00:00Z")
    assert newly_approved(fold([one, two, gone]), {}, NOW) == ("hA/001", "hA/002")
    assert newly_approved(fold([one, two, gone]), known, NOW) == ()
    other, again = CurationFact("hA/001", D2, "core", "t1"), CurationFact("hA/002", D1, "core", "t2")
    assert newly_approved(fold([one, two, other]), known, NOW) == ("hA/001",), "another text"
    assert newly_approved(fold([one, two, again]), known, NOW) == ("hA/002",), "approved anew"
    between = CurationFact("hA/0015", D1, "core", "t1")
    assert newly_approved(fold([one, between, two]), known, NOW) == ("hA/0015",), "wherever it stands"


@pytest.mark.parametrize(
    "at", ["2026-09-20T12:00:00Z", "2026-09-13T12:00:01Z", "2099-01-01T00:00:00Z", "2020-01-01", "soon", ""]
)
def test_a_new_approval_is_named_for_a_week_and_no_odd_time_silences_it(at: str) -> None:
    one = CurationFact("hA/001", D1, "core", "t1")
    assert newly_approved(fold([one]), {one: at}, NOW) == ("hA/001",)


def test_what_closes_is_the_last_word_alone() -> None:
    facts = [
        CurationFact("hA/001", D1, "revoked", "t"),
        CurationFact("hA/002", D1, "core", "t"),
        CurationFact("hA/003", D1, "revoked", "t"),
        CurationFact("hA/001", D1, "core", "t"),
        CurationFact("hA/004", "", "unknown", ""),
    ]
    assert [fact.rule for fact in closing(facts)] == ["hA/003", "hA/004"]


def test_signs_of_an_agent_are_named_and_an_editors_terminal_is_none() -> None:
    variables = ["PATH", "CLAUDECODE", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_HOME", "CLINE_ACTIVE", "TERM_PROGRAM"]
    ancestors = ["bash", "Code", "Cursor", "node", "Claude.exe", "cursor-agent", "codex.js"]
    assert agent_signs(variables, ancestors) == (
        "process Claude.exe",
        "process codex.js",
        "process cursor-agent",
        "variable CLAUDECODE",
        "variable CLINE_ACTIVE",
        "variable CODEX_SANDBOX_NETWORK_DISABLED",
    )
    assert agent_signs(["HOME", "CURSOR_TRACE_ID", "VSCODE_PID"], ["zsh", "gnome-terminal", "Cursor"]) == ()
