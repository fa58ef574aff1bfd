"""How a pool's address is reached: a local path, or https with a token. Every failure is a value, none holds a secret.

The address and the token come from the caller and are written nowhere: not to a git config, a message or a log. A push
moves the branch only from the commit that the caller built on; it never forces.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Literal, TypeVar
from urllib.parse import urlsplit

from dulwich.client import GitClient, HTTPUnauthorized, LocalGitClient, SendPackResult, Urllib3HttpGitClient
from dulwich.errors import NotGitRepository, SendPackError
from dulwich.file import FileLocked
from dulwich.objects import Commit, ObjectID, ShaFile, Tree
from dulwich.pack import UnpackedObject, pack_objects_to_data
from dulwich.refs import Ref
from dulwich.repo import Repo

from ruleproof.core.admission import SUBMODULE
from ruleproof.core.ids import shown
from ruleproof.core.projectkey import without_secret
from ruleproof.core.text import one_line
from ruleproof.edge.pool.store import GitStore
from ruleproof.errors import Refused, StoreError

Code = Literal["ok", "moved", "network", "auth", "not-found", "rejected", "oversize"]
"""`moved`: somebody pushed first, build on theirs. `rejected`: the server said no."""

USER = "ruleproof"
MAX_PACK = 256 << 20
"""Bytes that one fetch may bring."""
SPOOLED = 16 << 20
STALE_LOCK_S = 2.0
_DISK = frozenset([errno.ENOSPC, errno.EROFS, errno.EDQUOT])
_SOMEBODY_WAS_FIRST = ("unable to set", "fetch first", "non-fast-forward", "stale info")
T = TypeVar("T")
_LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?/.*", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SCP = re.compile(r"[^/\\]{2,}:")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What the pool holds now. `head`: the commit of `branch`, or None in a pool without one; `detail`: for people."""

    code: Code
    detail: str = ""
    branch: str = "main"
    head: str | None = None


def check_address(text: str) -> str:
    """The address of a pool: an absolute path, or an https URL (http on this machine alone); else raises Refused."""
    address = text.strip()
    problem = ""
    if not address or address.startswith("-") or not address.isprintable():
        problem = "is no address"
    elif "::" in address.partition("/")[0]:
        problem = "names a helper program"
    scheme = _SCHEME.match(address)
    if not problem and scheme and scheme.group(1).lower() == "file":
        address, scheme = address[scheme.end() :].removeprefix("localhost"), None
    if not problem and scheme:
        if scheme.group(1).lower() != "https" and not _LOOPBACK.fullmatch(address):
            problem = "is reached neither by https nor as a local path"
        elif "@" in address[scheme.end() :].partition("/")[0] or "?" in address or "#" in address:
            problem = "holds more than an address"
    elif not problem and _SCP.match(address):
        problem = "would need ssh"
    if problem:
        raise Refused(
            f"{shown(without_secret(address))} {problem}.",
            hint="Give a local path or an https address alone; the token is asked for or read from the environment.",
        )
    return address if scheme else str(Path(os.path.expanduser(address)).absolute())


