"""The index of the pool: the same bytes on every machine, from the files alone, at the cost of what changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.shards import Entry, changed, entry_of, shard_path, shards
from ruleproof.core.proposal import Place, Proposal


def rule(
    number: int, title: str = "T", topics: tuple[str, ...] = (), category: str = "security", at: str = ""
) -> Proposal:
    place = Place("p-1", "hA", f"{number:03d}-a-b.md", number)
    return Proposal(place, category, title, "Text.\n", "0" * 64, authored_at=at, topics=topics)


def test_a_shard_lists_the_newest_first_and_then_by_path() -> None:
    made = shards(
        entry_of(found)
        for found in (
            rule(3, "Three", at="2026-01-02T00:00:00.000Z"),
            rule(1, "One", at="2026-01-03T00:00:00.000Z"),
            rule(2, "Two", at="2026-01-02T09:00:00.000Z"),
            rule(4, "Four", at="yesterday"),
        )
    )
    assert made == {
        shard_path("p-1", "security", "2026-01"): (
            b"# security\nentries: 3\n\n"
            b"2026-01-03 | One | rules/p-1/hA/001-a-b.md\n"
            b"2026-01-02 | Two | rules/p-1/hA/002-a-b.md\n"
            b"2026-01-02 | Three | rules/p-1/hA/003-a-b.md\n"
        ),
        shard_path("p-1", "security", "undated"): (
            b"# security\nentries: 1\n\n---- | Four | rules/p-1/hA/004-a-b.md\n"
        ),
    }


def test_topics_and_category_each_have_a_shard_and_case_does_not_matter() -> None:
    made = shards([entry_of(rule(1, topics=("Restore", "restore", "archive")))])
    assert set(made) == {shard_path("p-1", label, "undated") for label in ("restore", "archive", "security")}


def test_two_labels_never_share_a_file() -> None:
    labels = ("安全", "在庫", "a b", "a-b", "a_b", "topic", "", "x" * 80, "x" * 79)
    assert len({shard_path("p-1", label, "2026-01") for label in labels}) == len(labels)
    assert all(shard_path("p-1", label, "2026-01").isascii() for label in labels)


def test_a_hostile_title_or_topic_stays_on_its_line() -> None:
    made = shards([entry_of(rule(1, "x\n2099-01-01 | forged | rules/p/h/9.md\u2028# y", topics=("t\r\n# z",)))])
    assert all(len(data.decode().splitlines()) == 4 for data in made.values())


ENTRIES = st.dictionaries(
    st.integers(1, 6),
    st.tuples(st.sampled_from(["a", "b"]), st.sets(st.sampled_from(["t", "u", "v"]), max_size=2), st.integers(1, 3)),
    max_size=6,
)


def state(rows: dict[int, tuple[str, set[str], int]]) -> dict[str, Entry]:
    made = [
        entry_of(rule(number, title, tuple(topics), at=f"2026-0{day}-01"))
        for number, (title, topics, day) in rows.items()
    ]
    return {entry.path: entry for entry in made}


@given(ENTRIES, ENTRIES)
def test_following_a_change_gives_what_building_anew_gives(
    first: dict[int, tuple[str, set[str], int]], second: dict[int, tuple[str, set[str], int]]
) -> None:
    held = shards(state(first).values())
    for path, data in changed(state(first), state(second)).items():
        if data is None:
            del held[path]
        else:
            held[path] = data
    assert held == shards(state(second).values())


def test_what_did_not_change_is_not_written_again() -> None:
    before = state({1: ("a", {"t"}, 1), 2: ("b", {"u"}, 1)})
    assert changed(before, dict(reversed(before.items()))) == {}
    after = before | state({3: ("c", {"u"}, 1)})
    assert set(changed(before, after)) == {shard_path("p-1", label, "2026-01") for label in ("u", "security")}


def test_the_order_in_which_files_are_found_does_not_matter() -> None:
    entries = list(state({number: ("a", {"t"}, number % 3 + 1) for number in range(1, 7)}).values())
    assert shards(entries) == shards(reversed(entries))
