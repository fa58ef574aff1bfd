"""A log that is read from where we last stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.edge import fs
from ruleproof.edge.filelog import FileLog


def lines(log: FileLog) -> list[bytes]:
    return [raw for _, raw in log.read().lines]


def test_only_what_was_added_is_read(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "a")
    log.append(b'{"n": 1}\n' * 1000)
    assert len(lines(log)) == 1000
    log.append(b'{"n": 2}\n')
    read: list[int] = []
    with fs.observe(lambda event: read.append(event[2]) if event[0] == "read" else None):
        assert lines(log) == [b'{"n": 2}']
        assert lines(log) == []
    assert sum(read) <= 64 + len(b'{"n": 2}\n')


def test_line_numbers_go_on_across_reads(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "a")
    log.append(b"1\n2\n")
    assert [number for number, _ in log.read().lines] == [1, 2]
    log.append(b"3\n")
    assert [number for number, _ in log.read().lines] == [3]


def test_a_broken_tail_waits_and_is_isolated_by_the_next_append(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b'{"n": 1}\n{"n": ')
    log = FileLog(file)
    assert lines(log) == [b'{"n": 1}']
    assert log.torn
    log.append(b'{"n": 3}\n')
    assert lines(log) == [b'{"n": ', b'{"n": 3}']
    assert not log.torn


def test_a_whole_last_line_without_its_newline_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b'{"n": 1}\n{"n": 2}')
    log = FileLog(file)
    assert lines(log) == [b'{"n": 1}', b'{"n": 2}']
    log.append(b'{"n": 3}\n')
    batch = log.read()
    assert not batch.fresh
    assert batch.lines == ((3, b'{"n": 3}'),)


def test_a_foreign_write_glued_to_an_open_tail_makes_the_reader_start_anew(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b'{"n": 2}')
    log = FileLog(file)
    log.read()
    with file.open("ab") as raw:
        raw.write(b'{"n": 3}\n')
    batch = log.read()
    assert batch.fresh
    assert batch.lines == ((1, b'{"n": 2}{"n": 3}'),)


@pytest.mark.parametrize("change", ["shrink", "replace", "rewrite"])
def test_a_file_that_is_no_longer_the_one_we_read_is_read_anew(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo\n")
    log = FileLog(file)
    log.read()
    if change == "shrink":
        file.write_bytes(b"one\n")
    elif change == "replace":
        log.replace(b"new\nlonger than before\n")
    else:
        with file.open("r+b") as raw:
            raw.write(b"ONE\nTWO\nTHREE\n")
    batch = log.read()
    assert batch.fresh
    assert b"\n".join(raw for _, raw in batch.lines) + b"\n" == file.read_bytes()


def test_a_missing_file_is_empty_and_a_file_that_went_away_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "a"
    log = FileLog(file)
    assert log.read() == type(log.read())((), False)
    file.write_bytes(b"x\n")
    assert lines(log) == [b"x"]
    file.unlink()
    assert log.read().fresh


@given(st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), max_size=12), st.data())
def test_reading_in_any_steps_equals_reading_at_once(records: list[dict[str, int]], data: st.DataObject) -> None:
    import tempfile

    whole = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a"
        file.write_bytes(b"")
        log, got = FileLog(file), []
        for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            with file.open("ab") as raw:
                raw.write(whole[start:end])
            batch = log.read()
            if batch.fresh:
                got = []
            got.extend(raw for _, raw in batch.lines)
        assert got == whole.split(b"\n")[:-1]
