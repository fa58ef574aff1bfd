"""Files of eval cases: JSON, two spaces of indent, sorted keys, ASCII only: byte for byte what the 0.6 system writes.

Reading never raises and never loses: whatever our record would not write back as it stood is kept beside it and written
back. A file without a usable id, or of a kind that nobody knows, is a Problem and never evidence. `input_by` is ours
alone, and is written only where an input has an author.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import isfinite
from typing import cast, get_args

from ruleproof.codec.reading import mapping, text, texts, unit
from ruleproof.core.evalcase import KINDS, By, CaseKind, EvalCase
from ruleproof.core.ids import component, shown
from ruleproof.core.problems import Problem
from ruleproof.errors import Refused

MAX_BYTES = 8 << 20
"""A larger file is not read."""
MAX_DEPTH = 64
_BY = frozenset(get_args(By)) - {""}


def encode(case: EvalCase) -> bytes:
    """The file of a case. Raises Refused where the input is no JSON value."""
    try:
        return json.dumps(to_json(case), indent=2, sort_keys=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(
            f"The replay input of case {case.id} is no JSON value: {str(error)[:200]}.",
            hint="Give texts, finite numbers, booleans, lists and objects.",
        ) from None


def to_json(case: EvalCase) -> dict[str, object]:
    """The record as a JSON object."""
    ours = {"input_by": case.input_by} if case.input_by else {}
    return summary_of(case, notes=case.notes, replay_input=case.replay_input) | ours | dict(case.extra)


def summary_of(case: EvalCase, **more: object) -> dict[str, object]:
    """What a case is, without its input."""
    return {
        "id": case.id,
        "created_at": case.created_at,
        "session_id": case.session_id,
        "kind": case.kind,
        "signature": list(case.signature),
        "baseline_scores": dict(case.baseline_scores),
        **more,
    }


def decode(data: bytes, where: str) -> tuple[EvalCase | None, tuple[Problem, ...]]:
    """The case in a file named `where`, with a warning for each field of a wrong type; None where there is none."""
    try:
        value: object = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return None, (_left(where, "bad-encoding", f"not UTF-8 (byte {error.start})"),)
    except (ValueError, RecursionError):
        return None, (_left(where, "broken-file", "not JSON (torn or foreign)"),)
    try:
        name, value = _checked(value)
    except Refused as refusal:
        return None, (_left(where, "bad-case", refusal.message.rstrip(".")),)
    case = EvalCase(
        id=name,
        created_at=text(value.get("created_at")),
        session_id=text(value.get("session_id")),
        kind=cast(CaseKind, value["kind"]),
        signature=texts(value.get("signature")),
        baseline_scores={
            metric: score
            for metric, given in mapping(value.get("baseline_scores")).items()
            if (score := unit(given)) is not None
        },
        replay_input=value.get("replay_input"),
        notes=text(value.get("notes")),
        input_by=cast(By, by) if isinstance(by := value.get("input_by"), str) and by in _BY else "",
    )
    written = to_json(case)
    missing = object()
    extra = {key: item for key, item in value.items() if written.get(key, missing) != item}
    odd = [key for key in extra if key in written]
    problems = tuple(
        Problem("odd-field", f"{key} holds {shown(extra[key])}, which is kept but not all understood", where, "warning")
        for key in odd
    )
    return replace(case, extra=extra) if extra else case, problems


def _left(where: str, code: str, message: str) -> Problem:
    return Problem(code, f"{message}; the case is left as it is and is no evidence", where, "warning")


def _checked(value: object) -> tuple[str, dict[str, object]]:
    """The id and the finite form of a record; raises Refused where it is no case that we could use."""
    finite = _finite(value, MAX_DEPTH + 1)
    if not isinstance(finite, dict):
        raise Refused(f"{type(value).__name__} where a case belongs.")
    name = component(finite.get("id"), "case")
    if finite.get("kind") not in KINDS:
        raise Refused(f"{shown(finite.get('kind'))} is no kind of case: {' or '.join(KINDS)}.")
    return name, finite


def _finite(value: object, depth: int) -> object:
    """`value` without NaN and infinities, which no JSON file may hold: they are missing numbers."""
    if depth < 0:
        raise Refused(f"It nests deeper than {MAX_DEPTH} levels.")
    if isinstance(value, dict):
        return {str(key): _finite(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item, depth - 1) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else None
