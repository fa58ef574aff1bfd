"""Settle a notice: the mailbox keeps it as acknowledged, the journal says who did it and which rule answers it."""

from __future__ import annotations

from ruleproof.core import ids
from ruleproof.core.notice import Notice
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.engine.add_rule import Author
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import NotFound

MAX_NOTE = 2000


def ack_notice(
    workspace: Workspace, notice_id: str, *, rule_id: str | None = None, note: str = "", by: Author = "person"
) -> Notice:
    """Acknowledge a pending notice. Raises Refused for a bad id, NotFound, or Conflict where it is settled already."""
    ids.component(notice_id, "notice")
    said = one_line(redact(note)[0], MAX_NOTE).strip() or None
    with workspace.transaction() as plan:
        if rule_id is not None and workspace.rulebook.get(ids.rule_id(rule_id)) is None:
            raise NotFound(f"There is no rule {rule_id}.", hint="`ruleproof rules list --all` shows every id.")
        notice = workspace.ports.mailbox.acknowledge(notice_id, rule_id=rule_id, note=said, at=plan.at)
        plan.event("ack", notice_id=notice.id, session_id=notice.session_id, rule_id=rule_id, note=said, by=by)
    return notice
