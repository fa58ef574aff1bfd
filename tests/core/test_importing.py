"""Cutting instruction files: whole where they fit, at headings and blank lines where not, and never a word lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.importing import split_text
from ruleproof.core.tokencount import estimate_tokens


def at_most(count: int) -> Callable[[str], bool]:
    return lambda text: len(text.split()) <= count


def test_what_fits_stays_whole() -> None:
    assert split_text("\n# A\n\none\n", at_most(10)) == ("# A\n\none",)
    assert split_text(" \n ", at_most(10)) == ()


def test_a_large_file_is_cut_at_headings_first_and_small_neighbours_stay_together() -> None:
    text = "intro words\n\n# A\n\none two three\n\n## B\nfour five\n\n# C\nsix seven eight nine"
    assert split_text(text, at_most(9)) == (
        "intro words\n\n# A\n\none two three",
        "## B\nfour five",
        "# C\nsix seven eight nine",
    )


def test_a_heading_on_its_own_stays_with_what_follows_it() -> None:
    assert split_text("# A\n\none two three\n\nfour five six", at_most(4)) == ("# A\n\none two three", "four five six")


def test_no_fence_is_cut_and_what_cannot_be_cut_stays_whole() -> None:
    fence = "```\n# not a heading\n\nx y z\n```"
    assert split_text(f"one two\n\n{fence}\n\nthree four", at_most(3)) == ("one two", fence, "three four")
    assert split_text("one two three four five", at_most(3)) == ("one two three four five",)
    assert split_text("a b\n\n```\nnever closed\n\nc d e", at_most(3)) == ("a b", "```\nnever closed\n\nc d e")


@given(st.text(st.sampled_from("ab #\n`~-"), max_size=120), st.integers(1, 8))
def test_no_word_is_lost_or_added(text: str, count: int) -> None:
    assert " ".join(split_text(text, at_most(count))).split() == text.split()


def test_recorded_rule_files_are_cut_into_pieces_that_nearly_all_fit(data_dir: Path) -> None:
    def fits(text: str) -> bool:
        return estimate_tokens(text) <= 1_150

    pieces, large = 0, 0
    for file in sorted((data_dir / "cursor_rules").glob("*.mdc")):
        body = front_matter(file.read_text(), file.name)[1]
        made = split_text(body, fits)
        assert " ".join(made).split() == body.split()
        pieces += len(made)
        large += sum(not fits(piece) for piece in made)
    assert pieces > 100 and large <= 4
