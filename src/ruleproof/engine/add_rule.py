"""Add a rule: checked, redacted, deduplicated, capped; a candidate with its baseline unless validation is off.

Refusals come before anything is written and name the figure and the way out. A text that evidence retired is answered
with the old verdict; only a person may try it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.sessionlog import task_from
from ruleproof.core import ids
from ruleproof.core.evidence.assignment import suits_blocks
from ruleproof.core.notice import clean_tags, derive_tags
from ruleproof.core.rule import Rule
from ruleproof.core.secrets import redact
from ruleproof.core.text import hidden_code_points, one_line, sanitize_text
from ruleproof.core.trial import Policy, TrialState
from ruleproof.engine.errorbudget import next_number
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import CapReached, Refused

Author = Literal["agent", "person"]
_RECENT = 256 << 10
"""Bytes of `sessions.jsonl` that say whether tasks come back."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller wants added. `again` lets a person retry a text that evidence retired."""

    rule: str
    rationale: str = ""
    source_notice_id: str | None = None
    metric: str | None = None
    tags: Sequence[str] = ()
    author: Author = "person"
    again: bool = False
    pool: str = ""
    """The shared rule that the text comes from, see `Rule.pool`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_live` 0 = no cap; `max_len` in characters; no `validation`: rules are active at once; `hold`: suggest.

    `policy` and `holdout` are those of trials that start now; a trial keeps what it started with.
    """

    max_live: int = 50
    max_len: int = 2000
    validation: bool = True
    hold: bool = False
    policy: Policy = "fixed"
    holdout: float = 0.0


@dataclass(frozen=True, slots=True)
class Added:
    """The rule that now stands, whether it is new, and what was redacted from it."""

    rule: Rule
    created: bool
    redacted: tuple[str, ...] = ()


def add_rule(workspace: Workspace, draft: Draft, limits: Limits, session: str | None = None) -> Added:
    """Add `draft`, or return its live twin. Raises Refused, CapReached or StoreError; then nothing was written.

    `session`: in whose turn this happens. It gives birth to the rule, unless the notice names another.
    """
    text, kinds = checked_text(draft.rule, "rule", limits.max_len)
    rationale, more = checked_text(draft.rationale, "rationale", limits.max_len)
    if not text:
        raise Refused("The rule has no text.", hint="Write one sentence that says what to do or to avoid.")
    metric = ids.opaque(draft.metric, "metric") if draft.metric else None
    notice_id = ids.component(draft.source_notice_id, "notice") if draft.source_notice_id else None
    tags, birth = clean_tags(_harmless(draft.tags)), session
    if notice_id:
        notice = workspace.ports.mailbox.read(notice_id)
        if notice is not None:
            tags = clean_tags((*tags, *derive_tags(notice)))
            birth = notice.session_id or birth
    with workspace.transaction() as plan:
        book = workspace.rulebook
        twin = book.live_twin(text)
        if twin is not None:
            workspace.ports.rules.sync()  # whoever wrote it may have died before its own
            return Added(twin, False)
        rejected = book.rejected_twin(text)
        if rejected is not None and not (draft.again and draft.author == "person"):
            raise Refused(
                f"The same text was retired by evidence as {rejected.id}: {one_line(rejected.reason, 300)}.",
                hint="A person may try it again: `ruleproof rules add --again`; it then counts as a new hypothesis.",
            )
        if limits.max_live and book.live_count >= limits.max_live:
            raise CapReached(_full(workspace, limits.max_live))
        rule = Rule(
            id=_fresh_id(workspace),
            created_at=plan.at,
            rule=text,
            rationale=rationale,
            source_notice_id=notice_id,
            metric=metric,
            status="candidate" if limits.validation else "active",
            tags=tags,
            trial=_start(workspace, metric, plan.at, birth, text, limits) if limits.validation else None,
            held=limits.hold and draft.author == "agent",
            author=draft.author,
            pool=draft.pool,
        )
        details = {"again": rejected.id} if rejected is not None else {}
        rule = plan.rule(rule, "rule_add", **details)
    return Added(rule, True, tuple(dict.fromkeys((*kinds, *more))))


def checked_text(text: str, name: str, max_len: int) -> tuple[str, tuple[str, ...]]:
    """(text fit for storing, kinds of credentials redacted). Raises Refused with figures; nothing is clipped."""
    if not isinstance(text, str):
        raise Refused(f"The {name} is {type(text).__name__}, not text.")
    if len(text) > max_len:
        raise Refused(
            f"The {name} has {len(text)} characters; at most {max_len} are allowed (sanitize_max_len).",
            hint="Say it shorter, or split it into several rules; nothing is clipped.",
        )
    hidden = hidden_code_points(text)
    if hidden:
        raise Refused(
            f"The {name} holds invisible characters: {', '.join(hidden)}.", hint="Remove them and add the rule again."
        )
    clean, kinds = redact(sanitize_text(text, 0))
    clean = clean.strip()
    if len(clean) > max_len:
        raise Refused(
            f"The {name} has {len(clean)} characters once its markup is made harmless; at most {max_len} are allowed "
            "(sanitize_max_len).",
            hint="Say it shorter, or without markup; nothing is clipped.",
        )
    return clean, kinds


def _harmless(tags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise Refused("Tags are a list of texts.", hint='For example tags=["payment", "retry"].')
    return tuple(one_line(redact(tag)[0], 200) for tag in tags)


def _start(
    workspace: Workspace, metric: str | None, at: str, birth: str | None, text: str, limits: Limits
) -> TrialState:
    """The trial as it starts; under the lock, so that no two trials have one number."""
    trial = TrialState(workspace.refresh_journal().baseline(metric), at, birth)
    if limits.policy == "fixed":
        return trial
    return replace(
        trial,
        policy=limits.policy,
        key=workspace.new_id("", 16),
        holdout=limits.holdout,
        digest=ids.digest(text),
        number=next_number(workspace.rulebook),
        blocked=limits.holdout == 0.5 and suits_blocks(_recent_tasks(workspace)),
    )


def _recent_tasks(workspace: Workspace) -> Iterable[str | None]:
    """The task of each session that the end of `sessions.jsonl` speaks of, None where it has none."""
    data, start = workspace.ports.sessions.tail(None, _RECENT)
    lines = data.split(b"\n")[1 if start else 0 :]
    records = [value for line in lines if isinstance(value := decode_line(line, ""), Mapping)]
    return dict(found for value in records if (found := task_from(value)) is not None).values()


def _fresh_id(workspace: Workspace) -> str:
    while True:
        rule_id = workspace.new_id("r-", 10)
        if rule_id not in workspace.rulebook.rules and rule_id not in workspace.rulebook.tombstones:
            return rule_id


def _full(workspace: Workspace, cap: int) -> str:
    book = workspace.rulebook
    effects = [
        (workspace.refresh_journal().notices_around(rule.metric, rule.created_at)[1], rule) for rule in book.active()
    ]
    worst = sorted(effects, key=lambda pair: (-pair[0], pair[1].created_at))[:3]
    named = "; ".join(f"{rule.id} ({count} notices since it was added)" for count, rule in worst)
    candidates = book.candidates()
    advice = named or "the oldest candidates: " + ", ".join(rule.id for rule in candidates[:3])
    return (
        f"The store holds {book.live_count} live rules ({len(effects)} active, {len(candidates)} candidates) "
        f"and max_active_rules is {cap}; retire one first with `harness_rule_retire`, for example {advice}."
    )
