"""The mailbox as a folder: `pending/<id>.json`, `processed/<id>.json`, and `status.json` for people and the 0.6 system.

What waits is what the folders hold; `status.json` is written and never trusted. A notice is settled from the moment its
processed copy stands, which exactly one acknowledgement can create; a pending copy that a crash left behind counts for
nothing and goes with the next write. An unchanged mailbox costs five stats; folders that are links are refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ruleproof.codec.notices import MAX_BYTES, decode, encode, encode_status, status_says
from ruleproof.core import ids
from ruleproof.core.notice import MailboxStatus, Notice, Resolution, summarise
from ruleproof.core.problems import Problem
from ruleproof.core.text import one_line
from ruleproof.edge import fs
from ruleproof.errors import Conflict, NotFound, StoreError

Key = tuple[int, int, int]

_SETTLE_S, _FINE_S = 2.0, 0.1
"""As coarse as time stamps of folders get, and well above the tick of those that count parts of a second: two changes
within it may look like one, so a younger listing is redone.
"""


@dataclass(frozen=True, slots=True)
class _File:
    """One file as it was last read; `notice` is None where it could not be."""

    key: Key
    notice: Notice | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _View:
    """What the folders held when they were last listed."""

    stamp: tuple[Key | None, Key | None] = (None, None)
    first_seen: float = 0.0
    listed: float = -1.0
    files: Mapping[str, _File] = field(default_factory=dict)
    pending: tuple[Notice, ...] = ()
    leftovers: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    status: MailboxStatus = field(default_factory=MailboxStatus)


class MailboxDir:
    """The port `engine.ports.Mailbox` on the folder `root`. Writers hold the workspace lock; readers need none."""

    def __init__(self, root: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self._pending = root / "pending"
        self._processed = root / "processed"
        self._monotonic = monotonic
        self._view = _View()

    # --- reading ---------------------------------------------------------------------------------------------------

    def pending(self) -> list[Notice]:
        """What waits, oldest id first. A file that cannot be read is left out and named by `problems`."""
        return list(self._look().pending)

    def status(self) -> MailboxStatus:
        """How much waits, how bad it is, and the newest id."""
        return self._look().status

    def read(self, notice_id: str) -> Notice | None:
        """The notice, acknowledged or pending; None where none can be read. Raises Refused for a bad id."""
        name = _name(notice_id)
        try:
            self._refuse_links()
        except StoreError:
            return None
        settled = self._load(self._processed, name)
        if settled is not None and settled.notice is not None:
            return replace(settled.notice, status="acknowledged")
        waiting = self._load(self._pending, name)
        return None if waiting is None else waiting.notice

    def problems(self) -> list[Problem]:
        """Everything in the folders that is not as it should be; reads every processed notice."""
        view = self._look()
        found = list(view.problems)
        for name in view.leftovers:
            where = f"{self.root.name}/pending/{name}"
            found.append(Problem("leftover-notice", "acknowledged; goes with the next write", where, "info"))
        try:
            for name in fs.listdir(self._processed):
                file = self._load(self._processed, name)
                found.extend(() if file is None else file.problems)
            says = fs.read_bytes(self.root / "status.json")
        except (StoreError, OSError) as error:
            return [*found, _unreadable(f"{self.root.name}", error)]
        if says is not None and not status_says(says, view.status):
            hint = "It is written anew with the next post or acknowledgement; nothing reads it here."
            found.append(
                Problem("stale-status", "disagrees with pending/", f"{self.root.name}/status.json", "warning", hint)
            )
        return found

    # --- writing ---------------------------------------------------------------------------------------------------

    def post(self, notice: Notice) -> None:
        """Add a pending notice; it is on the disk when this returns.

        Posting the same notice again (a writer that died does) does nothing, even where it was acknowledged meanwhile.
        Raises Refused for a bad id, Conflict where another notice has that id, StoreError (a folder that is a link).
        """
        name, data = _name(notice.id), encode(notice)
        self._refuse_links()
        there = self._load(self._processed, name)
        if there is None:
            try:
                fs.create_exclusive(self._pending / name, data)
            except FileExistsError:
                there = self._load(self._pending, name)
        if there is not None and (there.notice is None or encode(replace(there.notice, resolution=None)) != data):
            raise Conflict(f"Another notice has the id {notice.id}.", hint="Post it under a new id.")
        self._written(notice.created_at)

    def acknowledge(self, notice_id: str, *, rule_id: str | None, note: str | None, at: str) -> Notice:
        """Settle a pending notice and return it as settled. `at` is ISO-8601, UTC; the note is cut to one line.

        Raises NotFound where it is not pending (somebody else may have settled it first), Refused for a bad id,
        Conflict where a file in its place cannot be read: that file is left as it is.
        """
        name = _name(notice_id)
        self._refuse_links()
        settled = self._load(self._processed, name)
        if settled is not None:
            raise self._not_pending(notice_id, settled)
        waiting = self._load(self._pending, name)
        if waiting is None:
            raise NotFound(f"There is no notice {notice_id}.", hint="`ruleproof notices list` shows what waits.")
        if waiting.notice is None:
            raise Conflict(f"Notice {notice_id} cannot be read.", hint="Mend or move it.", problems=waiting.problems)
        done = replace(
            waiting.notice,
            status="acknowledged",
            resolution=Resolution(at, None if rule_id is None else ids.rule_id(rule_id), one_line(note or "") or None),
        )
        try:
            fs.create_exclusive(self._processed / name, encode(done))
        except FileExistsError:
            raise self._not_pending(notice_id, self._load(self._processed, name)) from None
        self._written(at)
        return done

    def _refuse_links(self) -> None:
        fs.refuse_links(self.root, self._pending, self._processed)

    def _not_pending(self, notice_id: str, settled: _File | None) -> NotFound | Conflict:
        if settled is not None and settled.notice is None:
            where = f"{self.root.name}/processed/{notice_id}.json"
            return Conflict(f"{where} cannot be read.", hint="Mend or move it away.", problems=settled.problems)
        return NotFound(f"Notice {notice_id} is acknowledged already.", hint="`ruleproof notices show` says by whom.")

    def _written(self, at: str) -> None:
        """Remove pending copies of what is acknowledged, and renew the projection.

        What was posted or acknowledged is safe by now, so a failure here is not told: the next write tries again.
        """
        view = self._look()
        with suppress(OSError):
            for name in view.leftovers:
                fs.unlink(self._pending / name)
            fs.write_atomic(self.root / "status.json", encode_status(view.status, at), sync=False)

    # --- looking ---------------------------------------------------------------------------------------------------

    def _look(self) -> _View:
        """The folders as they are: the last listing where their stamps did not change and it is old enough to trust."""
        last = self._view
        try:
            self._refuse_links()
            stamp = (fs.stat_key(self._pending), fs.stat_key(self._processed))
            now = self._monotonic()
            known = stamp == last.stamp and last.listed >= 0
            if known and last.listed - last.first_seen >= _settles(stamp):
                return last
            view = self._listed(stamp, last.first_seen if known else now, now)
        except OSError as error:
            return _View(problems=(_unreadable(self.root.name, error),))
        self._view = view
        return view

    def _listed(self, stamp: tuple[Key | None, Key | None], first_seen: float, now: float) -> _View:
        files: dict[str, _File] = {}
        leftovers: list[str] = []
        for name in fs.listdir(self._pending):
            file = self._load(self._pending, name, self._view.files.get(name))
            if file is None:
                continue
            files[name] = file
            settled = None if file.notice is None else self._load(self._processed, name)
            if settled is not None and settled.notice is not None:
                leftovers.append(name)
        pending = tuple(f.notice for name, f in files.items() if f.notice is not None and name not in leftovers)
        problems = tuple(problem for file in files.values() for problem in file.problems)
        return _View(stamp, first_seen, now, files, pending, tuple(leftovers), problems, summarise(pending))

    def _load(self, folder: Path, name: str, known: _File | None = None) -> _File | None:
        """The file `name`, read again only if it is not the one that is `known`; None where there is no such notice."""
        path, where = folder / name, f"{self.root.name}/{folder.name}/{name}"
        if not name.endswith(".json"):
            return None
        try:
            key = fs.stat_key(path)
            if key is None:
                return None
            if known is not None and known.key == key:
                return known
            if not path.is_file() or key[1] > MAX_BYTES:
                message = f"not a regular file of at most {MAX_BYTES} bytes; it is left as it is"
                return _File(key, None, (Problem("odd-file", message, where),))
            data = fs.read_bytes(path)
        except (StoreError, OSError) as error:
            return _File((0, 0, 0), None, (_unreadable(where, error),))
        if data is None:
            return None
        notice, problems = decode(data, where)
        if notice is not None and f"{notice.id}.json" != name:
            message = f"holds the notice {ids.shown(notice.id)}; the name of a file is its id"
            notice, problems = None, (Problem("bad-id", message, where),)
        return _File(key, None if notice is None else replace(notice, status="pending"), problems)


def _settles(stamp: tuple[Key | None, Key | None]) -> float:
    """Seconds after which a listing under this stamp is trusted. A whole second may come from a coarse clock."""
    whole = any(key is not None and key[2] % 1_000_000_000 == 0 for key in stamp)
    return _SETTLE_S if whole else _FINE_S


def _name(notice_id: str) -> str:
    return f"{ids.component(notice_id, 'notice')}.json"


def _unreadable(where: str, error: OSError) -> Problem:
    return Problem("unreadable", f"cannot be read: {error}", where)
