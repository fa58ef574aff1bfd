"""Examine a workspace: every inconsistency named with file and line. Total: whatever the files hold, nothing raises.

It reads the files anew and whole, and trusts nothing that was folded before. The lock is held while the four logs are
read, so that a writer at work does not look like a disagreement; where it does not come free, that is said and the
reading goes on. It writes nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol

from ruleproof.codec import notices
from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.reading import mapping, text
from ruleproof.codec.records import attempt_from, exposure_from, record_from, told_from
from ruleproof.codec.replayrounds import replayed_rule
from ruleproof.codec.sessionlog import session_record_from
from ruleproof.codec.trialrecords import trial_problem
from ruleproof.core.diagnosis import Store, Told, rule_problems, text_problems, unfinished
from ruleproof.core.ids import shown
from ruleproof.core.notice import Notice
from ruleproof.core.problems import Problem
from ruleproof.core.renaming import alias_of
from ruleproof.core.text import one_line
from ruleproof.engine.compose import Composer
from ruleproof.engine.ports import Ports
from ruleproof.engine.project import FILE
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import RuleproofError

LOGS = ("rules.jsonl", "trials.jsonl", "journal.jsonl", "sessions.jsonl")
TEMPORARY = re.compile(r"\.?[^/]+\.[0-9]+\.([0-9]+|[0-9a-f]{32})\.tmp")
"""Siblings that are written before a rename: ours, and those of the 0.6 format."""
_KNOWN = re.compile(
    r"(rules|trials|journal|sessions)\.jsonl|harness_rules\.md|\.gitignore|\.trust|\.lock|mailbox/status\.json"
    r"|(mailbox/pending|mailbox/processed|traces|evalset)/[^/]+\.json|state/score_history\.json"
)
_ASIDE = re.compile(r"[^/]+\.(bak|quarantine)")
_REPAIR = "`ruleproof doctor --repair` mends it."
MOST = 100
"""Problems of one code and one file that are listed; the rest are counted."""


class Entry(Protocol):
    """One thing in the folder: path below the root, seconds since 1970, whether it is a regular file."""

    @property
    def name(self) -> str: ...
    @property
    def changed(self) -> float: ...
    @property
    def regular(self) -> bool: ...


class Folder(Protocol):
    """The workspace folder as it is, leftovers included."""

    def walk(self) -> Sequence[Entry]: ...


@dataclass(slots=True)
class Snapshot:
    """The workspace as its files have it now."""

    store: Store = field(default_factory=Store)
    told: Told = field(default_factory=Told)
    problems: list[Problem] = field(default_factory=list)
    settled: dict[str, Notice] = field(default_factory=dict)
    pending: dict[str, Notice] = field(default_factory=dict)
    both: list[str] = field(default_factory=list)
    """Notices with a settled and a pending copy."""
    names: set[str] = field(default_factory=set)
    """Notice ids that have a file, readable or not."""


def examine(
    workspace: Workspace,
    *,
    composer: Composer | None = None,
    folder: Folder | None = None,
    cap: int = 0,
    distrust: str = "",
    tracked: bool = False,
) -> tuple[Problem, ...]:
    """Everything that is not as it should be; empty for a sound workspace.

    `composer` says what the projection should hold; `folder` adds the files that nobody asks for by name; `cap` is
    `max_active_rules` (0 = none); `distrust` says why the workspace is not trusted; `tracked`: git knows its rules.
    """
    seen = look(workspace)
    found = [*_trust(workspace.ports, distrust, tracked), *seen.problems]
    for check in (
        lambda: rule_problems(seen.store, seen.told, cap),
        lambda: _notices(workspace.ports, seen),
        lambda: _projection(workspace.ports, composer),
        lambda: _files(workspace.ports, folder),
    ):
        found.extend(_totally(check))
    return tuple(_bounded(found))


def look(workspace: Workspace, *, locked: bool = False) -> Snapshot:
    """Read the workspace whole. `locked`: the caller holds the lock already."""
    ports, seen = workspace.ports, Snapshot()
    data: dict[str, bytes] = {}
    with ExitStack() as stack:
        if not locked and _was_locked(ports):
            try:
                stack.enter_context(ports.lock())
            except (RuleproofError, OSError) as error:
                hint = "What another writer is doing just now may look like a disagreement."
                seen.problems.append(Problem("no-lock", f"read without the lock: {error}", ".lock", "warning", hint))
        for name, log in zip(LOGS, (ports.rules, ports.trials, ports.journal, ports.sessions), strict=True):
            try:
                data[name] = log.content()
            except (RuleproofError, OSError) as error:
                seen.problems.append(Problem("unreadable", f"cannot be read: {error}", name))
        seen.problems.extend(_totally(lambda: _look_at_notices(ports, seen)))
    for where, value in _records("rules.jsonl", data, seen.problems):
        record = record_from(value, where)
        if isinstance(record, Problem):
            seen.problems.append(record)
        else:
            seen.store.feed(record, where)
    for where, value in _records("journal.jsonl", data, seen.problems):
        seen.told.feed(value, where)
    for where, value in _records("sessions.jsonl", data, seen.problems):
        session = session_record_from(value, where)
        if isinstance(session, Problem):
            seen.problems.append(session)
    seen.problems.extend(_trials(seen.store, _records("trials.jsonl", data, seen.problems)))
    seen.problems.extend(_forgotten_sessions(seen.store, data))
    return seen


def _was_locked(ports: Ports) -> bool:
    """Whether anybody ever took the lock: to take it first would write into a workspace that is only looked at."""
    try:
        return ports.files.read(".lock") is not None
    except (RuleproofError, OSError):
        return True


def _records(
    name: str, data: Mapping[str, bytes], problems: list[Problem]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    lines = data.get(name, b"").split(b"\n")
    for number, raw in enumerate(lines, 1):
        where = f"{name}:{number}"
        value = decode_line(raw, where)
        last = number == len(lines)
        if isinstance(value, Problem):
            if last:
                message = "the file ends inside a record (a write was cut); nothing is glued to it"
                value = Problem("torn-tail", message, where, "warning", _REPAIR)
            problems.append(value)
        elif value is not None:
            if last:
                message = "the last line lacks its newline; the next record starts on its own line"
                problems.append(Problem("no-newline", message, where, "info", _REPAIR))
            yield where, value


def _trials(store: Store, records: Iterable[tuple[str, Mapping[str, object]]]) -> list[Problem]:
    found: dict[str, Problem] = {}
    for where, value in records:
        bad = trial_problem(value, where)
        if bad is not None:
            found[where] = bad
        exposed = exposure_from(value)
        about = attempt_from(value) or replayed_rule(value)
        for rule_id in (*mapping(value.get("seen")), *(exposed[1] if exposed else ()), *([about] if about else ())):
            if rule_id not in found and not store.knows(rule_id):
                message = f"a trial of {shown(rule_id)}, and the store has no such rule"
                found[rule_id] = Problem("orphan-trial", message, where, "warning", "It has no effect.")
        for told in told_from(value):
            arm = store.arm(told)
            if arm not in (None, told.arm):
                message = f"{shown(told.unit)} is {told.arm} here for {told.rule_id}, and its coin says {arm}"
                hint = "It counts in the arm of its coin; somebody wrote to this file by hand."
                found.setdefault(f"arm {told.about}", Problem("other-arm", message, where, "warning", hint))
    return list(found.values())


def _forgotten_sessions(store: Store, data: Mapping[str, bytes]) -> list[Problem]:
    """Records of a session from before it was forgotten, under the name that it had; later ones are its own affair."""
    gone = {name: stone for name, stone in store.book.tombstones.items() if name == alias_of(name)}
    found: dict[str, Problem] = {}
    for log in ("journal.jsonl", "trials.jsonl", "sessions.jsonl") if gone else ():
        for where, value in _records(log, data, []):
            name = text(value.get("session_id") or value.get("session"))
            stone = gone.get(alias_of(name)) if name else None
            if stone is not None and name != stone.id and text(value.get("at") or value.get("ts")) <= stone.at:
                found.setdefault(name, unfinished(name, where))
    return list(found.values())


# --- notices ---------------------------------------------------------------------------------------------------------


def _look_at_notices(ports: Ports, seen: Snapshot) -> Iterator[Problem]:
    waiting = {name[:-5] for name in ports.files.names("mailbox/pending") if name.endswith(".json")}
    settled = {name[:-5] for name in ports.files.names("mailbox/processed") if name.endswith(".json")}
    seen.names = waiting | settled
    seen.pending = {notice.id: notice for notice in ports.mailbox.pending()}
    for name in sorted(settled):
        try:
            notice = ports.mailbox.read(name)
        except RuleproofError:
            continue
        if notice is not None and notice.status == "acknowledged":
            seen.settled[name] = notice
            if name in waiting:
                seen.both.append(name)
    yield from ports.mailbox.problems()


def _notices(ports: Ports, seen: Snapshot) -> Iterator[Problem]:
    told, gone = seen.told, seen.store.book.tombstones
    for name in sorted(gone.keys() & (seen.names | told.notices.keys())):
        yield unfinished(name, told.notices.get(name, "mailbox"))
    for name, where in told.notices.items():
        if name in seen.names or name in gone:
            continue
        if name in told.acks:
            yield Problem("notice-gone", f"settled notice {shown(name)} has no file any more", where, "info")
        else:
            message = f"notice {shown(name)} was journaled, and the mailbox does not have it"
            yield Problem("notice-lost", message, where, "warning", _REPAIR)
    for name, notice in seen.settled.items():
        where = f"mailbox/processed/{name}.json"
        rule = notice.resolution.rule_id if notice.resolution else None
        if rule is not None and not seen.store.knows(rule):
            message = f"settled with rule {shown(rule)}, and the store has no such rule"
            yield Problem("ack-without-rule", message, where, "warning")
        if name not in told.acks:
            yield Problem("ack-not-journaled", "settled, and the journal does not say so", where, "warning", _REPAIR)
    for name, ack in told.acks.items():
        if name in seen.pending and name not in seen.settled:
            message = f"notice {shown(name)} was acknowledged here, and the mailbox has it waiting"
            yield Problem("ack-lost", message, ack.where, "warning", _REPAIR)
    for name, notice in (*seen.pending.items(), *seen.settled.items()):
        reasons = " ".join(metric.reason or "" for metric in notice.metrics)
        note = (notice.resolution.note if notice.resolution else None) or ""
        yield from text_problems(f"{notice.summary} {reasons} {note}", f"notice {shown(name)}", "mailbox")


def lost_notices(seen: Snapshot, events: bytes) -> list[Notice]:
    """The notices that the journal (`events`) has and the mailbox lacks, as they were posted; settled ones apart."""
    wanted = seen.told.notices.keys() - seen.names - seen.told.acks.keys() - seen.store.book.tombstones.keys()
    found: dict[str, Notice] = {}
    for raw in events.split(b"\n") if wanted else ():
        value = decode_line(raw, "")
        if isinstance(value, dict) and value.get("type") == "notice" and text(value.get("id")) in wanted:
            own = {key: item for key, item in value.items() if key not in ("type", "ts", "observe_only")}
            notice, _ = notices.from_json(own)
            if notice is not None:
                found[notice.id] = notice
    return list(found.values())


# --- the rest of the folder ------------------------------------------------------------------------------------------


def _trust(ports: Ports, distrust: str, tracked: bool) -> Iterator[Problem]:
    if not ports.trusted:
        message = f"the workspace is not trusted{f': {distrust}' if distrust else ''}; nothing in it is in force"
        yield Problem("not-trusted", message, "", "error", "Look through its rules, then run `ruleproof trust`.")
    if tracked:
        message = "git tracks the rules of this workspace: whoever pushes to it writes to this agent's prompt"
        yield Problem("git-tracked", message, "rules.jsonl", "warning", "`git rm --cached` them; keep the .gitignore.")


def _projection(ports: Ports, composer: Composer | None) -> Iterator[Problem]:
    if composer is not None and is_stale(ports, composer):
        yield Problem("stale-projection", "does not show the rules as they are now", FILE, "warning", _REPAIR)


def is_stale(ports: Ports, composer: Composer) -> bool:
    """Whether the projection differs from the store, or is missing although there is something to show."""
    there = ports.files.read(FILE)
    return there != composer.full().encode() and not (there is None and not composer.workspace.rulebook.version)


def _files(ports: Ports, folder: Folder | None) -> Iterator[Problem]:
    cases: dict[str, list[Problem]] = {}
    for problem in ports.evalset.problems() if folder is not None else ():
        cases.setdefault(problem.where, []).append(problem)
    for entry in folder.walk() if folder is not None else ():
        name = entry.name
        if TEMPORARY.fullmatch(name.rsplit("/", 1)[-1]):
            message = "left by a writer that was killed, or in use by one at work; nothing reads it"
            hint = "`ruleproof doctor --repair` removes it once it is a minute old."
            yield Problem("leftover-file", message, ascii_name(name), "info", hint)
        elif not entry.regular:
            yield Problem("odd-file", "no regular file; it is never read or followed", ascii_name(name), "warning")
        elif _ASIDE.fullmatch(name):
            yield Problem("kept-aside", "kept by an earlier repair", ascii_name(name), "info", "Remove it when done.")
        elif not _KNOWN.fullmatch(name):
            yield Problem("unknown-file", "nothing here reads it", ascii_name(name), "info")
        elif name.startswith("traces/"):
            yield from _object_file(ports, name)
        else:
            yield from cases.get(name, ())


def _object_file(ports: Ports, name: str) -> Iterator[Problem]:
    try:
        value = json.loads(ports.files.read(name) or b"")
    except (ValueError, RecursionError, OSError):
        value = None
    if not isinstance(value, dict):
        yield Problem("broken-file", "not a JSON object; nothing is made of it", ascii_name(name), "warning")


def ascii_name(name: str) -> str:
    """A place, fit for a message: as it is, or quoted and escaped."""
    return name if name.isprintable() else shown(name)


# --- staying total, and short ----------------------------------------------------------------------------------------


def _totally(check: Callable[[], Iterable[Problem]]) -> list[Problem]:
    """What `check` finds, up to where the system refused to read on."""
    found: list[Problem] = []
    try:
        for problem in check():
            found.append(problem)
    except (RuleproofError, OSError) as error:
        found.append(Problem("unreadable", f"could not be looked at to the end: {error}"))
    return found


def _bounded(found: Iterable[Problem]) -> Iterator[Problem]:
    """The first hundred of a kind in a file, then how many more there are."""
    counts: Counter[tuple[str, str]] = Counter()
    for problem in found:
        kind = problem.code, problem.where.partition(":")[0]
        counts[kind] += 1
        if counts[kind] <= MOST:
            said = problem.message if problem.message.isprintable() else one_line(problem.message)
            yield replace(problem, message=said, where=ascii_name(problem.where))
    for (code, file), count in counts.items():
        if count > MOST:
            yield Problem("more", f"{count - MOST} more of {code}", file, "warning")
