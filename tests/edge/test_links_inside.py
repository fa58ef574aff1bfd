"""A folder of the workspace that is a link leads nowhere: nothing is read or written through it, and it is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.places import open_place

from ruleproof.core.evalcase import EvalCase
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.edge.mailboxdir import MailboxDir
from ruleproof.edge.workspacedir import WorkspaceDir
from ruleproof.errors import StoreError
from ruleproof.harness import Harness

LINKED = ("mailbox", "mailbox/pending", "mailbox/processed", "traces", "evalset")


@pytest.mark.parametrize("name", LINKED)
def test_nothing_is_written_through_a_linked_folder(name: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "w", tmp_path / "outside"
    (root / name).parent.mkdir(parents=True)
    outside.mkdir()
    (root / name).symlink_to(outside)
    harness = Harness.create(harness_root=root)
    if name == "evalset":
        harness.report("s", {"m": 0.0})
    else:
        with pytest.raises(StoreError, match=f"{name} is a symbolic link"):
            harness.report("s", {"m": 0.0})
    if name.startswith("mailbox"):
        assert name in str(harness.workspace.ports.mailbox.problems()[0])
    with pytest.raises(StoreError, match=f"{name} is a symbolic link"):
        harness.workspace.ports.files.write(f"{name}/x.json", b"{}")
    harness.close()
    assert list(outside.rglob("*")) == []
    place = open_place(root)
    assert ("odd-file", name) in [(problem.code, problem.where) for problem in place.examine()]


def test_nothing_is_read_through_a_linked_folder(tmp_path: Path) -> None:
    outside = Harness.create(harness_root=tmp_path / "outside")
    notice = outside.report("s", {"m": 0.0}).notice
    case = EvalCase("c-0000000001", "2026-01-01", "s", replay_input={})
    outside.workspace.ports.evalset.add(case)
    outside.close()
    root = tmp_path / "w"
    root.mkdir()
    for name in ("mailbox", "evalset", "traces"):
        (root / name).symlink_to(tmp_path / "outside" / name)
    assert notice is not None
    box, cases, files = MailboxDir(root / "mailbox"), EvalSetDir(root / "evalset"), WorkspaceDir(root)
    assert (box.pending(), box.read(notice.id)) == ([], None)
    assert (cases.listed(), cases.read(case.id)) == ([], None)
    assert box.problems() and cases.problems()
    for step in (
        lambda: files.read(f"evalset/{case.id}.json"),
        lambda: files.names("mailbox/pending"),
        lambda: files.names("evalset"),
        lambda: files.remove(f"evalset/{case.id}.json"),
        lambda: cases.remove(case.id),
        lambda: box.acknowledge(notice.id, rule_id=None, note=None, at="2026"),
    ):
        with pytest.raises(StoreError, match="is a symbolic link"):
            step()


def test_the_workspace_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "w").symlink_to(tmp_path / "real")
    harness = Harness.create(harness_root=tmp_path / "w")
    assert harness.report("s", {"m": 0.0}).notice is not None
    harness.close()
    assert list((tmp_path / "real/mailbox/pending").iterdir())
