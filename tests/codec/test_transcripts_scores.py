"""Score files and label files: what is a figure, what is missing, what is refused."""

from __future__ import annotations

import pytest

from ruleproof.codec.transcripts.base import Record, ScoreRow
from ruleproof.codec.transcripts.labels import read_labels
from ruleproof.codec.transcripts.registry import read_sessions
from ruleproof.core.problems import Problem


def read(text: str, format: str | None = None) -> list[Record]:
    return list(read_sessions([text.encode()], format=format))


@pytest.mark.parametrize("cell", ["", " ", "null", "NULL"])
def test_an_empty_cell_and_null_are_missing_and_never_zero(cell: str) -> None:
    assert read(f"session,metric,value\ns,m,{cell}\n") == [ScoreRow("s", "m", None, None, "line 2")]


@pytest.mark.parametrize(("cell", "value"), [("0", 0.0), ("1", 1.0), ("0.25", 0.25), (" .5 ", 0.5), ("5e-1", 0.5)])
def test_a_number_in_a_cell_is_a_score(cell: str, value: float) -> None:
    assert read(f"session,metric,value\ns,m,{cell}\n") == [ScoreRow("s", "m", value, None, "line 2")]


@pytest.mark.parametrize(
    "cell", ["NaN", "nan", "Infinity", "-inf", "7", "-0.1", "true", "yes", "0,5x", "1_0", "٠", "1e999"]
)
def test_a_value_that_is_no_score_is_a_problem_that_names_the_line_and_the_rest_loads(cell: str) -> None:
    quoted = f'"{cell}"' if "," in cell else cell
    records = read(f"session,metric,value\na,m,0.5\ns,m,{quoted}\nb,m,0.5\n")
    assert [record.session_id for record in records if isinstance(record, ScoreRow)] == ["a", "b"]
    (problem,) = [record for record in records if isinstance(record, Problem)]
    assert problem.where == "line 3"
    assert problem.message


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "7", "true", '"0.5"', "[]", "1e999"])
def test_a_json_value_that_is_no_score_is_a_problem_that_names_the_line(value: str) -> None:
    row = '{"session": "s", "metric": "m", "value": %s}'
    records = read("\n".join([row % "0.5", row % value, row % "null", row % '""']))
    assert [record.value for record in records if isinstance(record, ScoreRow)] == [0.5, None, None]
    assert [record.where for record in records if isinstance(record, Problem)] == ["line 2"]


@pytest.mark.parametrize("session_id", ["1e5", "a::b", "007", "true", "null", "../../x", "=1+1", "日本"])
def test_a_session_id_stays_the_text_that_it_was(session_id: str) -> None:
    for text in (
        f"session_id;name;score\n{session_id};m;0.5\n",
        f"session\tmetric\tvalue\n{session_id}\tm\t0.5\n",
        f'value,"Session",metric\n0.5,"{session_id}",m\n',
        f'{{"session_id": "{session_id}", "name": "m", "score": 0.5}}',
    ):
        (row,) = read(text)
        assert isinstance(row, ScoreRow)
        assert (row.session_id, row.metric, row.value) == (session_id, "m", 0.5)


@pytest.mark.parametrize("session_id", ["1.5", "true", "[]", "null", '""', '"a\\nb"'])
def test_a_json_session_id_that_is_no_text_is_refused_and_a_whole_number_is_its_digits(session_id: str) -> None:
    row = '{"session": %s, "metric": "m", "value": 0.5}'
    problem, good = read("\n".join([row % session_id, row % "17"]))
    assert isinstance(problem, Problem)
    assert isinstance(good, ScoreRow)
    assert good.session_id == "17"


def test_a_stray_quote_in_csv_swallows_no_other_row() -> None:
    records = read('session,metric,value\na,m,0.1\n"b,m,0.2\nc,m,0.3\nd,m\ne,m,0.5,9\nf,"m ""x""",0.6\ng,m,"0.7\n')
    assert [record.session_id for record in records if isinstance(record, ScoreRow)] == ["a", "c", "f"]
    assert [record.where for record in records if isinstance(record, Problem)] == [
        "line 3",
        "line 5",
        "line 6",
        "line 8",
    ]


