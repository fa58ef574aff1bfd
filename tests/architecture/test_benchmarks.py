"""The benchmarks run as they stand: the one command knows them all, and the store's whole workload goes through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ruleproof.core.evidence.exact import binomial_pmf, mcnemar

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not part of an installed package")


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(FOLDER / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_one_command_knows_every_script() -> None:
    listed = _run("run.py", "--list").split()
    assert sorted(f"bench_{name}.py" for name in listed) == sorted(file.name for file in FOLDER.glob("bench_*.py"))
    for name in listed:
        assert f"`{name}`" in (FOLDER / "README.md").read_text("utf-8")


def test_an_unknown_name_is_refused_with_the_names_that_exist() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), "stores"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "stores is no benchmark; there are startup, store" in done.stderr


def test_the_workload_of_the_store_goes_through_every_step(tmp_path: Path) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from store_steps import Plan, write
    finally:
        sys.path.remove(str(FOLDER))
    plan = Plan(live=20, retired=3, opens=1, reads=2, writes=2, growth=30, seconds=1.0)
    write(tmp_path, plan, own_keys=True)
    result = json.loads(_run("bench_store.py", "--worker", str(tmp_path), json.dumps(vars(plan))))
    assert {"open", "first search", "search", "context, hint", "add", "promote", "report", "markdown"} <= set(
        result["steps"]
    )
    assert all(step["times"] > 0 and step["wall"] > 0 for step in result["steps"].values())
    assert result["growth"]["updates"] == 30 and result["growth"]["bytes"] > 0


@pytest.mark.parametrize(("pairs", "gain", "loss"), [(7, 0.5, 0.1), (12, 0.3, 0.05)])
def test_the_power_of_mcnemars_test_is_the_sum_over_all_outcomes(pairs: int, gain: float, loss: float) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from evidence_gates import mcnemar_power
    finally:
        sys.path.remove(str(FOLDER))
    expected = 0.0
    for gained in range(pairs + 1):
        for lost in range(pairs + 1 - gained):
            if mcnemar(gained, lost) <= 0.05:
                chance = binomial_pmf(gained + lost, pairs, gain + loss)
                expected += chance * binomial_pmf(gained, gained + lost, gain / (gain + loss))
    assert mcnemar_power(pairs, gain, loss, 0.05) == pytest.approx(expected)
