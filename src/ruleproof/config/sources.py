"""Where settings come from: the settings file and the environment. Nothing else of the package reads either.

A name may be spelt in both ways, ours and that of the documents (`core_rules_budget_tokens`, `coreRulesBudgetTokens`).
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ruleproof.errors import ConfigError

SETTINGS_FILE = "ruleproof.toml"
WORKSPACE = ".ruleproof"
PREFIX = "HARNESS_"
ROOT_VARIABLE = "HARNESS_ROOT"
"""The one variable whose name is not the prefix and the setting's name."""
POOL_TOKEN_VARIABLE = PREFIX + "POOL_TOKEN"
"""A secret, so no setting: it stands in no settings file."""
TABLES: Mapping[str, type[float] | type[str]] = {"thresholds": float, "signal_weights": float, "search_aliases": str}
_WORDS = "name", "db=database,k8s=kubernetes"


def find_project(folder: Path | None) -> Path:
    """`folder`, else the nearest folder from here upwards with a settings file or a workspace, else here."""
    here = (folder or Path.cwd()).absolute()
    if folder is not None:
        return here
    for place in (here, *here.parents):
        if (place / SETTINGS_FILE).is_file() or (place / WORKSPACE).is_dir():
            return place
    return here


def from_settings_file(file: Path) -> dict[str, Any]:
    """What the settings file says; nothing where there is none. Raises ConfigError where it cannot be read."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"{file}: {error}.",
            hint="Correct the file, or call `ruleproof init` there: it sets this one aside.",
        ) from None


def from_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    """The settings `names` that the environment has. Raises ConfigError for a variable that is nearly one of them."""
    values: dict[str, Any] = {}
    known = {variable(name): name for name in names}
    for name in environ:
        if name.startswith(PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.93)
            if close:
                raise ConfigError(f"{name} is not a setting.", hint=f"Did you mean {close[0]}?")
    for name in known.values():
        value = environ.get(variable(name), environ.get(PREFIX + camel(name)))
        if value is not None:
            values[name] = _table(variable(name), value, TABLES[name]) if name in TABLES else value
    return values


def process_environment() -> Mapping[str, str]:
    """The environment of this process."""
    return os.environ


def pool_token() -> str:
    """The token of a pool's https address, where the environment has one."""
    return os.environ.get(POOL_TOKEN_VARIABLE, "")


def environment_names() -> tuple[str, ...]:
    """Names, without values, of this process's environment: some say that an agent drives it."""
    return tuple(os.environ)


def git_environment() -> dict[str, str]:
    """The environment for a git that finds repository and index from the folder alone, in plain English."""
    return {**{name: text for name, text in os.environ.items() if name[:4].upper() != "GIT_"}, "LC_ALL": "C"}


def camel(name: str) -> str:
    """The other spelling of a setting: `core_rules_budget_tokens` is `coreRulesBudgetTokens`, too."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def own_names(values: Mapping[str, Any], origin: str, names: Iterable[str]) -> dict[str, Any]:
    """`values` under our own spelling of their names; raises ConfigError where one is set under both."""
    ours = {camel(name): name for name in names}
    found: dict[str, Any] = {}
    for name, value in values.items():
        own = ours.get(name, name)
        if own in found:
            raise ConfigError(f"{own} ({origin}) is set twice, as {own} and as {camel(own)}.", hint="Keep one of them.")
        found[own] = value
    return found


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return ROOT_VARIABLE if name == "harness_root" else PREFIX + name.upper()


def _table(name: str, text: str, kind: type[float] | type[str]) -> dict[str, float | str]:
    """`metric=0.4,other=0.6`, or `db=database`."""
    table: dict[str, float | str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        try:
            table[key.strip()] = kind(value.strip())
        except ValueError:
            equals = ""
        if not equals or not key.strip():
            wanted, example = ("number", "agent_reliability=0.4,outcome=0.5") if kind is float else _WORDS
            raise ConfigError(f"{name}: {part!r} is not name={wanted}.", hint=f"For example {example}.")
    return table


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is no setting."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else "`ruleproof init` writes a file with every setting."
