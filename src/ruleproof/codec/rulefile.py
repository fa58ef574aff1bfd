"""Rule files: a front matter of `key: value` lines between two `---` fences, then the rule's text.

Reading is total: a file is read, or a Problem names it and the line. The front matter is our own small grammar, not
YAML: a value is a JSON string where it is one and plain text otherwise, so `globs: *.tsx` and `when: a: b` are text.
Line ends are read as LF and a BOM is dropped before anything is hashed; what we write has neither.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from ruleproof.core.ids import digest, shown
from ruleproof.core.problems import Problem, Severity
from ruleproof.core.proposal import NOTHING, Place, Proposal
from ruleproof.errors import Refused

MAX_FILE = 256 * 1024
"""Bytes; a larger file is named, not read."""

_FENCE = re.compile(r"---[ \t]*")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_ -]{0,63}?)[ \t]*:(.*)")
_ITEM = re.compile(r"\s*-\s+(\S.*?)\s*")
_RAW = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
NO_VALUES: Mapping[str, str] = MappingProxyType({})
_KEYS = "number kind category title status sourceSession authoredAt sha256 origin amends topics evidence"
_KNOWN = frozenset(_KEYS.split())


@dataclass(slots=True)
class _Header:
    """What the front matter held; `lines`: key -> line number."""

    where: str
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def complain(self, code: str, message: str, line: int, severity: Severity = "warning") -> None:
        self.problems.append(Problem(code, message, f"{self.where}:{line}", severity))

    def text(self, key: str) -> str:
        """The value as text: a JSON string decoded, anything else as it stands."""
        raw = self.values.get(key, "")
        if not raw.startswith('"'):
            return raw
        value = _json(raw)
        if isinstance(value, str):
            return value
        self.complain("bad-quoting", f"{key} is not a JSON string; read as text", self.lines[key])
        return raw[1:-1] if len(raw) > 1 and raw.endswith('"') else raw[1:]


def read_rule(place: Place, data: bytes) -> tuple[Proposal | None, tuple[Problem, ...]]:
    """The proposal in `data`, or None with the Problem that says why; warnings come with either. Never raises."""
    text = _decode(data, place.path)
    if isinstance(text, Problem):
        return None, (text,)
    lines = text.split("\n")
    closing = _closing_fence(lines, place.path)
    if isinstance(closing, Problem):
        return None, (closing,)
    header = _read_header(lines[1:closing], place.path)
    body = "\n".join(lines[closing + 1 :])
    kind = header.text("kind")
    if kind != "rule":
        line = header.lines.get("kind", 1)
        problem = Problem("not-a-rule", f"its kind is {shown(kind)}, not rule", f"{place.path}:{line}", "warning")
        return None, (*header.problems, problem)
    if not body.strip():
        problem = Problem("empty-rule", "there is no text after the front matter", f"{place.path}:{closing + 1}")
        return None, (*header.problems, problem)
    proposal = Proposal(
        place=place,
        category=header.text("category") or "general",
        title=header.text("title"),
        body=body,
        digest=digest(text),
        source=header.text("sourceSession"),
        authored_at=header.text("authoredAt"),
        origin=header.text("origin"),
        amends=header.text("amends"),
        topics=_topics(header),
        evidence=_evidence(header),
        extra=tuple(header.extra),
        intact=_intact(header, body),
    )
    _check_claims(header, place)
    return proposal, tuple(header.problems)


def _decode(data: bytes, where: str) -> str | Problem:
    if len(data) > MAX_FILE:
        return Problem("oversize-file", f"{len(data)} bytes; a rule file has at most {MAX_FILE}", where)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem("bad-encoding", f"not UTF-8 (byte {error.start})", f"{where}:{line}")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _closing_fence(lines: Sequence[str], where: str) -> int | Problem:
    """Index of the line that closes the front matter; a Problem for what is no rule file or cannot be read as one."""
    opened = next((number for number, line in enumerate(lines, 1) if line.startswith("<<<<<<< ")), 0)
    if opened and any(line.startswith(">>>>>>> ") for line in lines[opened:]):
        return Problem(
            "conflict-marker", "a merge conflict marker; resolve it, nothing of it is read", f"{where}:{opened}"
        )
    if not _FENCE.fullmatch(lines[0]):
        return Problem("no-front-matter", "the first line is not ---, so this is no rule file", f"{where}:1")
    for index in range(1, len(lines)):
        if _FENCE.fullmatch(lines[index]):
            return index
    return Problem("open-front-matter", "the front matter never ends: no second --- line", f"{where}:1")


def _read_header(lines: Sequence[str], where: str, known: frozenset[str] | None = _KNOWN) -> _Header:
    """The front matter; `known`: the keys that are ours, every other line is kept as it is.

    None: every key counts, and `- item` lines are added to the value of the key above, each after a newline.
    """
    header = _Header(where)
    for number, line in enumerate(lines, 2):
        found = _LINE.fullmatch(line)
        item = _ITEM.fullmatch(line)
        if known is None and item and header.values:
            last = next(reversed(header.values))
            header.values[last] += "\n" + item.group(1).strip("\"'")
            continue
        if found is None:
            header.extra.append(line)
            if line.strip() and not line.lstrip().startswith("#"):
                header.complain("header-line", "no `key: value` line; it is kept and has no effect", number)
            continue
        key, value = found.group(1), found.group(2).strip()
        if known is not None and key not in known:
            header.extra.append(line)
            continue
        if key in header.values:
            header.complain("repeated-key", f"{key} stands here again; the last one counts", number)
        header.values[key], header.lines[key] = value, number
    return header


def _topics(header: _Header) -> tuple[str, ...]:
    raw = header.values.get("topics", "")
    if not raw:
        return ()
    value = _json(raw)
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str) and item.strip())
    inner = raw[1:-1] if raw.startswith("[") and raw.endswith("]") else raw
    return tuple(word for part in inner.split(",") if (word := part.strip().strip("\"'").strip()))


def _evidence(header: _Header) -> Mapping[str, object]:
    raw = header.values.get("evidence", "")
    if not raw:
        return NOTHING
    value = _json(raw)
    if isinstance(value, dict):
        return MappingProxyType(cast("dict[str, object]", value))
    header.complain("bad-evidence", "evidence is no JSON object; read as none", header.lines["evidence"])
    return NOTHING


def _intact(header: _Header, body: str) -> bool:
    declared = header.text("sha256")
    if not declared:
        header.complain("no-digest", "the file declares no sha256 of its text", 1)
        return True
    found = digest(body)
    if declared.lower() == found:
        return True
    message = f"the text's SHA-256 is {found[:12]}, the file declares {shown(declared[:12])}: the text was changed"
    header.complain("digest-mismatch", message, header.lines["sha256"], "error")
    return False


def _check_claims(header: _Header, place: Place) -> None:
    status = header.text("status") or "proposed"
    if status != "proposed":
        message = f"claims the status {shown(status)}; a file is proposed, whatever it claims"
        header.complain("status-claimed", message, header.lines["status"])
    number = header.text("number")
    if number and number != str(place.number):
        message = f"number {shown(number)} in the file, {place.number} in its name; the name counts"
        header.complain("number-mismatch", message, header.lines["number"])


def front_matter(text: str, where: str) -> tuple[Mapping[str, str], str, tuple[Problem, ...]]:
    """(key -> value as text, what follows, complaints) of any document; without front matter: ({}, text, ()).

    The items of a list below its key stand in the value, each after a newline.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    closing = _closing_fence(lines, where)
    if isinstance(closing, Problem):
        return NO_VALUES, text, () if closing.code == "no-front-matter" else (closing,)
    header = _read_header(lines[1:closing], where, known=None)
    values = {key: header.text(key) for key in header.values}
    return values, "\n".join(lines[closing + 1 :]), tuple(header.problems)


