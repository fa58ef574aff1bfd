"""Splitting a stream of bytes into JSON values: shapes, damage, chunks, bounds."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from ruleproof.codec.jsonstream import values
from ruleproof.codec.textstream import Item, head, lines
from ruleproof.core.problems import Problem


def split(data: bytes | str, **options: int) -> list[Item]:
    return list(values([data.encode() if isinstance(data, str) else data], **options))


def loaded(items: list[Item]) -> list[object]:
    return [item.value for item in items if not isinstance(item.value, Problem)]


def problems(items: list[Item]) -> list[Problem]:
    return [item.value for item in items if isinstance(item.value, Problem)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b" \n\r\n\t ", []),
        (b"[]", []),
        (b"{}", [{}]),
        (b'[1, {"a": 2}, "x", null, true, [3]]', [1, {"a": 2}, "x", None, True, [3]]),
        (b'[\n  {"a": 1},\n  {"b": 2}\n]\n', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}\r\n\r\n{"b": 2}', [{"a": 1}, {"b": 2}]),
        (b'{\n "a": [\n  1,\n  2\n ]\n}', [{"a": [1, 2]}]),
        (b'{\n"a": 1\n}\n{\n"b": 2\n}', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}{"b": 2} {"c": 3}', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b'{"a": 1}\n{"b": 2} {"c": 3}\n[4]\n', [{"a": 1}, {"b": 2}, {"c": 3}, [4]]),
        (b'\xef\xbb\xbf{"a": 1}\n\xef\xbb\xbf{"b": 2}', [{"a": 1}, {"b": 2}]),
        (b"\xef\xbb\xbf[1, 2]", [1, 2]),
        (b"[1, 2,]", [1, 2]),
        (b"[-1.5e3, 1e-2]", [-1500.0, 0.01]),
        (b"12", [12]),
    ],
)
def test_every_layout_gives_its_values(data: bytes, expected: list[object]) -> None:
    items = split(data)
    assert loaded(items) == expected
    assert not problems(items)


def test_the_bytes_cut_anywhere_give_the_same_items() -> None:
    data = '[\n{"a": "é\\u00e9 \\ud83d", "n": 1e-5},\n{"b": tru},\n12.50, "x"\n]\n{"c": 1}\n{"d":'.encode()
    whole = split(data)
    for size in range(1, len(data)):
        assert list(values([data[at : at + size] for at in range(0, len(data), size)])) == whole


def test_one_broken_line_among_a_hundred_is_named_and_the_other_99_load() -> None:
    rows = [json.dumps({"row": number}) for number in range(1, 101)]
    rows[41] = '{"row": 42, "text": "cut her'
    items = split("\n".join(rows))
    assert loaded(items) == [{"row": number} for number in range(1, 101) if number != 42]
    assert [problem.where for problem in problems(items)] == ["line 42"]


@pytest.mark.parametrize(
    "cut", ['{"a": [1,', '{"a":', '{"a": "x', '{"a": {"b": [', '{"a": tr', '{"a": 1,', '{"a": "\\', "{", '{"a"']
)
@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_a_cut_line_never_swallows_the_next_record(cut: str, position: int) -> None:
    rows = ['{"n": 1}', '{"n": 2}', '{"n": 3}']
    items = split("\n".join([*rows[:position], cut, *rows[position:]]))
    assert loaded(items) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [problem.where for problem in problems(items)] == [f"line {position + 1}"]


@pytest.mark.parametrize(
    ("data", "expected", "where"),
    [
        ('[{"a":1},{"b":tru},{"c":3}]', [{"a": 1}, {"c": 3}], ["line 1, element 2"]),
        ('[{"a":1},{"b":[1,2},{"c":3}]', [{"a": 1}, {"c": 3}], ["line 1, element 2"]),
        ('[{"a":"raw\nbreak, ]}"}, {"c":3}]', [{"c": 3}], ["line 1, element 1"]),
        ('[{"a":1],{"c":3}]', [{"c": 3}], ["line 1, element 1"]),
        ('[{"a":1}, oops, {"c":3}]', [{"a": 1}, {"c": 3}], ["line 1, element 2"]),
        ('[{"a":"\\"}, {"},{"b": }, {"c":3}]', [{"a": '"}, {'}, {"c": 3}], ["line 1, element 2"]),
        ('[\n {"a":1},\n {"b":[1,\n {"c":3},\n {"d":4}\n]', [{"a": 1}, {"c": 3}, {"d": 4}], ["line 3, element 2"]),
        ('[\n {"a":1},\n {"b":"cu\n {"c":3}\n]', [{"a": 1}, {"c": 3}], ["line 3, element 2"]),
        ('[\n {\n  "a": {"x": 1}\n },\n {\n  "b": {"x": 1}\n,\n {\n  "c": 1\n }\n]',
         [{"a": {"x": 1}}, {"c": 1}], ["line 5, element 2"]),
        ('[{"a":1},{"b": NaN},{"c":-Infinity},4]', [{"a": 1}, 4], ["line 1, element 2", "line 1, element 3"]),
    ],
)  # fmt: skip
def test_reading_resumes_after_a_broken_element(data: str, expected: list[object], where: list[str]) -> None:
    items = split(data)
    assert loaded(items) == expected
    assert [problem.where for problem in problems(items)] == where


def test_after_a_lost_quote_the_remainder_of_a_line_is_one_problem_and_the_open_array_another() -> None:
    items = split('[{"a":1},{"b":"x},{"c":"y"},{"d":4}]')
    assert loaded(items) == [{"a": 1}]
    assert [problem.code for problem in problems(items)] == ["bad-json", "cut"]


def test_a_broken_record_between_laid_out_ones_is_skipped() -> None:
    items = split('{\n "a": 1\n}\n{\n "b": \n}\n{\n "c": 3\n}\n')
    assert loaded(items) == [{"a": 1}, {"c": 3}]
    assert [problem.where for problem in problems(items)] == ["line 4"]


@pytest.mark.parametrize("data", ['[{"a":1},{"b":', '[{"a":1},{"b":2', '[{"a":1}', '[{"a":1},'])
def test_a_cut_array_keeps_what_is_whole_and_says_once_that_it_is_cut(data: str) -> None:
    items = split(data)
    assert loaded(items) == [{"a": 1}]
    assert [problem.code for problem in problems(items)] == ["cut"]


def test_every_cut_of_an_array_keeps_the_whole_elements_before_it() -> None:
    elements = [{"n": number, "text": 'quote " and \\ and ]}'} for number in range(4)]
    data = json.dumps(elements).encode()
    for end in range(len(data)):
        items = split(data[:end])
        kept = loaded(items)
        assert kept == elements[: len(kept)]
        assert len(kept) == data[:end].count(b']}"}')
        assert len(problems(items)) == (1 if end else 0)


def test_a_number_that_is_no_json_names_its_token() -> None:
    (problem,) = problems(split('{"score": NaN}'))
    assert problem.code == "not-a-number"
    assert "NaN" in problem.message


def test_lone_surrogates_are_replaced_and_real_pairs_kept() -> None:
    (item,) = split(r'{"lone": "a\ud83d", "pair": "\ud83d\ude00", "low": "\ude00\ud83d", "text": "\\ud83d \\\\ud83d"}')
    assert item.value == {"lone": "a�", "pair": "😀", "low": "��", "text": "\\ud83d \\\\ud83d"}
    assert "3 lone surrogates" in item.note
    json.dumps(item.value, ensure_ascii=False).encode()


def test_bytes_that_are_not_utf8_are_replaced_and_noted() -> None:
    first, second = split(b'{"a": "caf\xe9"}\n{"b": "caf\xc3\xa9"}')
    assert (first.value, second.value) == ({"a": "caf�"}, {"b": "café"})
    assert "not UTF-8" in first.note
    assert second.note == ""


def test_an_item_knows_its_line_its_offset_and_the_digest_of_its_bytes() -> None:
    data = b'\xef\xbb\xbf{"a": "\xe9"}\r\n\r\n{"b": "\xc3\xa9"} {"c": 3}\n{"d"}'
    items = split(data)
    assert [(item.line, item.offset) for item in items] == [(1, 3), (3, 17), (3, 29), (4, 38)]
    first, second, third, _ = items
    assert first.digest == hashlib.sha256(b'{"a": "\xe9"}').hexdigest()
    assert second.digest == hashlib.sha256(b'{"b": "\xc3\xa9"}').hexdigest()
    assert data[third.offset :].startswith(b'{"c": 3}')


def test_arrays_one_after_another_are_told_apart() -> None:
    assert [(item.group, item.value) for item in split("[1, 2]\n[3]")] == [(1, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("[" * 100_000, "bad-json"),
        ('{"a":' * 100_000, "bad-json"),
        ('{"a": ' + "9" * 5000 + "}", "bad-json"),
        ("\0" * 1000, "bad-json"),
        ('"' * 999, "cut"),
        ("#!/bin/sh", "bad-json"),
    ],
)
def test_hostile_bytes_are_problems_and_never_exceptions(data: str, code: str) -> None:
    assert code in [problem.code for problem in problems(split(data))]


def test_a_utf16_file_is_named_as_one_problem() -> None:
    (problem,) = problems(split('{"a": 1}\n{"b": 2}\n'.encode("utf-16")))
    assert "UTF-16" in problem.message


@pytest.mark.parametrize("layout", ["[%s,%s]", "%s\n%s", "[\n%s,\n%s\n]"])
def test_a_record_above_the_limit_is_skipped_and_the_next_one_loads(layout: str) -> None:
    data = (layout % (json.dumps({"a": "x" * 200}), '{"b": 1}')).encode()
    for size in (1, 7, 4096):
        items = list(values([data[at : at + size] for at in range(0, len(data), size)], max_bytes=100))
        assert loaded(items) == [{"b": 1}]
        assert [problem.code for problem in problems(items)] == ["too-large"]


def test_the_limit_counts_bytes_and_not_characters() -> None:
    assert [problem.code for problem in problems(split('{"a": "' + "é" * 60 + '"}', max_bytes=100))] == ["too-large"]


def test_an_unclosed_element_costs_the_following_ones_nothing() -> None:
    rows = ['{"a": [1'] + [json.dumps({"n": number}) for number in range(500)]
    items = split("[\n" + ",\n".join(rows) + "\n]", max_bytes=2000)
    assert loaded(items) == [{"n": number} for number in range(500)]
    assert len(problems(items)) == 1


def _decoded_characters(data: list[bytes], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many characters the JSON decoder was given to look at, over all its attempts."""
    seen = 0
    original = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, idx: int = 0) -> tuple[object, int]:
        nonlocal seen
        seen += len(text) - idx
        return original(self, text, idx)

    with monkeypatch.context() as patch:
        patch.setattr(json.JSONDecoder, "raw_decode", counted)
        for _ in values(data):
            pass
    return seen


