"""The eval-set: which cases there are, and an input for a failure that has none. Inputs are never shown.

A win is protected, and so is every input and baseline that is there: an agent cannot shape the evidence about its own
rules.
"""

from __future__ import annotations

from ruleproof.codec.evalcases import summary_of
from ruleproof.core.evalcase import EvalCase
from ruleproof.toolset.arguments import EvalsetAttach, EvalsetList
from ruleproof.toolset.bounded import Bounded, rows
from ruleproof.toolset.spec import Bench, Result

PAGE = 100


def evalset_list(bench: Bench, args: EvalsetList) -> Result:
    """Cases, newest first, a page at a time: `next_offset` is where the next page begins, null after the last."""
    offset = max(0, args.offset)
    found = bench.cases.listed(kind=args.kind)[::-1]
    shown, _ = rows([_shown(case) for case in found[offset : offset + PAGE]], keep="first")
    after = offset + len(shown)
    return {
        "untrusted": True,
        "cases": shown,
        "total": len(found),
        "next_offset": after if after < len(found) else None,
    }


def evalset_attach(bench: Bench, args: EvalsetAttach) -> Result:
    """Attach an input. Raises NotFound, Refused where the case has one or is a win, or where it is too large."""
    case = bench.cases.attach_input(args.case_id, args.replay_input, by="agent")
    return {"untrusted": True, "case": Bounded().of(_shown(case))}


def _shown(case: EvalCase) -> Result:
    return summary_of(case, notes=case.notes, replayable=case.replayable, input_by=case.input_by or None)
