"""G5: approved texts stand verbatim in the notice, recorded attacks and rule files included, and forge nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conformance.desk import NAME, PROJECT, Desk

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.continuation import continuation_notice
from ruleproof.core.corerules import HEADING, Block, unprefix


def test_g5_without_an_approved_rule_the_notice_is_byte_identical_to_one_without_the_feature(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    desk.propose("security", "Check the archive first.")
    assert desk.notice() == continuation_notice("Restore", project=NAME, project_key=PROJECT)


def texts_of(block: str) -> dict[str, str]:
    """id -> text of every rule in a block, read back by its layout alone."""
    found: dict[str, str] = {}
    label, lines = "", []

    def close() -> None:
        if label:
            found[label] = unprefix("\n".join(lines))

    heading, *rest = block.split("\n")
    assert heading == HEADING
    for line in rest:
        if line.startswith("["):
            close()
            label, _, text = line[1:].partition("] (")
            lines = []
            if text.partition(")")[2]:
                found[label], label = text.partition(") ")[2], ""
        elif line:
            lines.append(line)
    close()
    return found


def test_g5_recorded_attacks_and_rule_files_stand_verbatim_and_nothing_escapes(tmp_path: Path, data_dir: Path) -> None:
    attacks = json.loads((data_dir / "injection" / "bipia_text_attack_train.json").read_text())
    texts = [text for group in attacks.values() for text in group]
    for file in sorted((data_dir / "cursor_rules").glob("*.mdc")):
        texts.append(front_matter(file.read_text(), file.name)[1])
    texts = [text for text in texts if text.strip()]
    assert len(texts) == 153
    desk = Desk(tmp_path / "a", tmp_path / "pool", cap=10**6)
    made = [desk.propose("imported", text, origin="import") for text in texts]
    for rule in made:
        desk.approve(rule.id)
    block = desk.block()
    assert isinstance(block, Block)
    assert texts_of(block.text) == {rule.id: rule.text for rule in made}
    for line in block.text.splitlines():
        assert line == HEADING or line == "" or line.startswith(("[a-00000000/", "  ")), line
    assert desk.notice().count(HEADING) == 1
