"""Bytes to disk: order of write and sync, fresh lines, whole files or none, a lock that dies with its holder."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from ruleproof.edge import fs
from ruleproof.errors import StoreError


def steps(path: Path) -> tuple[list[tuple[str, int]], object]:
    seen: list[tuple[str, int]] = []
    return seen, fs.observe(lambda event: seen.append((event[0], event[2])))


def test_an_append_is_written_then_synced_before_it_returns(tmp_path: Path) -> None:
    seen, watching = steps(tmp_path)
    with watching:
        fs.append(tmp_path / "a", b"one\n")
    assert [step for step, _ in seen] == ["append.begin", "append.write", "append.sync", "dir.sync"]


def test_an_append_closes_a_torn_line_first(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b'{"half": ')
    fs.append(file, b"whole\n")
    assert file.read_bytes() == b'{"half": \nwhole\n'


def test_an_append_leaves_a_closed_line_alone(tmp_path: Path) -> None:
    file = tmp_path / "a"
    fs.append(file, b"one\n")
    fs.append(file, b"two\n")
    assert file.read_bytes() == b"one\ntwo\n"


def test_a_replace_is_synced_before_it_is_renamed(tmp_path: Path) -> None:
    seen, watching = steps(tmp_path)
    with watching:
        fs.write_atomic(tmp_path / "a", b"x")
    assert [step for step, _ in seen] == ["replace.write", "replace.sync", "replace.rename", "dir.sync"]


def test_a_failed_replace_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    file = tmp_path / "a"
    fs.write_atomic(file, b"old")

    def fail(event: fs.Event) -> None:
        if event[0] == "replace.sync":
            raise OSError(28, "No space left on device")

    with fs.observe(fail), pytest.raises(StoreError, match="No space left"):
        fs.write_atomic(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_create_exclusive_never_overwrites(tmp_path: Path) -> None:
    fs.create_exclusive(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        fs.create_exclusive(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret\n")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(StoreError):
        fs.read_bytes(tmp_path / "link")
    with pytest.raises(StoreError):
        fs.append(tmp_path / "link", b"x\n")
    assert (tmp_path / "secret").read_bytes() == b"secret\n"


def test_a_refusing_disk_is_a_store_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        fs.lock(tmp_path / "missing" / "lock").__enter__()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder"):
        fs.append(tmp_path / "folder", b"x\n")


def test_the_lock_is_refused_within_its_time_while_another_holds_it(tmp_path: Path) -> None:
    with fs.lock(tmp_path / "lock"), pytest.raises(StoreError, match="not free within"):
        fs.lock(tmp_path / "lock", timeout_s=0.05).__enter__()
    with fs.lock(tmp_path / "lock", timeout_s=0.05):
        pass


def hold(path: Path, ready: object) -> None:
    with fs.lock(path):
        ready.set()  # type: ignore[attr-defined]
        time.sleep(60)


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=hold, args=(tmp_path / "lock", ready))
    holder.start()
    assert ready.wait(20)
    os.kill(holder.pid, signal.SIGKILL)  # type: ignore[arg-type]
    holder.join()
    with fs.lock(tmp_path / "lock", timeout_s=5):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    read, write = os.pipe()
    with fs.lock(tmp_path / "lock"):
        child = os.fork()
        if child == 0:  # the child lives on while the parent releases
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        os.close(read)
        with pytest.raises(StoreError):  # the parent still holds it: the child's exit from the handle freed nothing
            fs.lock(tmp_path / "lock", timeout_s=0.05).__enter__()
    try:
        with fs.lock(tmp_path / "lock", timeout_s=2):
            pass
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_a_link_in_the_place_of_a_file_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    for step in (lambda: fs.append(tmp_path / "a", b"x\n"), lambda: fs.read_bytes(tmp_path / "a")):
        with pytest.raises(StoreError, match="a is a symbolic link, and links are not followed"):
            step()
    assert not (tmp_path / "b").exists()


def test_only_a_failed_write_speaks_of_what_was_acknowledged(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StoreError) as read:
        fs.read_bytes(tmp_path / "file" / "below")
    with pytest.raises(StoreError, match="A file stands where a folder is needed") as written:
        fs.mkdir(tmp_path / "file" / "below")
    assert "acknowledged" not in str(read.value) and "nothing was acknowledged" in str(written.value)


def test_an_append_needs_no_call_that_only_posix_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    (tmp_path / "a").write_bytes(b"torn")
    fs.append(tmp_path / "a", b"one\n")
    fs.append(tmp_path / "a", b"two\n")
    assert (tmp_path / "a").read_bytes() == b"torn\none\ntwo\n"
