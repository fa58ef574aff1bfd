"""Rules, journal and notices held against each other: what one of them says and another does not. Pure and total.

A rule record and its journal event belong together, and a move that the journal tells was made. Where the two disagree,
the reading that puts less in force is taken for the true one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ruleproof.core.evidence.stream import Arm
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.core.recheck import Comparison
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Record, Rulebook
from ruleproof.core.secrets import redact
from ruleproof.core.text import hidden_code_points, normalise
from ruleproof.core.trial import Told as Said

_REPAIR = "`ruleproof doctor --repair` mends it."


@dataclass(slots=True)
class Store:
    """The rulebook together with where its records stand (`rules.jsonl:<line>`)."""

    book: Rulebook = field(default_factory=Rulebook)
    where: dict[str, str] = field(default_factory=dict)
    """Rule id -> its last record."""
    events: dict[str, tuple[str, Rule]] = field(default_factory=dict)
    """Id of a journal event that a record says it came with -> that record."""
    comparisons: dict[tuple[str, str], Comparison] = field(default_factory=dict)
    """(rule id, name) -> each watch and recheck that any record of the rule had, ended ones included."""
    foreign: list[str] = field(default_factory=list)
    """Records that another system wrote after ours had begun."""
    _begun: bool = False

    def feed(self, record: Record, where: str) -> None:
        """One more record, in file order."""
        self.book.feed(record, where)
        if not isinstance(record, Rule):
            return
        self.where[record.id] = where
        for found in (record.trial.watch, record.trial.recheck) if record.trial is not None else ():
            if found is not None:
                self.comparisons[record.id, found.name] = found
        ours = bool(record.at or record.event)
        if record.event:
            self.events[record.event] = where, record
        if self._begun and not ours:
            self.foreign.append(where)
        self._begun = self._begun or ours

    def knows(self, rule_id: str) -> bool:
        """Whether there is such a rule, or was before it was forgotten."""
        return rule_id in self.book.rules or rule_id in self.book.tombstones

    def arm(self, said: Said) -> Arm | None:
        """The arm that the coin of its own trial, watch or recheck gives to its unit; None where no record has it."""
        if said.check:
            compared = self.comparisons.get((said.rule_id, said.check))
            return compared.arm(said.unit) if compared is not None else None
        rule = self.book.get(said.rule_id)
        return rule.trial.arm(said.unit) if rule is not None and rule.trial is not None else None


@dataclass(frozen=True, slots=True)
class Ack:
    """What the journal says about the end of a notice."""

    rule_id: str | None
    note: str | None
    at: str
    where: str


@dataclass(slots=True)
class Told:
    """What the journal tells of each rule and notice, with the line that tells it."""

    events: set[str] = field(default_factory=set)
    """Ids of the events that came with a rule record."""
    rules: dict[str, dict[str, str]] = field(default_factory=dict)
    """Rule id -> kind of event -> where the last of them stands."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Rule id -> the reason of its `rule_retire`."""
    born_active: set[str] = field(default_factory=set)
    notices: dict[str, str] = field(default_factory=dict)
    """Id of a notice that was posted and not forgotten since -> where."""
    acks: dict[str, Ack] = field(default_factory=dict)
    """Id of a notice that was acknowledged -> how."""

    def feed(self, event: Mapping[str, object], where: str) -> None:
        """One more event, in file order; anything of a wrong type counts as absent."""
        kind, name = event.get("type"), event.get("id")
        if not isinstance(kind, str):
            return
        if kind.startswith("rule_") and isinstance(name, str):
            self.rules.setdefault(name, {})[kind] = where
            if isinstance(event.get("event"), str):
                self.events.add(str(event["event"]))
            if kind == "rule_add" and event.get("status") == "active":
                self.born_active.add(name)
            if kind == "rule_retire":
                self.reasons[name] = _text(event.get("reason"))
        elif kind == "notice" and isinstance(name, str):
            if event.get("observe_only") is not True and event.get("forgotten") is not True:
                self.notices[name] = where
        elif kind == "ack" and isinstance(event.get("notice_id"), str):
            rule, note = event.get("rule_id"), event.get("note")
            self.acks[str(event["notice_id"])] = Ack(
                rule if isinstance(rule, str) else None,
                note if isinstance(note, str) else None,
                _text(event.get("ts")),
                where,
            )


