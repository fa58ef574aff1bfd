"""What `forget` is after: where a rule, notice, case or session stands, what its text is, and what of it may stay.

Per kind: a rule's records go and its events shrink to their facts; a notice's file and dump go and its event shrinks; a
case's file goes; a session's records, dumps and cases go, notices about it lose the reasons that quote it, and an alias
stands for it wherever it was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.reading import items, mapping, text
from ruleproof.core import ids
from ruleproof.core.renaming import Renaming, alias_of
from ruleproof.core.scrub import Scrubber
from ruleproof.engine.ports import Files
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused

Kind = Literal["rule", "notice", "case", "session"]
Value = Mapping[str, object]

_FACTS = frozenset(
    (
        *("type", "ts", "id", "event", "status", "metric", "by", "completed", "validator", "again", "session_id"),
        *("turn_index", "severity", "signatures", "observe_only", "source", "count"),
    )
)
"""What stays of a journal event whose text is forgotten."""
_HEAD = ("session_id", "task_id", "flagged_traces", "signal_breakdown", "scores")
"""What the dump of several sessions shows of the first of them."""


@dataclass(slots=True)
class Target:
    """One thing to forget. `record` and `object` answer with the same value, a changed one, or None: it goes."""

    id: str
    kind: Kind
    digest: str
    scrubber: Scrubber = field(default_factory=Scrubber)
    session: str = ""
    """The session of a notice."""
    told: bool = False
    """The journal has the event of its forgetting."""
    kept: list[str] = field(default_factory=list)
    renaming: Renaming | None = None
    """Of a session: its other name."""

    @property
    def buried_as(self) -> str:
        """The id that its tombstone has; that of a session is no longer the one that the host gave."""
        return alias_of(self.id) if self.kind == "session" else self.id

    def clean(self, said: str) -> str:
        """A text that does not speak of it."""
        return self.scrubber.text(said) if self.renaming is None else self.renaming.text(said)

    def data(self, data: bytes) -> bytes:
        """Bytes that are no JSON object; the same object where they do not speak of it."""
        return self.scrubber.data(data) if self.renaming is None else self.renaming.data(data)

    def owns(self, name: str) -> bool:
        """Whether the file is the target's own."""
        if self.kind == "notice":
            return name in (f"{place}/{self.id}.json" for place in ("mailbox/pending", "mailbox/processed", "traces"))
        return self.kind == "case" and name == f"evalset/{self.id}.json"

    def record(self, log: str, value: Value) -> Value | None:
        """One record of a log."""
        kind, name = text(value.get("type")), value.get("id")
        if kind == "forget" or value.get("kind") == "tombstone":
            return value
        if self.kind == "session":
            return self._renamed(self._session_record(log, value))
        if self.kind == "rule" and name == self.id and (log == "rules.jsonl" or kind.startswith("rule_")):
            return None if log == "rules.jsonl" else _facts(value)
        if self.kind == "notice" and log == "journal.jsonl":
            if kind == "notice" and name == self.id:
                return _facts(value)
            if kind == "ack" and value.get("notice_id") == self.id:
                return _without(value, "note")
        if self.kind == "notice" and mapping(value.get("held")).get("id") == self.id:
            value = {key: item for key, item in value.items() if key != "held"}
        return self._scrubbed(value, *self._words(log, value))

    def _session_record(self, log: str, value: Value) -> Value | None:
        if log == "sessions.jsonl":
            return None if value.get("session") == self.id else value
        if log != "journal.jsonl" or value.get("session_id") != self.id:
            return value
        return _without(_unreasoned(value), "note")

    def _renamed(self, value: Value | None) -> Value | None:
        return value if value is None or self.renaming is None else cast(Value, self.renaming.value(value))

    def object(self, name: str, value: Value) -> Value | None:
        """One file that holds a JSON object."""
        if self.kind == "session":
            return self._renamed(self._session_object(name, value))
        place, label, keys = name.partition("/")[0], "", frozenset[str]()
        if self.kind == "notice" and place == "mailbox":
            label, keys = f"notice {text(value.get('id'))}", frozenset(value)
        elif self.kind == "notice" and (place == "evalset" or value.get("session_id") != self.session):
            keys = frozenset(value)
        elif self.kind == "case" and place == "evalset":
            label, keys = f"case {text(value.get('id'))}", frozenset(value)
        return self._scrubbed(value, label, keys)

    def _session_object(self, name: str, value: Value) -> Value | None:
        place, mine = name.partition("/")[0], value.get("session_id") == self.id
        if place == "mailbox":
            return _unreasoned(value) if mine else value
        shown = items(value.get("sessions"))
        left = [item for item in shown if mapping(item).get("session_id") != self.id]
        if left and len(left) < len(shown):
            return {**value, **({key: None for key in _HEAD if key in value} if mine else {}), "sessions": left}
        if mine:
            return None
        prefix = f"{self.id}::"
        if place == "state" and any(key.startswith(prefix) for key in value):
            return {key: item for key, item in value.items() if not key.startswith(prefix)}
        return value

    def _words(self, log: str, value: Value) -> tuple[str, frozenset[str]]:
        """(whose, which fields): the words of somebody else in this record, which stay."""
        name = text(value.get("id"))
        if isinstance(value.get("rule"), str) and ids.is_rule_id(name):
            return f"rule {name}", frozenset({"rule", "rationale"})
        if self.kind == "notice" and value.get("type") == "notice":
            return f"notice {name}", frozenset(value)
        if self.kind == "notice" and log == "sessions.jsonl" and value.get("session") != self.session:
            return "", frozenset(value)
        return "", frozenset()

    def _scrubbed(self, value: Value, label: str, words: frozenset[str]) -> Value:
        made = {key: item if key in words else self.scrubber.value(item) for key, item in value.items()}
        if label and any(self.scrubber.holds(said) for key in words for said in _texts_in(value.get(key))):
            self.kept.append(label)
        return value if all(made[key] is value[key] for key in made) else made


