"""The ledger and the tokens: one step among all processes, on the disk before anyone hears of it, used once."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ruleproof.codec.facts import write_fact
from ruleproof.core.approval import CurationFact, OneTimeToken
from ruleproof.edge import fs
from ruleproof.edge.approvals import ApprovalStore, Ledger
from ruleproof.errors import Refused, StoreError

D1, D2 = "1" * 64, "2" * 64
NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)


def fact(number: int, status: str = "core") -> CurationFact:
    return CurationFact(f"hA/{number:03d}", D1, status, "t")  # type: ignore[arg-type]


def store(tmp_path: Path, mounted: bytes | None = None) -> ApprovalStore:
    fs.mkdir(tmp_path / "approvals")
    return ApprovalStore(tmp_path / "approvals", lambda project: mounted)


def test_a_fact_is_there_for_every_reader_as_soon_as_commit_returns(tmp_path: Path) -> None:
    one, two = store(tmp_path), store(tmp_path)
    assert two.read("p-1").approvals.approved() == ()
    assert one.commit("p-1", lambda ledger: fact(1)) == fact(1)
    assert two.read("p-1").approvals.approved() == ("hA/001",)
    one.commit("p-1", lambda ledger: fact(1, "revoked"))
    assert two.read("p-1").approvals.approved() == ()


def test_the_fact_is_synced_before_commit_returns(tmp_path: Path) -> None:
    steps: list[str] = []
    with fs.observe(lambda event: steps.append(event[0])):
        store(tmp_path).commit("p-1", lambda ledger: fact(1))
    assert steps.index("append.write") < steps.index("append.sync") < steps.index("unlock")


def test_a_refusal_writes_nothing(tmp_path: Path) -> None:
    def refuse(ledger: Ledger) -> CurationFact:
        raise Refused("no")

    with pytest.raises(Refused):
        store(tmp_path).commit("p-1", refuse)
    assert not (tmp_path / "approvals" / "p-1.jsonl").exists()
    assert store(tmp_path).commit("p-1", lambda ledger: None) is None
    assert not (tmp_path / "approvals" / "p-1.jsonl").exists()


def test_a_disk_that_refuses_is_an_error_and_no_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = store(tmp_path)

    def full(handle: int, data: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fs, "_write_all", full)
    with pytest.raises(StoreError, match="No space"):
        held.commit("p-1", lambda ledger: fact(1))
    monkeypatch.undo()
    assert held.read("p-1").approvals.approved() == ()


def test_a_torn_last_line_swallows_nothing_and_keeps_its_rule_out_of_force(tmp_path: Path) -> None:
    file = store(tmp_path)._file("p-1")
    file.write_bytes(write_fact(fact(1)) + write_fact(fact(2)) + write_fact(fact(2, "revoked"))[:-30])
    held = store(tmp_path)
    held.commit("p-1", lambda ledger: fact(3))
    assert held.read("p-1").approvals.approved() == ("hA/001", "hA/003")
    assert [problem.where for problem in held.read("p-1").problems] == [f"{file}:3"]


def test_projects_do_not_see_each_others_facts(tmp_path: Path) -> None:
    held = store(tmp_path)
    held.commit("p-1", lambda ledger: fact(1))
    assert held.read("p-2").facts == ()
    for project in ("../p-1", "a/b", "NUL", "-rf"):
        with pytest.raises(Refused):
            held.read(project)


def test_where_another_user_decides_the_own_ledger_closes_and_opens_nothing(tmp_path: Path) -> None:
    held = store(tmp_path, mounted=write_fact(fact(1)) + write_fact(fact(2)))
    assert held.read("p-1").approvals.approved() == ("hA/001", "hA/002")
    held.commit("p-1", lambda ledger: fact(2, "revoked"))
    held.commit("p-1", lambda ledger: fact(3))
    assert held.read("p-1").approvals.approved() == ("hA/001",)
    held.commit("p-1", lambda ledger: fact(2))
    assert held.read("p-1").approvals.approved() == ("hA/001", "hA/002"), "the last word of this user does not close it"


def test_another_user_who_approved_nothing_leaves_nothing_in_force(tmp_path: Path) -> None:
    store(tmp_path).commit("p-1", lambda ledger: fact(1))
    assert store(tmp_path).read("p-1").approvals.approved() == ("hA/001",)
    assert store(tmp_path, mounted=b"").read("p-1").approvals.approved() == ()


def test_an_export_is_what_another_machine_can_mount(tmp_path: Path) -> None:
    held = store(tmp_path)
    for number in (2, 1):
        held.commit("p-1", lambda ledger, number=number: fact(number))
    held.commit("p-1", lambda ledger: fact(2, "revoked"))
    assert held.export("p-1") == write_fact(fact(1)) + write_fact(fact(2, "revoked"))
    other = ApprovalStore(tmp_path / "other", lambda project: held.export(project))
    assert other.read("p-1").approvals == held.read("p-1").approvals


def test_an_unchanged_ledger_is_not_read_again(tmp_path: Path) -> None:
    held = store(tmp_path)
    held.commit("p-1", lambda ledger: fact(1))
    held.read("p-1")
    reads: list[str] = []
    with fs.observe(lambda event: reads.append(event[0])):
        held.read("p-1")
    assert reads == []


def _append(arguments: tuple[str, int]) -> None:
    folder, start = arguments
    held = ApprovalStore(Path(folder))
    for _ in range(start, start + 40):
        held.commit("p-1", lambda ledger: fact(len(ledger.facts) + 1))


def test_facts_of_many_processes_all_survive_and_each_was_decided_on_all_earlier_ones(tmp_path: Path) -> None:
    store(tmp_path)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(_append, [(str(tmp_path / "approvals"), start) for start in (0, 40, 80)])
    ledger = store(tmp_path).read("p-1")
    assert ledger.problems == () and len(ledger.facts) == 120 and len(ledger.approvals.approved()) == 120


def test_what_a_notice_has_named_is_remembered(tmp_path: Path) -> None:
    held = store(tmp_path)
    assert held.noticed("p-1") == {}
    held.mark_noticed("p-1", {fact(1): "t1", fact(2): "t2"})
    assert store(tmp_path).noticed("p-1") == {fact(1): "t1", fact(2): "t2"}
    for odd in (b"12", write_fact(fact(1)), b'{"named":"t1"}', b"\xff"):
        (tmp_path / "approvals" / "p-1.noticed").write_bytes(odd)
        assert held.noticed("p-1") == {}, "what cannot be read was not named: it is named again"


TOKEN = OneTimeToken("approve", "hA/001", D1, NOW + timedelta(hours=24))


def test_a_token_is_used_once_however_many_try(tmp_path: Path) -> None:
    held = store(tmp_path)
    held.add_token("s3cret", TOKEN, NOW)

    def use(_: int) -> bool:
        try:
            store(tmp_path).use_token("s3cret", "approve", "hA/001", D1, NOW)
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(16))) == 1


def test_a_token_that_does_not_fit_is_refused_and_not_used_up(tmp_path: Path) -> None:
    held = store(tmp_path)
    held.add_token("s3cret", TOKEN, NOW)
    for verb, rule, digest, now in (
        ("revoke", "hA/001", D1, NOW),
        ("approve", "hA/002", D1, NOW),
        ("approve", "hA/001", D2, NOW),
        ("approve", "hA/001", D1, NOW + timedelta(hours=25)),
    ):
        with pytest.raises(Refused):
            held.use_token("s3cret", verb, rule, digest, now)
    with pytest.raises(Refused, match="no such token"):
        held.use_token("guess", "approve", "hA/001", D1, NOW)
    held.use_token("s3cret", "approve", "hA/001", D1, NOW)


def test_the_secret_of_a_token_stands_nowhere_on_the_disk(tmp_path: Path) -> None:
    store(tmp_path).add_token("s3cret", TOKEN, NOW)
    files = [path for path in (tmp_path / "approvals").rglob("*") if path.is_file()]
    assert files and not any(b"s3cret" in path.read_bytes() or "s3cret" in path.name for path in files)


def test_tokens_that_are_over_or_damaged_are_removed_when_one_is_made(tmp_path: Path) -> None:
    held = store(tmp_path)
    held.add_token("old", TOKEN, NOW)
    (tmp_path / "approvals" / "tokens" / "x.json").write_bytes(b'{"verb": "approve"}')
    later = NOW + timedelta(hours=30)
    held.add_token("new", OneTimeToken("revoke", "hA/001", D1, later + timedelta(hours=24)), later)
    assert len(fs.listdir(tmp_path / "approvals" / "tokens")) == 1
    held.use_token("new", "revoke", "hA/001", D1, later)
