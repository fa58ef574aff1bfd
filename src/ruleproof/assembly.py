"""The composition root: the one place where the concrete edges of a workspace are named."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from ruleproof.config import HarnessConfig
from ruleproof.edge import fs
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.edge.filelog import FileLog
from ruleproof.edge.mailboxdir import MailboxDir
from ruleproof.edge.system import System
from ruleproof.edge.trust import Trust, TrustRegistry
from ruleproof.edge.workspacedir import LOCK, WorkspaceDir
from ruleproof.engine.ports import Ports


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