def write_rule(proposal: Proposal) -> bytes:
    """The bytes of a rule file; its digest is that of these bytes, whatever `proposal.digest` says.

    Raises Refused for evidence that JSON cannot hold.
    """
    lines = [
        "---",
        f"number: {proposal.place.number}",
        "kind: rule",
        f"category: {_literal(proposal.category)}",
        f"title: {_literal(proposal.title)}",
        "status: proposed",
        f"sourceSession: {_literal(proposal.source)}",
        f"authoredAt: {_literal(proposal.authored_at)}",
        f"sha256: {digest(proposal.body)}",
    ]
    if proposal.origin:
        lines.append(f"origin: {_literal(proposal.origin)}")
    if proposal.amends:
        lines.append(f"amends: {_literal(proposal.amends)}")
    if proposal.topics:
        lines.append(f"topics: [{', '.join(map(_literal, proposal.topics))}]")
    if proposal.evidence:
        lines.append(f"evidence: {_evidence_text(proposal.evidence)}")
    text = "\n".join([*lines, *proposal.extra, "---", proposal.body])
    return text.encode("utf-8", "replace")


def _evidence_text(evidence: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(evidence), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(
            f"The evidence cannot be written: {error}.", hint="Give a mapping of plain values and finite numbers."
        ) from error


def _literal(text: str) -> str:
    """A JSON string that stays on one line for every reader."""
    return _RAW.sub(lambda found: json.dumps(found.group())[1:-1], json.dumps(text, ensure_ascii=False))


def _json(text: str) -> object:
    """The JSON value of `text`; None for what is none, holds NaN or an infinity, or is nested beyond reason."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(name: str) -> float:
    raise ValueError(name)
