"""Recorded sessions of several systems, read into one shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ruleproof.codec.transcripts import claude_code, openai, tau
from ruleproof.codec.transcripts.base import Record, ScoreRow, fingerprint
from ruleproof.codec.transcripts.openai import from_messages
from ruleproof.codec.transcripts.registry import FORMATS, pick, read_sessions
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session
from ruleproof.errors import Refused

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b": 2, "a": 1}'}}
CHAT: list[dict[str, object]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "here"},
    {"role": "assistant", "content": "It is here."},
    {"role": "user", "content": "Thanks, bye."},
]


def read(*rows: object, format: str | None = None, layout: str = "lines") -> list[Record]:
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    text = "\n".join(texts) if layout == "lines" else f"[{', '.join(texts)}]"
    return list(read_sessions([text.encode()], format=format))


def sessions(records: list[Record]) -> list[Session]:
    return [record for record in records if isinstance(record, Session)]


def problems(records: list[Record]) -> list[Problem]:
    return [record for record in records if isinstance(record, Problem)]


def chunks(path: Path, size: int = 1 << 16) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(size):
            yield data


# -- the registry


def test_every_format_has_a_name_a_title_and_knows_nothing_of_the_others() -> None:
    samples: dict[str, object] = {
        "tau": {"task_id": 1, "trial": 0, "reward": 1.0, "traj": [], "info": {}},
        "otlp": {"resourceSpans": []},
        "claude-code": {"type": "user", "sessionId": "s", "message": {}},
        "openai": {"messages": []},
        "scores": {"session": "s", "metric": "m", "value": 1},
        "scores-csv": "session,metric,value",
    }
    assert [each.name for each in FORMATS] == list(samples)
    assert all(each.title for each in FORMATS)
    for name, sample in samples.items():
        assert [each.name for each in FORMATS if each.sniff(sample)] == [name]
        assert pick(sample).name == name


@pytest.mark.parametrize(
    "junk", [None, 1, 1.5, True, "", "a,b", [], [1], {}, {"a": 1}, [[]], {"type": []}, {"role": 1}]
)
def test_no_format_takes_junk_for_its_own(junk: object) -> None:
    assert not any(each.sniff(junk) for each in FORMATS)
    with pytest.raises(Refused, match="tau, otlp, claude-code, openai, scores, scores-csv"):
        pick(junk)


def test_an_unknown_format_name_is_refused_at_once_with_the_list_of_names() -> None:
    with pytest.raises(Refused, match=r"'tua' is not.*tau, otlp, claude-code, openai, scores, scores-csv"):
        read_sessions([], format="tua")


def test_a_file_of_no_format_is_one_problem_that_lists_the_names() -> None:
    (problem,) = read({"a": 1}, {"b": 2})
    assert isinstance(problem, Problem)
    assert problem.code == "unknown-format"
    assert "claude-code" in problem.hint


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_said_to_be_empty(data: bytes) -> None:
    (problem,) = read_sessions([data])
    assert isinstance(problem, Problem)
    assert problem.code == "empty"


def test_the_format_is_found_behind_a_broken_first_line() -> None:
    records = read('{"messages": [{"role": "us', {"id": "s", "messages": CHAT})
    assert [session.id for session in sessions(records)] == ["s"]
    assert [problem.where for problem in problems(records)] == ["line 1"]


def test_a_session_that_stands_twice_counts_once_and_one_with_other_content_is_left_out_and_named() -> None:
    records = read({"id": "s", "messages": CHAT}, {"id": "s", "messages": CHAT}, {"id": "s", "messages": CHAT[:3]})
    assert len(sessions(records)) == 1
    assert len(sessions(records)[0].traces[0].calls) == 1
    assert [(problem.code, problem.severity, problem.where) for problem in problems(records)] == [
        ("repeated-session", "info", "s"),
        ("two-sessions", "error", "s"),
    ]


def test_a_fingerprint_tells_content_apart_and_not_the_notes() -> None:
    one, other = from_messages("s", CHAT), from_messages("s", [*CHAT, "no message"])
    assert other.notes
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint(from_messages("s", CHAT[:4]))


# -- tau


def _tau(**fields: object) -> dict[str, object]:
    return {"task_id": 7, "trial": 2, "reward": 1.0, "traj": CHAT, "info": {"user_cost": 0.25}} | fields


def test_tau_gives_the_session_its_outcome_its_cost_and_its_turns() -> None:
    (session,) = sessions(read(_tau(), layout="array"))
    assert (session.id, session.task_id) == ("task-7-trial-2", "7")
    assert session.scores == {"outcome": 1.0}
    assert session.costs == {"calls": 1.0, "money": 0.25}
    (trace,) = session.traces
    assert (trace.prompt, trace.answer) == ("Where is it?", "It is here.")
    (call,) = trace.calls
    assert (call.name, call.arguments, call.result, call.failed) == ("look", '{"a":1,"b":2}', "here", False)


def test_tau_takes_an_answer_that_starts_with_error_for_a_failed_call() -> None:
    (session,) = sessions(read(_tau(traj=[*CHAT[:3], CHAT[3] | {"content": "Error: no seats"}])))
    assert session.traces[0].calls[0].failed is True


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"task_id": None}, "task_id is nothing"),
        ({"task_id": 1.5}, "task_id is a number"),
        ({"task_id": []}, "task_id is a list"),
        ({"task_id": True}, "task_id is a boolean"),
        ({"task_id": "a\nb"}, "not a usable id"),
        ({"trial": {}}, "trial is an object"),
        ({"traj": "none"}, "traj is a text"),
    ],
)
def test_a_bad_tau_record_is_named_with_its_place_and_reason_and_the_rest_loads(
    fields: dict[str, object], said: str
) -> None:
    records = read(_tau(), _tau(**fields), _tau(trial=3), layout="array", format="tau")
    assert [session.id for session in sessions(records)] == ["task-7-trial-2", "task-7-trial-3"]
    (problem,) = problems(records)
    assert said in problem.message.lower()
    assert problem.where == "line 1, element 2"


@pytest.mark.parametrize("reward", [7, -1, True, "1", [], 1e999])
def test_a_reward_that_is_no_score_is_missing_and_never_a_verdict(reward: object) -> None:
    text = json.dumps(_tau()).replace('"reward": 1.0', f'"reward": {json.dumps(reward).replace("Infinity", "1e999")}')
    records = read(text)
    assert sessions(records)[0].scores == {"outcome": None}
    assert "reward" in problems(records)[0].message.lower()


def test_two_hundred_recorded_sessions_load_with_84_passes(data_dir: Path) -> None:
    records = list(read_sessions(chunks(data_dir / "tau_bench" / "gpt-4o-airline.json")))
    found = sessions(records)
    assert not problems(records)
    assert len(found) == len({session.id for session in found}) == 200
    assert sum(session.scores["outcome"] == 1.0 for session in found) == 84
    assert sum(session.scores["outcome"] == 0.0 for session in found) == 116
    assert len({session.task_id for session in found}) == 50
    assert all(session.traces for session in found)
    assert sum("money" in session.costs for session in found) == 195  # the rest were recorded without
    calls = [call for session in found for trace in session.traces for call in trace.calls]
    assert len(calls) == 1164
    assert all(call.result is not None for call in calls)
    assert not any(note for session in found for note in session.notes)


# -- chats


def test_a_chat_record_gives_id_task_tools_scores_and_costs() -> None:
    record = {
        "session_id": "1e5",
        "task_id": "a::b",
        "messages": CHAT,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}, {"name": "go"}],
        "reward": 0.5,
        "created": 0,
        "usage": {"prompt_tokens": 10, "completion_tokens": 3},
    }
    (session,) = sessions(read(record))
    assert (session.id, session.task_id) == ("1e5", "a::b")
    assert session.tools == {"look": '{"type":"object"}', "go": ""}
    assert session.scores == {"outcome": 0.5}
    assert session.costs == {"calls": 1.0, "input_tokens": 10.0, "output_tokens": 3.0}
    assert session.started_at == "1970-01-01T00:00:00+00:00"


def test_ids_may_stand_in_the_metadata_and_the_score_may_be_called_score() -> None:
    record = {"messages": CHAT, "metadata": {"session_id": "s", "task_id": 3}, "score": 1}
    (session,) = sessions(read(record))
    assert (session.id, session.task_id, session.scores) == ("s", "3", {"outcome": 1.0})


def test_a_record_without_an_id_is_named_by_its_bytes_so_a_repeat_counts_once() -> None:
    records = read({"messages": CHAT}, {"messages": CHAT}, {"messages": CHAT[:4]})
    first, second = sessions(records)
    assert first.id.startswith("chat-")
    assert first.id != second.id
    assert [problem.code for problem in problems(records)] == ["repeated-session"]


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_bare_messages_are_one_session(layout: str) -> None:
    (session,) = sessions(read(*CHAT, layout=layout))
    assert session.traces == from_messages("x", CHAT).traces


def test_bare_lists_are_a_session_each_on_lines_and_in_arrays() -> None:
    for rows in ((CHAT, CHAT[:4]), ({"messages": CHAT}, CHAT[:4])):
        assert [len(session.traces) for session in sessions(read(*rows))] == [1, 1]
    nested = sessions(read(CHAT, CHAT[:4], layout="array"))
    assert [session.traces[0].answer for session in nested] == ["It is here.", None]


def test_a_broken_line_among_bare_messages_is_named_and_does_not_end_the_session() -> None:
    records = read(CHAT[1], CHAT[2], '{"role": "tool", "content": "cut', CHAT[4])
    (session,) = sessions(records)
    assert session.traces[0].answer == "It is here."
    assert [problem.where for problem in problems(records)] == ["line 3"]


@pytest.mark.parametrize(
    "dialect",
    [
        [{"role": "assistant", "function_call": {"name": "look", "arguments": '{"a":1,"b":2}'}, "content": None},
         {"role": "function", "name": "look", "content": "here"}],
        [{"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {"b": 2, "a": 1}, "id": "c1"}]},
         {"type": "tool", "tool_call_id": "c1", "name": "look", "content": "here"}],
        [{"role": "assistant",
          "content": [{"type": "text", "text": "Let me look."},
                      {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1, "b": 2}}]},
         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1",
                                       "content": [{"type": "text", "text": "here"}]}]}],
        [{"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a": 1, "b": 2}'},
         {"type": "function_call_output", "call_id": "c1", "output": "here"}],
        [{"role": "assistant",
          "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"a": 1, "b": 2}}]},
         {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "here"}]}],
    ],
)  # fmt: skip
def test_a_call_and_its_answer_are_the_same_in_every_dialect(dialect: list[Mapping[str, object]]) -> None:
    session = from_messages(
        "s", [{"role": "user", "content": "Where?"}, *dialect, {"role": "assistant", "content": "X"}]
    )
    (trace,) = session.traces
    assert [(call.name, call.arguments, call.result) for call in trace.calls] == [("look", '{"a":1,"b":2}', "here")]
    assert (trace.prompt, trace.answer) == ("Where?", "X")
    assert session.notes == ()


def test_answers_find_their_calls_by_id_whatever_the_order_and_unmatched_ones_are_noted() -> None:
    def call(call_id: str) -> dict[str, object]:
        return {"id": call_id, "function": {"name": "f", "arguments": json.dumps({"of": call_id})}}

    def answer(call_id: str) -> dict[str, object]:
        return {"role": "tool", "tool_call_id": call_id, "content": f"answer {call_id}"}

    chat = [{"role": "assistant", "tool_calls": [call("a"), call("b")]}, answer("b"), answer("a"), answer("z")]
    session = from_messages("s", chat)
    assert [found.result for found in session.traces[0].calls] == ["answer a", "answer b"]
    assert session.notes == ("1 tool results answer no recorded call",)


def test_ids_that_are_used_again_match_the_newest_call() -> None:
    chat: list[Mapping[str, object]] = []
    for text in ("one", "two"):
        chat.append({"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "f", "arguments": "{}"}}]})
        chat.append({"role": "tool", "tool_call_id": "0", "content": text})
    assert [call.result for call in from_messages("s", chat).traces[0].calls] == ["one", "two"]


@pytest.mark.parametrize(
    ("status", "failed"), [({"status": "error"}, True), ({"status": "success"}, False), ({}, None)]
)
def test_a_tool_message_fails_only_where_the_recording_says_so(status: dict[str, str], failed: bool | None) -> None:
    session = from_messages("s", [*CHAT[:3], CHAT[3] | status])
    assert session.traces[0].calls[0].failed is failed


def test_a_turn_ends_where_the_user_speaks_again_and_words_without_a_reply_make_no_turn() -> None:
    chat = [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "A"},
        {"role": "user", "content": [{"type": "text", "text": "B"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]},
        {"role": "user", "content": "C"},
        {"role": "assistant", "content": "", "finish_reason": "LENGTH"},
        {"role": "user", "content": "D"},
    ]
    traces = from_messages("s", chat).traces
    assert [(trace.id, trace.prompt, trace.answer, trace.stop_reason) for trace in traces] == [
        ("turn-1", "", "Hello!", ""),
        ("turn-2", "A\n\nB", "1\n\n2", ""),
        ("turn-3", "C", "", "length"),
    ]


def test_words_before_a_call_are_no_answer() -> None:
    (trace,) = from_messages("s", [{"role": "assistant", "content": "I will look.", "tool_calls": [CALL]}]).traces
    assert trace.answer is None


@pytest.mark.parametrize(
    "junk",
    [None, 1, "x", [], {"role": None}, {"role": []}, {"role": "user"}, {"role": "assistant", "content": 5},
     {"role": "assistant", "tool_calls": "x"}, {"role": "assistant", "tool_calls": [None, {"function": 1}]},
     {"role": "assistant", "tool_calls": [{"function": {}}]}, {"role": "tool"}, {"role": "tool", "content": {"a": []}},
     {"role": "user", "content": [None, 1, {"type": []}, {"type": "text", "text": 3}]}],
)  # fmt: skip
def test_messages_of_any_shape_are_read_or_noted_and_never_raise(junk: object) -> None:
    session = from_messages("s", [*CHAT[:4], junk, CHAT[4]])
    assert session.traces[0].calls[0].name == "look"
    assert read({"id": "s", "messages": [*CHAT[:4], junk, CHAT[4]]}, format="openai")


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    for arguments in ("{broken", "NaN", '{"a": NaN}', "look here"):
        call = {"function": {"name": "f", "arguments": arguments}}
        (trace,) = from_messages("s", [{"role": "assistant", "tool_calls": [call]}]).traces
        assert trace.calls[0].arguments == arguments


def test_a_lone_surrogate_is_replaced_and_the_session_is_processed() -> None:
    user, agent = r'{"role": "user", "content": "\ud83d"}', r'{"role": "assistant", "content": "ok \ude00"}'
    (session,) = sessions(read(f'{{"id": "s", "messages": [{user}, {agent}]}}'))
    assert (session.traces[0].prompt, session.traces[0].answer) == ("�", "ok �")
    assert "2 lone surrogates" in session.notes[0]
    live = from_messages(
        "s",
        [{"role": "assistant", "content": "\ud83d", "tool_calls": [CALL]}, {"role": "assistant", "content": "x\udc80"}],
    )
    assert live.traces[0].answer == "x�"


@pytest.mark.parametrize(
    "bad",
    [
        {"id": True, "messages": CHAT},
        {"id": 1.5, "messages": CHAT},
        {"id": [], "messages": CHAT},
        {"messages": 1},
        3,
        "x",
        [1],
    ],
)
def test_a_bad_chat_record_is_named_and_the_rest_loads(bad: object) -> None:
    records = read({"id": "s", "messages": CHAT}, bad, {"id": "t", "messages": CHAT}, format="openai")
    assert {"s", "t"} <= {session.id for session in sessions(records)}
    assert [problem.where for problem in problems(records)] == ["line 2"] or bad == [1]


def test_from_messages_refuses_a_session_id_that_is_none() -> None:
    for bad in ("", "a\nb", "x" * 600):
        with pytest.raises(Refused):
            from_messages(bad, CHAT)


# -- Claude Code


def _line(uuid: str, role: str, content: object, session: object = "s", **fields: object) -> dict[str, object]:
    message = {"role": role, "content": content, **({"id": f"m-{uuid}"} if role == "assistant" else {})}
    stamp = {"timestamp": "2025-06-14T10:00:00Z"}
    return {"type": role, "sessionId": session, "uuid": uuid, **stamp, "message": message} | fields


def test_recorded_coding_sessions_load_and_what_is_broken_is_named(data_dir: Path) -> None:
    folder = data_dir / "claude_code"
    (session,) = read_sessions(chunks(folder / "representative_messages.jsonl"))
    assert isinstance(session, Session)
    assert [len(trace.calls) for trace in session.traces] == [0, 1, 1]
    assert [trace.stop_reason for trace in session.traces] == ["end_turn"] * 3
    assert session.costs == {"calls": 2.0, "input_tokens": 218.0, "output_tokens": 445.0}
    records = list(read_sessions(chunks(folder / "edge_cases.jsonl", 100)))
    assert [session.id for session in sessions(records)] == ["edge_cases", "todowrite_session"]
    assert [problem.where for problem in problems(records)] == [f"line {n}" for n in (10, 11, 13, 14, 15, 16, 18)]
    assert sessions(records)[0].traces[1].calls[0].failed is True


def test_interleaved_sessions_are_told_apart_and_lines_of_other_types_skipped() -> None:
    records = read(
        {"type": "summary", "summary": "x", "leafUuid": "u"},
        _line("1", "user", "A", "one"),
        _line("2", "user", "B", "two"),
        {"type": "system", "sessionId": "one", "content": "notice"},
        {"type": "file-history-snapshot", "snapshot": {}},
        _line("3", "user", "meta", "one", isMeta=True),
        _line("4", "assistant", [{"type": "text", "text": "a"}], "one"),
        _line("5", "assistant", [{"type": "text", "text": "b"}], "two"),
    )
    assert not problems(records)
    assert [(session.id, session.traces[0].prompt, session.traces[0].answer) for session in sessions(records)] == [
        ("one", "A", "a"),
        ("two", "B", "b"),
    ]
    assert sessions(records)[0].started_at == "2025-06-14T10:00:00Z"


def test_a_repeated_line_counts_once_and_a_reply_in_many_lines_is_paid_once() -> None:
    usage = {"usage": {"input_tokens": 10, "output_tokens": 5}, "id": "m"}
    text = _line("2", "assistant", [{"type": "text", "text": "a"}])
    tool = _line("3", "assistant", [{"type": "tool_use", "id": "t", "name": "f", "input": {}}])
    for line in (text, tool):
        line["message"] = {**dict(line["message"]), **usage}  # type: ignore[call-overload]
    (session,) = sessions(read(_line("1", "user", "A"), text, tool, tool))
    assert session.costs == {"calls": 1.0, "input_tokens": 10.0, "output_tokens": 5.0}


def test_turns_of_a_sub_agent_stand_beside_those_of_the_main_conversation() -> None:
    side = {"isSidechain": True, "agentId": "x"}
    (session,) = sessions(
        read(
            _line("1", "user", "A"),
            _line("2", "assistant", [{"type": "tool_use", "id": "t", "name": "Task", "input": {}}]),
            _line("3", "user", "sub-task", **side),
            _line("4", "assistant", [{"type": "text", "text": "sub-answer"}], **side),
            _line("5", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "sub-answer"}]),
            _line("6", "assistant", [{"type": "text", "text": "a"}]),
        )
    )
    assert [(trace.id, trace.prompt, trace.answer) for trace in session.traces] == [
        ("turn-1", "A", "a"),
        ("side-1-turn-1", "sub-task", "sub-answer"),
    ]
    assert session.traces[0].calls[0].result == "sub-answer"


def test_only_so_many_sessions_are_held_open_and_none_is_lost() -> None:
    total = claude_code.MAX_OPEN + 10
    rows = [_line(f"{n}", "assistant", "x", f"s{n}") for n in range(total)]
    records = read(*rows, _line("again", "assistant", "y", "s0"))
    assert {session.id for session in sessions(records)} == {f"s{n}" for n in range(total)}
    assert [problem.code for problem in problems(records)] == ["two-sessions"]


@pytest.mark.parametrize("module", [tau, openai, claude_code])
def test_a_format_read_alone_passes_problems_of_the_stream_on(module: object) -> None:
    name = module.name  # type: ignore[attr-defined]
    (problem,) = read_sessions([b'{"a": NaN}\n'], format=name)
    assert isinstance(problem, Problem)
    assert problem.code == "not-a-number"


def test_score_rows_are_no_sessions() -> None:
    assert read({"session": "s", "metric": "m", "value": 0.5}) == [ScoreRow("s", "m", 0.5, None, "line 1")]
