"""Approval: a person's act on this machine, bound to the digest of the exact file that was shown.

The rules, in the order in which the code checks them: whoever decides shows that a person is there; what was shown is
what lies there now; the text is whole and can be seen. A rule is in force only while the digest of its file, read now,
equals the digest in the last fact of this machine's own ledger; what is unknown, changed or disputed is not in force.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal

from ruleproof.core.ids import shown
from ruleproof.core.proposal import Proposal
from ruleproof.core.rulelint import require_visible
from ruleproof.errors import Refused

FactStatus = Literal["core", "revoked", "unknown"]
"""`unknown` stands for a status that a reader could not make sense of: not in force."""

Standing = Literal["proposed", "core", "revoked", "unknown", "changed", "disputed"]
"""`changed`: approved, but the file is another now. `disputed`: the pool offers other bytes than were first seen."""

Presence = Literal["terminal", "token", "page", "none"]
"""How a person showed to be there: an interactive terminal, a one-time token made beforehand, the review page."""

SHORT = 12
"""Hex digits of a digest that are shown to a person; they type at least `MIN_TYPED` of them."""
MIN_TYPED = 8
TOKEN_HOURS = 24
NAMED_DAYS = 7
"""How long notices name a new approval, from the first that was delivered: whoever asks for one uses nothing up."""
TOKEN_VERBS = ("approve", "revoke")
_DIGEST = re.compile(r"[0-9a-f]{64}")

AGENT_VARIABLES = (
    "AI_AGENT",
    "AIDER_*",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLINE_*",
    "CODEX_SANDBOX*",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "OPENCODE_*",
    "QWEN_CODE",
)
"""Names (with `*` at the end: prefixes) that coding agents set in the shells they start."""

AGENT_PROCESSES = frozenset(
    [
        "aider",
        "amp",
        "claude",
        "cline",
        "codex",
        "copilot",
        "crush",
        "cursor-agent",
        "droid",
        "gemini",
        "goose",
        "kiro-cli",
        "opencode",
        "openhands",
        "qwen",
    ],
)
"""Base names of coding agents' own processes; an editor in which a person has a terminal is not among them."""


@dataclass(frozen=True, slots=True)
class CurationFact:
    """One line of the ledger: what a person decided about one rule file, and when. Position, not `at`, orders facts."""

    rule: str
    digest: str
    status: FactStatus
    at: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The folded ledger of one project on this machine: rule id -> its last fact."""

    latest: Mapping[str, CurationFact] = field(default_factory=lambda: MappingProxyType({}))

    def approved(self) -> tuple[str, ...]:
        """Ids whose last fact approves, sorted: what has to be read before a notice can be composed."""
        return tuple(sorted(rule for rule, fact in self.latest.items() if fact.status == "core"))

    def of(self, rules: Iterable[str]) -> Approvals:
        """The facts about these rules alone."""
        return Approvals({rule: self.latest[rule] for rule in rules if rule in self.latest})

    def standing(self, proposal: Proposal, disputed: Collection[str] = ()) -> Standing:
        """How `proposal`, as its file reads now, stands on this machine; `disputed`: pool paths in dispute."""
        fact = self.latest.get(proposal.id)
        if fact is None:
            return "proposed"
        if fact.status != "core":
            return fact.status
        if fact.digest != proposal.digest:
            return "changed"
        return "disputed" if proposal.place.path in disputed else "core"

    def in_force(self, proposal: Proposal, disputed: Collection[str] = ()) -> bool:
        """Whether the rule may reach a prompt on this machine."""
        return self.standing(proposal, disputed) == "core"

    def select(self, proposals: Iterable[Proposal], disputed: Collection[str] = ()) -> tuple[Proposal, ...]:
        """Those of `proposals` that may reach a prompt on this machine, one for each id: what a block is composed of.

        Of two files with one number only the approved one is in force; of two copies of it the first by path.
        """
        found: dict[str, Proposal] = {}
        for proposal in sorted(proposals, key=lambda proposal: proposal.place.path):
            if self.in_force(proposal, disputed):
                found.setdefault(proposal.id, proposal)
        return tuple(found.values())


NONE = Approvals()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a surface brings when a person decides. Nothing in it is believed without `presence`."""

    presence: Presence
    seen: str
    """Digest (64 hex digits) of the file that the person was shown, or that the token is bound to."""
    typed: str = ""
    """What the person typed: the beginning of the digest. Not asked of a token."""
    agent_signs: tuple[str, ...] = ()
    """Signs that an agent drives this process, see `agent_signs`."""


def fold(facts: Iterable[CurationFact]) -> Approvals:
    """The last fact of each rule, in the order of the ledger. Total: an unknown status closes."""
    return Approvals(MappingProxyType({fact.rule: fact for fact in facts}))


def approve(proposal: Proposal, decision: Decision, *, at: str, disputed: Collection[str] = ()) -> CurationFact:
    """The fact that puts `proposal` in force here; raises Refused where a check fails. `at`: ISO-8601, UTC."""
    require_seen(proposal, decision, "approve", disputed)
    return CurationFact(proposal.id, proposal.digest, "core", at)


