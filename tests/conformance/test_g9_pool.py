"""G9 over git: a pass that waited, a lock that is held, a cache that is lost, files of others; nothing is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("dulwich")

from tests.conformance.person import TEXT, Person
from tests.edge.machines import NOW, Machine, in_pool, push

from ruleproof.codec.shards import entry_of, shards
from ruleproof.config import HarnessConfig
from ruleproof.edge import fs
from ruleproof.edge.pool.remote import Remote
from ruleproof.errors import StoreError
from ruleproof.governance import Governance


@pytest.fixture
def bare(tmp_path: Path) -> Remote:
    remote = Remote(str(tmp_path / "team.git"))
    remote.create()
    return remote


def test_g9_a_pass_that_waited_publishes_the_ledger_as_it_is_when_its_turn_comes(tmp_path: Path, bare: Remote) -> None:
    machine = Machine(tmp_path / "a", "ha", bare)
    rule = machine.propose(TEXT)
    machine.approve(rule)
    started = threading.Event()

    def wait_and_sync() -> None:
        started.set()
        machine.pool.sync(bare, lambda: {"p-1": machine.facts}, NOW, machine.keeps)

    fs.mkdir(tmp_path / "a" / "state")
    with fs.lock(tmp_path / "a" / "state" / "sync.lock"):
        waiting = threading.Thread(target=wait_and_sync)
        waiting.start()
        started.wait()
        machine.approve(rule, "revoked")
    waiting.join()
    assert in_pool(bare)["edits/p-1/ha/curation.jsonl"] == machine.facts
    assert machine.facts.count(b"\n") == 2


def test_g9_a_pass_that_another_one_holds_up_is_refused_by_name_and_loses_nothing(
    tmp_path: Path, bare: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "a", "ha", bare)
    machine.propose(TEXT)
    fs.mkdir(tmp_path / "a" / "state")
    monkeypatch.setattr("ruleproof.edge.pool.WAIT_S", 0.1)
    with fs.lock(tmp_path / "a" / "state" / "sync.lock"), pytest.raises(StoreError, match=r"sync\.lock was not free"):
        machine.sync()
    assert machine.propose("Proposing waits for no pass.").id == "ha/002"
    assert len(machine.sync().published) == 2


@pytest.mark.parametrize("damage", [None, b"", b"[]", b'{"x": 5}', b"garbage"])
def test_g9_a_lost_or_damaged_cache_of_the_index_changes_no_byte_of_the_shards(
    tmp_path: Path, bare: Remote, damage: bytes | None
) -> None:
    a, b = Machine(tmp_path / "a", "ha", bare), Machine(tmp_path / "b", "hb", bare)
    for machine, text in ((a, TEXT), (b, "Rule one of B."), (a, "Rule two of A.")):
        machine.propose(text)
        machine.sync()
    cache = tmp_path / "a" / "state" / "entries.json"
    assert cache.exists()
    if damage is None:
        cache.unlink()
    else:
        cache.write_bytes(damage)
    a.propose("Rule three of A.")
    a.sync()
    held = in_pool(bare)
    b.sync()
    everything = b.files.read_all("p-1")[0]
    assert len(everything) == 4
    assert {path: data for path, data in held.items() if path.startswith("index/")} == shards(map(entry_of, everything))


def test_g9_what_somebody_put_into_the_checkout_stays_and_is_not_published(tmp_path: Path, bare: Remote) -> None:
    a, b = Machine(tmp_path / "a", "ha", bare), Machine(tmp_path / "b", "hb", bare)
    a.propose(TEXT)
    a.sync()
    odd = {"notes.txt": b"mine", "rules/p-1/ha/notes.md": b"mine", "rules/p-1/hz/001-x-y.md": b"mine"}
    for path, data in odd.items():
        (tmp_path / "b" / "pool" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "b" / "pool" / path).write_bytes(data)
    b.propose("Rule one of B.")
    assert b.sync().mode == "synced" and "Rule one of B." in b.texts()
    assert {path: (tmp_path / "b" / "pool" / path).read_bytes() for path in odd} == odd
    assert not odd.keys() & in_pool(bare).keys()


def test_g9_a_store_that_is_no_repository_is_an_error_and_is_not_deleted(tmp_path: Path, bare: Remote) -> None:
    machine = Machine(tmp_path / "a", "ha", bare)
    rule = machine.propose(TEXT)
    fs.mkdir(tmp_path / "a" / "state")
    (tmp_path / "a" / "state" / "git").write_bytes(b"somebody's file")
    with pytest.raises(StoreError):
        machine.sync()
    assert (tmp_path / "a" / "state" / "git").read_bytes() == b"somebody's file"
    (tmp_path / "a" / "state" / "git").unlink()
    assert machine.sync().published == (rule.place.path,)


def test_g9_another_pool_gets_the_rules_under_the_same_project_and_no_facts_of_another_project(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "one.git", tmp_path / "two.git"
    person.ok("pool", "link", str(first), "--create")
    rule = person.propose()
    assert person.approve(rule).code == 0
    person.ok("pool", "sync")
    person.ok("pool", "link", str(second), "--create")
    assert person.standing() == {rule: "core"}, "linking decides nothing"
    person.ok("pool", "sync")
    one, two = in_pool(Remote(str(first))), in_pool(Remote(str(second)))
    assert one == two and len([path for path in two if path.startswith("rules/")]) == 1
    monkeypatch.setenv("HARNESS_PROJECT_KEY", "another")
    assert person.json("review", "--all")["rules"] == []
    person.ok("pool", "link", str(second))
    person.ok("pool", "sync")
    assert in_pool(Remote(str(second))) == two, "a project publishes its own rules and facts"


def test_g9_a_rule_numbered_beyond_999_is_approved_found_and_in_the_notice(person: Person) -> None:
    rule = person.propose()
    file = person.file(rule)
    files = Governance(HarnessConfig.load(), base=person.base).files
    last = str(person.rows()[rule]["path"]).replace("001-", "999-")
    files.own(last, file.read_bytes())
    file.rename(person.rules / last)
    thousand = person.propose("Run the replay before tagging.")
    assert thousand.endswith("/1000") and person.approve(thousand).code == 0
    assert f"[{thousand}] (security) Run the replay" in person.ok("notice").out
    assert [hit["id"] for hit in person.json("search", "replay")["hits"]] == [thousand]
    assert person("approve", "1000", stdin="", tty=True).err.count(thousand) >= 1, "1000 is this machine's own"


def test_g9_no_git_config_of_the_user_or_the_repository_leads_a_pass_elsewhere(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, elsewhere = tmp_path / "team.git", tmp_path / "elsewhere.git"
    Remote(str(elsewhere)).create()
    rewrite = f'[url "{elsewhere}"]\n\tinsteadOf = {pool}\n\tpushInsteadOf = {pool}\n\tinsteadOf = team:\n'
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".gitconfig").write_text(rewrite)
    (home / ".config" / "git" / "config").write_text(rewrite)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    assert person("pool", "link", "team:rules").code == 1, "an address is taken as it stands, or refused"
    person.ok("pool", "link", str(pool), "--create")
    person.propose()
    person.ok("pool", "sync")
    config = next(person.base.glob("pools/*/git/config"))
    config.write_text(config.read_text() + rewrite)
    person.propose("Run the replay before tagging.")
    person.ok("pool", "sync")
    assert len([path for path in in_pool(Remote(str(pool))) if path.startswith("rules/")]) == 2
    assert not any((elsewhere / "refs" / "heads").iterdir())


def test_g9_linking_to_another_pool_says_what_becomes_of_what_waits(person: Person, tmp_path: Path) -> None:
    first, second = tmp_path / "one.git", tmp_path / "two.git"
    person.ok("pool", "link", str(first), "--create")
    rule = person.propose()
    first.rename(tmp_path / "away.git")
    assert person("pool", "sync", "--json").json["pending"]
    done = person.ok("pool", "link", str(second), "--create")
    said = done.err.replace("\n", " ")
    assert f"Until now it was linked to {first}" in said and "1 of this machine's files" in said
    person.ok("pool", "sync")
    assert len([path for path in in_pool(Remote(str(second))) if path.startswith("rules/")]) == 1
    assert "Until now" not in person.ok("pool", "link", str(second)).err
    assert person.standing() == {rule: "proposed"}


def test_g9_a_planted_file_is_an_error_of_sync_and_doctor_and_only_a_person_takes_own_files_back(
    person: Person, tmp_path: Path
) -> None:
    pool = tmp_path / "team.git"
    person.ok("pool", "link", str(pool), "--create")
    rule = person.propose()
    person.ok("pool", "sync")
    path = str(person.rows()[rule]["path"])
    folder = path.rpartition("/")[0]
    data = in_pool(Remote(str(pool)))[path]
    push(Remote(str(pool)), {f"{folder}/9999-security-planted.md": data})
    for verb in (("pool", "sync"), ("doctor",)):
        done = person(*verb)
        assert (done.code, "[planted-file]" in done.out, "9999" in done.out) == (1, True, True)
    assert person.standing() == {rule: "proposed"}
    push(Remote(str(pool)), {f"{folder}/9999-security-planted.md": None})
    person.ok("pool", "sync")
    assert len([name for name in in_pool(Remote(str(pool))) if name.startswith("rules/")]) == 1

    (record,) = (person.base / "written").iterdir()
    record.unlink()
    assert person("pool", "sync").code == 1 and person.rows() == {}
    assert person("pool", "accept", folder).code == 1, "no terminal, no person"
    assert person("pool", "accept", folder, stdin="n\n", tty=True).code == 1 and person.rows() == {}
    taken = person("pool", "accept", folder, stdin="y\n", tty=True)
    assert taken.code == 0 and path.rpartition("/")[2] in taken.err.replace("\n", "")
    person.ok("pool", "sync")
    assert person.standing() == {rule: "proposed"}
