"""`ruleproof init`: a commented settings file, the workspace folder, and this user's word that it may be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.surfaces.cli.layout import facts, paragraph
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.harness import Harness

Mode = Literal["observe_only", "suggest", "auto"]
MODE: Mode = "auto"


@verb("ruleproof init", "ruleproof init --mode suggest", "ruleproof init --yes")
def init(
    out: Output,
    mode: Annotated[
        Mode | None, typer.Option(help="What the rules of agents may do; asked for where it is left out.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help=f"Ask nothing: mode {MODE}.")] = False,
) -> Reply:
    """Make a workspace in this folder.

    It writes ruleproof.toml (every setting, commented) and .ruleproof/, which is kept out of git. What exists
    already stays as it is; a ruleproof.toml that cannot be read is kept beside a new one. A workspace that came with a
    clone is not trusted by this; see `ruleproof trust --help`.
    """
    from ruleproof.config import HarnessConfig
    from ruleproof.config.sources import SETTINGS_FILE, find_project
    from ruleproof.edge.workspacedir import WorkspaceDir
    from ruleproof.harness import Harness

    here, outer = Path.cwd(), find_project(None)
    file = here / SETTINGS_FILE
    broken = _broken(file)
    wrote = not file.exists() or broken
    notes = [] if outer == here else [f"{outer} has a workspace too; in {here} this one counts from now on."]
    if wrote:
        chosen = mode or (MODE if yes else _asked(out))
        if broken:
            aside = _set_aside(file)
            notes.append(f"{file} could not be read; it is kept as {aside.name}.")
        _write_settings(file, chosen)
    config = HarnessConfig.load()
    fresh = not config.root.exists()
    harness = Harness.create(config)
    WorkspaceDir(config.root).keep_out()
    harness.close()
    if mode not in (None, config.mode):
        notes.append(f"The mode stays {config.mode}: {file} exists; set `mode` in it.")
    return _reply(harness, file, wrote, fresh, notes)


def _broken(file: Path) -> bool:
    """Whether no setting can be read from the file: it is no TOML, or no text. A wrong value is its author's."""
    import tomllib

    try:
        tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return True
    except OSError:
        pass
    return False


def _set_aside(file: Path) -> Path:
    """Rename the file to a name that nothing has, and return that."""
    aside, number = file.with_name(f"{file.name}.broken"), 1
    while aside.exists() or aside.is_symlink():
        number += 1
        aside = file.with_name(f"{file.name}.broken{number}")
    return file.rename(aside)


def _asked(out: Output) -> Mode:
    from ruleproof.engine.settings_file import MODES

    if not out.interactive:
        raise typer.BadParameter(
            "nobody is here to be asked; give observe_only, suggest or auto, or --yes for auto", param_hint="--mode"
        )
    out.note("What may the rules of agents do?")
    out.note("\n".join(f"  {line}" for line in MODES.splitlines()))
    answer: Mode = typer.prompt("Mode", default=MODE, err=True, value_proc=_mode)
    return answer


def _mode(text: str) -> Mode:
    for known in ("observe_only", "suggest", "auto"):
        if text.strip() == known:
            return known
    raise typer.BadParameter("Give observe_only, suggest or auto.")


def _write_settings(file: Path, mode: Mode) -> None:
    from ruleproof.edge import fs
    from ruleproof.engine.settings_file import HOLDOUT, MODES, POLICIES, REPLAYS, settings_text

    chosen = {"mode": mode, "rule_trial_policy": "anytime", "rule_holdout": 0.5, "replay_policy": "paired"}
    why = {"mode": MODES, "rule_trial_policy": POLICIES, "rule_holdout": HOLDOUT, "replay_policy": REPLAYS}
    fs.write_atomic(file, settings_text(chosen, why).encode())


def _reply(harness: Harness, file: Path, wrote: bool, fresh: bool, notes: list[str]) -> Reply:
    from ruleproof.surfaces.cli.opening import distrust

    config, warning = harness.config, distrust(harness)
    data = {
        "settings_file": str(file),
        "settings_written": wrote,
        "workspace": str(config.root),
        "workspace_made": fresh,
        "mode": config.mode,
        "trusted": harness.trust.trusted,
        "reason": harness.trust.reason,
    }
    shown = [
        ("settings", f"{file} ({'written' if wrote else 'was here; left as it is'})"),
        ("workspace", f"{config.root} ({'made' if fresh else 'was here; left as it is'})"),
        ("mode", config.mode),
    ]
    more = warning or "Next: `ruleproof ingest FILE` reads recorded sessions; `ruleproof status` shows what is known."
    return Reply(data, f"{facts(shown)}\n\n{paragraph(more)}", notes=tuple(notes))
