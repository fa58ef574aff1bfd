"""The commented settings file: complete, correct, and loadable as it stands and with every comment taken away."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.engine.settings_file import MODES, settings_text
from ruleproof.errors import ConfigError


def uncommented(text: str) -> str:
    return re.sub(r"^# (?=[a-z_]+ = )", "", text, flags=re.MULTILINE)


def test_every_setting_stands_in_the_file_once_with_its_description() -> None:
    text = settings_text({})
    for name, field in HarnessConfig.model_fields.items():
        assert len(re.findall(rf"^# {name} = ", text, re.MULTILINE)) == 1, name
        assert field.description is not None
        assert field.description.split()[0] in text, name


def test_nothing_is_set_that_was_not_chosen() -> None:
    assert tomllib.loads(settings_text({})) == {}
    assert tomllib.loads(settings_text({"mode": "suggest"})) == {"mode": "suggest"}


def test_uncommenting_every_line_gives_exactly_the_defaults() -> None:
    values = tomllib.loads(uncommented(settings_text({})))
    assert values.keys() == HarnessConfig.model_fields.keys()
    del values["harness_root"]  # None has no word in TOML
    assert HarnessConfig(**values) == HarnessConfig()


def test_a_file_with_a_choice_loads_as_that_choice(tmp_path: Path) -> None:
    chosen = {"mode": "observe_only", "thresholds": {"out come": 0.25}, "pause": True, "rule_promote_margin": 0.1}
    (tmp_path / "ruleproof.toml").write_text(settings_text(chosen), encoding="utf-8")
    config = HarnessConfig.load(folder=tmp_path, environ={})
    assert (config.mode, config.thresholds, config.pause) == ("observe_only", {"out come": 0.25}, True)
    assert config.rule_promote_margin == 0.1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mode", "one of observe_only, suggest, auto"),
        ("max_active_rules", "whole number at least 0"),
        ("sanitize_max_len", "whole number at least 40, at most 100000"),
        ("replay_timeout_s", "number above 0"),
        ("thresholds", "name = number at least 0, at most 1"),
        ("pause", "true or false"),
    ],
)
def test_the_range_of_a_setting_is_said_where_it_stands(name: str, said: str) -> None:
    before, _, _ = settings_text({}).partition(f"# {name} = ")
    assert said in before.split("\n\n")[-1].replace("\n# ", " ")


def test_the_bounds_that_the_file_names_are_those_that_are_refused() -> None:
    for name, value in (("sanitize_max_len", 39), ("replay_timeout_s", 0), ("rule_promote_margin", 1.5)):
        with pytest.raises(ConfigError, match=name):
            HarnessConfig(**{name: value})


def test_reasons_are_comments_whatever_they_hold() -> None:
    text = settings_text({"mode": "auto"}, {"mode": MODES + "\npause = true"})
    assert tomllib.loads(text) == {"mode": "auto"}
    assert all(len(line) <= 120 for line in text.splitlines())
