"""Compose the context of now, or of a moment in the past, and explain it. Composing writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ruleproof.codec import notices
from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.records import observations_from, record_from, told_from
from ruleproof.core import context as contexts
from ruleproof.core.context import Banner, Context, InForce, Settings, Why, compose
from ruleproof.core.notice import Severity, worst
from ruleproof.core.problems import Problem
from ruleproof.core.render import Progress, Renderer, render
from ruleproof.core.retrieval import Index, Ranked, query_tokens
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.core.trial import TrialFold
from ruleproof.engine.workspace import Workspace, collector_paused

LIVE = ("active", "candidate")
MOST_KEPT = 64
"""Contexts of one moment, one for each set of rules that was withheld."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one rule stands in a context or does not."""

    rule_id: str
    included: bool
    why: Why
    reason: str


class Composer:
    """Composes contexts of one workspace; keeps rendered lines and the index between calls."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        *,
        trial_sessions: int,
        most_sessions: int = 2000,
        count: Callable[[str], int] = estimate_tokens,
        paused: bool = False,
        watching: bool = False,
        evidence: Callable[[Rule], str] | None = None,
    ) -> None:
        self.workspace = workspace
        self.settings = settings
        self._sessions, self._most = trial_sessions, most_sessions
        self._count = count
        self._paused, self._watching = paused, watching
        self._renderer = Renderer(self._progress, evidence)
        workspace.on_new_rulebook.append(lambda _: self._start_anew())
        self._start_anew()

    def _start_anew(self) -> None:
        self._index: Index | None = None
        self._has_retired = False
        self._kept: tuple[object, dict[frozenset[str], Context]] | None = None
        self._in_force: tuple[object, InForce] | None = None
        self._actives: tuple[object, InForce] | None = None
        self._renderer.clear()

    def index(self, statuses: Sequence[str] = LIVE) -> Index:
        """The index over the live rules, following the rulebook; over all of them once others were asked for."""
        with self.workspace.mutex:
            book = self.workspace.refresh()
            others = not set(statuses).issubset(LIVE)
            if self._index is None:
                book.watch(self._follow)
            if self._index is None or (others and not self._has_retired):
                self._index, self._has_retired = Index(), others
                with collector_paused(len(book)):
                    self._index.load(book.all() if others else (*book.active(), *book.candidates()))
            return self._index

    def _follow(self, before: Rule | None, rule: Rule) -> None:
        if self._index is not None and (self._has_retired or rule.live or (before is not None and before.live)):
            self._index.change(before, rule)

    def context(self, task_hint: str | None = None, unit: str | None = None) -> Context:
        """The context of now, for the `unit` that gets it (`engine.exposure`); empty without trust."""
        workspace = self.workspace
        with workspace.mutex:
            book = workspace.refresh()
            workspace.refresh_trials()
            if not workspace.ports.trusted:
                return Context("")
            status = workspace.ports.mailbox.status()
            banner = Banner(status.pending_count, status.max_severity)
            query = self.query(task_hint)
            key = (book, book.version, workspace.trial_version, query, banner)
            if self._kept is None or self._kept[0] != key:
                self._kept = key, {}
            kept, rules = self._kept[1], self.in_force()
            withheld = rules.withheld_from(unit)
            if withheld not in kept:
                if len(kept) >= MOST_KEPT:
                    kept.clear()
                kept[withheld] = self._compose(rules, query, banner, withheld)
            return kept[withheld]

    def with_and_without(self, rule_id: str) -> tuple[Context, Context]:
        """The context of now, and the same one without a candidate: they differ in nothing else."""
        workspace = self.workspace
        with workspace.mutex:
            whole, rules = self.context(), self.in_force()
            if rule_id not in whole.rules:
                return whole, whole
            status = workspace.ports.mailbox.status()
            banner = Banner(status.pending_count, status.max_severity)
            return whole, self._compose(rules, self.query(None), banner, frozenset({rule_id}))

    def _compose(self, rules: InForce, query: tuple[str, ...], banner: Banner, withheld: frozenset[str]) -> Context:
        return compose(
            rules,
            query,
            rank=self._rank,
            renderer=self._renderer,
            settings=self.settings,
            banner=banner,
            count=self._count,
            withheld=withheld,
        )

    def in_force(self) -> InForce:
        """The rules in force now; nothing while everything is paused. Kept until the rulebook changes."""
        book = self.workspace.refresh()
        if self._in_force is None or self._in_force[0] != (book, book.version):
            paused = book.all_paused or self._paused
            rules = InForce() if paused else self._active_groups(book).with_candidates(book.candidates())
            self._in_force = (book, book.version), rules
        return self._in_force[1]

    def _active_groups(self, book: Rulebook) -> InForce:
        if self._actives is None or self._actives[0] != (book, book.active_version):
            checked = [r for r in book.checked() if r.in_force and r.trial and r.trial.running(self._watching)]
            self._actives = (book, book.active_version), replace(InForce.of(book.active(), ()), checked=tuple(checked))
        return self._actives[1]

    def _rank(self, query: Sequence[str], limit: int) -> list[Ranked]:
        return self.index().rank(query, limit, statuses=("active",), tagged_only=True, in_force=True)

    def query(self, task_hint: str | None) -> tuple[str, ...]:
        """Distinct tokens of the hint, then of the pending notices' signatures and metric names."""
        texts = [task_hint or ""]
        for notice in self.workspace.ports.mailbox.pending():
            texts.extend(notice.signatures)
            texts.extend(metric.name for metric in notice.metrics)
        return query_tokens(*texts)

    def _progress(self, rule: Rule) -> Progress:
        return self._progress_in(self.workspace.trials, rule)

    def _progress_in(self, trials: TrialFold, rule: Rule) -> Progress:
        if rule.trial is not None and rule.trial.policy == "anytime":
            return Progress(sum(told.value is not None for told in trials.told(rule.id)), self._most)
        observed = len(trials.state(rule.id, rule.trial).observed)
        return Progress(min(observed, self._sessions), self._sessions)

    def full(self) -> str:
        """The text of `harness_rules.md`: every rule in force, whatever the query."""
        with self.workspace.mutex:
            self.workspace.refresh_trials()
            rules = self.in_force()
            candidates = self._renderer.entries(rules.candidates)
            actives = self._renderer.block(rules.globals, rules.tagged)
        return render(actives, candidates) + "\n"

    def search(self, text: str, *, limit: int, statuses: Sequence[str]) -> list[Ranked]:
        """Rules by relevance to `text`; those without a word in common are left out, unless `text` has no word."""
        query = query_tokens(text)
        ranked = self.index(statuses).rank(query, max(0, limit), statuses=statuses)
        return [found for found in ranked if found.score] if query else ranked

    def explain(self, rule_id: str, task_hint: str | None = None) -> Explanation:
        """Why the rule is in the context that `task_hint` gets now, or why it is not."""
        made = self.context(task_hint)
        book = self.workspace.refresh()
        rule = book.get(rule_id)
        query = self.query(task_hint)
        if not self.workspace.ports.trusted:
            return Explanation(rule_id, False, "unknown", "The workspace is not trusted; run `ruleproof trust`.")
        ranked = None
        if rule is not None and rule.status == "active" and query:
            everything = self._rank(query, len(book))
            ranked = next((found for found in everything if found.rule.id == rule_id), None)
        paused = book.all_paused or self._paused
        why, reason = contexts.explain(rule, rule_id, made, query, ranked, all_paused=paused)
        return Explanation(rule_id, rule_id in made.rules, why, reason)

    def at(self, moment: str, task_hint: str | None = None) -> Context:
        """The context as it was at `moment` (ISO-8601, UTC), from the records up to then; empty without trust."""
        if not self.workspace.ports.trusted:
            return Context("")
        book, trials = Rulebook(), TrialFold()
        for where, value in self._until(self.workspace.ports.rules.content(), "rules.jsonl", moment):
            record = record_from(value, where)
            if not isinstance(record, Problem):
                book.feed(record, where)
        for _, value in self._until(self.workspace.ports.trials.content(), "trials.jsonl", moment):
            for seen in observations_from(value):
                trials.observe(seen)
            for told in told_from(value):
                trials.tell(told)
        waiting = self._pending_at(moment)
        texts = [task_hint or "", *(text for signatures, _ in waiting for text in signatures)]
        index = Index()
        index.load(book.all())

        return compose(
            InForce() if book.all_paused else InForce.of(book.active(), book.candidates()),
            query_tokens(*texts),
            rank=lambda q, k: index.rank(q, k, statuses=("active",), tagged_only=True, in_force=True),
            renderer=Renderer(lambda rule: self._progress_in(trials, rule)),
            settings=self.settings,
            banner=Banner(len(waiting), worst(severity for _, severity in waiting)),
            count=self._count,
        )

    def _until(self, data: bytes, name: str, moment: str) -> list[tuple[str, dict[str, object]]]:
        found = []
        for number, raw in enumerate(data.split(b"\n"), 1):
            value = decode_line(raw, f"{name}:{number}")
            if isinstance(value, dict):
                when = value.get("at") or value.get("ts") or value.get("created_at")
                if not isinstance(when, str) or when <= moment:
                    found.append((f"{name}:{number}", value))
        return found

    def _pending_at(self, moment: str) -> list[tuple[tuple[str, ...], Severity]]:
        pending: dict[str, tuple[tuple[str, ...], Severity]] = {}
        for _, event in self._until(self.workspace.ports.journal.content(), "journal.jsonl", moment):
            if event.get("type") == "notice" and event.get("observe_only") is not True:
                notice, _ = notices.from_json(event)
                if notice is not None:
                    pending[notice.id] = notice.signatures, notice.severity
            elif event.get("type") == "ack":
                pending.pop(str(event.get("notice_id")), None)
        return list(pending.values())