def untold(store: Store, told: Told) -> Iterator[tuple[str, str, Rule]]:
    """(where, kind of event, record) of every rule record that the journal should tell of and does not.

    A record that names its event needs that event. An older system's record names none: then the rule needs an event
    of any kind, an active one its promotion (unless it was added active), a retired one its retirement.
    """
    for event, (where, rule) in store.events.items():
        if event not in told.events:
            yield where, _kind_of(rule, told), rule
    for rule in store.book.all():
        kinds = told.rules.get(rule.id, {})
        if rule.event or rule.status == "unknown":
            continue
        retired = rule.status != "retired" or "rule_retire" in kinds
        promoted = rule.status != "active" or "rule_promote" in kinds or rule.id in told.born_active
        if not (kinds and retired and promoted):
            yield store.where[rule.id], _kind_of(rule, told), rule


def _kind_of(rule: Rule, told: Told) -> str:
    kind = {"candidate": "rule_add", "active": "rule_promote", "retired": "rule_retire"}.get(rule.status, "rule_update")
    return "rule_update" if kind in told.rules.get(rule.id, {}) else kind


def lost_retirements(store: Store, told: Told) -> Iterator[tuple[str, Rule]]:
    """(where in the journal, rule) of rules that were retired and are live all the same: their last record was lost."""
    for rule in store.book.all():
        where = told.rules.get(rule.id, {}).get("rule_retire")
        if rule.live and where is not None:
            yield where, rule


def rule_problems(store: Store, told: Told, cap: int) -> Iterator[Problem]:
    """What is wrong among the rules, and between them and the journal. `cap` 0: any number of live rules may be."""
    book = store.book
    yield from book.problems
    for where, kind, rule in untold(store, told):
        yield Problem(
            "not-journaled", f"rule {rule.id}: the journal has no {kind} for this record", where, "warning", _REPAIR
        )
    for where, rule in lost_retirements(store, told):
        yield Problem(
            "retire-lost", f"rule {rule.id} was retired here, but the store has it {rule.status}", where, hint=_REPAIR
        )
    yield from _journal_alone(store, told)
    yield from _twins(store)
    for rule_id in book.tombstones.keys() & book.rules.keys():
        yield unfinished(rule_id, store.where[rule_id])
    if cap and book.live_count > cap:
        yield Problem(
            "over-cap",
            f"{book.live_count} live rules; max_active_rules is {cap}",
            "rules.jsonl",
            "warning",
            "Nothing is added until some are retired.",
        )
    if store.foreign:
        yield Problem(
            "foreign-writer",
            f"{len(store.foreign)} records of another system stand after ours: both wrote to this workspace",
            store.foreign[0],
            "warning",
            "Let one system write; two at once lose each other's records.",
        )
    for rule in book.all():
        for what, text in (("text", rule.rule), ("rationale", rule.rationale), ("tags", " ".join(rule.tags))):
            yield from text_problems(text, f"the {what} of rule {rule.id}", store.where[rule.id])


def _journal_alone(store: Store, told: Told) -> Iterator[Problem]:
    for rule_id, kinds in told.rules.items():
        rule = store.book.get(rule_id)
        if rule is None and not store.knows(rule_id):
            kind, where = next(iter(kinds.items()))
            yield Problem(
                "rule-lost",
                f"{kind} of rule {shown(rule_id)}, of which the store has no readable record",
                where,
                "warning",
                "It is not in force; add it again if it should be.",
            )
        elif rule is not None and rule.status == "candidate" and "rule_promote" in kinds:
            yield Problem(
                "promote-lost",
                f"rule {rule_id} was promoted here, but the store has it as a candidate",
                kinds["rule_promote"],
                "warning",
                "It stays a candidate; its trial decides again.",
            )


def _twins(store: Store) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for rule in store.book.all():
        if rule.live:
            other = first.setdefault(normalise(rule.rule), rule.id)
            if other != rule.id:
                message = f"rule {rule.id} says the same as {other}, and both are live"
                yield Problem("duplicate-rule", message, store.where[rule.id], "warning", "Retire one of them.")


def unfinished(name: str, where: str) -> Problem:
    """Something that was forgotten stands here."""
    hint = f"`ruleproof forget {name}` once more finishes it."
    return Problem("forget-unfinished", f"{shown(name)} was forgotten, and is still here", where, "error", hint)


def text_problems(text: str, what: str, where: str) -> Iterator[Problem]:
    """Invisible characters and credentials in a text that was stored before anything checked it."""
    hidden = hidden_code_points(text)
    if hidden:
        message = f"{what} holds invisible characters: {', '.join(hidden[:8])}"
        yield Problem("hidden-characters", message, where, "warning", "They are left out wherever it is shown.")
    kinds = redact(text)[1]
    if kinds:
        message = f"{what} holds a credential: {', '.join(kinds)}"
        yield Problem("credential", message, where, "warning", "`ruleproof forget` removes it; then replace it.")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
