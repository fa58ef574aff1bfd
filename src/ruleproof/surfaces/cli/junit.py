"""A regression run as JUnit XML, which every CI system reads: a regressed case fails, a skipped one is skipped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from ruleproof.engine.regress import CaseResult, RegressionReport

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, escaped or not."""
_UNKNOWN = "\ufffd"


def junit(report: RegressionReport) -> bytes:
    """The document."""
    counts = f'tests="{len(report.results)}" failures="{report.count("regressed")}" skipped="{report.count("skipped")}"'
    head = f'<testsuite name="ruleproof regress" {counts} timestamp={_quoted(report.started_at)}>'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head, *map(_case, report.results), "</testsuite>", ""]
    return "\n".join(lines).encode()


def _case(result: CaseResult) -> str:
    name = _quoted(f"{result.case_id} (session {result.session_id})")
    inner = {
        "regressed": f"<failure message={_quoted(figures(result))}/>",
        "skipped": f"<skipped message={_quoted(result.reason)}/>",
    }.get(result.status, "")
    if result.missing:
        inner += f"<system-out>{escape(_NO_XML.sub(_UNKNOWN, f'compared in part: {lacks(result)}'))}</system-out>"
    return f'  <testcase classname="ruleproof.{result.kind}" name={name}>{inner}</testcase>'


def figures(result: CaseResult) -> str:
    """What changed, metric by metric, the worst first; why nothing could be compared where that is so."""
    ordered = sorted(result.deltas.items(), key=lambda pair: (pair[1], pair[0]))
    said = [f"{name} {delta:+.2f}" for name, delta in ordered]
    return ", ".join([*said, lacks(result)] if result.missing else said) or result.reason


def lacks(result: CaseResult) -> str:
    """Which metrics of the baseline the replay lacks."""
    return f"no {', '.join(result.missing)} in the replay"


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub(_UNKNOWN, text))
