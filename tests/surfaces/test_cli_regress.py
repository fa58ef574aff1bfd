"""`regress` and `evalset` on the command line: exit codes that a CI job can trust, documents that parse."""

from __future__ import annotations

import json
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cliterminal import HARMFUL, HOSTILE, Cli

REPLAYS = """
def same(case, context):
    print("a debugging line of the host")
    return {"session_id": "new-" + case.session_id, "scores": dict(case.baseline_scores)}

def worse(case, context):
    return {"session_id": "new-" + case.session_id, "scores": {name: 0.0 for name in case.baseline_scores}}

def dead(case, context):
    raise RuntimeError("model down")

def partial(case, context):
    return {"session_id": "new-" + case.session_id, "scores": {"outcome": case.baseline_scores["outcome"], "other": 0}}

def silent(case, context):
    return "new-" + case.session_id

def judged(turn):
    return {"outcome": 0.9}
"""


@pytest.fixture
def shop(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A workspace with a win and a failure, and replays in a module beside it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k != "shop_replays"})
    (cli.folder / "shop_replays.py").write_text(REPLAYS)
    cli.ok("evalset", "capture", "--session", "s-good", "outcome=0.9", "--kind", "win", "--prompt", "refund order 12")
    cli.ok("evalset", "capture", "--session", "s-bad", "outcome=0.2", "--prompt", "charge again")
    return cli


def test_nothing_regressed_is_0_and_the_bar_of_cases_stands_on_standard_error(shop: Cli) -> None:
    found = shop("regress", "--replay", "shop_replays:same", "--json")
    assert found.code == 0
    assert (found.json["ok"], found.json["clean"], found.json["replayed"], found.json["unchanged"]) == (
        True,
        True,
        2,
        2,
    )
    assert [result["session_id"] for result in found.json["results"]] == ["s-good", "s-bad"]
    assert "[1/2] win c-" in found.err and "[2/2] failure c-" in found.err
    assert "a debugging line of the host" in found.err and "a debugging line" not in found.out


def test_a_case_that_regressed_is_1_and_is_named(shop: Cli) -> None:
    found = shop("regress", "--replay", "shop_replays:worse")
    assert found.code == 1
    assert "regressed" in found.out and "outcome -0.90" in found.out and "s-good" in found.out


@pytest.mark.parametrize("options", [(), ("--replay", "shop_replays:dead"), ("--replay", "shop_replays:silent")])
def test_nothing_replayed_is_5_and_never_0(shop: Cli, options: tuple[str, ...]) -> None:
    found = shop("regress", *options)
    assert found.code == 5
    assert "2 skipped" in found.out and "nothing is claimed" in " ".join(found.out.split())
    said = shop("regress", *options, "--json").json
    assert (said["ok"], said["clean"]) == (False, False)
    assert shop.json("journal", "--type", "regression")["events"][-1]["clean"] is False


def test_a_session_that_was_captured_already_is_not_said_to_be_kept_anew(cli: Cli) -> None:
    cli.ok("report", "s1", "outcome=0.1")
    given = ("evalset", "capture", "--from-session", "s1", "--prompt")
    first, second = cli.json(*given, "one"), cli.json(*given, "other")
    assert (first["created"], second["created"]) == (True, False) and first["case"] == second["case"]
    said = " ".join(cli.ok(*given, "other").out.split())
    assert "was there already, unchanged. What you gave now is not kept" in said and "kept as a" not in said
    assert cli.json("evalset", "show", first["case"]["id"])["case"]["replay_input"] == "one"


def test_a_run_that_skipped_cases_warns_and_keeps_its_exit_code(shop: Cli) -> None:
    assert "warning" not in shop.json("regress", "--replay", "shop_replays:same")
    shop.ok("evalset", "capture", "--session", "s-bare", "outcome=0.2")
    shop.ok("evalset", "capture", "--session", "s-bare2", "outcome=0.2")
    found = shop("regress", "--replay", "shop_replays:same")
    said = "Warning: 2 of 4 cases were skipped, so nothing is claimed about them; 2 were compared."
    assert found.code == 0 and said in found.err
    assert shop.json("regress", "--replay", "shop_replays:same")["warning"] == said.removeprefix("Warning: ")


