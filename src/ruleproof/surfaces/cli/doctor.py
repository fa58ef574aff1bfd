"""`ruleproof doctor`: every inconsistency of the workspace by file and line, and what can be mended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.errors import Refused
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import absence, opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.core.problems import Problem


@verb("ruleproof doctor", "ruleproof doctor --repair")
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended; no record is lost.")] = False,
) -> Reply:
    """Name every inconsistency of workspace and pool rules.

    Without a workspace, of the pool rules alone. With --repair it mends what can be mended first, and says what that
    was. Anything but a mere remark that is left makes the exit code 1.
    """
    from ruleproof.edge.housekeeping import Housekeeping
    from ruleproof.engine.doctor import examine
    from ruleproof.engine.repair import repair as mend

    governance = governed()
    refused = None if governance.config.root.is_dir() else absence(governance.config)
    if refused:
        return _reply((), (_alone(governance.config, refused), *governance.examine(repair=repair)))
    with opened() as harness:
        folder, trust = Housekeeping(harness.config.root), harness.trust
        mended = mend(harness.workspace, composer=harness.composer, folder=folder) if repair else ()
        governance = harness.governance
        problems = examine(
            harness.workspace,
            composer=harness.composer,
            folder=folder,
            cap=harness.config.max_active_rules,
            distrust=trust.reason,
            tracked=trust.tracked,
        )
        problems = (
            *problems,
            *governance.examine(repair=repair),
            *governance.adopted_in_force(harness.rules.candidates()),
        )
    return _reply(mended, problems)


def _alone(config: HarnessConfig, refused: Refused) -> Problem:
    """That only pool rules were looked at: a remark where nobody named a workspace, else an error."""
    from ruleproof.core.problems import Problem

    wanted = config.root_is_given or os.path.lexists(config.root)
    hint = f"Only pool rules were looked at. {refused.hint}"
    return Problem("no-workspace", refused.message, "", "error" if wanted else "info", hint)


def _reply(mended: Sequence[str], problems: Sequence[Problem]) -> Reply:
    bad = any(problem.severity != "info" for problem in problems)
    data = {"problems": [problem.as_json() for problem in problems], "mended": list(mended)}
    return Reply(data, _text(mended, problems), Exit.PROBLEMS if bad else Exit.DONE)


def _text(mended: Sequence[str], problems: Sequence[Problem]) -> str:
    parts = [paragraph(f"mended: {what}", indent="  ") for what in mended]
    parts += [paragraph(f"{problem.severity}: {problem} [{problem.code}]", indent="  ") for problem in problems]
    counts = {word: sum(problem.severity == word for problem in problems) for word in ("error", "warning", "info")}
    found = ", ".join(
        f"{count} {word}{'s' if count != 1 and word != 'info' else ''}" for word, count in counts.items() if count
    )
    return "\n".join([*parts, f"{found}." if found else "No problem found."])
