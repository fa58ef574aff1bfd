"""Every setting, its default, its range.

Precedence: argument, environment (`HARNESS_` + the upper-case name), `ruleproof.toml`, default. A misspelt boolean, an
empty number, an unknown name or a value out of range is refused at start with the name of the setting, never taken as
off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from ruleproof.config.sources import (
    SETTINGS_FILE,
    WORKSPACE,
    find_project,
    from_environment,
    from_settings_file,
    nearest,
    own_names,
    process_environment,
    variable,
)
from ruleproof.core.breaker import BreakerPolicy
from ruleproof.core.evalcase import CaseLimits
from ruleproof.core.evidence.replay import Margins, ReplayPolicy
from ruleproof.core.gate import GatePolicy
from ruleproof.core.ids import opaque
from ruleproof.core.score import DEFAULT_THRESHOLD
from ruleproof.errors import ConfigError

_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})

Mode = Literal["observe_only", "suggest", "auto"]
Unit = Annotated[float, Field(ge=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class HarnessConfig(BaseModel):
    """All settings of one harness. Frozen; build it with keyword arguments or with `HarnessConfig.load()`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)

    harness_root: Path | None = Field(None, description="Workspace folder; none: .ruleproof beside the settings file.")
    mode: Mode = Field("auto", description="observe_only, suggest or auto.")
    durability: Literal["fsync", "os"] = Field("fsync", description="fsync: acknowledged means on the disk.")
    lock_timeout_s: Seconds = Field(30.0, description="How long a writer waits for the workspace lock.")

    max_active_rules: Count = Field(50, description="Cap over active and candidate rules; 0 = none.")
    sanitize_max_len: Annotated[int, Field(ge=40, le=100_000)] = Field(2000, description="Longest rule or rationale.")

    rule_validation: bool = Field(True, description="New rules are candidates; false: active at once.")
    rule_trial_min_sessions: Positive = Field(5, description="Distinct sessions that a forward trial observes.")
    rule_promote_margin: Unit = Field(0.05, description="Least improvement of the targeted metric to promote.")
    rule_regress_margin: Unit = Field(0.05, description="Largest tolerated drop on any other case or metric.")
    rule_trial_policy: Literal["fixed", "anytime"] = Field(
        "fixed", description="fixed: a few sessions against the baseline; anytime: shown against withheld, at any look."
    )
    rule_holdout: Annotated[float, Field(ge=0, le=0.9)] = Field(
        0.0, description="Share of sessions from which a rule on trial is withheld (policy anytime)."
    )
    rule_trial_alpha: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="Share of useless rules among the promoted ones at most (policies anytime, paired)."
    )
    rule_trial_most_sessions: Positive = Field(
        2000, description="Sessions after which a trial ends as inconclusive (policy anytime)."
    )
    rule_holdout_active: Share = Field(0.0, description="Share of sessions without a promoted rule; 0 = off.")
    model_fingerprint: str = Field("", description="Model and prompt, any text; a new one opens rechecks.")
    render_evidence: bool = Field(False, description="One line of evidence under each rule in the context.")

    replay_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = Field(300.0, description="Bound of one replay.")
    replay_policy: Literal["seed", "paired"] = Field(
        "seed",
        description="seed: one replay a case against its captured scores; paired: beside replays without the rule.",
    )
    replay_repeats: Annotated[int, Field(ge=1, le=50)] = Field(
        5, description="Replays of a case in each arm of a round (policy paired)."
    )
    replay_max_pairs: Positive = Field(
        200, description="Pairs of failure replays after which a trial ends as inconclusive (paired)."
    )
    replay_planned_pairs: Count = Field(
        0, description="Pairs of failure replays at which a trial is judged, once (paired); 0 = after every round."
    )
    replay_concurrency: Annotated[int, Field(ge=1, le=64)] = Field(1, description="Replays that run at once.")
    regression_sample: Count = Field(0, description="Cases of a regression run, wins first, newest first; 0 = all.")

    capture_eval_cases: bool = Field(
        False, description="Keep breaching sessions, and those that a checker passed, as eval cases with their inputs."
    )
    eval_case_max: Count = Field(
        200, description="Eval cases in all; the oldest failure gives way, wins never; 0 = any."
    )
    eval_case_max_bytes: Annotated[int, Field(ge=1024, le=8 << 20)] = Field(
        256 << 10, description="Bytes of one eval case."
    )
    eval_case_auto_wins: Count = Field(20, description="Wins that are captured unasked; any number by hand.")
    eval_case_retention_days: Annotated[int, Field(ge=0, le=36_500)] = Field(
        0, description="Days after which a failure case is removed; 0 = never."
    )

    rule_retrieval: bool = Field(True, description="Choose tagged rules by relevance; false: render everything.")
    rules_context_topk: Count = Field(8, description="Tagged rules in a context that has a query.")
    rules_context_max_tokens: Count = Field(0, description="Over it, top-k applies without a query too; 0 = off.")

    thresholds: dict[str, Unit] = Field(default_factory=dict, description="Threshold per metric.")
    reliability_threshold: Unit = Field(DEFAULT_THRESHOLD, description="Threshold of agent_reliability.")
    consistency_threshold: Unit = Field(DEFAULT_THRESHOLD, description="Threshold of agent_consistency.")
    signal_weights: dict[str, Annotated[float, Field(ge=0, le=10)]] = Field(
        default_factory=dict, description="Weight per signal of the trace evaluator."
    )

    enable_trend: bool = Field(True, description="Detect declining metrics.")
    ewma_fast_span: Positive = Field(3, description="Span of the fast average.")
    ewma_slow_span: Positive = Field(10, description="Span of the slow average.")
    trend_margin_cross: Unit = Field(0.05, description="Fast must fall below slow by this much.")
    trend_min_samples: Positive = Field(4, description="Scores before a trend can be seen.")
    adaptive_threshold: bool = Field(False, description="Alert on a drop relative to the session's own past.")
    adaptive_margin_drop: Unit = Field(0.15, description="How far below the slow average is a drop.")
    percentile_window: Count = Field(0, description="Window of the percentile condition; 0 = off.")
    percentile_floor: Unit = Field(0.25, description="Quantile below which a value alerts.")
    alert_cooldown_turns: Count = Field(0, description="Turns before an unchanged alert posts again; 0 = on recovery.")

    circuit_breaker_max_notices: Count = Field(5, description="Notices in the window that trip the breaker; 0 = off.")
    circuit_breaker_window_s: Annotated[float, Field(gt=0)] = Field(600.0, description="Window of the breaker.")

    eval_sample_every: Positive = Field(1, description="Evaluate every Nth turn of a session.")
    session_min_eval_interval_s: Seconds = Field(0.0, description="Least time between evaluations of a session.")
    max_concurrent_evals: Positive = Field(4, description="Evaluations at once.")
    max_evals_per_run: Count = Field(0, description="Evaluations this process may start; 0 = no limit.")
    eval_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = Field(120.0, description="Bound of one evaluation.")
    drain_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = Field(15.0, description="Bound of refresh and drain.")

    pause: bool = Field(False, description="Take every rule out of force in this process.")

    core_rules_budget_tokens: Count = Field(1200, description="Tokens that all approved pool rules may have together.")
    approve_via: Literal["this-user", "other-user"] = Field(
        "this-user", description="other-user: nothing is in force but what another user approved for this one."
    )
    rules_core_bonus: Annotated[float, Field(ge=0, le=10)] = Field(
        0.15, description="What a pool rule approved here gains in a search that it matches."
    )
    search_aliases: dict[str, str] = Field(
        default_factory=dict, description="Words that mean another in a search, both ways: db=database."
    )
    project_key: str = Field("", description="Which project this is, for pool rules; none: its git remote says.")

    _root_from_file: bool = PrivateAttr(default=False)
    _place: Path | None = PrivateAttr(default=None)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_for_number(cls, value: object, info: Any) -> object:
        wanted = cls.model_fields[info.field_name].annotation
        if isinstance(value, bool) and wanted is not bool:
            raise ValueError("a boolean where a number or text belongs")
        if wanted is bool:
            return _boolean(value)
        if isinstance(value, str) and not value.strip() and wanted is not str:
            raise ValueError("empty")
        return value

    @field_validator("thresholds", "signal_weights", mode="before")
    @classmethod
    def _named_numbers(cls, table: object) -> object:
        for name, number in table.items() if isinstance(table, Mapping) else ():
            opaque(name, "metric")
            if isinstance(number, bool):
                raise ValueError(f"{name} is a boolean where a number belongs")
        return table

    @field_validator("harness_root")
    @classmethod
    def _no_checkout(cls, root: Path | None) -> Path | None:
        if root is not None and (root.expanduser() / ".git").exists():
            raise ValueError(f"{root} is a git checkout, and a workspace keeps its folder out of git; name one inside")
        return root

    @model_validator(mode="after")
    def _spans(self) -> Self:
        if self.ewma_fast_span >= self.ewma_slow_span:
            raise ValueError(
                f"ewma_fast_span ({self.ewma_fast_span}) must be below ewma_slow_span ({self.ewma_slow_span})"
            )
        return self

    @model_validator(mode="after")
    def _withholds(self) -> Self:
        if self.rule_trial_policy == "anytime" and not self.rule_holdout:
            raise ValueError(
                "rule_trial_policy is anytime and rule_holdout is 0, so that no session could be compared; set "
                "rule_holdout to 0.5, or rule_trial_policy to fixed"
            )
        return self

    def __init__(self, **values: Any) -> None:
        self._fill(own_names(values, "argument", type(self).model_fields), "argument")

    def _fill(self, values: Mapping[str, Any], origin: Mapping[str, str] | str) -> None:
        """Validate `values` into this instance, as `BaseModel.__init__` does; a refusal names a value's origin."""
        try:
            self.__pydantic_validator__.validate_python(values, self_instance=self)
        except ValidationError as error:
            raise _explained(error, origin) from None

    @classmethod
    def load(
        cls, *, folder: Path | None = None, environ: Mapping[str, str] | None = None, **overrides: Any
    ) -> HarnessConfig:
        """Settings from `ruleproof.toml` (in `folder`, else found upwards from here), the environment and `overrides`.

        Raises ConfigError with the name of the setting, where it came from and what is allowed.
        """
        place = find_project(folder)
        values: dict[str, Any] = {}
        origin: dict[str, str] = {}
        file = place / SETTINGS_FILE
        for name, value in own_names(from_settings_file(file), str(file), cls.model_fields).items():
            values[name], origin[name] = value, str(file)
        for name, value in from_environment(
            process_environment() if environ is None else environ, cls.model_fields
        ).items():
            values[name], origin[name] = value, variable(name)
        for name, value in own_names(overrides, "argument", cls.model_fields).items():
            values[name], origin[name] = value, "argument"
        unknown = sorted(values.keys() - cls.model_fields.keys())
        if unknown:
            name = unknown[0]
            raise ConfigError(f"{name} ({origin[name]}) is not a setting.", hint=nearest(name, cls.model_fields))
        from_file = origin.get("harness_root") == str(file)
        if from_file and str(values["harness_root"]).strip():
            values["harness_root"] = place / Path(str(values["harness_root"])).expanduser()
        config = cls.__new__(cls)
        config._fill(values, origin)
        config._root_from_file, config._place = from_file, place
        return config

    def having(self, **settings: Any) -> HarnessConfig:
        """These settings with some of them replaced. Raises ConfigError."""
        config = HarnessConfig(**{**self.model_dump(exclude_unset=True), **settings})
        config._root_from_file = self._root_from_file and "harness_root" not in settings
        config._place = self._place
        return config

    @property
    def root_is_given(self) -> bool:
        """Whether the root comes from code or from HARNESS_ROOT, which counts as trust; a settings file does not."""
        return self.harness_root is not None and not self._root_from_file

    @property
    def root(self) -> Path:
        """The workspace folder."""
        return (self.harness_root or (self._place or find_project(None)) / WORKSPACE).expanduser().absolute()

    def gate(self) -> GatePolicy:
        """The settings of the gate."""
        return GatePolicy(**{field.name: getattr(self, field.name) for field in fields(GatePolicy)})

    def cases(self) -> CaseLimits:
        """The limits of the eval-set."""
        return CaseLimits(
            self.eval_case_max, self.eval_case_max_bytes, self.eval_case_retention_days, self.eval_case_auto_wins
        )

    def replays(self) -> ReplayPolicy:
        """The settings of replay validation."""
        margins = Margins(self.rule_promote_margin, self.rule_regress_margin)
        paired = self.replay_policy == "paired"
        pairs = self.replay_max_pairs, self.replay_planned_pairs
        return ReplayPolicy(margins, paired, self.replay_repeats, *pairs, self.rule_trial_alpha)

    def breaker(self) -> BreakerPolicy:
        """The settings of the circuit breaker."""
        return BreakerPolicy(self.circuit_breaker_max_notices, self.circuit_breaker_window_s)

    def threshold(self, metric: str) -> float:
        """The threshold of a metric: its own, else that of the two session metrics, else 0.5."""
        named = {"agent_reliability": self.reliability_threshold, "agent_consistency": self.consistency_threshold}
        return self.thresholds.get(metric, named.get(metric, DEFAULT_THRESHOLD))


def _boolean(value: object) -> bool:
    word = str(value).strip().casefold()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{value!r} is not a boolean; use true or false")


def _explained(error: ValidationError, origin: Mapping[str, str] | str) -> ConfigError:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    source = origin if isinstance(origin, str) else origin.get(name, "default")
    known = HarnessConfig.model_fields.get(name)
    if known is None and first["loc"]:
        return ConfigError(f"{name} ({source}) is not a setting.", hint=nearest(name, HarnessConfig.model_fields))
    said = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    given = "" if first["type"] == "value_error" else f" (given {first['input']!r})"
    return ConfigError(f"{name} ({source}): {said}{given}.", hint=(known and known.description) or "")
