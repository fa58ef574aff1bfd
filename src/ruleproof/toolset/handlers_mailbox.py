"""The mailbox: what waits, one notice with its evidence, and settling it. What notices say is data."""

from __future__ import annotations

import json

from ruleproof.codec import notices
from ruleproof.core.notice import Notice
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.errors import NotFound, StoreError
from ruleproof.toolset.arguments import MAX_WORDS, MailboxAck, MailboxRead, NoArguments
from ruleproof.toolset.bounded import Bounded, rows
from ruleproof.toolset.spec import Bench, Result

LISTED = 50
DUMPS = "traces"


def mailbox_list(bench: Bench, _: NoArguments) -> Result:
    """The oldest notices that wait, and how many wait in all."""
    mailbox = bench.workspace.ports.mailbox
    status, pending = mailbox.status(), mailbox.pending()
    shown, cut = rows([_line(notice) for notice in pending[:LISTED]], keep="first")
    return {
        "untrusted": True,
        "status": {
            "pending_count": status.pending_count,
            "max_severity": status.max_severity,
            "latest_id": status.latest_id,
        },
        "pending": shown,
        "not_listed": len(pending) - len(shown),
        "cut": cut,
    }


def _line(notice: Notice) -> Result:
    return {
        "id": notice.id,
        "severity": notice.severity,
        "session_id": notice.session_id,
        "metrics": [metric.name for metric in notice.metrics],
        "summary": notice.summary,
    }


def mailbox_read(bench: Bench, args: MailboxRead) -> Result:
    """One notice, pending or settled, and the dump of the report behind it (null where there is none)."""
    notice = bench.workspace.ports.mailbox.read(args.notice_id)
    if notice is None:
        raise NotFound(f"There is no notice {args.notice_id}.", hint="harness_mailbox_list shows what waits.")
    said = Bounded()
    shown = said.of(notices.to_json(notice))
    dump = said.of(read_dump(bench, notice.id))
    return {"untrusted": True, "notice": shown, "dump": dump, "cut": said.cut}


def read_dump(bench: Bench, name: str) -> dict[str, object] | None:
    """The dump of that name; None where it is missing or no JSON object.

    A notice's own `dump_path` is never followed: it may be foreign, and name any file of the workspace.
    """
    try:
        value = json.loads(bench.workspace.ports.files.read(f"{DUMPS}/{name}.json") or b"null")
    except (StoreError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mailbox_ack(bench: Bench, args: MailboxAck) -> Result:
    """Settle a pending notice. A rule that is named must exist."""
    workspace = bench.workspace
    note = redact(one_line(args.note or "", MAX_WORDS))[0] or None
    with workspace.transaction() as plan:
        if args.rule_id is not None and workspace.rulebook.get(args.rule_id) is None:
            raise NotFound(f"There is no rule {args.rule_id}.", hint="harness_rules_list shows every id.")
        notice = workspace.ports.mailbox.acknowledge(args.notice_id, rule_id=args.rule_id, note=note, at=plan.at)
        plan.event(
            "ack", notice_id=notice.id, session_id=notice.session_id, rule_id=args.rule_id, note=note, by="agent"
        )
    said = Bounded()
    return {"untrusted": True, "notice": said.of(notices.to_json(notice)), "cut": said.cut}
