"""The composition root: names the concrete edges of a workspace, and turns settings into what the engine takes."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from ruleproof.config import HarnessConfig
from ruleproof.core.context import Settings
from ruleproof.edge import fs
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.edge.filelog import FileLog
from ruleproof.edge.mailboxdir import MailboxDir
from ruleproof.edge.system import System
from ruleproof.edge.trust import Trust, TrustRegistry
from ruleproof.edge.workspacedir import LOCK, WorkspaceDir
from ruleproof.engine.add_rule import Limits
from ruleproof.engine.compose import Composer
from ruleproof.engine.evaluate import Pace
from ruleproof.engine.evidence import Evidence
from ruleproof.engine.ports import Ports
from ruleproof.engine.recheck import Rechecks, RecheckSettings
from ruleproof.engine.workspace import Workspace


def open_ports(config: HarnessConfig, state_dir: Path | None = None) -> tuple[Ports, Trust]:
    """The edges of the workspace that `config` names, made where it is missing, and whether it is trusted."""
    root = config.root
    folder = WorkspaceDir(root)
    system = System()
    registry = trust_registry(state_dir)
    if config.root_is_given:
        folder.provision()
        trust = Trust(True)
    else:
        with registry.alone():  # several processes may start at once: one makes it, and all of them trust it
            folder.provision()
            if folder.untouched():
                registry.trust(root, at=system.now().isoformat(), token=system.hex(32), tracked=False)
        trust = registry.check(root)
    ports = Ports(
        rules=FileLog(root / "rules.jsonl"),
        trials=FileLog(root / "trials.jsonl"),
        journal=FileLog(root / "journal.jsonl"),
        sessions=FileLog(root / "sessions.jsonl"),
        mailbox=MailboxDir(root / "mailbox"),
        evalset=EvalSetDir(root / "evalset"),
        files=folder,
        system=system,
        lock=lambda: fs.lock(root / LOCK, timeout_s=config.lock_timeout_s),
        trusted=trust.trusted,
    )
    return ports, trust


def trust_registry(state_dir: Path | None = None) -> TrustRegistry:
    """This user's registry of trusted workspaces."""
    return TrustRegistry(state_dir or Path(platformdirs.user_state_dir("ruleproof", appauthor=False)))


def make_composer(config: HarnessConfig, workspace: Workspace, evidence: Evidence) -> Composer:
    """What composes the contexts of a workspace."""
    return Composer(
        workspace,
        Settings(config.rule_retrieval, config.rules_context_topk, config.rules_context_max_tokens),
        trial_sessions=config.rule_trial_min_sessions,
        most_sessions=config.rule_trial_most_sessions,
        paused=config.pause,
        watching=config.rule_holdout_active > 0.0,
        evidence=evidence.line if config.render_evidence else None,
    )


def rechecks(config: HarnessConfig, workspace: Workspace) -> Rechecks:
    """What becomes of rules after their promotion."""
    anytime = config.rule_trial_policy == "anytime"
    return Rechecks(
        workspace,
        RecheckSettings(
            config.rule_holdout_active,
            config.rule_holdout if anytime else config.rule_holdout_active,
            config.model_fingerprint,
            config.rule_promote_margin,
            config.rule_trial_most_sessions,
            config.rule_trial_min_sessions,
            config.mode == "observe_only",
        ),
    )


def limits(config: HarnessConfig) -> Limits:
    """What bounds an added rule, and how it is tried."""
    return Limits(
        config.max_active_rules,
        config.sanitize_max_len,
        config.rule_validation,
        config.mode == "suggest",
        config.rule_trial_policy,
        config.rule_holdout,
    )


def pace(config: HarnessConfig) -> Pace:
    """How much is evaluated."""
    return Pace(
        config.eval_sample_every,
        config.session_min_eval_interval_s,
        config.max_concurrent_evals,
        config.max_evals_per_run,
        config.eval_timeout_s,
    )
