"""`ruleproof validate`: judge the candidates by replays now, one round or until they are decided."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.opening import distrust
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.replaying import Function, Scoring, Template, replaying
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.evalcase import EvalCase
    from ruleproof.core.verdict import Verdict
    from ruleproof.engine.ports import Replay
    from ruleproof.harness import Harness


@verb(
    "ruleproof validate --replay replays:replay",
    "ruleproof validate --command 'python replay.py {case} {context}' --rounds 5",
)
def validate(
    out: Output,
    replay: Function = None,
    command: Template = None,
    evaluator: Scoring = None,
    rounds: Annotated[int, typer.Option(min=1, help="At most so many; fewer once replays have decided.")] = 1,
) -> Reply:
    """Judge the candidates by replays now.

    Each candidate's newest failures and wins run again, as `replay_policy` says. A candidate that no case is about, or
    that three rounds could not compare, is judged by its sessions. The exit code is 0 when replays judged, 1 when a
    rule was retired, and 5 when nothing could be replayed.
    """
    import asyncio

    if replay is None and command is None:
        said = "Give --replay or --command: nothing can be replayed without."
        return Reply({"rounds": 0, "replayed": 0, "verdicts": []}, paragraph(said), Exit.UNCHECKED)
    found: dict[str, Verdict] = {}
    done = 0

    def told(run: Replay) -> Replay:
        counts = itertools.count(1)

        def wrapped(case: EvalCase, context: str) -> object:
            out.note(f"round {done + 1}, replay {next(counts)}: {case.kind} {case.id}")
            return run(case, context)

        return wrapped

    with replaying(replay, command, evaluator, told) as harness:
        if not harness.trust.trusted:
            return Reply({"trusted": False}, paragraph(distrust(harness)), Exit.UNCHECKED)
        while done < rounds:
            verdicts = asyncio.run(harness.validate_candidates())
            done += 1
            found.update(
                (one.rule_id, one) for one in verdicts if one.rule_id not in found or _open(found[one.rule_id])
            )
            if not any(_open(one) and _replayed(one) for one in verdicts):
                break
        why = _nothing(harness)
    judged = sum(map(_replayed, found.values()))
    retired = any(one.outcome in ("retire", "inconclusive") for one in found.values())
    data = {"rounds": done, "replayed": judged, "verdicts": [_value(one) for one in found.values()]}
    code = Exit.UNCHECKED if not judged else Exit.PROBLEMS if retired else Exit.DONE
    return Reply(data, _text(found.values(), judged, why), code)


def _open(verdict: Verdict) -> bool:
    return not verdict.decided


def _replayed(verdict: Verdict) -> bool:
    """Whether replays judged it, or could be compared this time."""
    from ruleproof.core.evidence.replay import NAME

    return verdict.validator == NAME and (verdict.decided or verdict.details.get("effect") is not None)


def _value(verdict: Verdict) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(verdict), "replayed": _replayed(verdict)}


def _nothing(harness: Harness) -> str:
    """Why there is no verdict at all."""
    if harness.config.mode == "observe_only":
        return "No rule moves in mode observe_only."
    return "No candidate is in force."


def _text(found: Iterable[Verdict], judged: int, why: str) -> str:
    verdicts = list(found)
    if not verdicts:
        return paragraph(why)
    rows = [(one.outcome, one.rule_id, one.validator) for one in verdicts]
    parts = [table(("verdict", "rule", "by"), rows, whole=1)]
    parts += [paragraph(f"{one.rule_id}: {one.reason}") for one in verdicts]
    if not judged:
        parts.append("Nothing could be replayed, so replays decided nothing.")
    return "\n\n".join(parts)
