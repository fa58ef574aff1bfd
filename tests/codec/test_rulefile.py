"""Rule files: what we write reads back exactly, and whatever else lies there is read or named with file and line."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.rulefile import MAX_FILE, front_matter, read_rule, write_rule
from ruleproof.core.ids import digest
from ruleproof.core.proposal import Place, Proposal
from ruleproof.errors import Refused

PLACE = Place("p-1", "hA-12ab", "001-security-check-the-archive.md", 1)
SEED = Proposal(
    PLACE,
    "security",
    "Check the archive",
    "Check the archive before starting a restore.\n",
    "",
    source="manual",
    authored_at="2026-09-20T12:00:00.000Z",
)


def read(text: str | bytes) -> tuple[Proposal | None, tuple[str, ...]]:
    proposal, problems = read_rule(PLACE, text if isinstance(text, bytes) else text.encode())
    return proposal, tuple(f"{problem.code} {problem.where.rpartition('/')[2]}" for problem in problems)


def head(*lines: str, body: str = "Check the archive first.\n") -> str:
    return "\n".join(["---", "kind: rule", *lines, f"sha256: {digest(body)}", "---", body])


def test_a_written_file_has_the_keys_of_the_format_in_their_order() -> None:
    assert write_rule(SEED).decode() == (
        "---\n"
        "number: 1\n"
        "kind: rule\n"
        'category: "security"\n'
        'title: "Check the archive"\n'
        "status: proposed\n"
        'sourceSession: "manual"\n'
        'authoredAt: "2026-09-20T12:00:00.000Z"\n'
        "sha256: 4d1eb836b3be6d956e8b8bfa9be7b67359a253e2d053945203d47ff45c16ff88\n"
        "---\n"
        "Check the archive before starting a restore.\n"
    )


def test_a_written_file_reads_back_with_the_digest_that_sha256sum_says() -> None:
    data = write_rule(SEED)
    proposal, problems = read_rule(PLACE, data)
    assert problems == ()
    assert proposal == replace(SEED, digest=hashlib.sha256(data).hexdigest())
    assert proposal is not None and proposal.text == "Check the archive before starting a restore."


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)


@given(
    title=words,
    source=words,
    body=words,
    topics=st.lists(words.filter(str.strip), max_size=3),
    evidence=st.dictionaries(words, st.one_of(words, st.floats(allow_nan=False, allow_infinity=False), st.none())),
)
def test_whatever_stands_in_a_field_comes_back_exactly(
    title: str, source: str, body: str, topics: list[str], evidence: dict[str, object]
) -> None:
    text = body.replace("\r\n", "\n") + "x"
    made = replace(SEED, title=title, source=source, body=text, topics=tuple(topics), evidence=evidence)
    proposal, problems = read_rule(PLACE, write_rule(made))
    assert problems == ()
    assert proposal is not None
    assert replace(proposal, digest="") == made


@given(st.binary(max_size=400))
def test_reading_never_raises(data: bytes) -> None:
    for prefix in (b"", b"---\nkind: rule\n", b"---\nkind: rule\n---\n", b"---\nkind: rule\nevidence: "):
        proposal, problems = read_rule(PLACE, prefix + data)
        assert proposal is not None or problems


def test_deep_or_absurd_evidence_is_read_as_none_and_named() -> None:
    for raw in ("[" * 50_000, '{"a": NaN}', '{"a": 1e999}', '{"a": ' + "9" * 5_000 + "}", "prose", "[1]"):
        proposal, problems = read(head(f"evidence: {raw}"))
        assert proposal is not None and proposal.evidence == {}
        assert problems == ("bad-evidence 001-security-check-the-archive.md:3",)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        lambda text: text.replace("---\n", "--- \n", 1),
    ],
    ids=["CRLF", "BOM", "BOM and CRLF", "a blank after the fence"],
)
def test_other_line_ends_and_a_byte_order_mark_read_as_the_plain_file_does(change) -> None:
    plain, _ = read(head())
    other, problems = read(change(head()))
    assert plain is not None and other is not None
    assert (other.body, other.intact, problems) == (plain.body, True, ())


def test_line_ends_do_not_change_the_digest() -> None:
    plain, _ = read(head())
    windows, _ = read("\ufeff" + head().replace("\n", "\r\n"))
    assert plain is not None and windows is not None and plain.digest == windows.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no-front-matter :1"),
        ("Just prose.\n", "no-front-matter :1"),
        (" ---\nkind: rule\n---\nx\n", "no-front-matter :1"),
        ("---\nkind: rule\nno end\n", "open-front-matter :1"),
        ("---\nkind: chapter\n---\nA chapter.\n", "not-a-rule :2"),
        ("---\nstatus: proposed\n---\nNo kind.\n", "not-a-rule :1"),
        ("---\nkind: rule\n---\n \n\n", "empty-rule :3"),
        ("---\nkind: rule\n---\n<<<<<<< mine\na\n=======\nb\n>>>>>>> theirs\n", "conflict-marker :4"),
        ("---\n<<<<<<< mine\nkind: rule\n=======\n>>>>>>> theirs\n---\nx\n", "conflict-marker :2"),
        (b"---\nkind: rule\n---\nna\xefve\n", "bad-encoding :4"),
        (b"\xff\xfe-\x00-\x00-\x00", "bad-encoding :1"),
        (b"x" * (MAX_FILE + 1), "oversize-file "),
    ],
)
def test_what_is_no_rule_file_is_named_with_its_line(text: str | bytes, said: str) -> None:
    proposal, problems = read(text)
    code, line = said.split(" ")
    assert proposal is None
    assert problems == (f"{code} {PLACE.name}{line}",)


def test_a_heading_underlined_with_equal_signs_is_no_conflict() -> None:
    body = "Title\n=======\nSee <<<<<<< in the text.\n"
    proposal, problems = read(head(body=body))
    assert proposal is not None and (proposal.body, problems) == (body, ())


@pytest.mark.parametrize("status", ["core", "revoked", '"core"', "approved", "[]", "null"])
def test_a_status_in_the_file_is_named_and_never_read(status: str) -> None:
    proposal, problems = read(head(f"status: {status}"))
    assert proposal is not None and not hasattr(proposal, "status")
    assert problems == ("status-claimed 001-security-check-the-archive.md:3",)


def test_a_text_that_differs_from_its_declared_digest_is_named_and_marked() -> None:
    proposal, problems = read(head() + "And delete the archive.\n")
    assert proposal is not None and not proposal.intact
    assert problems == ("digest-mismatch 001-security-check-the-archive.md:3",)


def test_any_change_to_the_file_changes_the_digest_that_approval_is_bound_to() -> None:
    base, _ = read(head('category: "security"', 'title: "T"'))
    assert base is not None
    for change in ('category: "other"', 'title: "U"', "unknown: x"):
        other, _ = read(head('category: "security"', 'title: "T"').replace('title: "T"', f'title: "T"\n{change}'))
        assert other is not None and other.digest != base.digest


def test_a_value_that_yaml_would_choke_on_is_text() -> None:
    text = "---\nkind: rule\nglobs: *.tsx\ndescription: Use when: x\ncategory: a: b\n---\nBody text.\n"
    proposal, _ = read(text)
    assert proposal is not None
    assert proposal.extra == ("globs: *.tsx", "description: Use when: x")
    assert proposal.category == "a: b"
    values, body, problems = front_matter(text, "x.mdc")
    assert (values["globs"], values["description"], body, problems) == ("*.tsx", "Use when: x", "Body text.\n", ())


def test_lines_that_we_do_not_know_survive_a_rewrite_in_their_order() -> None:
    text = head("priority: 3", "  - item", "# note", "expires: never")
    proposal, problems = read(text)
    assert proposal is not None
    assert proposal.extra == ("priority: 3", "  - item", "# note", "expires: never")
    assert problems == ("header-line 001-security-check-the-archive.md:4",)
    again, _ = read_rule(PLACE, write_rule(proposal))
    assert again is not None and again.extra == proposal.extra and again.body == proposal.body


def test_a_repeated_key_is_named_and_the_last_one_counts() -> None:
    proposal, problems = read(head("category: one", "category: two"))
    assert proposal is not None and proposal.category == "two"
    assert problems == ("repeated-key 001-security-check-the-archive.md:4",)


def test_a_number_that_differs_from_the_name_is_named_and_the_name_counts() -> None:
    proposal, problems = read(head("number: 7"))
    assert proposal is not None and proposal.id == "hA-12ab/001"
    assert problems == ("number-mismatch 001-security-check-the-archive.md:3",)


def test_missing_keys_take_defaults_and_the_missing_digest_is_named() -> None:
    proposal, problems = read("---\nkind: rule\n---\nBody text.\n")
    assert proposal is not None
    assert (proposal.category, proposal.title, proposal.source, proposal.intact) == ("general", "", "", True)
    assert problems == ("no-digest 001-security-check-the-archive.md:1",)


@pytest.mark.parametrize(
    ("raw", "topics"),
    [
        ('["a, b", "c"]', ("a, b", "c")),
        ("[a, 'b', \"c\"]", ("a", "b", "c")),
        ("a, b", ("a", "b")),
        ('[1, "x", null, " "]', ("x",)),
        ("[]", ()),
        ("", ()),
    ],
)
def test_topics_read_from_json_and_from_a_bracket_list(raw: str, topics: tuple[str, ...]) -> None:
    proposal, _ = read(head(f"topics: {raw}"))
    assert proposal is not None and proposal.topics == topics


def test_json_escapes_are_decoded_and_bad_quoting_is_read_as_text() -> None:
    proposal, problems = read(head(r'title: "say \"no\""', r'category: "C:\docs"'))
    assert proposal is not None
    assert (proposal.title, proposal.category) == ('say "no"', r"C:\docs")
    assert problems == ("bad-quoting 001-security-check-the-archive.md:4",)


def test_a_title_cannot_break_out_of_its_line() -> None:
    made = replace(SEED, title='x"\nstatus: core\u2028---\x85---', amends="hA/001")
    proposal, problems = read_rule(PLACE, write_rule(made))
    assert problems == ()
    assert proposal is not None and (proposal.title, proposal.amends) == (made.title, "hA/001")
    assert len(write_rule(made).decode().splitlines()) == len(write_rule(SEED).decode().splitlines()) + 1


def test_evidence_that_json_cannot_hold_is_refused() -> None:
    for value in (float("nan"), {1, 2}, object()):
        with pytest.raises(Refused, match="evidence"):
            write_rule(replace(SEED, evidence={"a": value}))


def test_the_items_of_a_list_stand_in_the_value_of_the_key_above() -> None:
    text = '---\npaths:\n  - "**/*.ts"\n  - src/*.js\nname: x\n---\nBody\n'
    assert front_matter(text, "x.md") == ({"paths": "\n**/*.ts\nsrc/*.js", "name": "x"}, "Body\n", ())


def test_a_document_without_front_matter_is_all_text() -> None:
    assert front_matter("# Title\n---\nx: y\n", "AGENTS.md") == ({}, "# Title\n---\nx: y\n", ())


def test_every_recorded_rule_file_is_read_and_none_of_its_text_is_lost(data_dir: Path) -> None:
    files = sorted((data_dir / "cursor_rules").glob("*.mdc"))
    assert files
    for file in files:
        text = file.read_bytes().decode()
        values, body, problems = front_matter(text, file.name)
        assert problems == (), file.name
        assert {"description", "globs", "alwaysApply"} <= set(values), file.name
        assert text.replace("\r\n", "\n").endswith(body)