def test_a_metric_that_the_replay_lacks_is_missing_and_the_case_is_compared_in_part(shop: Cli) -> None:
    shop.ok("evalset", "capture", "--session", "s-2", "outcome=1", "tone=0.9", "--kind", "win", "--prompt", "x")
    found = shop("regress", "--replay", "shop_replays:partial", "--junit", "j.xml")
    said = "1 of 3 compared cases were compared in part: their replays lack tone, so nothing is claimed about that."
    assert found.code == 0 and f"Warning: {said}" in found.err
    assert "outcome +0.00, no tone in the replay" in found.err and "tone" in found.out
    cases = {case.attrib["name"].partition("session ")[2]: case for case in ET.parse(shop.folder / "j.xml").getroot()}
    assert [one.text for one in cases["s-2)"]] == ["compared in part: no tone in the replay"]
    assert not list(cases["s-good)"])
    told = shop.json("regress", "--replay", "shop_replays:partial")
    assert (told["warning"], told["partly_compared"]) == (said, 1)
    assert [result["missing"] for result in told["results"]] == [["tone"], [], []]
    whole = shop.json("regress", "--replay", "shop_replays:same")
    assert "warning" not in whole and whole["partly_compared"] == 0


def test_an_empty_eval_set_is_5(cli: Cli) -> None:
    found = cli("regress")
    assert found.code == 5 and "evalset capture" in found.out


def test_an_evaluator_scores_what_a_replay_only_names(shop: Cli) -> None:
    found = shop("regress", "--replay", "shop_replays:silent", "--evaluator", "shop_replays:judged", "--json")
    assert (found.code, found.json["improved"], found.json["unchanged"]) == (0, 1, 1)


def test_a_command_replays_too(shop: Cli) -> None:
    code = (
        "import json, sys; case = json.load(open(sys.argv[1])); "
        "print(json.dumps({'session_id': 'n-' + case['id'], 'scores': {'outcome': 0.9}}))"
    )
    template = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {{case}}"
    found = shop("regress", "--command", template, "--json")
    assert (found.code, found.json["improved"]) == (0, 1), found


def test_the_journal_says_how_a_run_ended_and_which_cases_regressed(shop: Cli) -> None:
    shop("regress", "--replay", "shop_replays:worse")
    shop("regress")
    first, second = shop.ok("journal", "--type", "regression").out.replace("\n    ", " ").splitlines()
    ids = [case["id"] for case in shop.json("evalset")["cases"]]
    assert first.endswith(f"regression 2 regressed ({ids[0]}, {ids[1]})") and second.endswith("2 skipped")


def test_a_sample_takes_the_wins_first(shop: Cli) -> None:
    results = shop("regress", "--replay", "shop_replays:same", "--sample", "1", "--json").json["results"]
    assert [result["kind"] for result in results] == ["win"]


