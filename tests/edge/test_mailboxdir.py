"""The mailbox on disk: what waits, who settles it, and what a crash or a foreign file may do to it."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from ruleproof.codec.notices import encode
from ruleproof.core.notice import MailboxStatus, Notice
from ruleproof.edge import fs
from ruleproof.edge.mailboxdir import MailboxDir
from ruleproof.errors import Conflict, NotFound, Refused

AT = "2026-07-04T00:00:00.000000+00:00"


def notice(number: int, severity: str = "breach") -> Notice:
    return Notice(
        id=f"n-20260703T0535110000{number:02d}-f2019e11",
        created_at=f"2026-07-03T05:35:11.0000{number:02d}+00:00",
        session_id=f"s{number}",
        severity=severity,  # type: ignore[arg-type]
        signatures=("breach:a",),
        summary="a=0.10 [breach, threshold 0.50]",
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "mailbox"


@pytest.fixture
def box(root: Path) -> MailboxDir:
    return MailboxDir(root)


def ack(box: MailboxDir, number: int, rule_id: str | None = None, note: str | None = None) -> Notice:
    return box.acknowledge(notice(number).id, rule_id=rule_id, note=note, at=AT)


def test_a_mailbox_that_does_not_exist_is_empty(box: MailboxDir, root: Path) -> None:
    assert box.pending() == []
    assert box.status() == MailboxStatus(0, None, None)
    assert box.read(notice(1).id) is None
    assert box.problems() == []
    assert not root.exists()


def test_posted_notices_wait_in_the_order_of_their_ids(box: MailboxDir, root: Path) -> None:
    for number in (2, 1, 3):
        box.post(notice(number, "trend" if number == 3 else "breach"))
    assert box.pending() == [notice(1), notice(2), notice(3, "trend")]
    assert box.status() == MailboxStatus(3, "breach", notice(3).id)
    assert box.read(notice(2).id) == notice(2)
    assert (root / "pending" / f"{notice(1).id}.json").read_bytes() == encode(notice(1))
    assert MailboxDir(root).pending() == box.pending()


def test_acknowledging_moves_a_notice_with_its_resolution(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    done = ack(box, 1, "r-9772c134b8", "rule added\n# and a heading")
    assert done.status == "acknowledged"
    assert done.resolution is not None
    assert (done.resolution.acked_at, done.resolution.rule_id) == (AT, "r-9772c134b8")
    assert done.resolution.note is not None
    assert len(done.resolution.note.splitlines()) == 1
    assert box.pending() == []
    assert box.read(done.id) == done
    assert os.listdir(root / "pending") == []
    assert box.status() == MailboxStatus(0, None, None)


def test_a_note_and_a_rule_may_be_absent(box: MailboxDir) -> None:
    box.post(notice(1))
    done = ack(box, 1, note="")
    assert done.resolution is not None
    assert (done.resolution.rule_id, done.resolution.note) == (None, None)


def test_acknowledging_twice_gives_one_winner(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    first = ack(box, 1, note="first")
    for loser in (box, MailboxDir(root)):
        with pytest.raises(NotFound, match="acknowledged already"):
            ack(loser, 1, note="second")
    assert box.read(notice(1).id) == first


def test_what_never_was_cannot_be_acknowledged(box: MailboxDir, root: Path) -> None:
    with pytest.raises(NotFound, match="no notice"):
        ack(box, 1)
    assert not root.exists()


def _settle(root: Path, start: Callable[[], object], won: object, count: int) -> None:
    box = MailboxDir(root)
    start()
    for number in range(count):
        try:
            ack(box, number, note=str(os.getpid()))
        except NotFound:
            continue
        won.put((number, os.getpid()))  # type: ignore[attr-defined]


def test_two_processes_that_acknowledge_at_once_have_one_winner_a_notice(box: MailboxDir, root: Path) -> None:
    count = 15
    for number in range(count):
        box.post(notice(number))
    context = multiprocessing.get_context("fork")
    barrier, won = context.Barrier(2), context.Queue()
    workers = [context.Process(target=_settle, args=(root, barrier.wait, won, count)) for _ in range(2)]
    for worker in workers:
        worker.start()
    winners = dict(won.get(timeout=30) for _ in range(count))
    for worker in workers:
        worker.join(timeout=30)
    assert won.empty()
    assert sorted(winners) == list(range(count))
    for number, pid in winners.items():
        settled = MailboxDir(root).read(notice(number).id)
        assert settled is not None
        assert settled.resolution is not None
        assert settled.resolution.note == str(pid)
    assert MailboxDir(root).pending() == []


# --- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", ["../../x", "C:\\x", "NUL", "-rf", "--upload-pack=x", "x" * 300, "🙂", "", ".", "..", "a/b", "a\x00b", "a\n"]
)
def test_an_id_that_is_no_file_name_is_refused_before_any_file(box: MailboxDir, root: Path, bad: str) -> None:
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        for call in (
            lambda: box.read(bad),
            lambda: box.acknowledge(bad, rule_id=None, note=None, at=AT),
            lambda: box.post(replace(notice(1), id=bad)),
        ):
            with pytest.raises(Refused):
                call()
    assert steps == []
    assert not root.exists()


def test_a_rule_id_that_is_none_is_refused_and_the_notice_still_waits(box: MailboxDir) -> None:
    box.post(notice(1))
    with pytest.raises(Refused, match="not a rule id"):
        ack(box, 1, "r-1\n# heading")
    assert box.pending() == [notice(1)]


def test_posting_again_does_nothing_and_never_overwrites(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    box.post(notice(1))
    assert box.pending() == [notice(1)]
    with pytest.raises(Conflict):
        box.post(replace(notice(1), summary="another"))
    assert box.pending() == [notice(1)]
    done = ack(box, 1, note="settled")
    box.post(notice(1))
    with pytest.raises(Conflict):
        box.post(replace(notice(1), summary="another"))
    assert os.listdir(root / "pending") == []
    assert box.pending() == []
    assert box.read(done.id) == done


# --- the projection --------------------------------------------------------------------------------------------------


def test_the_status_file_is_written_for_others(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    expected = {"pending_count": 1, "max_severity": "breach", "latest_id": notice(1).id}
    assert json.loads((root / "status.json").read_bytes()) == {**expected, "updated_at": notice(1).created_at}
    ack(box, 1)
    expected = {"pending_count": 0, "max_severity": None, "latest_id": None}
    assert json.loads((root / "status.json").read_bytes()) == {**expected, "updated_at": AT}


@pytest.mark.parametrize("content", [b'{"pending_count": 0, "max_severity": null, "latest_id": null}', b"garbage", b""])
def test_the_status_file_is_never_trusted(box: MailboxDir, root: Path, content: bytes) -> None:
    box.post(notice(1))
    (root / "status.json").write_bytes(content)
    assert MailboxDir(root).status() == MailboxStatus(1, "breach", notice(1).id)
    assert [problem.code for problem in MailboxDir(root).problems()] == ["stale-status"]
    box.post(notice(2))
    assert box.problems() == []


def test_a_status_file_that_cannot_be_written_does_not_undo_the_notice(box: MailboxDir, root: Path) -> None:
    (root / "status.json").mkdir(parents=True)
    box.post(notice(1))
    assert box.pending() == [notice(1)]
    assert ack(box, 1).status == "acknowledged"


# --- crashes ---------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def killed_at(step: int, action: Callable[[], object]) -> bool:
    """Run `action` and die after its `step`th step on disk; False once it has fewer."""
    left = step

    def count(_: fs.Event) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    try:
        with fs.observe(count):
            action()
    except Killed:
        return True
    return False


def test_a_crash_at_any_step_of_an_acknowledgement_leaves_it_done_or_undone(tmp_path: Path) -> None:
    step = 0
    while True:
        step += 1
        root = tmp_path / str(step)
        box = MailboxDir(root)
        box.post(notice(1))
        box.post(notice(2))
        died = killed_at(step, lambda box=box: ack(box, 1, note="first"))  # type: ignore[misc]
        for seen in (MailboxDir(root), box):
            settled = seen.read(notice(1).id)
            assert settled is not None
            waits = notice(1) in seen.pending()
            assert waits == (settled.status == "pending")
            assert seen.status().pending_count == len(seen.pending()) == 1 + waits
        if not died:
            break
        if waits:
            ack(box, 1, note="second")
        else:
            with pytest.raises(NotFound):
                ack(box, 1, note="second")
        box.post(notice(3))
        assert sorted(os.listdir(root / "pending")) == [f"{notice(n).id}.json" for n in (2, 3)]
        assert MailboxDir(root).problems() == []
    assert step > 8


def test_a_crash_between_the_copies_reads_as_acknowledged_and_is_healed(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    left = (root / "pending" / f"{notice(1).id}.json").read_bytes()
    done = ack(box, 1)
    (root / "pending" / f"{notice(1).id}.json").write_bytes(left)
    assert box.pending() == []
    assert box.status().pending_count == 0
    assert box.read(done.id) == done
    assert [problem.code for problem in box.problems()] == ["leftover-notice"]
    box.post(notice(2))
    assert os.listdir(root / "pending") == [f"{notice(2).id}.json"]
    assert box.problems() == []


def test_a_warm_view_sees_a_copy_that_another_process_settled_and_left(root: Path) -> None:
    clock = Clock()
    box = MailboxDir(root, monotonic=clock)
    box.post(notice(1))
    pending = root / "pending" / f"{notice(1).id}.json"
    for clock.now in (0.0, 5.0):
        assert box.pending() == [notice(1)]
    fs.create_exclusive(root / "processed" / pending.name, encode(replace(notice(1), status="acknowledged")))
    assert box.pending() == []


def test_an_unreadable_processed_copy_neither_settles_nor_is_overwritten(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    name = f"{notice(1).id}.json"
    (root / "processed").mkdir()
    (root / "processed" / name).write_bytes(b"{torn")
    assert box.pending() == [notice(1)]
    with pytest.raises(Conflict, match="processed"):
        ack(box, 1)
    box.post(notice(2))
    assert (root / "processed" / name).read_bytes() == b"{torn"
    assert box.pending() == [notice(1), notice(2)]
    assert [problem.where for problem in box.problems()] == [f"mailbox/processed/{name}"]


def test_write_sync_and_removal_happen_in_that_order(box: MailboxDir) -> None:
    steps: list[fs.Event] = []
    box.post(notice(1))
    with fs.observe(steps.append):
        ack(box, 1)
    written = [(step, Path(path).parent.name) for step, path, _ in steps if step != "read"]
    order = [written.index(wanted) for wanted in (("create.write", "processed"), ("create.sync", "processed"))]
    order.append(written.index(("unlink", "pending")))
    assert order == sorted(order)
    assert ("dir.sync", "mailbox") in written


# --- foreign files ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_left_out_named_and_left_alone(box: MailboxDir, root: Path, tmp_path: Path) -> None:
    box.post(notice(1))
    pending = root / "pending"
    torn, other, folder = f"{notice(2).id}.json", f"{notice(3).id}.json", "dir.json"
    (pending / torn).write_bytes(b"{torn")
    (pending / other).write_bytes(encode(notice(4)))
    (pending / folder).mkdir()
    (pending / "link.json").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("hunter2")
    os.mkfifo(pending / "fifo.json")
    (pending / "notes.txt").write_text("not ours")
    (pending / ".left.json.1.tmp").write_text("not ours")
    assert box.pending() == [notice(1)]
    assert box.status() == MailboxStatus(1, "breach", notice(1).id)
    found = {problem.where: str(problem) for problem in box.problems()}
    assert set(found) == {f"mailbox/pending/{name}" for name in (torn, other, folder, "link.json", "fifo.json")}
    assert "hunter2" not in str(found)
    with pytest.raises(Conflict, match="cannot be read") as caught:
        ack(box, 2)
    assert caught.value.problems
    assert (pending / torn).read_bytes() == b"{torn"
    assert box.read(notice(2).id) is None


def test_an_oversize_file_is_not_read(box: MailboxDir, root: Path) -> None:
    (root / "pending").mkdir(parents=True)
    with (root / "pending" / "n-1.json").open("wb") as file:
        file.truncate(9 << 20)
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        assert box.pending() == []
    assert steps == []
    assert [problem.code for problem in box.problems()] == ["odd-file"]


def test_where_the_folder_is_no_folder_nothing_raises(root: Path) -> None:
    root.mkdir()
    (root / "pending").write_text("a file")
    box = MailboxDir(root)
    assert box.pending() == []
    assert [problem.code for problem in box.problems()] == ["unreadable"]


def test_the_place_of_a_file_says_whether_it_waits(box: MailboxDir, root: Path) -> None:
    fs.mkdir(root / "pending")
    fs.mkdir(root / "processed")
    (root / "pending" / f"{notice(1).id}.json").write_bytes(encode(replace(notice(1), status="acknowledged")))
    (root / "processed" / f"{notice(2).id}.json").write_bytes(encode(notice(2)))
    assert [found.id for found in box.pending()] == [notice(1).id]
    second = box.read(notice(2).id)
    assert second is not None
    assert second.status == "acknowledged"


def test_unknown_keys_survive_an_acknowledgement(box: MailboxDir, root: Path) -> None:
    record = {**json.loads(encode(notice(1))), "scope": "later", "severity": "meltdown"}
    fs.write_atomic(root / "pending" / f"{notice(1).id}.json", json.dumps(record).encode())
    assert box.status().max_severity == "breach"
    ack(box, 1)
    kept = json.loads((root / "processed" / f"{notice(1).id}.json").read_bytes())
    assert (kept["scope"], kept["severity"], kept["status"]) == ("later", "meltdown", "acknowledged")


def test_a_mailbox_of_the_older_system_opens_and_goes_on(data_dir: Path, root: Path) -> None:
    copytree(data_dir / "workspace_0_6_3" / "mailbox", root)
    box = MailboxDir(root)
    assert box.problems() == []
    assert [found.session_id for found in box.pending()] == ["sess-b", "sess-c"]
    assert box.status() == MailboxStatus(2, "breach", "n-20260703T053513000000-f2019e13")
    old = box.read("n-20260703T053511000000-f2019e11")
    assert old is not None
    assert old.resolution is not None
    assert old.resolution.rule_id == "r-e44382e172"
    box.acknowledge("n-20260703T053512000000-f2019e12", rule_id=None, note="seen", at=AT)
    assert box.status().pending_count == 1
    assert box.problems() == []


# --- cost ------------------------------------------------------------------------------------------------------------


def test_an_unchanged_mailbox_is_neither_listed_nor_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    box = MailboxDir(root, monotonic=clock)
    for number in range(20):
        box.post(notice(number))
    box.pending()
    clock.now = 10.0
    box.pending()
    calls: list[str] = []
    for name in ("listdir", "stat_key", "read_bytes"):
        original = getattr(fs, name)
        monkeypatch.setattr(
            fs, name, lambda path, name=name, original=original: (calls.append(name), original(path))[1]
        )
    for _ in range(3):
        assert box.status().pending_count == 20
        assert len(box.pending()) == 20
    assert calls == ["stat_key"] * 12


def test_a_changed_mailbox_reads_only_what_changed(root: Path) -> None:
    box = MailboxDir(root)
    for number in range(20):
        box.post(notice(number))
    MailboxDir(root).post(notice(20))
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        assert len(box.pending()) == 21
        assert len(box.pending()) == 21
    assert [Path(path).stem for _, path, _ in steps] == [notice(20).id]


def test_a_change_within_one_tick_of_the_time_stamp_is_seen(root: Path) -> None:
    clock = Clock()
    box = MailboxDir(root, monotonic=clock)
    box.post(notice(1))
    folder = root / "pending"
    stamp = os.stat(folder)
    assert len(box.pending()) == 1
    (folder / f"{notice(2).id}.json").write_bytes(encode(notice(2)))
    os.utime(folder, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    clock.now = 1.0
    assert len(box.pending()) == 2


@pytest.mark.parametrize(("part_of_a_second", "listings"), [(0, 3), (1_000_000, 2)])
def test_a_listing_is_trusted_soon_where_the_clock_is_fine_and_late_where_it_may_be_coarse(
    root: Path, monkeypatch: pytest.MonkeyPatch, part_of_a_second: int, listings: int
) -> None:
    clock = Clock()
    box = MailboxDir(root, monotonic=clock)
    box.post(notice(1))
    for folder in ("pending", "processed"):
        (root / folder).mkdir(exist_ok=True)
        os.utime(root / folder, ns=(10**18, 10**18 + part_of_a_second))
    listed: list[Path] = []
    original = fs.listdir
    monkeypatch.setattr(fs, "listdir", lambda path: (listed.append(path), original(path))[1])
    for clock.now in (1.0, 1.2, 1.4):
        assert box.pending() == [notice(1)]
    assert len(listed) == listings


def test_a_notice_that_was_rewritten_in_place_is_read_anew(box: MailboxDir, root: Path) -> None:
    box.post(notice(1))
    assert box.pending() == [notice(1)]
    changed = replace(notice(1), summary="forgotten")
    fs.write_atomic(root / "pending" / f"{notice(1).id}.json", encode(changed))
    assert box.pending() == [changed]
