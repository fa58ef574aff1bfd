"""Every byte that reaches the disk, and the lock between processes.

An append is one write that starts on a fresh line, flushed to the disk before the caller hears that it succeeded. A
file is replaced whole or not at all. `observe` shows every step to a listener: tests count bytes, prove the order of
write, sync and acknowledgement, and kill the process between any two steps.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ruleproof.errors import StoreError

Event = tuple[str, str, int]
"""(step, path, bytes): read, append.begin, append.write, append.sync, replace.write, replace.sync, replace.rename,
create.write, create.sync, dir.sync, unlink, lock, unlock."""

_listeners: list[Callable[[Event], None]] = []
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_LINK = "Put the real thing in its place; nothing was read or written."
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
"""A FIFO in the place of a file must not block the open."""


@contextlib.contextmanager
def observe(listener: Callable[[Event], None]) -> Iterator[None]:
    """Call `listener` after each step of this process's reads and writes (`append.begin` and `unlink`: before)."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _tell(step: str, path: Path, count: int = 0) -> None:
    for listener in _listeners:
        listener((step, str(path), count))


@contextlib.contextmanager
def _named(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except (StoreError, FileExistsError):
        raise
    except OSError as error:
        if isinstance(error, FileNotFoundError) and doing == "read":
            raise
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path} is a symbolic link, and links are not followed.", hint=_LINK) from error
        said = f"{path}: {doing} failed: {error.strerror or error}."
        if doing == "read":
            raise StoreError(said, hint="Check its permissions, and those of the folders above it.") from error
        if isinstance(error, NotADirectoryError):
            raise StoreError(said, hint="A file stands where a folder is needed; nothing was acknowledged.") from error
        raise StoreError(said, hint="Check free space and permissions; nothing was acknowledged.") from error


def is_link(path: Path) -> bool:
    """Whether it leads elsewhere: a symbolic link, or a junction."""
    return os.path.islink(path) or (sys.version_info >= (3, 12) and os.path.isjunction(path))


def refuse_links(*folders: Path) -> None:
    """Raise StoreError where one of them is a link: whoever wrote the workspace must not choose where we write."""
    for folder in folders:
        if is_link(folder):
            raise StoreError(f"{folder} is a symbolic link, and links inside a workspace are not followed.", hint=_LINK)


