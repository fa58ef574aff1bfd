"""A rule as a value. A changed text is a new rule: there is no edit.

Status is evidence (candidate, active, retired); whether the rule is in force here is asked of `in_force`, which also
looks at pauses and at rules that wait for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ruleproof.core.ids import digest
from ruleproof.core.trial import TrialState

Status = Literal["candidate", "active", "retired", "unknown"]
"""`unknown` stands for whatever a reader could not make sense of; it is never in force."""

STATUSES: tuple[Status, ...] = ("candidate", "active", "retired")
NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rule:
    """One record of the store, latest wins. Texts are as stored; whoever renders them sanitizes them again."""

    id: str
    created_at: str
    rule: str
    rationale: str = ""
    source_notice_id: str | None = None
    metric: str | None = None
    status: Status = "candidate"
    tags: tuple[str, ...] = ()
    trial: TrialState | None = None
    """Baseline and folded observations as of this record; `trials.jsonl` holds what came after."""
    held: bool = False
    """Waits for a person (mode `suggest`)."""
    paused: bool = False
    event: str | None = None
    """Id of the journal event that this record came with."""
    reason: str = ""
    """Why the record was written: the verdict, or what whoever retired it said."""
    at: str = ""
    """When this record was written; empty where an older system wrote it."""
    author: str = ""
    """`agent` or `person`; empty where an older system wrote it."""
    extra: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Fields of this record that we do not know; kept and written back."""
    pool: str = ""
    """`<pool rule id>@<SHA-256 of its file>`: the shared rule that a person put on trial here; empty: none."""
    details: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """What the journal event of a verdict says beyond this record, evidence included; its writer may die in between."""

    @property
    def live(self) -> bool:
        """Candidate or active: counts against the cap and takes part in dedup."""
        return self.status == "candidate" or self.status == "active"

    @property
    def in_force(self) -> bool:
        """Whether the store lets it into a context: live, not paused, not waiting for a person."""
        return self.live and not self.paused and not self.held

    @property
    def digest(self) -> str:
        """SHA-256 over the exact rule text: what evidence and approval are bound to."""
        return digest(self.rule)
