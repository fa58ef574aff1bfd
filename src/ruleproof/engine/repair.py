"""Mend what `doctor` names, as far as that is possible without losing a record. A second repair mends nothing.

Broken lines stay where they are, byte for byte. Where the store and the journal disagree, the one that puts less in
force is followed. Only the markers of a merge conflict leave their file: into `<file>.quarantine`, after the original
was copied to `<file>.<time>.bak`; the records of both sides stay. What another writer mended first is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ruleproof.codec.jsonl import decode_line, encode_line
from ruleproof.codec.notices import encode_status
from ruleproof.codec.records import event_to
from ruleproof.core.diagnosis import lost_retirements, untold
from ruleproof.core.ids import shown
from ruleproof.core.notice import summarise
from ruleproof.core.problems import Problem
from ruleproof.engine.change_rule import retire
from ruleproof.engine.compose import Composer
from ruleproof.engine.doctor import LOGS, TEMPORARY, Folder, Snapshot, ascii_name, is_stale, look, lost_notices
from ruleproof.engine.ports import Log
from ruleproof.engine.project import FILE
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Conflict, NotFound, Refused

LEFT_ALONE_S = 60.0
"""A temporary file younger than this may belong to a writer that is alive."""


_SETTLED = (Conflict, NotFound, Refused)
"""Somebody else settled it, or a file in its place cannot be read: `doctor` goes on naming that."""


def repair(workspace: Workspace, *, composer: Composer | None = None, folder: Folder | None = None) -> tuple[str, ...]:
    """What was mended, one sentence each; empty where nothing could be or had to be. Raises StoreError.

    `composer` and `folder` as for `doctor.examine`; without them the projection and the leftovers are not looked at.
    """
    done: list[str] = []
    with workspace.mutex:
        with workspace.ports.lock():
            for name, log in zip(LOGS, _logs(workspace), strict=True):
                done += _unmerge(workspace, name, log)
                done += _isolate(name, log)
            seen = look(workspace, locked=True)
            done += _journal(workspace, seen)
            done += _mailbox(workspace, seen)
            done += _sweep(workspace, folder)
        done += _retire(workspace, seen)
        if composer is not None and is_stale(workspace.ports, composer):
            workspace.ports.files.write(FILE, composer.full().encode(), sync=False)
            done.append(f"{FILE} was written anew.")
    return tuple(done)


def _logs(workspace: Workspace) -> tuple[Log, ...]:
    ports = workspace.ports
    return ports.rules, ports.trials, ports.journal, ports.sessions


def _unmerge(workspace: Workspace, name: str, log: Log) -> Iterator[str]:
    """Take the markers of a merge conflict out of a log."""
    data = log.content()
    if b"<<<<<<< " not in data or b">>>>>>> " not in data:
        return
    kept: list[bytes] = []
    markers: list[bytes] = []
    for raw in data.split(b"\n"):
        value = decode_line(raw, name)
        (markers if isinstance(value, Problem) and value.code == "conflict-marker" else kept).append(raw)
    if not markers:
        return
    files = workspace.ports.files
    backup = f"{name}.{workspace.ports.system.now():%Y%m%dT%H%M%S%f}.bak"
    files.write(backup, data)
    files.write(f"{name}.quarantine", (files.read(f"{name}.quarantine") or b"") + b"\n".join(markers) + b"\n")
    log.replace(b"\n".join(kept))
    yield f"{name}: {len(markers)} conflict markers went to {name}.quarantine; the original is {backup}."


def _isolate(name: str, log: Log) -> Iterator[str]:
    data = log.content()
    if data and not data.endswith(b"\n"):
        log.append(b"")  # an append closes an open line first
        yield f"{name}: the open last line was closed; what it holds is unchanged."


def _journal(workspace: Workspace, seen: Snapshot) -> Iterator[str]:
    missing = list(untold(seen.store, seen.told))
    events: list[dict[str, object]] = [
        {**event_to(rule, kind, workspace.now()), "completed": True} for _, kind, rule in missing
    ]
    for name, notice in seen.settled.items():
        if name not in seen.told.acks and notice.resolution is not None:
            events.append(
                {
                    "type": "ack",
                    "notice_id": name,
                    "session_id": notice.session_id,
                    "rule_id": notice.resolution.rule_id,
                    "note": notice.resolution.note,
                    "ts": workspace.now(),
                    "completed": True,
                }
            )
    if events:
        workspace.ports.journal.append(b"".join(map(encode_line, events)))
        yield f"journal.jsonl: {len(events)} events that were missing were added."


def _mailbox(workspace: Workspace, seen: Snapshot) -> Iterator[str]:
    mailbox, files = workspace.ports.mailbox, workspace.ports.files
    for notice in lost_notices(seen, workspace.ports.journal.content()):
        with suppress(*_SETTLED):
            mailbox.post(notice)
            yield f"Notice {notice.id} was posted again."
    for name, ack in seen.told.acks.items():
        if name in seen.pending and name not in seen.settled:
            with suppress(*_SETTLED):
                mailbox.acknowledge(name, rule_id=ack.rule_id, note=ack.note, at=ack.at or workspace.now())
                yield f"Notice {name} was settled, as the journal says."
    for name in seen.both:
        files.remove(f"mailbox/pending/{name}.json")
        yield f"Notice {name}: the pending copy of the settled notice was removed."
    if any(problem.code == "stale-status" for problem in mailbox.problems()):
        files.write("mailbox/status.json", encode_status(summarise(mailbox.pending()), workspace.now()))
        yield "mailbox/status.json was written anew."


def _sweep(workspace: Workspace, folder: Folder | None) -> Iterator[str]:
    before = workspace.ports.system.now().timestamp() - LEFT_ALONE_S
    for entry in folder.walk() if folder is not None else ():
        if entry.regular and entry.changed < before and TEMPORARY.fullmatch(entry.name.rsplit("/", 1)[-1]):
            workspace.ports.files.remove(entry.name)
            yield f"{ascii_name(entry.name)}, left by a killed writer, was removed."


def _retire(workspace: Workspace, seen: Snapshot) -> Iterator[str]:
    for _, rule in lost_retirements(seen.store, seen.told):
        with suppress(*_SETTLED):
            reason = seen.told.reasons.get(rule.id) or "the journal tells of its retirement"
            retire(workspace, rule.id, reason, author="")
            yield f"Rule {shown(rule.id)} was retired again; the record of its retirement had been lost."
