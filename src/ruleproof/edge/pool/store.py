"""The private git repository behind a pool's checkout: objects, two refs, no work tree, no hooks, no config of others.

Nothing is ever checked out by git: folders are read piece by piece, so a hostile tree stays data. A lock file that a
killed process left is removed when the repository is opened for writing, which takes the pool's own lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from stat import S_IFDIR, S_ISDIR, S_ISREG
from types import TracebackType

from dulwich.errors import FileFormatException, NotGitRepository, NotTreeError
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from ruleproof.core.admission import Piece

FILE = 0o100644
_DAMAGE = (KeyError, ValueError, AssertionError, FileFormatException, NotTreeError, OSError)


class GitStore:
    """The bare repository at `path`, made where missing. Use it as a context manager. A sha is 40 hex digits.

    `writing`: the caller holds the pool's lock, so a lock file in here is a dead process's.
    """

    def __init__(self, path: Path, *, writing: bool = False) -> None:
        self.path = path
        self.made: dict[str, ShaFile] = {}
        """What was added since the repository was opened: what a push has to send."""
        self._pieces: dict[str, tuple[Piece, ...]] = {}
        try:
            self.repo = Repo(str(path))
        except NotGitRepository:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.repo = Repo.init_bare(str(path), default_branch=b"main")
        for lock in (
            ()
            if not writing
            else (*path.glob("*.lock"), *(path / "refs").rglob("*.lock"), *(path / "objects").glob("*/*.lock"))
        ):
            lock.unlink(missing_ok=True)

    def __enter__(self) -> GitStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.repo.close()

    def ref(self, name: str) -> str | None:
        """What `refs/ruleproof/<name>` names."""
        try:
            return self.repo.refs[Ref(f"refs/ruleproof/{name}".encode())].decode()
        except KeyError:
            return None

    def set_ref(self, name: str, sha: str) -> None:
        self.repo.refs[Ref(f"refs/ruleproof/{name}".encode())] = ObjectID(sha.encode())

    def tree_of(self, commit: str | None) -> str | None:
        """The root folder of a commit; None where there is none."""
        try:
            found = self.repo[commit.encode()] if commit else None
        except _DAMAGE:
            return None
        return found.tree.decode() if isinstance(found, Commit) else None

    def pieces(self, tree: str | None) -> tuple[Piece, ...]:
        """The entries of a folder; empty where it is missing, damaged or no folder."""
        if not tree:
            return ()
        held = self._pieces.get(tree)
        if held is None:
            try:
                found = self.repo[tree.encode()]
                entries = found.iteritems() if isinstance(found, Tree) else ()
                held = tuple(Piece(name, mode, sha.decode()) for name, mode, sha in entries)
            except _DAMAGE:
                held = ()
            self._pieces[tree] = held
        return held

    def folder(self, tree: str | None, *parts: str) -> str | None:
        """The sha of a folder below `tree`; None where there is none by that path."""
        for part in parts:
            inside = {piece.name: piece.sha for piece in self.pieces(tree) if S_ISDIR(piece.mode)}
            tree = inside.get(part.encode())
        return tree

    def files(self, tree: str | None, *parts: str) -> dict[str, str]:
        """name -> sha of the plain files in a folder below `tree`."""
        pieces = self.pieces(self.folder(tree, *parts))
        return {piece.name.decode("utf-8", "replace"): piece.sha for piece in pieces if S_ISREG(piece.mode)}

    def folders(self, tree: str | None, *parts: str) -> dict[str, str]:
        """name -> sha of the folders in a folder below `tree`."""
        pieces = self.pieces(self.folder(tree, *parts))
        return {piece.name.decode("utf-8", "replace"): piece.sha for piece in pieces if S_ISDIR(piece.mode)}

    def blob(self, sha: str) -> bytes | None:
        """The content; None where it is missing, damaged or no file."""
        try:
            found = self.repo[sha.encode()]
        except _DAMAGE:
            return None
        return found.data if isinstance(found, Blob) else None

    def add_blob(self, data: bytes) -> str:
        return self._add(Blob.from_string(data))

    def _add(self, made: ShaFile) -> str:
        self.repo.object_store.add_object(made)
        sha = made.id.decode()
        self.made[sha] = made
        return sha

    def changed(self, tree: str | None, changes: Mapping[str, str | None]) -> str:
        """The root folder `tree` with path -> sha of a file set, or removed (None). Only folders on the way are new."""
        split = {tuple(path.encode().split(b"/")): sha for path, sha in changes.items()}
        return self._add(self._changed(tree, split) or Tree())

    def _changed(self, tree: str | None, changes: Mapping[tuple[bytes, ...], str | None]) -> Tree | None:
        """None: an empty folder, which git does not keep."""
        entries = {piece.name: (piece.mode, piece.sha) for piece in self.pieces(tree)}
        below: dict[bytes, dict[tuple[bytes, ...], str | None]] = {}
        for path, sha in changes.items():
            if len(path) > 1:
                below.setdefault(path[0], {})[path[1:]] = sha
            elif sha is None:
                entries.pop(path[0], None)
            else:
                entries[path[0]] = (FILE, sha)
        for name, inside in below.items():
            mode, sha = entries.get(name, (0, ""))
            made = self._changed(sha if S_ISDIR(mode) else None, inside)
            if made is not None:
                entries[name] = (S_IFDIR, self._add(made))
            elif S_ISDIR(mode):
                del entries[name]
        if not entries:
            return None
        result = Tree()
        for name, (mode, sha) in entries.items():
            result.add(name, mode, ObjectID(sha.encode()))
        return result

    def commit(self, tree: str, parent: str | None, author: str, message: str, when: int) -> str:
        """A commit of `tree` on `parent`; `author`: `Name <address>`; `when`: seconds since 1970, UTC. No hook runs."""
        made = Commit()
        made.tree = ObjectID(tree.encode())
        made.parents = [ObjectID(parent.encode())] if parent else []
        made.author = made.committer = author.encode()
        made.author_time = made.commit_time = when
        made.author_timezone = made.commit_timezone = 0
        made.encoding = b"UTF-8"
        made.message = message.encode()
        return self._add(made)


def blob_sha(data: bytes) -> str:
    """The sha under which git would keep `data`; nothing is written."""
    return Blob.from_string(data).id.decode()
