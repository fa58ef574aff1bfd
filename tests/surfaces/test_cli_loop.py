"""The loop by hand, from a shell: rules, sessions, scores, notices, trials, contexts, ids that stay what they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli

# --- rules -----------------------------------------------------------------------------------------------------------


def test_a_rule_is_added_once_listed_shown_found_and_retired(cli: Cli) -> None:
    first = cli.json("rules", "add", "Check the fare rules first.", "--tag", "flights", "--rationale", "It cost 400.")
    assert first["created"] is True
    rule_id = first["rule"]["id"]
    assert first["rule"]["in_force"] is True
    again = cli.json("rules", "add", "check the  FARE rules first.")
    assert (again["created"], again["rule"]["id"]) == (False, rule_id)
    listed = cli.ok("rules").out
    assert rule_id in listed and "Check the fare rules first." in listed and "flights" in listed
    shown = cli.ok("rules", "show", rule_id).out
    assert "It cost 400." in shown and "person" in shown
    assert cli.json("rules", "search", "fares for flights")["rules"][0]["id"] == rule_id
    assert cli.ok("rules", "search", "zebra").out == "No rule has a word of that.\n"
    assert cli.json("rules", "retire", rule_id, "--reason", "too broad")["rule"]["status"] == "retired"
    assert cli.ok("rules").out == "No rules.\n"
    assert "too broad" in cli.ok("rules", "show", rule_id).out
    assert [rule["id"] for rule in cli.json("rules", "--all")["rules"]] == [rule_id]
    assert [rule["id"] for rule in cli.json("rules", "list", "--status", "retired")["rules"]] == [rule_id]
    refused = cli("rules", "retire", rule_id)
    assert refused.code == 1 and "final" in refused.err


@pytest.mark.parametrize("arguments", [("show",), ("retire",), ("accept",), ("status",)], ids=lambda a: a[0])
@pytest.mark.parametrize("rule_id", ["r-9999999999", "../../x", "-rf", "r-" + "9" * 300, "🙂"])
def test_an_id_that_is_none_is_refused_and_named(arguments: tuple[str], rule_id: str, cli: Cli) -> None:
    result = cli("rules", *arguments, "--", rule_id)
    assert result.code == 1
    assert rule_id[:20] in result.err or ascii(rule_id)[1:-1][:20] in result.err
    assert cli("explain", "--", rule_id).code == 1
    assert cli("trial", "--", rule_id).code == 1


def test_an_oversize_rule_is_refused_alike_by_argument_and_by_tool_with_the_figure(cli: Cli) -> None:
    text = "x" * 84_000
    by_argument = cli("rules", "add", text)
    by_input = cli("rules", "add", "-", stdin=text)
    by_tool = cli("tool", "harness_rule_add", "--json", json.dumps({"rule": text, "rationale": "r"}))
    for result in (by_argument, by_input):
        assert result.code == 1
        assert "84000 characters; at most 2000" in result.err
    assert by_tool.code == 1
    assert "84000 characters; at most 2000" in by_tool.json["error"]
    assert cli.json("rules")["rules"] == []


def test_rule_text_can_come_from_standard_input_in_any_script(cli: Cli) -> None:
    added = cli.ok("rules", "add", "-", "--json", stdin="\ufeff予約を変更する前に確認。\n").json
    assert added["rule"]["rule"] == "予約を変更する前に確認。"


def test_the_cap_names_the_figures_and_what_to_retire(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MAX_ACTIVE_RULES", "2")
    cli.add("One."), cli.add("Two.")
    result = cli("rules", "add", "Three.")
    assert result.code == 1
    assert "2" in result.err and "max_active_rules" in result.err
    assert cli("rules", "add", "Three.", "--json").json["error"]["type"] == "CapReached"


def test_a_credential_is_redacted_and_said_so(cli: Cli) -> None:
    added = cli.json("rules", "add", "Use AKIAIOSFODNN7EXAMPLQ for uploads.")
    assert "AKIAIOSFODNN7EXAMPLQ" not in json.dumps(added)
    assert added["redacted"]


def test_pause_takes_out_of_force_and_resume_puts_back(cli: Cli) -> None:
    one, two = cli.add("Rule one."), cli.add("Rule two.")
    cli.ok("pause", one)
    assert "Rule one." not in cli.ok("context").out and "Rule two." in cli.ok("context").out
    assert "paused" in cli.ok("rules").out
    assert cli.json("explain", one)["why"] == "paused"
    cli.ok("pause", "--all")
    assert cli.json("status")["in_force"] == 0
    assert "everything is paused" in " ".join(cli.ok("pause", one, "--resume").out.split())
    cli.ok("pause", "--all", "--resume")
    assert cli.json("status")["in_force"] == 2
    assert two in cli.ok("rules").out


def test_harness_pause_pauses_one_process(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rule_id = cli.add("Rule one.")
    monkeypatch.setenv("HARNESS_PAUSE", "1")
    assert cli.json("status")["in_force"] == 0
    assert cli.json("rules")["rules"][0]["in_force"] is False
    assert cli.json("explain", rule_id)["why"] == "paused"
    monkeypatch.delenv("HARNESS_PAUSE")
    assert cli.json("status")["in_force"] == 1


# --- contexts --------------------------------------------------------------------------------------------------------


def test_the_context_on_standard_output_is_the_text_that_the_agent_gets(cli: Cli) -> None:
    from ruleproof.harness import Harness

    cli.add("Check the fare rules first.", "--tag", "flights")
    cli.add("予約を確認。", "--tag", "予約")
    harness = Harness.create()
    wanted = harness.system_context(task_hint="予約")
    harness.close()
    result = cli.ok("context", "--task", "予約")
    assert result.out == wanted
    assert "estimated" in result.err
    assert cli.json("context", "--task", "予約")["text"] == wanted


def test_tokens_are_said_to_be_estimated_or_exact(cli: Cli) -> None:
    pytest.importorskip("quicktok")
    cli.add("Check the fare rules first.")
    estimate, exact = cli.json("context"), cli.json("context", "--tokens", "exact")
    assert (estimate["tokens_are"], exact["tokens_are"]) == ("estimate", "exact")
    assert 0 < exact["tokens"] <= estimate["tokens"]
    assert "exact" in cli.ok("context", "--tokens", "exact").err


def test_exact_tokens_without_the_extra_say_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "quicktok", None)
    result = cli("context", "--tokens", "exact")
    assert result.code == 2
    assert "ruleproof[tokens]" in result.err
    assert result.out == ""


def test_the_context_of_the_past_and_what_changed_since(cli: Cli) -> None:
    rule_id = cli.add("Old rule.")
    moment = cli.json("rules", "show", rule_id)["rule"]["created_at"]
    cli.add("New rule.")
    cli.ok("rules", "retire", rule_id)
    then = cli.ok("context", "--at", moment).out
    assert "Old rule." in then and "New rule." not in then
    assert "Old rule." not in cli.ok("context", "--at", "2020-01-01").out
    diff = cli.ok("context", "--diff", moment).out
    assert any(line.startswith("-") and "Old rule." in line for line in diff.split("\n"))
    assert any(line.startswith("+") and "New rule." in line for line in diff.split("\n"))
    assert cli.ok("context", "--diff", "2999-01-01").out == ""


@pytest.mark.parametrize(
    "text", ["2026-07-03", "2026-07-03T12:00", "2026-07-03T12:00:00Z", "2026-07-03 14:00+02:00", "20260703T120000"]
)
def test_a_time_may_be_written_as_people_write_it(text: str, cli: Cli) -> None:
    cli.ok("context", "--at", text)


def test_times_without_an_offset_are_utc() -> None:
    from ruleproof.surfaces.cli.context import moment

    assert moment("2026-07-03T12:00", "--at") == "2026-07-03T12:00:00.000000+00:00"
    assert moment("2026-07-03T12:00+02:00", "--at") == "2026-07-03T10:00:00.000000+00:00"
    assert moment(None, "--at") is None


def test_explain_names_words_that_matched_and_exits_1_for_what_is_not_there(cli: Cli) -> None:
    rule_id = cli.add("Check the fare rules first.", "--tag", "flights")
    said = cli.json("explain", rule_id, "--task", "change flights")
    assert (said["included"], said["rule_id"]) == (True, rule_id)
    missing = cli("explain", "r-9999999999", "--json")
    assert (missing.code, missing.json["why"]) == (1, "absent")


# --- sessions, notices, trials ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session", ["1e5", "a::b", "-x", "007", "予約 1", "--json-like", "null", "r-0123456789", "1.50"]
)
def test_a_session_id_stays_the_text_that_it_was(session: str, cli: Cli) -> None:
    arguments = ["--", session, "outcome=0.1"] if session.startswith("--") else [session, "outcome=0.1"]
    said = cli.ok("report", "--json", *arguments).json
    assert said["session_id"] == session
    assert said["notice"]["session_id"] == session
    lines = (cli.folder / ".ruleproof" / "sessions.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["session"] == session
    assert cli.json("notices")["notices"][0]["session_id"] == session


def test_a_task_and_a_metric_may_be_any_text_too(cli: Cli) -> None:
    said = cli.json("report", "s", "a=b=0.25", "1e5=1", "--task", "1e5", "--turn", "3", "--cost", "money=0.5")
    assert said["signatures"] == ["breach:a=b"]
    assert said["notice"]["task_id"] == "1e5"
    assert said["notice"]["turn_index"] == 3


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "7", "-0.1", "1e400"])
def test_a_figure_that_is_no_score_is_refused_with_the_range(value: str, cli: Cli) -> None:
    result = cli("report", "s", f"outcome={value}")
    assert result.code == 1
    assert "outside 0 to 1" in result.err
    assert not (cli.folder / ".ruleproof" / "sessions.jsonl").exists()


def test_a_missing_score_is_neither_breach_nor_health(cli: Cli) -> None:
    for word in ("missing", "none", "null", ""):
        said = cli.json("report", f"s{word}", f"outcome={word}")
        assert (said["did"], said["signatures"]) == ("nothing", [])
    assert cli.json("status")["unscored"] == 4


def test_the_same_report_twice_says_so_and_changes_nothing(cli: Cli) -> None:
    cli.ok("report", "s", "outcome=0.1", "--turn", "1")
    again = cli.ok("report", "s", "outcome=0.1", "--turn", "1")
    assert "reported before" in again.out
    assert len(cli.json("notices")["notices"]) == 1


@pytest.mark.parametrize("policy", ["fixed", "anytime"])
def test_a_session_that_counted_already_is_said_to_have_counted(
    policy: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", policy)
    monkeypatch.setenv("HARNESS_RULE_HOLDOUT", "0.5")
    rule_id = cli.add("Ask before you book.", "--metric", "outcome")
    cli.ok("context", "--session", "s")
    assert "counts for the trial of" in cli.ok("report", "s", "outcome=1").out
    again = " ".join(cli.ok("report", "s", "outcome=1").out.split())
    assert f"It was counted before, for the trial of {rule_id}; a session counts once." in again
    assert "counts in none" not in again
    assert "counts in none of 1 running trials" in cli.ok("report", "never-saw-it", "outcome=1").out


def test_a_notice_is_listed_shown_and_settled_once(cli: Cli) -> None:
    name = cli.json("report", "s", "outcome=0.1")["notice"]["id"]
    rule_id = cli.add("Ask before you book.", "--notice", name)
    assert "breach:outcome" in cli.json("rules", "show", rule_id)["rule"]["tags"]
    assert name in cli.ok("notices").out
    assert "outcome" in cli.ok("notices", "show", name).out
    said = cli.json("notices", "ack", name, "--rule", rule_id, "--note", "seen")["notice"]
    assert said["resolution"]["rule_id"] == rule_id
    assert cli.ok("notices").out == "No notice waits.\n"
    assert "seen" in cli.ok("notices", "show", name).out
    assert cli("notices", "ack", name).code == 1
    assert cli("notices", "show", "n-20990101T000000000000-00000000").code == 1
    event = cli.json("journal", "--type", "ack")["events"][-1]
    assert (event["notice_id"], event["rule_id"], event["by"]) == (name, rule_id, "person")


def test_a_notice_is_not_settled_by_a_rule_that_is_not_there(cli: Cli) -> None:
    name = cli.json("report", "s", "outcome=0.1")["notice"]["id"]
    assert cli("notices", "ack", name, "--rule", "r-9999999999").code == 1
    assert len(cli.json("notices")["notices"]) == 1


def test_a_trial_runs_to_its_verdict_from_a_shell(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "fixed")
    for number in range(4):
        cli.ok("report", f"before-{number}", "outcome=0.1")
    rule_id = cli.add("Ask before you book.", "--metric", "outcome")
    assert "0 of 5 sessions; 5 more" in cli.ok("trial", rule_id).out
    cli.ok("report", "never-saw-it", "outcome=1")
    cli.ok("report", "no-score", "outcome=missing")
    for number in range(5):
        cli.ok("context", "--session", f"s{number}")
        said = cli.json("report", f"s{number}", "outcome=1")
        assert said["observations"][0]["exposure"] == "shown"
    assert said["verdicts"][0]["rule_id"] == rule_id
    assert said["verdicts"][0]["status"] == "active"
    found = cli.json("trial", rule_id)
    assert found["status"] == "active"
    assert found["sessions_observed"] == 5
    assert {row["session"]: row["why"] for row in found["uncounted"]} == {
        "never-saw-it": "unknown exposure",
        "no-score": "no score",
    }
    assert found["baseline"]["rate"] == 1.0
    assert "biased high" in found["baseline"]["bias"]
    text = " ".join(cli.ok("trial", rule_id).out.split())
    assert "promoted" in text and "never-saw-it" in text and "biased high" in text and "Evidence" in text
    assert "chance that a useless rule passes this gate" in text
    assert cli.ok("trial").out == "No trial runs.\n"


def test_a_long_trial_shows_the_newest_sessions_and_counts_the_rest(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "fixed")
    monkeypatch.setenv("HARNESS_RULE_TRIAL_MIN_SESSIONS", "50")
    rule_id = cli.add("Ask before you book.", "--metric", "outcome")
    for number in range(23):
        cli.ok("context", "--session", f"in-{number}")
        cli.ok("report", f"in-{number}", "outcome=1")
        cli.ok("report", f"out-{number}", "outcome=1")
    for command in (("trial", rule_id), ("rules", "status", rule_id)):
        text = cli.ok(*command).out
        assert text.count("and 3 more, older; --json has all") == 2
        words = text.split()
        for kind in ("in", "out"):
            assert [f"{kind}-{n}" for n in range(23) if f"{kind}-{n}" in words] == [f"{kind}-{n}" for n in range(3, 23)]
    found = cli.json("trial", rule_id)
    assert len(found["observed"]) == len(found["uncounted"]) == 23


def test_status_names_the_sessions_that_a_trial_did_not_count(cli: Cli) -> None:
    rule_id = cli.add("Ask before you book.", "--metric", "outcome")
    for number in range(5):
        cli.ok("report", f"s{number}", "outcome=1")
    text = " ".join(cli.ok("status").out.split())
    assert f"{rule_id} did not count unknown exposure: s0, s1, s2 and 2 more" in text
    assert cli.json("status")["trials"][0]["uncounted"] == {"unknown exposure": [f"s{n}" for n in range(5)]}
    assert "did not count" in cli.ok("trial").out


def test_an_unknown_exposure_comes_with_the_way_out(cli: Cli) -> None:
    rule_id = cli.add("Ask before you book.", "--metric", "outcome")
    commands = (("status",), ("trial",), ("trial", rule_id), ("rules", "status", rule_id))
    cli.ok("context", "--session", "seen")
    cli.ok("report", "seen", "outcome=missing")
    for command in commands:
        assert "ruleproof context --session" not in cli.ok(*command).out
    cli.ok("report", "unseen", "outcome=1")
    for command in commands:
        text = " ".join(cli.ok(*command).out.split())
        assert text.count("`ruleproof context --session ID`") == 1 and "unknown exposure" in text


# --- ingest, calibrate, journal, forget, tools, doctor ---------------------------------------------------------------


def rows(folder: Path, name: str = "scores.jsonl") -> str:
    lines = [{"session": f"s{n}", "metric": "outcome", "value": n % 2} for n in range(10)]
    lines += [{"session": f"s{n}", "metric": "agent_reliability", "value": 0.2 if n < 3 else 0.9} for n in range(10)]
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return name


def test_ingesting_twice_changes_nothing_the_second_time(cli: Cli) -> None:
    name = rows(cli.folder)
    dry = cli.json("ingest", name, "--dry-run")
    assert dry["files"][0]["new"] == 10
    assert cli.json("status")["ingested"] == 0
    first = cli.json("ingest", name)["files"][0]
    assert (first["read"], first["new"], first["known"], first["skipped"]) == (10, 10, 0, 0)
    assert len(first["notices"]) == 2
    second = cli.json("ingest", name)["files"][0]
    assert (second["new"], second["known"], second["notices"]) == (0, 10, [])
    assert len(cli.json("notices")["notices"]) == 2
    assert cli.json("status")["ingested"] == 10


def test_a_bad_record_is_named_and_the_rest_loads(cli: Cli) -> None:
    name = rows(cli.folder)
    with (cli.folder / name).open("a", encoding="utf-8") as file:
        file.write('{"session": "bad", "metric": "outcome", "value": 7}\n')
    result = cli("ingest", name)
    assert result.code == 1
    assert "scores.jsonl" in result.out and "7" in result.out
    assert cli.json("status")["ingested"] == 10
    again = cli("ingest", name, "--json").json["files"][0]
    assert (again["skipped"], len(again["problems"])) == (1, 1)
    assert again["problems"][0]["where"]


def test_an_unknown_format_is_refused_with_the_list_of_formats(cli: Cli) -> None:
    result = cli("ingest", rows(cli.folder), "--format", "xml")
    assert result.code == 1
    assert "xml" in result.err and "tau" in result.err


def test_standard_input_and_several_files_can_be_ingested(cli: Cli) -> None:
    name = rows(cli.folder)
    other = cli.folder / "other.jsonl"
    other.write_text('{"session": "t1", "metric": "outcome", "value": 1}\n', encoding="utf-8")
    said = cli.json("ingest", name, "other.jsonl")
    assert [file["new"] for file in said["files"]] == [10, 1]
    piped = cli.ok("ingest", "-", "--json", stdin='{"session": "t2", "metric": "outcome", "value": 1}\n').json
    assert piped["files"][0]["new"] == 1


def test_progress_goes_to_a_terminal_only(cli: Cli) -> None:
    name = rows(cli.folder)
    assert cli.ok("ingest", name, "--dry-run").err == ""
    shown = cli("ingest", name, "--dry-run", tty=True)
    assert shown.code == 0
    assert "\x1b" not in shown.out


def test_calibrate_says_what_a_metric_sees_and_5_when_nothing_can_be_checked(cli: Cli) -> None:
    assert cli("calibrate").code == 5
    cli.ok("ingest", rows(cli.folder))
    found = cli.json("calibrate", "--target-precision", "0.5")
    assert (found["failed"], found["passed"]) == (5, 5)
    metric = next(m for m in found["metrics"] if m["metric"] == "agent_reliability")
    assert (metric["at_threshold"]["tp"], metric["at_threshold"]["fp"]) == (2, 1)
    assert "agent_reliability" in cli.ok("calibrate").out
    (cli.folder / "labels.csv").write_text("session,failed\ns0,yes\ns1,no\n", encoding="utf-8")
    assert cli.json("calibrate", "--labels", "labels.csv")["failed"] == 1
    (cli.folder / "labels.csv").write_text("session,failed\n", encoding="utf-8")
    assert cli("calibrate", "--labels", "labels.csv").code == 5
    (cli.folder / "labels.csv").write_text("session,failed\ns0,yes\ns1,perhaps\n", encoding="utf-8")
    assert cli("calibrate", "--labels", "labels.csv").code == 1


def test_the_journal_shows_the_newest_events_last_and_filters_them(cli: Cli) -> None:
    for number in range(5):
        cli.add(f"Rule {number}.")
    cli.ok("pause", "--all")
    events = cli.json("journal", "--limit", "3")["events"]
    assert [event["type"] for event in events] == ["rule_add", "rule_add", "pause_all"]
    only = cli.json("journal", "--type", "rule_add", "--limit", "2")["events"]
    assert [event["rule"] for event in only] == ["Rule 3.", "Rule 4."]
    assert cli.ok("journal", "--type", "nonsense").out == "No such event.\n"
    assert "pause_all" in cli.ok("journal").out.strip().split("\n")[-1]


def test_what_is_forgotten_is_gone_from_every_file(cli: Cli) -> None:
    rule_id = cli.add("Call Ms Sanderson at home.", "--rationale", "She is in Lisbon.")
    said = cli.json("forget", rule_id, "--reason", "it names a customer")
    assert (said["id"], said["kind"]) == (rule_id, "rule")
    data = b"".join(path.read_bytes() for path in cli.folder.rglob("*") if path.is_file())
    assert b"Sanderson" not in data and b"Lisbon" not in data
    assert cli("forget", "r-9999999999", "--reason", "x").code == 1
    assert cli("doctor").code == 0


def test_forget_asks_a_person_on_a_terminal(cli: Cli) -> None:
    rule_id = cli.add("Call Ms Sanderson at home.")
    assert cli("forget", rule_id, "--reason", "x", tty=True, stdin="n\n").code == 1
    assert "Sanderson" in cli.ok("rules").out
    assert cli("forget", rule_id, "--reason", "x", tty=True, stdin="y\n").code == 0
    assert "Sanderson" not in cli.ok("rules", "--all").out


def test_a_tool_is_called_with_the_values_as_they_are(cli: Cli) -> None:
    names = [tool["name"] for tool in cli.ok("tool").json["tools"]]
    assert "harness_rule_add" in names
    rule = {"rule": "1e5", "rationale": "予約", "tags": ["a::b"]}
    added = cli.ok("tool", "harness_rule_add", "--json", json.dumps(rule)).json
    assert added["ok"] is True
    assert (added["rule"]["rule"], added["rule"]["tags"], added["rule"]["author"]) == ("1e5", ["a::b"], "agent")
    for arguments in ("[]", "{", '{"rule": NaN}', '{"rule": 5}', "5", '{"x": 1}'):
        result = cli("tool", "harness_rule_add", "--json", arguments)
        assert result.code == 1, arguments
        assert result.json["ok"] is False
    assert cli("tool", "harness_nonsense").code == 1


def test_doctor_exits_1_for_a_problem_names_its_line_and_mends_what_it_can(cli: Cli) -> None:
    cli.add("Be brief.")
    assert cli.ok("doctor").out == "No problem found.\n"
    with (cli.folder / ".ruleproof" / "rules.jsonl").open("ab") as file:
        file.write(b'{"id": "r-4444444444", "created_at": "2026-07-01T00:00:00+00:00", "rule": "torn')
    found = cli("doctor", "--json")
    assert found.code == 1
    assert any("rules.jsonl:2" in problem["where"] for problem in found.json["problems"])
    assert "rules.jsonl:2" in cli("doctor").out
    mended = cli("doctor", "--repair", "--json").json
    assert mended["mended"]
    assert "Be brief." in cli.ok("context").out
