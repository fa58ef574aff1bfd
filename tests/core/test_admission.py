"""What a pool offers is taken piece by piece; the first content seen stays; every refusal has a name and a place."""

from __future__ import annotations

import pytest

from ruleproof.core.admission import SUBMODULE, Admission, Piece, admit, folders

FILE, FOLDER, LINK = 0o100644, 0o040000, 0o120000
WHERE = "rules/p-1/ha"


def piece(name: str | bytes, sha: str = "s1", mode: int = FILE) -> Piece:
    return Piece(name if isinstance(name, bytes) else name.encode(), mode, sha)


def offer(*pieces: Piece, seen: dict[str, str] | None = None, held: dict[str, str] | None = None) -> Admission:
    return admit(WHERE, pieces, seen or {}, lambda sha: sha != "huge", held)


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


def test_what_the_pool_no_longer_has_is_named_and_kept() -> None:
    made = offer(seen={"001-a-b.md": "s1"})
    assert (made.accepted, made.disputed, codes(made)) == ({}, (), ["gone-from-pool"])


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


def test_in_our_own_folder_the_disk_is_the_truth() -> None:
    held = {"001-a-b.md": "s1", "002-a-b.md": "s2", "003-a-b.md": "s3"}
    seen = {"001-a-b.md": "s1", "004-a-b.md": "s4"}
    pieces = [piece("001-a-b.md", "x"), piece("002-a-b.md", "x"), piece("003-a-b.md", "s3"), piece("005-a-b.md", "s5")]
    made = offer(*pieces, seen=seen, held=held)
    assert made.accepted == {f"{WHERE}/003-a-b.md": "s3", f"{WHERE}/005-a-b.md": "s5"}
    assert (made.disputed, codes(made)) == ((), ["own-file-changed", "identity-collision"])


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