class Remote:
    """One address, see `check_address`. `token`: sent to its host alone, as the password of a basic login."""

    def __init__(self, address: str, token: str = "", *, timeout_s: float = 30.0) -> None:
        self.address = check_address(address)
        self.local = not _SCHEME.match(self.address)
        self._token = token
        self._timeout = timeout_s

    def __repr__(self) -> str:
        return f"Remote({self.address!r})"

    def create(self) -> bool:
        """Make the bare repository of a local address where there is none; whether it did."""
        path = Path(self.address)
        if not self.local or path.exists():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            Repo.init_bare(str(path), mkdir=True, default_branch=b"main").close()
            return True
        return False

    def fetch(self, store: GitStore, have: str | None) -> Fetched:
        """Bring the pool's newest commit into `store`. `have`: the commit brought last time. Never raises."""
        chosen: list[tuple[str, str]] = []

        def wants(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
            found = _branch(refs)
            if found is None:
                return []
            chosen.append((found.decode(), refs[found].decode()))
            return [] if refs[found] in store.repo.object_store else [refs[found]]

        def bring() -> Fetched:
            if self.local:
                with Repo(self.address) as theirs:
                    for head in wants(theirs.get_refs()):
                        _copy(theirs, store, head)
            else:
                with SpooledTemporaryFile(SPOOLED) as file:
                    write = _Bounded(file)
                    heads = [ObjectID(have.encode())] if have else []
                    walker = store.repo.get_graph_walker(heads)
                    self._client().fetch_pack(self._path(), wants, walker, write)
                    if write.size:
                        file.seek(0)
                        store.repo.object_store.add_thin_pack(file.read, None)
            if not chosen:
                return Fetched("ok")
            return Fetched("ok", "", chosen[0][0].removeprefix("refs/heads/"), chosen[0][1])

        result = self._guard(bring, store)
        return result if isinstance(result, Fetched) else Fetched(*result)

    def push(self, store: GitStore, branch: str, old: str | None, new: str) -> tuple[Code, str]:
        """Move `branch` from the commit `old` (None: it does not exist) to `new`; what came of it. Never raises."""
        ref = Ref(f"refs/heads/{branch}".encode())

        def update(refs: dict[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            current = refs.get(ref)
            if (current.decode() if current else None) != old:
                raise _Moved
            return {ref: ObjectID(new.encode())}

        def pack(
            have: AbstractSet[ObjectID],
            want: AbstractSet[ObjectID],
            *,
            ofs_delta: bool = False,
            progress: Callable[[bytes], None] | None = None,
        ) -> tuple[int, Iterator[UnpackedObject]]:
            return pack_objects_to_data([(made, None) for made in store.made.values()])

        def send() -> SendPackResult:
            return self._client().send_pack(self._path(), update, pack)

        result = self._guard(lambda: _past_stale_lock(send), store)
        if isinstance(result, tuple):
            return result
        refused = (result.ref_status or {}).get(ref)
        if refused is None:
            return "ok", ""
        text = self._scrubbed(refused if isinstance(refused, str) else str(refused))
        return ("moved" if any(word in text for word in _SOMEBODY_WAS_FIRST) else "rejected"), text

    def _client(self) -> GitClient:
        if self.local:
            return LocalGitClient(quiet=True)
        return Urllib3HttpGitClient(
            self.address,
            quiet=True,
            timeout=self._timeout,
            username=USER if self._token else None,
            password=self._token or None,
        )

    def _path(self) -> bytes:
        return os.fsencode(self.address) if self.local else urlsplit(self.address).path.encode()

    def _guard(self, call: Callable[[], T], store: GitStore) -> T | tuple[Code, str]:
        """What `call` returns, or the code and the words for its failure.

        Raises StoreError for a failure of this machine's own disk. The one place where anything is caught: what a
        server sends is hostile, and the library raises whatever it trips over.
        """
        try:
            return call()
        except _Moved:
            return "moved", "somebody published first"
        except _Oversize:
            return "oversize", f"the pool sent more than {MAX_PACK} bytes"
        except HTTPUnauthorized:
            return "auth", "the token is missing, wrong or over"
        except NotGitRepository:
            return "not-found", f"there is no repository at {self.address}"
        except SendPackError as error:
            return "rejected", self._scrubbed(str(error))
        except OSError as error:
            own = isinstance(error.filename, str) and Path(error.filename).is_relative_to(store.path)
            if own or error.errno in _DISK:
                raise StoreError(
                    f"{store.path}: {error.strerror or type(error).__name__}.",
                    hint="Check free space and permissions; nothing was published.",
                ) from None
            return "network", self._scrubbed(f"{type(error).__name__}: {error}")
        except Exception as error:
            code: Code = "auth" if "http resp 403" in str(error) else "network"
            return code, self._scrubbed(f"{type(error).__name__}: {error}")

    def _scrubbed(self, text: str) -> str:
        clean = text.replace(self._token, "***") if self._token else text
        return one_line(clean, 200)


class _Bounded:
    """Writes what arrives to `file`, up to MAX_PACK bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0

    def __call__(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > MAX_PACK:
            raise _Oversize
        return self._file.write(data)


def _copy(theirs: Repo, store: GitStore, head: ObjectID) -> None:
    """Bring `head` and whatever it needs that is not here, as one pack: what is here already is here whole."""
    found: dict[ObjectID, ShaFile] = {}
    todo = [head]
    size = 0
    while todo:
        sha = todo.pop()
        if sha in found or sha in store.repo.object_store or sha not in theirs.object_store:
            continue
        made = found[sha] = theirs.object_store[sha]
        size += made.raw_length()
        if size > MAX_PACK:
            raise _Oversize
        if isinstance(made, Commit):
            todo += [made.tree, *made.parents]
        elif isinstance(made, Tree):
            todo += [inner for _, mode, inner in made.iteritems() if mode != SUBMODULE]
    store.repo.object_store.add_pack_data(*pack_objects_to_data([(made, None) for made in found.values()]))


def _past_stale_lock(send: Callable[[], T]) -> T:
    """Call `send`; a lock on the pool's branch that stays the same for a while was left by a killed process."""
    deadline, held = 0.0, None
    while True:
        try:
            return send()
        except FileLocked as error:
            lock = Path(os.fsdecode(error.args[1]))
            found = lock.stat() if lock.exists() else None
            if found is None or held != (found.st_ino, found.st_mtime_ns):
                held = (found.st_ino, found.st_mtime_ns) if found else None
                deadline = time.monotonic() + STALE_LOCK_S
            elif time.monotonic() > deadline:
                lock.unlink(missing_ok=True)
            time.sleep(0.05)


class _Moved(Exception):
    """The branch is not where the caller thought."""


class _Oversize(Exception):
    """The pack is larger than MAX_PACK."""


def _branch(refs: Mapping[Ref, ObjectID]) -> Ref | None:
    """The branch that a pool is kept on: main, else master, else the one HEAD names, else the first by name."""
    heads = sorted(name for name in refs if name.startswith(b"refs/heads/"))
    for name in (b"refs/heads/main", b"refs/heads/master"):
        if name in heads:
            return Ref(name)
    same = [name for name in heads if refs[name] == refs.get(Ref(b"HEAD"))]
    return next(iter((*same, *heads)), None)