def append(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Append `data` (whole lines, each ending in a newline) in one write; flush it when `sync`.

    A last line that lacks its newline is closed first, so that a torn record never swallows the next one.
    Raises StoreError when the disk refuses; what then stands at the end is a torn line, which every reader isolates.
    """
    with _named(path, "append"):
        created = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NOFOLLOW, 0o600)
        try:
            _regular(path, handle)
            size = os.fstat(handle).st_size
            if size and os.lseek(handle, size - 1, os.SEEK_SET) >= 0 and os.read(handle, 1) != b"\n":
                data = b"\n" + data
            _tell("append.begin", path, len(data))
            _write_all(handle, data)
            _tell("append.write", path, len(data))
            if sync:
                _flush(handle)
                _tell("append.sync", path)
        finally:
            os.close(handle)
        if created and sync:
            _sync_dir(path.parent)


def sync_file(path: Path) -> None:
    """Flush what was appended to `path` without a sync."""
    with _named(path, "sync"):
        handle = os.open(path, os.O_RDWR | _NOFOLLOW)
        try:
            _flush(handle)
            _tell("append.sync", path)
        finally:
            os.close(handle)


def write_atomic(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the content of `path` whole: temporary sibling, flush, rename, flush of the folder."""
    with _named(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temp = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        try:
            handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOFOLLOW, 0o600)
            try:
                _write_all(handle, data)
                _tell("replace.write", path, len(data))
                if sync:
                    _flush(handle)
                    _tell("replace.sync", path)
            finally:
                os.close(handle)
            os.replace(temp, path)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        _tell("replace.rename", path)
        if sync:
            _sync_dir(path.parent)


def create_exclusive(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a new file; raises FileExistsError where one stands. A crash leaves the whole file or none."""
    with _named(path, "create"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temp = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOFOLLOW, 0o600)
        try:
            try:
                _write_all(handle, data)
                _tell("create.write", path, len(data))
                if sync:
                    _flush(handle)
                    _tell("create.sync", path)
            finally:
                os.close(handle)
            os.link(temp, path)
        finally:
            temp.unlink(missing_ok=True)
        if sync:
            _sync_dir(path.parent)


def read_bytes(path: Path) -> bytes | None:
    """The content; None where there is no such file. Raises StoreError for a link or anything but a regular file."""
    return read_from(path, 0)


def read_from(path: Path, offset: int, count: int = -1) -> bytes | None:
    """Up to `count` bytes from `offset` on (all with -1); None where there is no such file."""
    try:
        with _named(path, "read"):
            handle = os.open(path, os.O_RDONLY | _NONBLOCK | _NOFOLLOW)
            try:
                _regular(path, handle)
                with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
                    file.seek(offset)
                    data = file.read(count)
            finally:
                os.close(handle)
    except FileNotFoundError:
        return None
    _tell("read", path, len(data))
    return data


def stat_key(path: Path) -> tuple[int, int, int] | None:
    """(inode, size, mtime in ns) of the file; None where it is missing."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def listdir(path: Path) -> list[str]:
    """Names in the folder, sorted, without our own temporary files; empty where it is missing."""
    try:
        return sorted(name for name in os.listdir(path) if not (name.startswith(".") and name.endswith(".tmp")))
    except FileNotFoundError:
        return []


def mkdir(path: Path) -> None:
    """Make the folder and those above it (mode 0700 where new)."""
    with _named(path, "mkdir"):
        for folder in [*reversed(path.parents), path]:  # `parents=True` would give those above the umask's mode
            if folder == path or not folder.exists():
                folder.mkdir(exist_ok=True, mode=0o700)


def unlink(path: Path) -> None:
    """Remove the file; nothing happens where it is missing."""
    with _named(path, "remove"):
        _tell("unlink", path)
        if path.exists() or path.is_symlink():
            path.unlink(missing_ok=True)
            _sync_dir(path.parent)


def sweep(folder: Path) -> list[str]:
    """Remove temporary files that a killed writer left in `folder`; call it under the lock. Returns their names."""
    left = [name for name in os.listdir(folder) if name.startswith(".") and name.endswith(".tmp")]
    for name in left:
        unlink(folder / name)
    return left


def _regular(path: Path, handle: int) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise StoreError(f"{path} is not a regular file.", hint="Move it away; nothing was read or written.")


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _flush(handle: int) -> None:
    getattr(os, "fdatasync", os.fsync)(handle)


def _sync_dir(path: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        _tell("dir.sync", path)
    finally:
        os.close(handle)


# --- the lock ------------------------------------------------------------------------------------------------------

_held: set[int] = set()


def _forget_locks_after_fork() -> None:
    """A child must not keep its parent's lock: closing the inherited handle leaves the parent's lock in place."""
    for handle in _held:
        with contextlib.suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks_after_fork)


@contextlib.contextmanager
def lock(path: Path, *, timeout_s: float = 30.0) -> Iterator[None]:
    """Hold the inter-process lock file `path`. The system frees it when the holder dies, however it dies.

    Raises StoreError when it does not come free in `timeout_s` seconds. Not re-entrant.
    """
    with _named(path, "lock"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
    owner = os.getpid()
    try:
        _held.add(handle)
        deadline, pause = time.monotonic() + timeout_s, 0.0002
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{path} was not free within {timeout_s:g} s.",
                    hint="Another process holds it; look for one that hangs (the lock dies with its holder).",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)
        _tell("lock", path)
        yield
        _tell("unlock", path)
    finally:
        if os.getpid() == owner:
            _held.discard(handle)
            os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