def require_seen(proposal: Proposal, decision: Decision, verb: str, disputed: Collection[str] = ()) -> None:
    """Raises Refused unless a person is there who saw this very file, and all of it."""
    require_person(decision, verb)
    _require_same(proposal, decision)
    require_approvable(proposal, disputed)


def require_approvable(proposal: Proposal, disputed: Collection[str] = ()) -> None:
    """Raises Refused for a text that nobody can approve: not as written, not to be seen whole, or in dispute."""
    if not proposal.intact:
        raise Refused(
            f"{proposal.id}: the text does not match the SHA-256 that its file declares.",
            hint="Somebody changed the file after it was written; ask its author for a new rule.",
        )
    require_visible(proposal.text, proposal.id)
    if proposal.place.path in disputed:
        raise Refused(
            f"{proposal.id}: the pool now offers another text under this number than was first seen here.",
            hint="Accept or refuse the offered file first; `ruleproof doctor` shows both digests.",
        )


def revoke(rule: str, approvals: Approvals, decision: Decision, *, at: str, digest: str = "") -> CurationFact:
    """The fact that withdraws `rule` here, whatever its file says now; raises Refused without a person.

    `digest`: of the file now, used where no fact exists yet (a proposed rule may be revoked, too).
    """
    require_person(decision, "revoke")
    fact = approvals.latest.get(rule)
    return CurationFact(rule, fact.digest if fact else digest, "revoked", at)


def require_person(decision: Decision, verb: str) -> None:
    """Raises Refused unless a person is there: a terminal or a page that no agent drives, or a one-time token."""
    if decision.presence == "none":
        hint = "Run it in a terminal."
        if verb in TOKEN_VERBS:
            hint = f"Run it in a terminal, or bring a one-time token from `ruleproof {verb} --token` ({TOKEN_HOURS} h)."
        raise Refused(f"{verb} needs a person: there is no interactive terminal.", hint=hint)
    if decision.agent_signs and decision.presence != "token":
        raise Refused(
            f"{verb} needs a person, and an agent seems to drive this terminal: {', '.join(decision.agent_signs)}.",
            hint="Open a terminal of your own, outside the agent, and run it there.",
        )


def _require_same(proposal: Proposal, decision: Decision) -> None:
    short = proposal.digest[:SHORT]
    if decision.seen != proposal.digest:
        raise Refused(
            f"{proposal.id}: the file changed since it was shown: {shown(decision.seen[:SHORT])} then, {short} now.",
            hint="Read it again and decide again; nothing was approved.",
        )
    typed = decision.typed.strip().lower()
    if decision.presence != "token" and (len(typed) < MIN_TYPED or not proposal.digest.startswith(typed)):
        raise Refused(
            f"{proposal.id}: {shown(decision.typed)} is not the beginning of its digest {short}.",
            hint=f"Type at least {MIN_TYPED} of the digits shown.",
        )


@dataclass(frozen=True, slots=True)
class OneTimeToken:
    """What a token, made by a person beforehand, allows once: one verb on one rule file, until `expires`."""

    verb: Literal["approve", "revoke"]
    rule: str
    digest: str
    expires: datetime

    def check(self, verb: str, rule: str, digest: str, now: datetime) -> None:
        """Raises Refused unless the token fits verb, rule and digest, and is not over."""
        if now >= self.expires:
            raise Refused("The token is over.", hint=f"A token holds {TOKEN_HOURS} h; make a new one at a terminal.")
        if (self.verb, self.rule, self.digest) != (verb, rule, digest):
            bound = f"{self.verb} {self.rule} {self.digest[:SHORT]}"
            raise Refused(
                f"The token is bound to {bound}, not to {shown(verb)} {shown(rule)} {shown(digest[:SHORT])}.",
                hint="Make a token for this file at a terminal.",
            )


def closing(facts: Iterable[CurationFact]) -> tuple[CurationFact, ...]:
    """The last facts of rules that are closed: all that this user's ledger says where another user decides."""
    return tuple(fact for fact in fold(facts).latest.values() if fact.status != "core")


def newly_approved(approvals: Approvals, named: Mapping[CurationFact, str], now: datetime) -> tuple[str, ...]:
    """Ids whose approval a notice has to name, sorted: no notice did so yet, or the first one less than a week ago.

    `named`: fact -> when that was, ISO-8601. A time that cannot be read, or is yet to come, does not silence.
    """
    return tuple(rule for rule in approvals.approved() if not _is_known(named.get(approvals.latest[rule]), now))


def _is_known(named: str | None, now: datetime) -> bool:
    try:
        return named is not None and now - datetime.fromisoformat(named) >= timedelta(days=NAMED_DAYS)
    except (ValueError, TypeError):  # a time without its offset cannot be compared
        return False


def agent_signs(variables: Iterable[str], ancestors: Iterable[str]) -> tuple[str, ...]:
    """Which of the environment's names and of the ancestors' program names are a known agent's: in words, sorted."""
    exact = {name for name in AGENT_VARIABLES if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in AGENT_VARIABLES if name.endswith("*"))
    found = {f"variable {name}" for name in variables if name in exact or name.startswith(prefixes)}
    found |= {f"process {name}" for name in ancestors if name.lower().partition(".")[0] in AGENT_PROCESSES}
    return tuple(sorted(found))


def is_digest(text: object) -> bool:
    """64 lower-case hex digits."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None
