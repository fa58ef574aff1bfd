"""`ruleproof tool`: call from a shell what an agent may call. Output is always JSON; values stay what they were."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb


@verb(
    "ruleproof tool",
    "ruleproof tool harness_mailbox_list",
    """ruleproof tool harness_rules_search --json '{"query": "payment breach"}'""",
    json=False,
)
def tool(
    out: Output,
    name: Annotated[str | None, typer.Argument(help="The tool; without it they are listed with their schemas.")] = None,
    json: Annotated[str, typer.Option(metavar="OBJECT", help="The arguments, as one JSON object.")] = "{}",
) -> Reply:
    """Call one tool of the agent's toolset.

    The answer is printed as JSON. Values stay what they were: a text such as "1e5" stays text.
    """
    from ruleproof.toolset.shell import parse_cli_json

    out.json = True
    arguments = parse_cli_json(json)
    with opened(make=name is not None) as harness:
        if name is None:
            listed = [
                {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
                for spec in harness.toolset.specs()
            ]
            return Reply({"tools": listed}, "")
        answer = harness.toolset.call_sync(name, arguments)
    return Reply(answer, "", _code(answer))


def _code(answer: dict[str, object]) -> Exit:
    """A failure begins with its kind."""
    if answer.get("ok") is True:
        return Exit.DONE
    kind = str(answer.get("error")).partition(":")[0]
    return {"StoreError": Exit.STORE, "InternalError": Exit.BUG}.get(kind, Exit.PROBLEMS)
