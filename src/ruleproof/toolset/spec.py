"""What a tool is: a name, what it is for, a pydantic model of its arguments, and the function that does it.

Arguments are strict: nothing is converted, nothing unknown is accepted, and a refusal names the argument, what was
given and what is allowed. The JSON schemas are generated from the models and are flat; an optional argument that is
null counts as left out.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.engine.evalset import EvalCases
from ruleproof.engine.poolsearch import AgentsSearch
from ruleproof.engine.rules import Rules
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused

Result = dict[str, object]
"""Plain JSON values."""


class Arguments(BaseModel):
    """Base of every argument model."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Bench:
    """What handlers work on. `trial_sessions`: how many sessions a trial observes."""

    workspace: Workspace
    rules: Rules
    trial_sessions: int
    cases: EvalCases
    pool: Callable[[], AgentsSearch] | None = None
    """The pool rules of the project; None: this host has none."""
    session: Callable[[], str | None] = lambda: None
    """The session in whose turn a tool is called, where that is known."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One operation of the catalog. `run` returns the answer without `ok`, or raises a RuleproofError.

    `writes`: it changes the workspace, and so is refused inside a replay. `tells`: its answer holds rules as `rules`
    or `rule`, which the agent has then read.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Bench, Any], Result]
    writes: bool = False
    tells: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One operation as a framework binds it: `await handler(args)` answers a dict with `ok` and never raises."""

    name: str
    description: str
    input_schema: dict[str, Any]
    handler: Callable[[Mapping[str, object] | None], Awaitable[Result]]


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of the tool's arguments: one flat object, no references, nothing additional."""
    made = tool.arguments.model_json_schema()
    properties = {name: _flat(value) for name, value in made.get("properties", {}).items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(made.get("required", [])),
        "additionalProperties": False,
    }


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """One property without titles and without the null branch of an optional argument."""
    branches = [branch for branch in value.get("anyOf", ()) if branch.get("type") != "null"]
    merged = {**(branches[0] if branches else {}), **value}
    return {
        key: part
        for key, part in merged.items()
        if key not in ("title", "anyOf") and not (key == "default" and part is None)
    }


def parse(tool: Tool, args: object) -> Arguments:
    """The checked arguments. Raises Refused, with one Problem for each argument that is wrong."""
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        raise Refused(f"{tool.name}: the arguments are {_given(args)}.", hint="Give an object of named arguments.")
    fields = tool.arguments.model_fields
    problems = [_unknown(key, fields) for key in args if key not in fields]
    values = {
        name: args[name] for name in fields if name in args and (args[name] is not None or fields[name].is_required())
    }
    try:
        parsed = tool.arguments.model_validate(values)
    except ValidationError as error:
        schema = input_schema(tool)["properties"]
        problems += [_problem(dict(found), schema) for found in error.errors(include_url=False)]
    if problems:
        raise Refused(f"{tool.name}: {problems[0].message}", hint=problems[0].hint, problems=problems)
    return parsed


def _unknown(key: object, fields: Mapping[str, object]) -> Problem:
    name = shown(key if isinstance(key, str) else type(key))
    close = difflib.get_close_matches(key[:100], fields, n=1) if isinstance(key, str) else []
    hint = f"Did you mean {close[0]}?" if close else f"Allowed: {', '.join(fields) or 'no argument at all'}."
    return Problem("unknown-argument", f"there is no argument {name}.", name.strip("'"), hint=hint)


def _problem(found: Mapping[str, Any], schema: Mapping[str, Mapping[str, Any]]) -> Problem:
    name, *inner = found["loc"]
    where = str(name) + "".join(f"[{step}]" for step in inner)
    allowed = f"Allowed: {_allowed(schema[str(name)])}."
    if found["type"] == "missing":
        return Problem("missing-argument", f"{where} is missing.", where, hint=allowed)
    reason = found.get("ctx", {}).get("error")
    if isinstance(reason, Refused):
        return Problem("bad-argument", f"{where}: {reason.message}", where, hint=reason.hint or allowed)
    return Problem("bad-argument", f"{where} is {_given(found['input'])}.", where, hint=allowed)


def _allowed(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    words = {"string": "text", "integer": "a whole number", "array": "a list of texts"}
    return words[schema["type"]] if "type" in schema else "any JSON value"


def _given(value: object) -> str:
    """A hostile value in a few words."""
    if isinstance(value, str):
        return f"the text {shown(value[:60])}"
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and value.bit_length() <= 64):
        return f"{type(value).__name__} {value!r}" if value is not None else "null"
    size = f" of {len(value)}" if isinstance(value, (list, tuple, dict)) else ""
    return f"{type(value).__name__}{size}"
