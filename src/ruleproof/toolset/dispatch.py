"""Calling a tool: find it, check the arguments, run it, and answer with a plain dict that has `ok`. It never raises.

A failure is an answer too: `{"ok": false, "error": "<Type>: what and what to do", "problems": [...]}`. Of a workspace
that is not trusted nothing is told: its rules, notices and journal came from somewhere else.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections.abc import Callable, Iterable, Mapping

from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.engine.evalset import EvalCases
from ruleproof.engine.poolsearch import AgentsSearch
from ruleproof.engine.replay import REPLAYING
from ruleproof.engine.rules import Rules
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import NotFound, Refused, RuleproofError
from ruleproof.toolset.bounded import Bounded
from ruleproof.toolset.catalog import TOOLS
from ruleproof.toolset.spec import Bench, Result, ToolSpec, input_schema, parse

log = logging.getLogger("ruleproof")
_BY_NAME = {tool.name: tool for tool in TOOLS}


class Toolset:
    """The tools of one workspace. Safe to share between threads and tasks."""

    def __init__(
        self,
        workspace: Workspace,
        rules: Rules,
        trial_sessions: int,
        cases: EvalCases | None = None,
        pool: Callable[[], AgentsSearch] | None = None,
        session: Callable[[], str | None] = lambda: None,
        told: Callable[[Iterable[str]], None] = lambda rules: None,
    ) -> None:
        """`told(rule_ids)` hears which rules an answer held."""
        self._told = told
        self._bench = Bench(workspace, rules, trial_sessions, cases or EvalCases(workspace), pool, session)

    def names(self) -> tuple[str, ...]:
        """The names of all tools."""
        return tuple(_BY_NAME)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Name, description, JSON schema and async handler of every tool, for a framework to bind."""
        return tuple(
            ToolSpec(tool.name, tool.description, input_schema(tool), functools.partial(self.call, tool.name))
            for tool in TOOLS
        )

    async def call(self, name: str, args: Mapping[str, object] | None = None) -> Result:
        """`call_sync` in a thread: the event loop is never blocked."""
        return await asyncio.to_thread(self.call_sync, name, args)

    def call_sync(self, name: str, args: Mapping[str, object] | None = None) -> Result:
        """The tool's answer with `ok` true, or `ok` false with `error` and `problems`. JSON values only."""
        try:
            answer: Result = {"ok": True, **self._run(name, args)}
            json.dumps(answer, allow_nan=False)
            return answer
        except RuleproofError as error:
            return _failed(type(error).__name__, str(error), error.problems)
        except OSError as error:
            return _failed("StoreError", f"{error.strerror or error}.")
        except Exception as error:
            log.exception("the tool %s failed", shown(name))
            return _failed("InternalError", f"{type(error).__name__}; the log of the host says more.")

    def _run(self, name: str, args: object) -> Result:
        tool = _BY_NAME.get(name) if isinstance(name, str) else None
        if tool is None:
            said = shown(name[:60]) if isinstance(name, str) else type(name).__name__
            raise NotFound(f"There is no tool {said}.", hint=f"The tools are {', '.join(_BY_NAME)}.")
        parsed = parse(tool, args)
        if not self._bench.workspace.ports.trusted:
            raise Refused(
                "This workspace is not trusted: it was not made on this machine, or git can change it.",
                hint="A person looks at it and runs `ruleproof trust`; until then nothing in it is told or changed.",
            )
        if tool.writes and REPLAYING.get() is not None:
            raise Refused("This is a replay of a recorded case: nothing is written.", hint="Go on with the task.")
        answer = tool.run(self._bench, parsed)
        if tool.tells:
            rules = answer.get("rules", [answer.get("rule")])
            self._told(
                [str(rule.get("id")) for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else ()
            )
        return answer


def _failed(kind: str, message: str, problems: tuple[object, ...] = ()) -> Result:
    told = [problem.as_json() if isinstance(problem, Problem) else str(problem) for problem in problems]
    return {"ok": False, "error": Bounded().of(f"{kind}: {message}"), "problems": Bounded().of(told)}
