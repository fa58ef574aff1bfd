"""G5 from end to end: recorded attacks and rule files, proposed, approved and printed by the commands; none escapes.

The printed texts are read back by their layout alone: each rule comes back exactly, and nothing else begins a line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from tests.conformance.person import Person

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.approval import Decision
from ruleproof.core.corerules import BREAK, HEADING, unprefix
from ruleproof.harness import Harness

INVISIBLE = re.compile("[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
LABEL = re.compile(r"\[([a-z0-9-]+/\d{3,5})\] \(imported\)(?: (.*))?")


def attacks(data_dir: Path) -> list[str]:
    groups = json.loads((data_dir / "injection" / "bipia_text_attack_train.json").read_text())
    return [text for group in groups.values() for text in group]


def rule_files(data_dir: Path) -> list[str]:
    files = sorted((data_dir / "cursor_rules").glob("*.mdc"))
    texts = [front_matter(file.read_bytes().decode(), file.name)[1] for file in files]
    return [text for text in texts if text.strip()]


def rules_in(text: str) -> dict[str, str]:
    """id -> text of the labelled rules in `text`; every line has to be a label, a prefixed line or empty."""
    found: dict[str, str] = {}
    open_label, lines = "", list[str]()
    for line in [*text.split("\n"), "[end/000] (imported) x"]:
        label = LABEL.fullmatch(line)
        if label is None:
            assert line == "" or line.startswith("  "), line
            lines.append(line)
            continue
        if open_label:
            found[open_label] = unprefix("\n".join(lines).removesuffix("\n"))
        open_label, lines = label[1], []
        assert label[1] not in found, "an id that stands twice"
        if label[2] is not None:
            found[label[1]], open_label = label[2], ""
    found.pop("end/000")
    return found


def require_sound(printed: str, texts: dict[str, str]) -> None:
    """The block stands once, holds exactly these rules, and nothing of them begins a line, whoever breaks the lines."""
    assert printed.count(f"\n{HEADING}\n") == 1
    head, _, rest = printed.partition(f"\n{HEADING}\n")
    inside, end, tail = rest.partition("\n\n## In flight\n")
    assert end and head.startswith("# Continuation: ") and tail == "  (none stated)\n"
    inside = re.sub(r"\n\nNewly approved on this machine: [^\n]*\.\Z", "", inside)
    assert rules_in(inside) == texts
    ours = {HEADING, "## In flight", ""}
    for line in BREAK.split(printed)[1:]:
        begins = line in ours or line.startswith(("  ", "Project: ", "What this project", "Newly approved on"))
        assert begins or LABEL.fullmatch(line), line
    odd = {char for char in printed if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t"}
    assert not odd and not INVISIBLE.search(printed)


def test_g5_recorded_attacks_and_rule_files_go_through_the_commands_and_none_escapes(
    person: Person, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_coreRulesBudgetTokens", str(10**6))
    texts: dict[str, str] = {}
    flagged: list[int] = []
    for group in (attacks(data_dir), rule_files(data_dir)):
        before, seen = len(texts), 0
        for text in group:
            made = person.ok("propose", "imported", "-", "--json", stdin=text).json
            assert made["created"] and not made["redacted"]
            seen += bool(made["signs"])
            texts[made["id"]] = text.replace("\r\n", "\n").strip()
        flagged += [seen, len(texts) - before]
    assert flagged == [59, 75, 5, 78], "flagged and all: attacks, rule files; as docs/security.md has it"
    plain = person.ok("notice").out
    digests = {rule: str(row["digest"]) for rule, row in person.rows().items()}
    assert digests.keys() == texts.keys()
    for rule, digest in digests.items():
        done = person("approve", rule, stdin=digest[:12] + "\n", tty=True)
        assert done.code == 0, (rule, done)
    assert HEADING not in plain
    require_sound(person.ok("notice").out, texts)
    require_sound(person.json("notice")["text"] + "\n", texts)
    require_sound(person.ok("hook", "claude-code", stdin='{"source": "compact"}').out, texts)
    exported = person.ok("export", "agents-md").out
    assert rules_in(exported.removeprefix("# Rules approved on this machine\n\n").removesuffix("\n")) == texts
    person.revoke(min(texts))
    after = person.ok("notice").out
    del texts[min(texts)]
    require_sound(after, texts)


def test_g5_recorded_rule_files_go_through_the_import_in_pieces_that_stand_as_they_were_written(
    person: Person, data_dir: Path
) -> None:
    files = sorted(map(str, (data_dir / "cursor_rules").glob("*.mdc")))
    pieces = person("import", *files, "--category", "imported", "--json").json["pieces"]
    written = [piece for piece in pieces if piece["outcome"] == "proposed"]
    assert len(written) > 100 and {piece["outcome"] for piece in pieces} <= {"proposed", "same", "refused"}
    assert all(piece["reason"] for piece in pieces if piece["outcome"] == "refused"), "and never dropped in silence"
    harness = Harness.create(
        harness_root=person.folder / "w" / ".ruleproof", project_key="p", core_rules_budget_tokens=10**6
    )
    texts = {}
    for row in harness.governance.review():
        seen = row.rule.digest
        harness.governance.approve(row.id, Decision("terminal", seen, seen[:8]))
        texts[row.id] = row.rule.text
    assert texts.keys() == {piece["rule"] for piece in written}
    require_sound(harness.continuation_notice("T") + "\n", texts)
