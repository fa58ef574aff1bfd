"""Forget one rule, notice, case or session: the one rewrite. Its text goes from every file; a tombstone stays.

The tombstone (digest, reason, time) is written first and synced, then each file is replaced whole, those last that the
text is known from; so a crash leaves a store that a second call finishes. Counts and times in the journal and in trials
stay: they are evidence about other things. So do ids of ours; that of a session, which may name a person, becomes an
alias everywhere. What another rule, notice or case says in its own words stays too and is named in `kept`. A line that
cannot be parsed and holds the id or a piece of the text goes whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ruleproof.codec.jsonl import decode_line, encode_line
from ruleproof.codec.notices import encode_status
from ruleproof.codec.records import tombstone_to
from ruleproof.core import ids
from ruleproof.core.notice import summarise
from ruleproof.core.rulebook import Tombstone
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.engine.doctor import TEMPORARY, Folder
from ruleproof.engine.ports import Log
from ruleproof.engine.target import Kind, Target, find
from ruleproof.engine.workspace import Transaction, Workspace
from ruleproof.errors import NotFound, Refused, StoreError

MAX_REASON = 500
_ALWAYS = frozenset({".lock", ".trust", ".gitignore", "mailbox/status.json"})
_FOLDERS = ("mailbox/pending", "mailbox/processed", "traces", "evalset")
_NAMES = ("harness_rules.md", "state/score_history.json")
"""What is looked through where no `Folder` says what there is."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went: lines and objects that were removed or changed, and the files that they stood in.

    `kept`: other rules, notices and cases whose own words hold the text, and files that still name the session; forget
    them too, or mend them, if it has to be gone.
    """

    id: str
    kind: Kind
    records: int
    files: tuple[str, ...]
    kept: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    """One call: the target, and what was done so far."""

    workspace: Workspace
    target: Target
    records: int = 0
    files: list[str] = field(default_factory=list)


def forget(workspace: Workspace, what: str, reason: str, *, folder: Folder | None = None) -> Forgotten:
    """Remove the text of the rule, notice, case or session `what` from the whole workspace.

    A second call finishes what a crash cut short, and otherwise finds nothing left to do. Raises NotFound, Refused for
    what is no id, StoreError; a file that cannot be read is named before anything is written.
    """
    ids.opaque(what)
    with workspace.transaction() as plan:
        target = find(workspace, what)
        if target is None:
            raise NotFound(
                f"There is no rule, notice, case or session {ids.shown(what)}.", hint="`ruleproof status` shows ids."
            )
        work = _Work(workspace, target)
        names = _names(workspace, folder)
        others = [name for name in names if not target.owns(name)]
        contents = {name: _read(workspace, name) for name in names}
        logs = _logs(workspace, target.kind)
        for _, log in logs:
            log.content()
        _bury(work, plan, reason)
        for name in others:
            _file(work, name, contents[name])
        for name, log in logs:
            _log(work, name, log)
        for name in names:
            if target.owns(name):
                workspace.ports.files.remove(name)
                work.records += 1
                work.files.append(name)
        mailbox = workspace.ports.mailbox
        if any(name.startswith("mailbox/pending/") for name in work.files):
            workspace.ports.files.write("mailbox/status.json", encode_status(summarise(mailbox.pending()), plan.at))
        left = _left(workspace, target, [*names, *(name for name, _ in logs)])
    return Forgotten(
        target.id, target.kind, work.records, tuple(work.files), tuple(dict.fromkeys((*target.kept, *left)))
    )


def _left(workspace: Workspace, target: Target, names: Sequence[str]) -> list[str]:
    """The files that name the session still, in a place where its alias cannot stand: in other words, or another id."""
    renaming, read = target.renaming, workspace.ports.files.read
    if renaming is None or target.id == target.buried_as:
        return []
    return [name for name in names if renaming.remains(read(name) or b"")]


def _logs(workspace: Workspace, kind: Kind) -> tuple[tuple[str, Log], ...]:
    """The logs in the order of their rewriting: last the one from which a second call knows the text."""
    ports = workspace.ports
    rules, journal = ("rules.jsonl", ports.rules), ("journal.jsonl", ports.journal)
    last = (journal, rules) if kind == "rule" else (rules, journal)
    return ("trials.jsonl", ports.trials), ("sessions.jsonl", ports.sessions), *last


def _bury(work: _Work, plan: Transaction, reason: str) -> None:
    """The tombstone, and the event that tells of it, once."""
    target, ports = work.target, work.workspace.ports
    why = one_line(target.clean(redact(reason)[0]), MAX_REASON)
    stone = work.workspace.rulebook.tombstones.get(target.buried_as)
    if stone is None:
        stone = Tombstone(target.buried_as, target.digest, why, plan.at)
        ports.rules.append(encode_line(tombstone_to(stone)))
    if not target.told:
        plan.event("forget", of=target.buried_as, thing=target.kind, digest=stone.digest, reason=stone.reason)


# --- files -----------------------------------------------------------------------------------------------------------


def _names(workspace: Workspace, folder: Folder | None) -> list[str]:
    """The files to look through, the four logs apart."""
    files = workspace.ports.files
    if folder is not None:
        names = [entry.name for entry in folder.walk() if entry.regular]
    else:
        names = [f"{place}/{name}" for place in _FOLDERS for name in files.names(place)]
        names += [name for name in _NAMES if files.read(name) is not None]
    logs = {f"{name}.jsonl" for name in ("rules", "trials", "journal", "sessions")}
    return sorted(name for name in names if name not in _ALWAYS and name not in logs)


def _read(workspace: Workspace, name: str) -> bytes:
    try:
        return workspace.ports.files.read(name) or b""
    except (Refused, OSError) as error:
        raise StoreError(f"{ids.shown(name)} cannot be read: {error}", hint="Nothing was changed.") from error


def _file(work: _Work, name: str, data: bytes) -> None:
    """One file of whatever kind; removed where it is about the target, left alone where it does not speak of it."""
    base = name.rsplit("/", 1)[-1]
    files, before = work.workspace.ports.files, work.records
    if base.partition(".")[0] in ("rules", "trials", "journal", "sessions") and ".jsonl" in base:
        made: bytes | None = _lines(work, base.partition(".")[0] + ".jsonl", data)
    else:
        made = _whole(work, name, data)
    if made == data:
        return
    if made is None or TEMPORARY.fullmatch(base):
        files.remove(name)
    else:
        files.write(name, made)
    work.records = max(work.records, before + 1)
    work.files.append(name)


def _whole(work: _Work, name: str, data: bytes) -> bytes | None:
    """The file without the target; None where the file is about it."""
    target = work.target
    try:
        value = json.loads(data) if name.endswith(".json") else None
        if isinstance(value, dict):
            made = target.object(name, value)
            if made is value:
                return data
            return None if made is None else json.dumps(made, indent=2, sort_keys=True).encode()
    except (ValueError, RecursionError):
        if target.kind == "session" and json.dumps(target.id).encode() in data:
            return None
    return target.data(data)


# --- logs ------------------------------------------------------------------------------------------------------------


def _log(work: _Work, name: str, log: Log) -> None:
    data = log.content()
    made = _lines(work, name, data)
    if made != data:
        log.replace(made)
        work.files.append(name)


def _lines(work: _Work, name: str, data: bytes) -> bytes:
    """The log without the target; every line that does not speak of it as it was, byte for byte."""
    kept: list[bytes] = []
    lines = data.split(b"\n")
    for raw in lines:
        made = _line(work.target, name, raw)
        work.records += made != raw
        if made is not None:
            kept.append(made)
    if kept and made is None:
        kept.append(b"")  # the open last line went; the one before it keeps its newline
    return b"\n".join(kept)


def _line(target: Target, name: str, raw: bytes) -> bytes | None:
    value = decode_line(raw, name)
    try:
        if isinstance(value, dict):
            made = target.record(name, value)
            if made is value:
                return raw
            return None if made is None else encode_line(made).rstrip(b"\n")
    except (Refused, RecursionError):
        pass
    if value is None:
        return raw
    quoted = json.dumps(target.id).encode() in raw and (name != "trials.jsonl" or target.kind == "session")
    return None if quoted or target.scrubber.holds(raw.decode("utf-8", "surrogateescape")) else raw