def test_a_csv_file_with_a_mark_and_crlf_reads_as_one_without() -> None:
    plain = "session,metric,value,task\na,m,0.5,t\n"
    assert read("\ufeff" + plain.replace("\n", "\r\n")) == read(plain) == [ScoreRow("a", "m", 0.5, "t", "line 2")]


def test_csv_is_found_under_either_name_of_the_format() -> None:
    text = "session,metric,value\na,m,0.5\n"
    assert len(read(text, "scores")) == len(read(text, "scores-csv")) == len(read(text)) == 1


def test_a_csv_header_without_its_columns_loads_nothing_and_says_so() -> None:
    (problem,) = read("a,b,c\n1,2,3\n", "scores-csv")
    assert isinstance(problem, Problem)
    assert "session, metric and value" in problem.message


def test_a_row_without_a_field_says_which() -> None:
    (problem,) = read('{"session": "s", "metric": "m"}', "scores")
    assert isinstance(problem, Problem)
    assert "value or score" in problem.message


EXPECTED = {"a": True, "1e5": False, "a::b": True}


@pytest.mark.parametrize(
    "text",
    [
        "session,failed\na,1\n1e5,no\na::b,Yes\n",
        "session_id;note;failed\r\na;x;TRUE\r\n1e5;;0\r\na::b;;y\r\n",
        '{"a": true, "1e5": false, "a::b": "yes"}',
        '[{"session": "a", "failed": 1}, {"session_id": "1e5", "failed": "n"}, {"session": "a::b", "failed": true}]',
        '{"session": "a", "failed": 1}\n{"session": "1e5", "failed": 0}\n{"session": "a::b", "failed": "true"}\n',
    ],
)
def test_labels_are_read_from_every_layout(text: str) -> None:
    labels, problems = read_labels([text.encode()])
    assert (labels, problems) == (EXPECTED, ())


@pytest.mark.parametrize("word", ["", "2", "failed", "ja", "null", "1.0", "-1", "truee"])
def test_a_word_that_is_neither_yes_nor_no_is_a_problem_and_no_label(word: str) -> None:
    labels, (problem,) = read_labels([f"session,failed\na,1\nb,{word}\n".encode()])
    assert labels == {"a": True}
    assert problem.where == "line 3"


def test_one_bad_label_of_an_object_leaves_the_others() -> None:
    labels, problems = read_labels([b'{"a": true, "b": [], "c": 2, "d": null, "e": 0, "f": 0.5}'])
    assert labels == {"a": True, "e": False}
    assert len(problems) == 4


def test_a_session_that_is_labelled_both_ways_has_no_label() -> None:
    labels, problems = read_labels([b"session,failed\na,1\nb,1\nb,1\na,0\n"])
    assert labels == {"b": True}
    assert [(problem.code, problem.where) for problem in problems] == [("two-labels", "a")]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "[1, 2]", '[{"failed": 1}, {"session": "a"}]', "{broken", "\0\0"])
def test_a_label_file_of_another_shape_gives_problems_and_no_label(text: str) -> None:
    labels, problems = read_labels([text.encode()])
    assert not labels
    assert problems or not text


@pytest.mark.parametrize(
    "text",
    [
        "session,metric,value\ns,politeness,7\n",
        "session,metric,value\ns,politeness,yes\n",
        '{"session": "s", "metric": "politeness", "value": true}',
        '{"session": "s", "metric": "politeness", "value": 1%s}' % ("0" * 400),
    ],
    ids=["csv", "csv text", "json", "huge"],
)
def test_a_score_that_is_refused_is_named_by_its_metric(text: str) -> None:
    (problem,) = read(text)
    assert isinstance(problem, Problem) and "'politeness'" in problem.message
