"""What a pool offers is taken piece by piece; the first content seen stays; every refusal has a name and a place."""

from __future__ import annotations

import pytest

from ruleproof.core.admission import SUBMODULE, Admission, Piece, admit, admit_own, folders, named_foreign, named_gone

FILE, FOLDER, LINK = 0o100644, 0o040000, 0o120000
WHERE = "rules/p-1/ha"


def piece(name: str | bytes, sha: str = "s1", mode: int = FILE) -> Piece:
    return Piece(name if isinstance(name, bytes) else name.encode(), mode, sha)


def offer(*pieces: Piece, seen: dict[str, str] | None = None) -> Admission:
    return admit(WHERE, pieces, seen or {}, lambda sha: sha != "huge")


def codes(made: Admission) -> list[str]:
    return [problem.code for problem in made.problems]


def test_a_new_plain_file_is_taken() -> None:
    assert offer(piece("001-a-b.md"), piece("002-a-b.md", "s2", 0o100755)) == Admission(
        {f"{WHERE}/001-a-b.md": "s1", f"{WHERE}/002-a-b.md": "s2"}
    )


def test_what_was_taken_before_is_not_taken_again() -> None:
    assert offer(piece("001-a-b.md"), seen={"001-a-b.md": "s1"}) == Admission()


def test_another_content_under_a_known_path_is_a_dispute_and_not_taken() -> None:
    made = offer(piece("001-a-b.md", "s2"), seen={"001-a-b.md": "s1"})
    assert (made.accepted, made.disputed, codes(made)) == ({}, (f"{WHERE}/001-a-b.md",), ["file-changed"])


def test_what_the_pool_no_longer_has_is_gone_and_no_complaint_of_its_folder() -> None:
    assert offer(seen={"001-a-b.md": "s1"}) == Admission(gone=(f"{WHERE}/001-a-b.md",))


def test_a_number_stays_with_the_file_that_was_first_seen_under_it_while_the_pool_has_that() -> None:
    made = offer(piece("002-a-b.md"), piece("002-other.md", "s2"), seen={"002-a-b.md": "s1"})
    assert (made.accepted, codes(made)) == ({}, ["number-taken"])
    made = offer(piece("002-other.md", "s2"), seen={"002-a-b.md": "s1"})
    assert (made.accepted, made.gone) == ({f"{WHERE}/002-other.md": "s2"}, (f"{WHERE}/002-a-b.md",))


@pytest.mark.parametrize("count", [1, 3, 51])
def test_however_many_files_are_gone_or_planted_each_kind_is_one_line_with_its_count(count: int) -> None:
    paths = [f"{WHERE}/{number:03d}-a-b.md" for number in range(1, count + 1)]
    found = (*named_foreign(paths), *named_gone(paths, paths))
    assert [(one.code, one.severity) for one in found] == [
        ("planted-file", "error"),
        ("gone-from-pool", "warning"),
        ("dropped", "info"),
    ]
    assert all(f"{count} rule file" in one.message and paths[0] in one.message for one in found)
    assert all(("and 48 more" in one.message) == (count == 51) and len(one.message) < 400 for one in found)
    assert named_foreign([]) == named_gone([], []) == ()


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (piece("001-a-b.md", mode=LINK), "link-refused"),
        (piece("001-a-b.md", mode=SUBMODULE), "submodule-refused"),
        (piece("001-a-b.md", mode=FOLDER), "wrong-kind"),
        (piece("001-a-b.md", mode=0), "wrong-kind"),
        (piece("001-a-b.md", "huge"), "oversize-file"),
        (piece(".."), "bad-name"),
        (piece("../001-a-b.md"), "bad-name"),
        (piece("a/001-a-b.md"), "bad-name"),
        (piece("..\\001-a-b.md"), "bad-name"),
        (piece(".git"), "bad-name"),
        (piece("001-a-b.md\0"), "bad-name"),
        (piece("001-a\u200b-b.md"), "bad-name"),
        (piece("001-a-b.md\n"), "bad-name"),
        (piece(b"\xff001-a-b.md"), "bad-name"),
        (piece("notes.md"), "bad-name"),
        (piece(""), "bad-name"),
        (piece("001-" + "x" * 300 + ".md"), "bad-name"),
    ],
)
def test_a_hostile_piece_is_refused_by_name_and_the_rest_is_taken(bad: Piece, code: str) -> None:
    made = offer(bad, piece("009-a-b.md"))
    assert made.accepted == {f"{WHERE}/009-a-b.md": "s1"}
    assert codes(made) == [code]
    assert made.problems[0].where.startswith(WHERE) and made.problems[0].where.isprintable()


def test_a_name_in_another_spelling_is_refused_whether_or_not_the_lower_case_one_is_there() -> None:
    for pieces in ([piece("001-A-b.md")], [piece("001-A-b.md"), piece("001-a-b.md")]):
        made = offer(*pieces)
        assert codes(made) == ["bad-spelling"] and f"{WHERE}/001-A-b.md" not in made.accepted
        assert len(made.accepted) == len(pieces) - 1


def test_in_our_own_folder_what_we_wrote_is_the_truth_and_nothing_else_is_ours() -> None:
    written = {"001-a-b.md": "s1", "002-a-b.md": "s2", "003-a-b.md": "s3", "004-a-b.md": "s4"}
    pieces = [piece("001-a-b.md", "x"), piece("002-a-b.md", "x"), piece("003-a-b.md", "s3"), piece("004-a-b.md", "s4")]
    pieces += [piece("9999-planted.md", "s5"), piece("002-other.md", "s6"), piece("NOTES.md")]
    seen = {"001-a-b.md": "s1", "004-a-b.md": "s4"}
    made = admit_own(WHERE, pieces, seen, lambda name, sha: written[name] == sha if name in written else None)
    assert made.accepted == {f"{WHERE}/003-a-b.md": "s3"}
    assert made.foreign == (f"{WHERE}/002-other.md", f"{WHERE}/9999-planted.md")
    assert codes(made) == ["bad-name", "own-file-changed", "identity-collision"]


def test_folders_are_taken_by_name_in_their_one_spelling() -> None:
    pieces = [
        piece("hb", "t2", FOLDER),
        piece("HA", "t1", FOLDER),
        piece("9DB6-F", "t1", FOLDER),
        piece("ha", "t3", FOLDER),
        piece("link", "t4", LINK),
        piece("sub", "t5", SUBMODULE),
        piece("file.md", "t6"),
        piece("..", "t7", FOLDER),
        piece(".git", "t8", FOLDER),
        piece("NUL", "t9", FOLDER),
        piece("-rf", "t0", FOLDER),
    ]
    found, problems = folders(pieces, "rules/p-1")
    assert found == {"hb": "t2", "ha": "t3"}
    assert sorted(problem.code for problem in problems) == [
        "bad-name",
        "bad-name",
        "bad-name",
        "bad-name",
        "bad-spelling",
        "bad-spelling",
        "link-refused",
        "submodule-refused",
        "wrong-kind",
    ]