def _facts(event: Value) -> Value:
    if event.get("forgotten") is True:
        return event
    return {**{key: item for key, item in event.items() if key in _FACTS}, "forgotten": True}


def _without(value: Value, key: str) -> Value:
    return {**value, key: None} if value.get(key) is not None else value


def _unreasoned(notice: Value) -> Value:
    """A notice, or its event, without the reasons and the note that may quote its session; one for many stays."""
    metrics, end = items(notice.get("metrics")), mapping(notice.get("resolution"))
    quoting = any(mapping(metric).get("reason") is not None for metric in metrics) or end.get("note") is not None
    count = notice.get("count", 1)
    if not quoting or (isinstance(count, int) and count > 1):
        return notice
    made = {**notice, "metrics": [{**mapping(metric), "reason": None} for metric in metrics]}
    if end:
        made["resolution"] = {**end, "note": None}
    return made


# --- finding it ------------------------------------------------------------------------------------------------------


def find(workspace: Workspace, what: str) -> Target | None:
    """The target of that id; None where nothing has it. Call it under the lock, with fresh rules."""
    ports = workspace.ports
    events = list(_objects(ports.journal.content()))
    names = dict.fromkeys((what, alias_of(what)))
    stone = next((found for name in names if (found := workspace.rulebook.tombstones.get(name))), None)
    burial = next((event for event in events if event.get("type") == "forget" and event.get("of") in names), None)
    target = _rule(workspace, what, events) or _notice(workspace, what, events) or _case(workspace, what, events)
    if target is None and (stone is None or _kind_of(what, burial) == "session"):
        target = _session(workspace, what, events)
    if target is None and stone is not None:
        target = Target(what, _kind_of(what, burial), stone.digest)
    if target is not None:
        target.told = burial is not None
        if target.kind == "session":
            target.renaming = Renaming(what, alias_of(what))
    return target


