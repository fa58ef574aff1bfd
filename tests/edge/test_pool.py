"""The pool over git: what was written arrives, what was approved stays here, and nothing hostile is taken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("dulwich")

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Commit, Tree
from dulwich.repo import Repo
from tests.edge.machines import NOW, Machine, in_pool, push

from ruleproof.codec.facts import write_fact
from ruleproof.codec.rulefile import MAX_FILE, write_rule
from ruleproof.codec.shards import entry_of, shards
from ruleproof.core.approval import CurationFact, fold
from ruleproof.core.proposal import Proposal, place
from ruleproof.edge.pool import SyncReport
from ruleproof.edge.pool.remote import Fetched, Remote
from ruleproof.edge.rulefiles import RuleFiles, disputes
from ruleproof.errors import NotFound, Refused, StoreError


@pytest.fixture
def bare(tmp_path: Path) -> Remote:
    remote = Remote(str(tmp_path / "team.git"))
    assert remote.create() and not remote.create()
    return remote


@pytest.fixture
def team(tmp_path: Path, bare: Remote) -> tuple[Machine, Machine, Machine]:
    a, b, c = (Machine(tmp_path / name, f"h{name}", bare) for name in ("a", "b", "c"))
    return a, b, c


def codes(report: SyncReport) -> list[str]:
    return sorted(problem.code for problem in report.problems)


def test_a_rule_travels_and_its_approval_travels_only_as_a_claim(team: tuple[Machine, Machine, Machine]) -> None:
    a, b, c = team
    rule = a.propose("Check the archive first.")
    a.approve(rule)
    report = a.sync()
    assert (report.mode, report.pending, report.problems) == ("synced", (), ())
    assert report.published == ("edits/p-1/ha/curation.jsonl", rule.place.path)
    assert b.sync().received == (rule.place.path,)
    assert b.files.read(rule.place) == (rule, ())
    assert not (b.home / "pool" / "edits").exists()
    assert b.pool.claims("p-1") == {"ha": (CurationFact("ha/001", rule.digest, "core", "t"),)}
    assert b.facts == b"" and not fold([]).in_force(rule)
    assert c.sync().received == (rule.place.path,)


def test_a_pass_with_nothing_new_writes_no_commit(team: tuple[Machine, Machine, Machine], bare: Remote) -> None:
    a, b, _ = team
    a.propose("Check the archive first.")
    a.sync()
    with Repo(bare.address) as repo:
        head = repo.refs[b"refs/heads/main"]
        assert a.sync() == SyncReport("synced") == b.sync().__class__("synced")
        assert b.sync() == SyncReport("synced")
        assert repo.refs[b"refs/heads/main"] == head


def test_a_revocation_alone_is_published(team: tuple[Machine, Machine, Machine], bare: Remote) -> None:
    a, b, _ = team
    rule = a.propose("Check the archive first.")
    a.sync()
    b.sync()
    b.approve(rule)
    b.approve(rule, "revoked")
    assert b.sync().published == ("edits/p-1/hb/curation.jsonl",)
    assert in_pool(bare)["edits/p-1/hb/curation.jsonl"] == b.facts


def test_machines_that_publish_at_once_lose_neither_rules_nor_facts(
    team: tuple[Machine, Machine, Machine], bare: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = team
    first = a.propose("Rule one of A.")
    a.sync()
    b.sync()
    a.propose("Rule two of A.")
    a.approve(first)
    b.propose("Rule one of B.")
    b.approve(first)
    b.approve(first, "revoked")
    fetch = Remote.fetch

    def overtaken(self: Remote, store: object, have: str | None) -> Fetched:
        got = fetch(self, store, have)  # type: ignore[arg-type]
        if self is not a.remote or overtaken.done:  # type: ignore[attr-defined]
            return got
        overtaken.done = True  # type: ignore[attr-defined]
        a.sync()
        return got

    overtaken.done = False  # type: ignore[attr-defined]
    monkeypatch.setattr(Remote, "fetch", overtaken)
    report = b.sync()
    monkeypatch.undo()
    assert overtaken.done and report.mode == "synced"  # type: ignore[attr-defined]
    a.sync(), c.sync()
    assert a.texts() == b.texts() == c.texts() == ["Rule one of A.", "Rule one of B.", "Rule two of A."]
    held = in_pool(bare)
    assert (held["edits/p-1/ha/curation.jsonl"], held["edits/p-1/hb/curation.jsonl"]) == (a.facts, b.facts)


def test_history_that_somebody_rewrote_loses_nothing_of_ours(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    rule = a.propose("Check the archive first.")
    a.approve(rule)
    a.sync()
    b.sync()
    with Repo(bare.address) as repo:
        commit = Commit()
        tree = Tree()
        repo.object_store.add_object(tree)
        commit.tree, commit.parents, commit.message = tree.id, [], b"gone"
        commit.author = commit.committer = b"x <x@x>"
        commit.author_time = commit.commit_time = NOW
        commit.author_timezone = commit.commit_timezone = 0
        repo.object_store.add_object(commit)
        repo.refs[b"refs/heads/main"] = commit.id
    b.approve(rule)
    report = b.sync()
    assert codes(report) == ["gone-from-pool"] and b.files.read(rule.place)[0] == rule
    assert set(a.sync().published) == {rule.place.path, "edits/p-1/ha/curation.jsonl"}
    assert in_pool(bare)["edits/p-1/ha/curation.jsonl"] == a.facts
    assert codes(b.sync()) == []


def test_a_lost_checkout_and_a_lost_store_come_back_from_the_pool(team: tuple[Machine, Machine, Machine]) -> None:
    a, b, _ = team
    a.propose("Rule one of A."), b.propose("Rule one of B.")
    a.sync(), b.sync(), a.sync()
    shutil.rmtree(a.home / "pool")
    assert len(a.sync().received) == 2 and a.texts() == ["Rule one of A.", "Rule one of B."]
    shutil.rmtree(a.home / "state")
    assert a.sync().mode == "synced" and a.texts() == ["Rule one of A.", "Rule one of B."]


def test_what_a_machine_wrote_that_lost_all_its_state_comes_back_when_a_person_says_so(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    one, two = a.propose("Rule one of A."), a.propose("Rule two of A.")
    b.propose("Rule one of B.")
    a.sync(), b.sync()
    shutil.rmtree(a.home)
    report = a.sync()
    assert codes(report) == ["planted-file"] and "pool accept" in report.problems[0].hint
    assert a.texts() == ["Rule one of B."] and a.propose("Rule three of A.").id == "ha/003"
    assert a.pool.offered(f"rules/p-1/{a.harness}") == (one.place.path, two.place.path)
    assert a.pool.offered(one.place.path) == (one.place.path,) and a.pool.offered("rules/p-1/hb") == ()
    assert a.pool.accept(f"rules/p-1/{a.harness}/") == (one.place.path, two.place.path)
    assert codes(a.sync()) == [] and len(a.texts()) == 4
    assert {one.place.path, two.place.path} <= in_pool(bare).keys()
    with pytest.raises(NotFound):
        a.pool.accept(one.place.path)


PLANTED = b"A text that the author never wrote.\n"


@pytest.mark.parametrize("name", ["9999-security-planted.md", "99999-x.md", "002-other-title.md", "003-x.md"])
def test_a_file_planted_in_our_folder_is_named_and_neither_shown_nor_published_nor_in_our_way(
    team: tuple[Machine, Machine, Machine], bare: Remote, name: str
) -> None:
    a, b, c = team
    a.propose("Rule one of A."), a.propose("Rule two of A.")
    a.sync(), b.sync()
    path = f"rules/p-1/ha/{name}"
    push(bare, {path: write_rule(Proposal(place("p-1", "ha", 9, "x", "x"), "x", "T", PLANTED.decode(), ""))})
    for _ in range(2):
        report = a.sync()
        assert codes(report) == ["planted-file"] and path in report.problems[0].message
        assert report.received == report.published == () and a.pool.verify() == ()
    assert a.texts() == ["Rule one of A.", "Rule two of A."]
    three = a.propose("Rule three of A.")
    assert three.place.number == (4 if name.startswith("003") else 3)
    assert len(a.files.find("p-1", ["ha/002"])["ha/002"]) == 1
    assert a.sync().published == (three.place.path,)
    assert codes(b.sync()) == (["number-taken"] if name.startswith("002") else [])
    assert len(b.files.find("p-1", ["ha/002"])["ha/002"]) == 1, "whoever knew the number keeps its rule"
    push(bare, {path: None})
    assert codes(a.sync()) == [] and path not in in_pool(bare), "what a push removed stays removed"
    b.sync(), c.sync()
    assert a.texts() == b.texts() == c.texts() == ["Rule one of A.", "Rule three of A.", "Rule two of A."]


def test_a_file_that_somebody_put_into_our_folder_here_is_named_and_not_published(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, _, _ = team
    rule = a.propose("Rule one of A.")
    path = "rules/p-1/ha/002-x.md"
    a.files.put(path, write_rule(Proposal(rule.place, "x", "T", PLANTED.decode(), "")))
    report = a.sync()
    assert codes(report) == ["planted-file"] and report.published == (rule.place.path,)
    assert a.texts() == ["Rule one of A."] and path not in in_pool(bare)


def test_a_planted_file_whose_number_is_that_of_a_rule_of_ours_cannot_be_accepted(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, _, _ = team
    rule = a.propose("Rule one of A.")
    a.sync()
    path = "rules/p-1/ha/001-other.md"
    push(bare, {path: write_rule(Proposal(rule.place, "x", "T", PLANTED.decode(), ""))})
    a.sync()
    with pytest.raises(Refused, match="another rule"):
        a.pool.accept(path)
    assert a.texts() == ["Rule one of A."] and codes(a.sync()) == ["planted-file"]


def test_what_is_gone_from_the_pool_goes_here_unless_it_is_approved_and_is_named_in_one_line(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    rules = [a.propose(f"Rule {number} of A.") for number in range(1, 6)]
    a.sync(), b.sync()
    b.approve(rules[0])
    b.approve(rules[1]), b.approve(rules[1], "revoked")
    (b.home / "pool" / rules[2].place.path).write_bytes(b"somebody's own")
    push(bare, {rule.place.path: None for rule in rules})
    report = b.sync()
    assert [(problem.code, problem.severity) for problem in report.problems] == [
        ("gone-from-pool", "warning"),
        ("dropped", "info"),
    ]
    assert "4 rule files" in report.problems[1].message and b.texts() == ["Rule 1 of A."]
    assert b.files.bytes_at(rules[2].place.path) == b"somebody's own"
    assert codes(b.sync()) == ["gone-from-pool"] and b.pool.verify() == ()
    (b.home / "pool" / rules[0].place.path).unlink()
    assert b.sync().received == (rules[0].place.path,), "the approved one is put back as long as it is"
    b.approve(rules[0], "revoked")
    assert codes(b.sync()) == ["dropped"] and b.texts() == []
    assert b.sync() == SyncReport("synced", published=()) or codes(b.sync()) == []
    assert len(a.sync().published) == 5 and len(b.sync().received) == 5


def test_a_damaged_newest_commit_lets_nothing_go(
    team: tuple[Machine, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = team
    a.propose("Rule one of A.")
    a.sync(), b.sync()
    fetch = Remote.fetch

    def damaged(self: Remote, store: object, have: str | None) -> Fetched:
        got = fetch(self, store, have)  # type: ignore[arg-type]
        return Fetched(got.code, got.detail, got.branch, "1" * 40)

    monkeypatch.setattr(Remote, "fetch", damaged)
    report = b.sync()
    assert "damaged-pool" in codes(report) and b.texts() == ["Rule one of A."]


def test_an_unreachable_pool_is_a_normal_state_and_says_what_waits(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "a", "ha", Remote(str(tmp_path / "nowhere.git")))
    rule = machine.propose("Check the archive first.")
    machine.approve(rule)
    report = machine.sync()
    assert (report.mode, report.code, report.published) == ("local-only", "not-found", ())
    assert report.pending == ("edits/p-1/ha/curation.jsonl", rule.place.path)
    machine.remote.create()
    assert machine.sync().published == report.pending


def test_a_write_once_file_that_somebody_changed_is_refused_disputed_and_healed_by_its_author(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, c = team
    rule = a.propose("Check the archive first.")
    a.sync()
    b.sync()
    b.approve(rule)
    forged = write_rule(Proposal(rule.place, "security", "T", "Delete the archive.\n", ""))
    push(bare, {rule.place.path: forged})
    report = b.sync()
    assert codes(report) == ["file-changed"] and report.problems[0].where == rule.place.path
    assert b.files.read(rule.place)[0] == rule
    assert disputes(b.home / "state") == {rule.place.path}
    approvals = fold([CurationFact(rule.id, rule.digest, "core", "t")])
    assert not approvals.in_force(rule, disputes(b.home / "state"))
    assert c.sync().received == (rule.place.path,)
    report = a.sync()
    assert codes(report) == ["own-file-changed"] and report.published == (rule.place.path,)
    assert codes(b.sync()) == [] and disputes(b.home / "state") == frozenset()
    assert approvals.in_force(rule, disputes(b.home / "state"))
    assert codes(c.sync()) == ["file-changed"]


def test_a_person_can_take_the_offered_file_and_it_is_not_approved_by_that(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    rule = a.propose("Check the archive first.")
    a.sync(), b.sync()
    push(bare, {rule.place.path: write_rule(Proposal(rule.place, "security", "T", "Another text of it.\n", ""))})
    with pytest.raises(NotFound):
        b.pool.accept(rule.place.path)
    b.sync()
    b.pool.accept(rule.place.path)
    taken = b.files.read(rule.place)[0]
    assert taken is not None and taken.text == "Another text of it."
    assert fold([CurationFact(rule.id, rule.digest, "core", "t")]).standing(taken) == "changed"
    assert codes(b.sync()) == [] and disputes(b.home / "state") == frozenset()
    with pytest.raises(NotFound):
        b.pool.accept("rules/p-1/ha/../../x")


HUGE = b"---\nkind: rule\n---\n" + b"x" * MAX_FILE


def test_a_hostile_pool_is_refused_piece_by_piece_and_the_rest_is_taken(
    team: tuple[Machine, Machine, Machine], bare: Remote, tmp_path: Path
) -> None:
    a, b, _ = team
    a.propose("Check the archive first.")
    a.sync()
    good = write_rule(Proposal(place("p-1", "he", 7, "x", "good"), "x", "T", "An honest rule here.\n", ""))
    files: dict[str, bytes | None] = {
        "rules/p-1/he/007-x-good.md": good,
        "rules/p-1/he/001-link.md": b"/etc/passwd",
        "rules/p-1/he/002-module.md": b"",
        "rules/p-1/he/003-huge.md": HUGE,
        "rules/p-1/he/../../../../escape.md": good,
        "rules/p-1/he/..": good,
        "rules/p-1/../../escape/001-a-b.md": good,
        "rules/p-1/.git/hooks/post-checkout": b"#!/bin/sh\n",
        "rules/p-1/HB/001-a-b.md": good,
        "rules/p-1/he/004-a\\b.md": good,
        "rules/p-1/he/005-con.md\udcff": good,
        "rules/p-1/hl": b"../../..",
        "rules/-rf/he/001-a-b.md": good,
        "edits/p-1/he/curation.jsonl": write_fact(CurationFact("ha/001", "1" * 64, "core", "t")),
        ".gitmodules": b"[submodule]\n",
        "README.md": b"hello",
    }
    modes = {"rules/p-1/he/001-link.md": 0o120000, "rules/p-1/he/002-module.md": 0o160000, "rules/p-1/hl": 0o120000}
    push(bare, files, modes)
    report = b.sync()
    assert [path for path in report.received if "/he/" in path] == ["rules/p-1/he/007-x-good.md"]
    assert codes(report) == [
        "bad-name",
        "bad-name",
        "bad-name",
        "bad-name",
        "bad-name",
        "bad-spelling",
        "link-refused",
        "link-refused",
        "oversize-file",
        "submodule-refused",
        "wrong-kind",
    ]
    on_disk = {str(path.relative_to(b.home / "pool")) for path in (b.home / "pool").rglob("*.md")}
    assert on_disk == {"rules/p-1/ha/001-security-check-the-archive-first.md", "rules/p-1/he/007-x-good.md"}
    assert not list(tmp_path.glob("*escape*")) and not list(b.home.glob("*escape*"))
    b.propose("Rule one of B.")
    assert b.sync().mode == "synced"
    assert "README.md" in in_pool(bare) and "rules/p-1/he/007-x-good.md" in in_pool(bare)


@pytest.mark.parametrize("twin", ["rules/P-1/ha/001-x.md", "rules/p-1/HA/001-x.md", "rules/p-1/ha/001-Security-x.md"])
@pytest.mark.parametrize("known", [True, False])
def test_a_twin_in_another_spelling_hides_nobody(
    team: tuple[Machine, Machine, Machine], bare: Remote, twin: str, known: bool
) -> None:
    a, b, c = team
    rule = a.propose("Rule one of A.")
    a.sync()
    if known:
        b.sync()
    push(bare, {twin: write_rule(Proposal(rule.place, "security", "T", "A text of the attacker's.\n", ""))})
    later = a.propose("Rule two of A.")
    assert codes(a.sync()) == ["bad-spelling"]
    report = b.sync()
    assert codes(report) == ["bad-spelling"] and later.place.path in report.received
    assert b.texts() == ["Rule one of A.", "Rule two of A."]
    c.sync()
    assert c.texts() == b.texts()


def test_a_machine_whose_id_nobody_would_take_is_refused_before_it_publishes(tmp_path: Path, bare: Remote) -> None:
    with pytest.raises(Refused, match="capital"):
        Machine(tmp_path / "x", "Hx", bare).sync()


@pytest.mark.parametrize("path", ["rules", "rules/p-1", "rules/p-1/hb", "index", "edits"])
def test_a_link_or_file_in_the_place_of_a_folder_stops_nobody(
    team: tuple[Machine, Machine, Machine], bare: Remote, path: str
) -> None:
    a, b, c = team
    a.propose("Rule one of A.")
    a.sync()
    inside = {name: None for name in in_pool(bare) if name.startswith(f"{path}/")}
    push(bare, inside | {path: b"../x"}, {path: 0o120000})
    made = b.propose("Rule one of B.")
    b.approve(made)
    assert b.sync().mode == "synced"
    assert a.sync().mode == "synced" and c.sync().mode == "synced"
    assert {"Rule one of A.", "Rule one of B."} == set(c.texts())


def test_facts_forged_under_our_name_are_named_and_replaced(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    rule = a.propose("Check the archive first.")
    a.sync(), b.sync()
    b.approve(rule, "revoked")
    b.sync()
    forged = write_fact(CurationFact(rule.id, rule.digest, "core", "t"))
    push(bare, {"edits/p-1/hb/curation.jsonl": forged})
    report = b.sync()
    assert codes(report) == ["forged-facts"] and report.published == ("edits/p-1/hb/curation.jsonl",)
    assert in_pool(bare)["edits/p-1/hb/curation.jsonl"] == b.facts
    assert codes(b.sync()) == []


def test_facts_under_our_name_are_named_and_replaced_before_we_published_any_and_our_own_after_a_loss_are_not(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, _ = team
    rule = a.propose("Check the archive first.")
    a.sync()
    path = "edits/p-1/hb/curation.jsonl"
    push(bare, {path: write_fact(CurationFact(rule.id, rule.digest, "core", "t"))})
    report = b.sync()
    assert codes(report) == ["forged-facts"] and report.published == (path,)
    assert in_pool(bare)[path] == b"" and codes(b.sync()) == []
    b.approve(rule)
    assert codes(b.sync()) == [] and in_pool(bare)[path] == b.facts
    shutil.rmtree(b.home / "state")
    older = b.facts
    b.approve(rule, "revoked")
    assert codes(b.sync()) == [] and in_pool(bare)[path] == b.facts
    push(bare, {path: older})
    assert codes(b.sync()) == ["forged-facts"] and in_pool(bare)[path] == b.facts


def test_two_machines_with_one_id_keep_both_rules_and_say_so(tmp_path: Path, bare: Remote) -> None:
    one, two = Machine(tmp_path / "one", "ha", bare), Machine(tmp_path / "two", "ha", bare)
    first = one.propose("Check the archive first.")
    one.sync()
    other = write_rule(Proposal(first.place, "security", "T", "Something else entirely.\n", ""))
    two.files.own(first.place.path, other)
    two.files.put(first.place.path, other)
    report = two.sync()
    assert codes(report) == ["identity-collision"] and report.published == ()
    assert two.texts() == ["Something else entirely."]
    assert one.sync() == SyncReport("synced") and one.texts() == ["Check the archive first."]


def test_numbers_that_the_pool_holds_are_known_without_the_file(team: tuple[Machine, Machine, Machine]) -> None:
    a, _, _ = team
    rule = a.propose("Check the archive first.")
    assert a.pool.taken("p-1") == set()
    a.sync()
    (a.home / "pool" / rule.place.path).unlink()
    assert a.pool.taken("p-1") == {1}


def test_a_checkout_that_an_agent_changed_is_named_and_can_be_put_back(team: tuple[Machine, Machine, Machine]) -> None:
    a, b, _ = team
    one, two = a.propose("Rule one of A."), a.propose("Rule two of A.")
    a.sync(), b.sync()
    (b.home / "pool" / one.place.path).write_bytes(b"changed")
    (b.home / "pool" / two.place.path).unlink()
    assert [(problem.code, problem.where) for problem in b.pool.verify()] == [
        ("checkout-differs", one.place.path),
        ("checkout-differs", two.place.path),
    ]
    assert len(b.pool.verify(repair=True)) == 2
    assert b.pool.verify() == () and b.texts() == ["Rule one of A.", "Rule two of A."]


def test_a_published_file_that_was_changed_here_is_not_published_again(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, _, _ = team
    rule = a.propose("Check the archive first.")
    a.sync()
    tampered = write_rule(Proposal(rule.place, "x", "T", "Tampered with it.\n", ""))
    (a.home / "pool" / rule.place.path).write_bytes(tampered)
    report = a.sync()
    assert report.published == () and codes(report) == ["not-published"]
    assert b"Check the archive first." in in_pool(bare)[rule.place.path]


def test_a_file_of_ours_with_a_secret_or_a_changed_text_is_never_published(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, _, _ = team
    secret = "ghp_" + "a1B2c3D4e5" * 4
    one, two = a.propose(f"Log in with {secret} first."), a.propose("Check the archive first.")
    path = a.home / "pool" / two.place.path
    path.write_bytes(path.read_bytes().replace(b"archive first", b"archive never"))
    a.propose("Rule three of A.")
    report = a.sync()
    assert report.mode == "synced" and len(report.published) == 1
    assert [(problem.code, problem.where) for problem in report.problems] == [
        ("not-published", one.place.path),
        ("not-published", two.place.path),
    ]
    assert secret not in str(report) and secret.encode() not in b"".join(in_pool(bare).values())


def test_the_index_in_the_pool_is_that_of_its_files_whoever_published_last(
    team: tuple[Machine, Machine, Machine], bare: Remote
) -> None:
    a, b, c = team
    for machine, text in ((a, "Rule one of A."), (b, "Rule one of B."), (a, "Rule two of A."), (c, "Rule one of C.")):
        rule = machine.propose(text)
        machine.approve(rule)
        machine.sync()
        held = in_pool(bare)
        everything = RuleFiles(machine.home / "pool").read_all("p-1")[0]
        index = {path: data for path, data in held.items() if path.startswith("index/")}
        assert index == shards(entry_of(found) for found in everything)
    assert all(b"core" not in data for path, data in in_pool(bare).items() if path.startswith("index/"))


def test_a_disk_that_refuses_is_an_error_and_no_success(
    team: tuple[Machine, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, _ = team
    a.propose("Check the archive first.")

    def full(self: object, obj: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DiskObjectStore, "add_object", full)
    with pytest.raises(StoreError, match="No space"):
        a.sync()
    monkeypatch.undo()
    assert len(a.sync().published) == 1


def test_a_lock_that_a_killed_process_left_is_no_lock(
    team: tuple[Machine, Machine, Machine], bare: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, _ = team
    a.propose("Rule one of A.")
    a.sync()
    a.propose("Rule two of A.")
    (Path(bare.address) / "refs" / "heads" / "main.lock").touch()
    (a.home / "state" / "git" / "refs" / "ruleproof" / "seen.lock").touch()
    monkeypatch.setattr("ruleproof.edge.pool.remote.STALE_LOCK_S", 0.2)
    assert len(a.sync().published) == 1
