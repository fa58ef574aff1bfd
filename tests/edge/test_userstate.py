"""The user's state: found without the environment, private, lasting; the harness id is made once."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ruleproof.core.approval import OneTimeToken
from ruleproof.edge import fs
from ruleproof.edge.approvals import ApprovalStore
from ruleproof.edge.userstate import UserState, default_base, passing, require_lasting
from ruleproof.errors import Refused, StoreError


def eights(count: int) -> str:
    return "8" * count


def test_no_environment_variable_moves_the_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = default_base()
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HARNESS_ROOT", "USER", "LOGNAME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert default_base() == before
    assert before.is_relative_to(pwd.getpwuid(os.getuid()).pw_dir)


def test_a_user_whom_the_system_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)
    with pytest.raises(StoreError, match="password database"):
        default_base()


def test_folders_and_files_are_private_from_the_first(tmp_path: Path) -> None:
    state = UserState(tmp_path / "state")
    folder = state.folder("approvals")
    state.make_harness_id("host", eights)
    for path, mode in ((state.base, 0o700), (folder, 0o700), (state.base / "harness-id", 0o600)):
        assert path.stat().st_mode & 0o777 == mode, path


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_every_folder_that_is_made_on_the_way_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        fs.mkdir(tmp_path / "a" / "b" / "c")
        fs.mkdir(tmp_path / "approvals")
        until = datetime(2026, 9, 21, tzinfo=UTC)
        ApprovalStore(tmp_path / "approvals").add_token("s", OneTimeToken("approve", "ha/001", "1" * 64, until), until)
    finally:
        os.umask(before)
    for folder in ("a", "a/b", "a/b/c", "approvals/tokens"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700, folder


def test_a_folder_that_others_can_write_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    state = UserState(tmp_path / "state")
    state.folder("approvals").chmod(0o770)
    with pytest.raises(Refused, match="written by others"):
        state.folder("approvals")
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with pytest.raises(Refused, match="is a link"):
        UserState(tmp_path / "link").folder()


def test_a_folder_of_another_users_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = UserState(tmp_path / "state")
    state.folder()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Refused, match="belongs to user"):
        state.folder()


def test_the_harness_id_is_made_once_and_can_name_a_folder(tmp_path: Path) -> None:
    state = UserState(tmp_path / "state")
    assert state.harness_id() is None
    assert state.make_harness_id("Build Host.local", eights) == "build-host-local-88888888"
    assert state.make_harness_id("another", lambda count: "9" * count) == "build-host-local-88888888"
    assert UserState(tmp_path / "state").harness_id() == "build-host-local-88888888"
    assert UserState(tmp_path / "two").make_harness_id("../名前", eights) == "machine-88888888"


def test_processes_that_make_the_id_at_the_same_moment_agree(tmp_path: Path) -> None:
    state = UserState(tmp_path / "state")
    numbers = iter(range(1_000))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: state.make_harness_id("h", lambda count: f"{next(numbers):08d}"), range(32)))
    assert len(set(made)) == 1


@pytest.mark.parametrize(
    "content", [b"", b"../x", b"NUL", b"-rf", b"\xff\xfe", b"x" * 300, b"Host-88888888", "😀".encode()]
)
def test_a_damaged_id_is_an_error_and_never_a_new_id(tmp_path: Path, content: bytes) -> None:
    state = UserState(tmp_path / "state")
    state.folder()
    (state.base / "harness-id").write_bytes(content)
    with pytest.raises(StoreError, match="harness id"):
        state.make_harness_id("h", eights)
    assert (state.base / "harness-id").read_bytes() == content


MOUNTS = r"""24 1 0:22 / / rw,relatime - overlay overlay rw,lowerdir=/l
25 24 8:1 / /home/a\040b/.local rw - ext4 /dev/sda1 rw
26 24 0:30 / /tmp rw shared:2 - tmpfs tmpfs rw
27 24 8:2 / /srv rw - xfs /dev/sdb1 rw
garbage
"""


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        ("/root/.local/state/ruleproof", "overlay"),
        ("/tmp/x/ruleproof", "tmpfs"),
        ("/home/a b/.local/state/ruleproof", ""),
        ("/srv/ruleproof", ""),
        ("/srvx/ruleproof", "overlay"),
    ],
)
def test_a_place_that_goes_with_the_container_is_refused_with_the_way_out(base: str, kind: str) -> None:
    said = passing(Path(base), MOUNTS)
    assert (kind in said) if kind else said == ""
    if kind:
        with pytest.raises(Refused, match="would not last") as refused:
            require_lasting(Path(base), MOUNTS)
        assert "approvals export" in refused.value.hint
    else:
        require_lasting(Path(base), MOUNTS)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_the_programs_above_this_process_are_named() -> None:
    code = "from ruleproof.edge.userstate import ancestors; print(*ancestors())"
    shown = subprocess.run(
        ["bash", "-c", f"exec -a claude bash -c '{sys.executable} -c \"{code}\"; true'"], capture_output=True, text=True
    )
    assert "claude" in shown.stdout.split()