def _kind_of(what: str, burial: Value | None) -> Kind:
    said = text((burial or {}).get("thing"))
    if said in ("rule", "notice", "case", "session"):
        return cast(Kind, said)
    return cast(Kind, {"r-": "rule", "n-": "notice", "c-": "case"}.get(what[:2], "session"))


def _rule(workspace: Workspace, what: str, events: Iterable[Value]) -> Target | None:
    if not ids.is_rule_id(what):
        return None
    records = [value for value in _objects(workspace.ports.rules.content()) if value.get("id") == what]
    told = [event for event in events if text(event.get("type")).startswith("rule_") and event.get("id") == what]
    said = [text(value.get("rule")) for value in (*records, *told) if text(value.get("rule"))]
    if not records and not told:
        return None
    why = [text(value.get("rationale")) for value in (*records, *told)]
    return Target(what, "rule", ids.digest(said[0] if said else ""), Scrubber(said, why))


def _notice(workspace: Workspace, what: str, events: Iterable[Value]) -> Target | None:
    files = workspace.ports.files
    places = ("mailbox/pending", "mailbox/processed") if ids.COMPONENT.fullmatch(what) else ()
    stored = [data for place in places if (data := _peek(files, f"{place}/{what}.json"))]
    found = [value for data in stored for value in _objects(data)]
    found += [event for event in events if event.get("type") == "notice" and event.get("id") == what]
    for record in _objects(workspace.ports.sessions.content()):
        held = mapping(record.get("held"))
        if held.get("id") == what:
            found.append(held)
    if not found and not stored:
        return None
    notes = [text(event.get("note")) for event in events if event.get("notice_id") == what]
    said: list[str] = notes
    for value in found:
        said += [text(value.get("summary")), text(mapping(value.get("resolution")).get("note"))]
        said += [text(mapping(metric).get("reason")) for metric in items(value.get("metrics"))]
    session = next((text(value.get("session_id")) for value in found if value.get("session_id")), "")
    said = list(dict.fromkeys(filter(None, said)))
    return Target(what, "notice", ids.digest("\n".join(said)), Scrubber(whole=said), session)


def _case(workspace: Workspace, what: str, events: Iterable[Value]) -> Target | None:
    data = _peek(workspace.ports.files, f"evalset/{what}.json") if ids.COMPONENT.fullmatch(what) else b""
    if not data and not any(event.get("case_id") == what for event in events):
        return None
    value = next(_objects(data), {})
    said = [*_texts_in(value.get("notes")), *_texts_in(value.get("replay_input"))]
    return Target(what, "case", ids.digest("\n".join(said)), Scrubber(whole=said))


def _session(workspace: Workspace, what: str, events: Iterable[Value]) -> Target | None:
    ports = workspace.ports
    records = [value for value in _objects(ports.sessions.content()) if value.get("session") == what]
    known = (
        bool(records)
        or any(event.get("session_id") == what for event in events)
        or any(value.get("session") == what for value in _objects(ports.trials.content()))
        or any(
            value.get("session_id") == what
            for place in ("traces", "evalset", "mailbox/pending", "mailbox/processed")
            for name in ports.files.names(place)
            for value in _objects(_peek(ports.files, f"{place}/{name}"))
        )
    )
    if not known:
        return None
    digest = next((text(value["digest"]) for value in records if text(value.get("digest"))), ids.digest(what))
    return Target(what, "session", digest)


def _peek(files: Files, name: str) -> bytes:
    """A file as one line; empty where it cannot be read."""
    try:
        return (files.read(name) or b"").replace(b"\n", b" ")
    except (Refused, OSError):
        return b""


def _objects(data: bytes) -> Iterator[Value]:
    """The objects of a log, broken lines passed over."""
    for raw in data.split(b"\n"):
        value = decode_line(raw, "")
        if isinstance(value, dict):
            yield value


def _texts_in(value: object) -> Iterator[str]:
    """Every text inside a JSON value, keys apart."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (dict, list)):
            left.extend(reversed(list(item.values()) if isinstance(item, dict) else item))
