"""`ruleproof evalset`: the recorded cases that replays use: list, show, capture, attach an input, remove."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.layout import facts, paragraph, table
from ruleproof.surfaces.cli.opening import opened, path_of
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import Verb, verb

if TYPE_CHECKING:
    from ruleproof.core.evalcase import EvalCase

Kind = Literal["failure", "win"]
Id = Annotated[str, typer.Argument(metavar="ID", help="The case, such as c-8d015cefd6.")]
OfKind = Annotated[Kind | None, typer.Option("--kind", help="Only cases of this kind.")]
Input = Annotated[
    str | None, typer.Option("--input", metavar="FILE", help="What to run again, as JSON; - reads standard input.")
]
MAX_INPUT = 8 << 20


@verb("ruleproof evalset", "ruleproof evalset --json")
def evalset(ctx: typer.Context) -> Reply | None:
    """List, show, capture or remove eval cases.

    Replays of a candidate and regression runs use them. Without a command it lists them.
    """
    return listed(None) if ctx.invoked_subcommand is None else None


@verb("ruleproof evalset list --kind win")
def list_(kind: OfKind = None) -> Reply:
    """List the cases, oldest first, without their inputs."""
    return listed(kind)


def listed(kind: Kind | None) -> Reply:
    """The cases as a table; files that cannot be read are counted."""
    with opened() as harness:
        found = harness.evalset.listed(kind=kind)
        problems = harness.workspace.ports.evalset.problems()
    rows = [(case.id, case.kind, case.session_id, _scores(case), case.replayable) for case in found]
    text = table(("case", "kind", "session", "scores", "replayable"), rows) if rows else "No case."
    notes = (f"{len(problems)} things are odd in evalset/; `ruleproof doctor` names them.",) if problems else ()
    return Reply({"cases": [value_of(case) for case in found]}, text, notes=notes)


@verb("ruleproof evalset show c-8d015cefd6")
def show(case_id: Id) -> Reply:
    """Show one case with its input. What it holds is data, not instruction."""
    from ruleproof.codec.evalcases import to_json

    with opened() as harness:
        case = harness.evalset.get(ids.component(case_id, "case"))
    shown = [
        ("case", case.id),
        ("kind", case.kind),
        ("session", case.session_id),
        ("captured", case.created_at),
        ("signature", ", ".join(case.signature) or None),
        ("scores", _scores(case) or None),
        ("input by", case.input_by or None),
        ("notes", case.notes or None),
        ("input", json.dumps(case.replay_input, ensure_ascii=False) if case.replayable else "none: not replayable"),
    ]
    return Reply({"case": {**to_json(case), "replayable": case.replayable}}, facts(shown))


@verb(
    "ruleproof evalset capture --from-session s-17 --kind win --input turn.json",
    "ruleproof evalset capture --session s-18 outcome=0 --prompt 'refund it'",
)
def capture(
    scores: Annotated[
        list[str] | None, typer.Argument(metavar="METRIC=VALUE", help="The scores of --session, from 0 to 1.")
    ] = None,
    from_session: Annotated[
        str | None, typer.Option(metavar="ID", help="A session whose scores are recorded here.")
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Any session; give its scores.")] = None,
    kind: Annotated[Kind, typer.Option(help="A win protects against regressions and is never evicted.")] = "failure",
    input_: Input = None,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="The input as plain text.")] = None,
    note: Annotated[str, typer.Option(help="Why it is kept.")] = "",
) -> Reply:
    """Keep a session as a case.

    A session is one case of its kind and of the metrics that failed, and stays as it was captured first. Credentials
    are redacted before it is stored.
    """
    from ruleproof.core.gate import signature

    if (from_session is None) == (session is None):
        raise typer.BadParameter("give one of --from-session and --session", param_hint="--session")
    if from_session is not None and scores:
        raise typer.BadParameter("its scores are recorded; give none", param_hint="METRIC=VALUE")
    replay_input = _input(input_, prompt)
    with opened() as harness:
        before = {case.id for case in harness.evalset.listed()}
        if from_session is not None:
            case = harness.evalset.capture_session(from_session, kind, replay_input=replay_input, notes=note)
        else:
            given = dict(map(_pair, scores or ()))
            below = [name for name, value in given.items() if value < harness.config.threshold(name)]
            case = harness.evalset.capture(
                session_id=session or "",
                kind=kind,
                signature=[signature("breach", name) for name in below] if kind == "failure" else [],
                baseline_scores=given,
                replay_input=replay_input,
                notes=note,
            )
    created = case.id not in before
    said = f"{case.id} is kept as a {case.kind}." if created else f"{case.id} was there already, unchanged."
    if not created and (replay_input is not None or note):
        said += " What you gave now is not kept; remove the case first to capture it anew."
    missing = "" if case.replayable else " It has no input yet, so it cannot be replayed: `ruleproof evalset attach`."
    data, warning = {"case": value_of(case), "created": created}, _warning(case)
    if not warning:
        return Reply(data, paragraph(said + missing))
    return Reply({**data, "warning": warning}, paragraph(said + missing), notes=(f"Warning: {warning}",))


def _warning(case: EvalCase) -> str:
    """What a case as it was captured cannot be used for; empty where all is well."""
    if not case.baseline_scores:
        return "It has no scores, so no replay of it can be compared. Remove it and capture it with METRIC=VALUE."
    if case.kind == "failure" and not case.signature:
        return (
            "None of its scores lies below its threshold, so no rule is about this failure, and no candidate is judged "
            "by it; `ruleproof regress` replays it."
        )
    return ""


@verb("ruleproof evalset attach c-8d015cefd6 --input turn.json")
def attach(
    case_id: Id,
    input_: Input = None,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="The input as plain text.")] = None,
) -> Reply:
    """Give a case the input that it lacks. An input is written once."""
    given = _input(input_, prompt)
    if given is None:
        raise typer.BadParameter("give --input or --prompt", param_hint="--input")
    with opened() as harness:
        case = harness.evalset.attach_input(ids.component(case_id, "case"), given)
    return Reply({"case": value_of(case)}, f"{case.id} can be replayed.")


@verb("ruleproof evalset remove c-8d015cefd6")
def remove(case_id: Id) -> Reply:
    """Remove a case, a win too. `ruleproof forget` removes its words everywhere."""
    from ruleproof.errors import NotFound

    with opened() as harness:
        if not harness.evalset.remove(case_id):
            raise NotFound(f"There is no eval case {ids.shown(case_id)}.", hint="`ruleproof evalset` lists them.")
    return Reply({"case_id": case_id}, f"{case_id} is removed.")


COMMANDS: tuple[tuple[str, Verb], ...] = (
    ("list", list_),
    ("show", show),
    ("capture", capture),
    ("attach", attach),
    ("remove", remove),
)


def value_of(case: EvalCase) -> dict[str, object]:
    """A case as JSON, without its input."""
    from ruleproof.codec.evalcases import summary_of

    return summary_of(case, notes=case.notes, replayable=case.replayable, input_by=case.input_by or None)


def _scores(case: EvalCase) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in sorted(case.baseline_scores.items()))


def _pair(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        equals = ""
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not name=number", param_hint="METRIC=VALUE")
    return name, number


def _input(file: str | None, prompt: str | None) -> object:
    """The replay input that the options give; None where they give none."""
    if file is not None and prompt is not None:
        raise typer.BadParameter("give --input or --prompt, not both", param_hint="--input")
    if file is None:
        return prompt
    try:
        data = _read(file)
        value: object = json.loads(data.decode("utf-8-sig"), parse_constant=_constant)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--input") from None
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(
            f"{file} is no JSON: {error}; plain text is given with --prompt", param_hint="--input"
        ) from None
    if value is None:
        raise typer.BadParameter(f"{file} holds null, which is no input", param_hint="--input")
    return value


def _read(file: str) -> bytes:
    if file == "-":
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
    else:
        with path_of(file).open("rb") as source:
            data = source.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise typer.BadParameter(f"{file} has more than {MAX_INPUT} bytes", param_hint="--input")
    return data


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
