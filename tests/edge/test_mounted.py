"""What another user approved counts only where this user can change neither it nor the way to it, and then alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.edge.otheruser import NOBODY, as_nobody, needs_root, readable_by_all

from ruleproof.edge import userstate
from ruleproof.edge.userstate import read_mounted
from ruleproof.errors import Refused

BUNDLE = b"{}\n"


def test_root_and_whoever_may_write_are_refused_and_a_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ruleproof" / "approvals"
    assert read_mounted("p-1", folder) is None
    folder.mkdir(parents=True)
    (folder / "p-1.jsonl").write_bytes(BUNDLE)
    for user, writable in ((0, ()), (3_999_999, (tmp_path,)), (3_999_999, (folder / "p-1.jsonl",))):
        monkeypatch.setattr(userstate.os, "geteuid", lambda user=user: user)
        monkeypatch.setattr(userstate.os, "access", lambda path, mode, writable=writable: path in writable)
        with pytest.raises(Refused, match="could be changed by this user") as refused:
            read_mounted("p-1", folder)
        assert "another user only" in refused.value.hint
    monkeypatch.setattr(userstate.os, "access", lambda path, mode: False)
    assert read_mounted("p-1", folder) == BUNDLE
    with pytest.raises(Refused):
        read_mounted("../p-1", folder)


def test_a_folder_of_this_users_own_switches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "ruleproof" / "approvals"
    folder.mkdir(parents=True)
    os.chown(folder, os.getuid(), os.getgid())
    monkeypatch.setattr(userstate.os, "geteuid", lambda: os.lstat(folder).st_uid or 1)
    if not os.lstat(folder).st_uid:
        os.chown(folder, 1, 1)
    assert read_mounted("p-1", folder) is None
    (folder / "p-1.jsonl").write_bytes(BUNDLE)
    assert read_mounted("p-1", folder) is None


def test_what_is_mounted_read_only_counts_for_root_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ReadOnly:
        f_flag = os.ST_RDONLY

    (tmp_path / "p-1.jsonl").write_bytes(BUNDLE)
    monkeypatch.setattr(userstate.os, "statvfs", lambda path: ReadOnly)
    assert read_mounted("p-1", tmp_path) == BUNDLE
    assert read_mounted("p-2", tmp_path) == b"", "another key leads to nothing"


# --- with files that really are another user's -----------------------------------------------------------------------


@pytest.fixture
def mount() -> Iterator[Path]:
    with readable_by_all() as place:
        folder = place / "ruleproof" / "approvals"
        folder.mkdir(parents=True)
        yield folder


def looked(folder: Path, project: str = "p-1") -> object:
    def look() -> object:
        try:
            return read_mounted(project, folder)
        except Refused as refused:
            return refused.message

    return as_nobody(look)


@needs_root
def test_another_users_folder_decides_for_every_project_and_its_bundle_for_one(mount: Path) -> None:
    assert looked(mount.parent / "missing") is None
    assert looked(mount) == b""
    (mount / "p-1.jsonl").write_bytes(BUNDLE)
    assert looked(mount) == BUNDLE
    assert looked(mount, "p-2") == b"", "a key that an agent sets leads to no ledger of its own"


@needs_root
@pytest.mark.parametrize("damage", ["owned", "writable", "folder", "above", "link", "folder-link", "sticky-file"])
def test_a_bundle_that_this_user_could_change_or_exchange_is_refused(mount: Path, damage: str) -> None:
    file = mount / "p-1.jsonl"
    file.write_bytes(BUNDLE)
    if damage == "owned":
        os.chown(file, NOBODY, NOBODY)
    elif damage == "writable":
        file.chmod(0o666)
    elif damage == "sticky-file":
        file.chmod(0o1666)
    elif damage == "folder":
        mount.chmod(0o777)
    elif damage == "above":
        mount.parents[1].chmod(0o777)
    elif damage == "folder-link":
        shutil.move(mount, mount.parents[1] / "elsewhere")
        mount.symlink_to(mount.parents[1] / "elsewhere")
    else:
        target = mount.parent / "target"
        shutil.move(file, target)
        file.symlink_to(target)
        with pytest.raises(AssertionError, match=r"StoreError.*symbolic link"):
            looked(mount)
        return
    assert "could be changed by this user" in str(looked(mount))


@needs_root
def test_a_sticky_folder_above_lets_nobody_exchange_what_is_another_users(mount: Path) -> None:
    (mount / "p-1.jsonl").write_bytes(BUNDLE)
    mount.chmod(0o1777)
    assert looked(mount) == BUNDLE
