"""The text of a commented `ruleproof.toml`, made from the settings themselves, so that it cannot leave one out.

Every setting stands in it with what it means, what it may be and its default, commented out unless it was chosen. A
person who takes away a `# ` has set it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ruleproof.config import HarnessConfig
from ruleproof.config.sources import PREFIX

WIDTH = 100
HEAD = f"""\
# Settings of ruleproof for this project. Every setting is listed with its default; take away the "# " to set one.
# An argument in code wins over an environment variable ({PREFIX} and the name in capitals, such as {PREFIX}MODE), that
# over this file, and this file over the default. A name or a value that cannot be is refused at start.
"""
MODES = (
    "observe_only: sessions are scored and journaled; no notice is posted and no rule moves.\n"
    "suggest: a rule that an agent writes waits until a person accepts it (`ruleproof rules accept`).\n"
    "auto: a new rule is in force at once, marked provisional, until its trial promotes or retires it."
)
POLICIES = (
    "fixed, the default without this file, promotes after five sessions that alert less than the baseline did; a rule "
    "without any effect passes that one time in four or more often.\n"
    "anytime compares sessions that see a rule with sessions from which chance withholds it, and promotes few useless "
    "rules however often it is looked at. It needs more sessions: see `ruleproof forecast`.\n"
    'For the short gate set rule_trial_policy = "fixed" and remove rule_holdout.'
)
HOLDOUT = (
    "One half decides soonest. A rule on trial is missing from that share of the sessions until it is decided; a "
    "promoted rule is withheld from nobody, unless rule_holdout_active says so."
)
REPLAYS = (
    "This counts once a replay function is wired, and then before the trial on live sessions. paired runs every case "
    "with the rule and without it, and promotes few useless rules; it takes twice replay_repeats replays of a case.\n"
    "seed, the default without this file, runs a case once, against the scores of the day it failed: where scores are "
    'noisy it promotes most rules without any effect. For that gate set replay_policy = "seed".'
)
_BOUNDS = (("ge", "at least {}"), ("gt", "above {}"), ("le", "at most {}"), ("lt", "below {}"))
_KINDS: Mapping[object, str] = {bool: "true or false", int: "whole number", float: "number"}


def settings_text(chosen: Mapping[str, object], why: Mapping[str, str] | None = None) -> str:
    """The file. `chosen`: setting -> value, written as set; `why`: setting -> more lines of comment about it."""
    blocks = [HEAD]
    for name, field in HarnessConfig.model_fields.items():
        lines = _comment(f"{field.description} ({_allowed(field)})")
        lines += [line for text in (why or {}).get(name, "").splitlines() for line in _comment(text)]
        value = chosen.get(name, field.get_default(call_default_factory=True))
        mark = "" if name in chosen else "# "
        blocks.append("\n".join([*lines, f"{mark}{name} = {toml(value)}"]) + "\n")
    return "\n".join(blocks)


def toml(value: object) -> str:
    """A setting's value as TOML. None, which TOML has no word for, is an empty text (and stays commented out)."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return json.dumps("" if value is None else str(value))


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, WIDTH - 2, break_on_hyphens=False)]


def _allowed(field: FieldInfo) -> str:
    """What a setting may be, in words: its choices, or its type and bounds."""
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if get_origin(kind) is dict:
        item = get_args(kind)[1]
        base, *parts = get_args(item) or (item,)
        inner = next((part for part in parts if isinstance(part, FieldInfo)), None)
        return f"name = {_range(_KINDS.get(base, 'text'), inner.metadata if inner else ())}"
    return _range(_KINDS.get(kind, "text"), field.metadata)


def _range(kind: str, metadata: Any) -> str:
    bounds = [
        words.format(f"{limit:g}")
        for bound in metadata
        for name, words in _BOUNDS
        if (limit := getattr(bound, name, None)) is not None
    ]
    return " ".join([kind, *([", ".join(bounds)] if bounds else [])])