def test_a_record_in_many_chunks_is_not_parsed_anew_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def chunks(pieces: int) -> list[bytes]:
        return [b'[{"a": "', *[b"x" * 1024] * pieces, b'"}]']

    small, large = (_decoded_characters(chunks(pieces), monkeypatch) for pieces in (512, 4096))
    assert large < 10 * small  # eight times the size; quadratic would be 64 times
    assert large < 4 * 4096 * 1024


def test_memory_is_bounded_by_the_record_and_not_by_the_file() -> None:
    def array(elements: int) -> Iterator[bytes]:
        yield b"["
        for number in range(elements):
            yield b'{"n": %d, "text": "%s"},\n' % (number, b"x" * 5000)
        yield b"{}]"

    def peak(elements: int) -> int:
        tracemalloc.start()
        count = sum(1 for _ in values(array(elements)))
        assert count == elements + 1
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    assert peak(2000) < 2 * peak(100)
    assert peak(2000) < 1_000_000  # of 10 MB


def test_lines_end_at_lf_only_and_lose_their_cr() -> None:
    found = list(lines(["a\x0bb\u2028c\r\n\n  \nd\ud83d".encode("utf-8", "surrogatepass")]))
    assert [(item.value, item.line) for item in found] == [("a\x0bb\u2028c", 1), ("d�", 4)]


def test_a_line_above_the_limit_is_a_problem_and_the_next_one_is_read() -> None:
    found = list(lines([b"x" * 300, b"y" * 300 + b"\nshort\n"], max_bytes=100))
    assert isinstance(found[0].value, Problem)
    assert found[1].value == "short"


@pytest.mark.parametrize(
    ("data", "first"),
    [
        (b"\n \n\xef\xbb\xbf", ""),
        (b"\xef\xbb\xbfa,b\nc", "a,b"),
        (b"\n\n [1]", "[1]"),
        (b"", ""),
        (b"\n" * 9000 + b"{}", "{}"),
        (b"x" * 9000, "x" * 4096),
    ],
)
def test_the_head_is_the_first_line_and_nothing_is_lost(data: bytes, first: str) -> None:
    for size in (1, 3, 10_000):
        line, stream = head(data[at : at + size] for at in range(0, len(data), size))
        assert line == first
        assert b"".join(stream) == data