@pytest.mark.parametrize(
    "options",
    [
        ("--replay", "shop_replays:same", "--command", "x"), ("--replay", "nowhere:f"), ("--replay", "shop_replays"),
        ("--replay", "shop_replays:REPLAYS"), ("--evaluator", "nowhere:f", "--replay", "shop_replays:same"),
        ("--sample", "-1"), ("--command", ""), ("--command", " "), ("--command", "'x"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_2_and_never_looks_like_a_regression(shop: Cli, options: tuple[str, ...]) -> None:
    found = shop("regress", *options)
    assert found.code == 2 and options[0] in found.err


def test_a_command_that_is_not_there_is_5_with_the_reason_in_each_case(shop: Cli) -> None:
    found = shop("regress", "--command", "/no/such/program {case}", "--json")
    assert found.code == 5 and found.json["results"][0]["reason"].startswith("/no/such/program cannot be run")


def test_of_a_workspace_that_is_not_trusted_nothing_is_run_and_that_is_5(bare: Cli) -> None:
    (bare.folder / ".ruleproof/evalset").mkdir(parents=True)
    (bare.folder / ".ruleproof/evalset/c-1.json").write_text('{"id": "c-1", "kind": "win", "replay_input": "x"}')
    found = bare("regress", "--command", f"touch {bare.folder / 'mark'}")
    assert found.code == 5 and "not trusted" in found.out
    assert not (bare.folder / "mark").exists()


def test_junit_is_well_formed_and_fails_exactly_the_regressed_cases(shop: Cli) -> None:
    shop.ok("evalset", "capture", "--session", "s <&\"' 予約", "outcome=0.5", "--note", "no input")
    assert shop("regress", "--replay", "shop_replays:worse", "--junit", "out/regress.xml").code == 1
    suite = ET.fromstring((shop.folder / "out/regress.xml").read_bytes())
    assert dict(suite.attrib) | {"timestamp": ""} == {
        "name": "ruleproof regress", "tests": "3", "failures": "2", "skipped": "1", "timestamp": "",
    }  # fmt: skip
    by_name = {one.attrib["name"].partition("session ")[2]: one for one in suite}
    assert by_name["s-good)"].find("failure").attrib["message"] == "outcome -0.90"  # type: ignore[union-attr]
    assert by_name["s <&\"' 予約)"].find("skipped").attrib["message"] == "no replay input"  # type: ignore[union-attr]


def test_junit_holds_whatever_a_case_holds(tmp_path: Path) -> None:
    from ruleproof.engine.regress import CaseResult, RegressionReport
    from ruleproof.surfaces.cli.junit import junit

    results = (
        CaseResult("c-1", "win", HOSTILE, "regressed", deltas={HOSTILE: -1.0}),
        CaseResult("c-2", "win", "\0", "skipped", reason=HOSTILE),
        CaseResult("c-3", "win", "s", "unchanged", deltas={"m": 0.0}, missing=(HOSTILE, "]]>&")),
    )
    suite = ET.fromstring(junit(RegressionReport("", "", results)))
    assert [one[0].tag for one in suite] == ["failure", "skipped", "system-out"]


def test_a_file_that_cannot_be_written_is_4_and_no_success(shop: Cli) -> None:
    (shop.folder / "file").write_text("x")
    assert shop("regress", "--replay", "shop_replays:same", "--junit", "file/regress.xml").code == 4


# --- the eval-set ----------------------------------------------------------------------------------------------------


def test_cases_are_listed_shown_and_removed(shop: Cli) -> None:
    listed = shop.json("evalset")["cases"]
    assert [(case["session_id"], case["kind"], case["signature"]) for case in listed] == [
        ("s-good", "win", []), ("s-bad", "failure", ["breach:outcome"]),
    ]  # fmt: skip
    assert all("replay_input" not in case for case in listed)
    assert [case["kind"] for case in shop.json("evalset", "list", "--kind", "win")["cases"]] == ["win"]
    case_id = listed[0]["id"]
    shown = shop.ok("evalset", "show", case_id).out
    assert "refund order 12" in shown and "outcome 0.90" in shown
    assert shop.json("evalset", "show", case_id)["case"]["replay_input"] == "refund order 12"
    assert case_id in shop.ok("evalset").out
    shop.ok("evalset", "remove", case_id)
    assert len(shop.json("evalset")["cases"]) == 1
    assert shop("evalset", "show", case_id).code == shop("evalset", "remove", case_id).code == 1


def test_a_session_is_captured_with_its_recorded_scores(cli: Cli) -> None:
    cli.ok("report", "s-1", "outcome=0.2", "tone=0.9")
    (cli.folder / "turn.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    case = cli.json("evalset", "capture", "--from-session", "s-1", "--input", "turn.json")["case"]
    assert case["baseline_scores"] == {"outcome": 0.2, "tone": 0.9} and case["signature"] == ["breach:outcome"]
    assert case["replayable"] is True
    assert cli("evalset", "capture", "--from-session", "s-1", "--kind", "win").code == 1
    assert cli("evalset", "capture", "--from-session", "nobody").code == 1


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        (("outcome=0.2",), ""), (("outcome=0.9", "--kind", "win"), ""),
        (("outcome=0.9",), "None of its scores lies below its threshold"),
        ((), "It has no scores"), (("--kind", "win"), "It has no scores"),
    ],
)  # fmt: skip
def test_a_case_that_cannot_judge_is_kept_with_a_warning(cli: Cli, given: tuple[str, ...], warning: str) -> None:
    found = cli.ok("evalset", "capture", "--session", "s", *given, "--json")
    assert found.json.get("warning", "").startswith(warning) and ("warning" in found.json) == bool(warning)
    assert ("Warning: " + warning in found.err) == bool(warning)


def test_another_failed_metric_makes_another_case_of_the_session_as_the_help_says(cli: Cli) -> None:
    for metric in ("outcome", "outcome", "tone"):
        cli.ok("evalset", "capture", "--session", "s", f"{metric}=0.2")
    assert len(cli.json("evalset")["cases"]) == 2
    assert "of its kind and of the metrics that failed" in " ".join(cli.ok("evalset", "capture", "--help").out.split())


def test_an_input_is_attached_once_from_a_file_standard_input_or_as_text(cli: Cli) -> None:
    cli.ok("evalset", "capture", "--session", "s", "outcome=0.2")
    (case,) = cli.json("evalset")["cases"]
    assert cli("evalset", "attach", case["id"]).code == 2
    assert cli.ok("evalset", "attach", case["id"], "--input", "-", stdin='{"q": 1}').out
    assert cli("evalset", "attach", case["id"], "--prompt", "other").code == 1
    assert cli.json("evalset", "show", case["id"])["case"]["replay_input"] == {"q": 1}


@pytest.mark.parametrize(
    "options",
    [
        (), ("--session", "s", "--from-session", "t"), ("--from-session", "t", "outcome=1"), ("--session", "s", "x"),
        ("--session", "s", "outcome=high"), ("--session", "s", "--kind", "golden"), ("--session", "s", "=1"),
        ("--session", "s", "--input", "missing.json"), ("--session", "s", "--input", "bad.json"),
        ("--session", "s", "--input", "null.json"), ("--session", "s", "--input", "nan.json"),
        ("--session", "s", "--input", "good.json", "--prompt", "x"),
    ],
)  # fmt: skip
def test_a_wrong_capture_is_2_and_keeps_nothing(cli: Cli, options: tuple[str, ...]) -> None:
    for name, text in {"bad": "plain text", "null": "null", "nan": "[NaN]", "good": "1"}.items():
        (cli.folder / f"{name}.json").write_text(text)
    assert cli("evalset", "capture", *options).code == 2
    assert cli.json("evalset")["cases"] == []


@pytest.mark.parametrize("scores", ["outcome=7", "outcome=nan", "a\nb=0.5"])
def test_a_score_that_is_none_is_refused(cli: Cli, scores: str) -> None:
    assert cli("evalset", "capture", "--session", "s", scores).code == 1
    assert cli.json("evalset")["cases"] == []


@pytest.mark.parametrize("name", ["../../x", "NUL", "-rf", "é", "x" * 300])
def test_an_id_that_is_none_is_refused(cli: Cli, name: str) -> None:
    for verb in ("show", "remove"):
        assert cli("evalset", verb, "--", name).code == 1
    assert cli("evalset", "attach", "--prompt", "x", "--", name).code == 1


def test_what_a_case_holds_never_reaches_the_terminal_raw(cli: Cli) -> None:
    hostile: dict[str, Any] = {
        "id": "c-0000000001", "created_at": HOSTILE, "session_id": HOSTILE, "kind": "failure", "signature": [HOSTILE],
        "baseline_scores": {HOSTILE: 0.5}, "replay_input": {HOSTILE: HOSTILE}, "notes": HOSTILE,
    }  # fmt: skip
    (cli.folder / ".ruleproof/evalset/c-0000000001.json").write_text(json.dumps(hostile))
    show = ("evalset", "show", "c-0000000001")
    for command in (("evalset",), ("evalset", "--json"), show, ("regress",), ("regress", "--json")):
        found = cli(*command)
        assert found.code in (0, 5) and not set(HARMFUL) & set(found.out + found.err), command


def test_odd_files_are_counted_beside_the_list(cli: Cli) -> None:
    (cli.folder / ".ruleproof/evalset/c-broken.json").write_text("{")
    found = cli.ok("evalset")
    assert "1 things are odd" in found.err and "No case" in found.out
