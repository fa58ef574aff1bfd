"""Every argument that an agent may pass, one model a tool. Ids are parsed here, before any file is touched.

There is no argument for promoting, approving, accepting, resuming, trusting, forgetting or trying again what evidence
rejected, nor one that says who the caller is: those are acts of a person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ruleproof.core import ids
from ruleproof.errors import Refused
from ruleproof.toolset.spec import Arguments

MAX_WORDS = 2000
"""Characters of a query, note or reason. The limit of rule texts is a setting, and the engine says it."""
MAX_TAGS, MAX_TAG = 64, 200


def at_most(limit: int) -> Callable[[str], str]:
    """A validator: the text itself, refused with its figures where it is longer."""

    def check(text: str) -> str:
        if len(text) > limit:
            raise Refused(f"{len(text)} characters; at most {limit} are allowed.", hint="Say it shorter.")
        return text

    return check


def _few_tags(tags: list[str]) -> list[str]:
    longest = max(map(len, tags), default=0)
    if len(tags) > MAX_TAGS or longest > MAX_TAG:
        raise Refused(
            f"{len(tags)} tags, the longest of {longest} characters.",
            hint=f"At most {MAX_TAGS} of at most {MAX_TAG} characters are allowed.",
        )
    return tags


def _metric(text: str) -> str:
    return ids.opaque(text, "metric")


def _trace(text: str) -> str:
    return ids.opaque(text, "trace")


def _notice(text: str) -> str:
    return ids.component(text, "notice")


def _case(text: str) -> str:
    return ids.component(text, "case")


Words = Annotated[str, AfterValidator(at_most(MAX_WORDS)), Field(json_schema_extra={"maxLength": MAX_WORDS})]
RuleId = Annotated[str, AfterValidator(ids.rule_id), Field(json_schema_extra={"pattern": "^r-[0-9a-f]{10}$"})]
NoticeId = Annotated[str, AfterValidator(_notice), Field(json_schema_extra={"maxLength": 128})]
Metric = Annotated[str, AfterValidator(_metric), Field(json_schema_extra={"maxLength": ids.MAX_OPAQUE})]
SessionId = Annotated[str, AfterValidator(ids.opaque), Field(json_schema_extra={"maxLength": ids.MAX_OPAQUE})]
TraceId = Annotated[str, AfterValidator(_trace), Field(json_schema_extra={"maxLength": ids.MAX_OPAQUE})]
Tags = Annotated[list[str], AfterValidator(_few_tags), Field(json_schema_extra={"maxItems": MAX_TAGS})]
CaseId = Annotated[str, AfterValidator(_case), Field(json_schema_extra={"maxLength": 128})]
Status = Literal["candidate", "active", "retired"]
Kind = Literal["failure", "win"]


class NoArguments(Arguments):
    """Nothing to say."""


class MailboxRead(Arguments):
    notice_id: NoticeId = Field(description="Id of the notice, as harness_mailbox_list shows it.")


class MailboxAck(Arguments):
    notice_id: NoticeId = Field(description="Id of the pending notice.")
    rule_id: RuleId | None = Field(None, description="The rule that answers it; it must exist.")
    note: Words | None = Field(None, description="What was found or done, in a line.")


class TraceInspect(Arguments):
    trace_id: TraceId = Field(description="A notice id, or a trace or session id that a notice speaks of.")


class History(Arguments):
    metric: Metric = Field(description="Name of the metric.")
    session_id: SessionId | None = Field(None, description="Only this session; left out: all of them.")
    limit: int = Field(50, description="How many of the newest scores; 0 or less means 500, the most.")


class Journal(Arguments):
    limit: int = Field(20, description="How many of the newest events; 0 or less means 500, the most.")
    types: Tags | None = Field(None, description="Only events of these types, such as notice or rule_retire.")


class RuleAdd(Arguments):
    rule: str = Field(description="One sentence: what to do or to avoid.")
    rationale: str = Field(description="Which failure it answers, and why it would have helped.")
    notice_id: NoticeId | None = Field(None, description="The notice that it answers; its tags are taken over.")
    metric: Metric | None = Field(None, description="The metric that it should mend; left out: the notice's, if one.")
    tags: Tags | None = Field(None, description="Words by which to find it; without any it stands in every context.")


class RuleRetire(Arguments):
    rule_id: RuleId = Field(description="Id of the live rule.")
    reason: Words | None = Field(None, description="Why; it is recorded.")


class RuleStatus(Arguments):
    rule_id: RuleId = Field(description="Id of the rule.")


class RulesSearch(Arguments):
    query: Words = Field(description="Words to look for in tags, texts and metrics.")
    limit: int = Field(10, description="How many; 0 or less means 10, at most 50.")
    status: Status | None = Field(None, description="Only rules of this status; left out: active and candidate.")


class EvalsetList(Arguments):
    kind: Kind | None = Field(None, description="Only cases of this kind; left out: both.")
    offset: int = Field(0, description="How many to skip: next_offset of the answer before.")


class EvalsetAttach(Arguments):
    case_id: CaseId = Field(description="Id of a failure without a replay input.")
    replay_input: Any = Field(description="Any JSON value that the replay is run with; written once.")


class ChaptersRulePropose(Arguments):
    category: Words = Field(description="One word, such as security.")
    text: str = Field(description="The rule: what to do or to avoid.")
    topics: Tags | None = Field(None, description="Words by which to find it.")
    amends: Words | None = Field(None, description="Full id of the pool rule that it replaces.")


class ChaptersSearch(Arguments):
    query: Words = Field(description="Words to look for in topics, category, title and text.")
    category: Words | None = Field(None, description="Only rules of this category.")
    limit: int = Field(10, description="How many; 0 or less means 10, at most 50.")


class RulesList(Arguments):
    status: Status | None = Field(None, description="Only rules of this status; left out: all.")
    offset: int = Field(0, description="How many to skip: next_offset of the answer before.")
