"""Move a rule: retire, promote, pause, resume, accept. Each is decided under the lock by the lifecycle table.

The author of a rule is whoever added it; who moved it stands in the journal event (`by`, or the validator).
"""

from __future__ import annotations

from dataclasses import replace

from ruleproof.codec.records import pause_all_to
from ruleproof.core import ids
from ruleproof.core.lifecycle import decide
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import PauseAll
from ruleproof.core.secrets import redact
from ruleproof.core.text import sanitize_text
from ruleproof.core.trial import TrialState
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Conflict, Refused

MAX_REASON = 2000


def retire(workspace: Workspace, rule_id: str, reason: str = "", author: str = "person") -> Rule:
    """Retire a live rule. Raises NotFound, or Refused where it is retired already."""
    ids.rule_id(rule_id)
    with workspace.transaction() as plan:
        rule = workspace.rulebook.get(rule_id)
        status = decide(rule, "retire", rule_id)
        assert rule is not None
        why = redact(sanitize_text(reason, MAX_REASON))[0].strip()
        folded = replace(rule, status=status, reason=why, trial=_folded(workspace, rule))
        return plan.rule(folded, "rule_retire", reason=why, by=author)


def apply_verdict(
    workspace: Workspace,
    rule: Rule,
    *,
    promote: bool,
    reason: str,
    validator: str,
    inconclusive: bool = False,
    **evidence: object,
) -> Rule:
    """Promote or retire a candidate by evidence, with the folded trial. Raises Conflict if somebody moved it first.

    `inconclusive`: it retires because its trial ended without an answer; its text is not refused later.
    """
    word = "promoted" if promote else "inconclusive" if inconclusive else "retired"
    with workspace.transaction() as plan:
        now = workspace.rulebook.get(rule.id)
        if now is None or now.status != "candidate":
            raise Conflict(f"Rule {rule.id} is no longer a candidate.", hint="Another process decided it first.")
        status = decide(now, "promote" if promote else "retire", rule.id)
        trial = _folded(workspace, now) or TrialState()
        trial = replace(trial, verdict=f"{word}:{reason}")
        moved = replace(now, status=status, reason=reason, trial=trial)
        kind = "rule_promote" if promote else "rule_retire"
        return plan.rule(moved, kind, reason=reason, validator=validator, **evidence)


def pause(workspace: Workspace, rule_id: str, paused: bool = True) -> Rule:
    """Take a live rule out of force at the next compose, or back. Journaled; says so where nothing changes."""
    ids.rule_id(rule_id)
    with workspace.transaction() as plan:
        rule = workspace.rulebook.get(rule_id)
        decide(rule, "update", rule_id)
        assert rule is not None
        if rule.paused == paused:
            return rule
        return plan.rule(replace(rule, paused=paused), "rule_pause" if paused else "rule_resume")


def pause_all(workspace: Workspace, paused: bool = True) -> None:
    """Take every rule out of force at the next compose, or back."""
    with workspace.transaction() as plan:
        if workspace.rulebook.all_paused != paused:
            plan.rules.append(pause_all_to(PauseAll(paused, plan.at)))
            plan.event("pause_all" if paused else "resume_all")


def accept(workspace: Workspace, rule_id: str) -> Rule:
    """Put a rule in force that an agent suggested. A person's act."""
    ids.rule_id(rule_id)
    with workspace.transaction() as plan:
        rule = workspace.rulebook.get(rule_id)
        decide(rule, "update", rule_id)
        assert rule is not None
        if not rule.held:
            raise Refused(f"Rule {rule_id} does not wait for anybody.", hint="It is in force already.")
        return plan.rule(replace(rule, held=False), "rule_accept", by="person")


def _folded(workspace: Workspace, rule: Rule) -> TrialState | None:
    workspace.refresh_trials()
    trial = workspace.trial_of(rule)
    return trial if rule.trial is not None or trial != TrialState() else None
