"""A person at the command line whose state folder is a test's own, and no agent stands anywhere above."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli, Result

import ruleproof.governance as governance
from ruleproof.core.projectkey import project_key

TEXT = "Check the archive before starting a restore."
NAME = "p"
PROJECT = project_key(None, "", NAME).key


class Person(Cli):
    """`base`: the state folder. `rules`: the checkout with the rule files of the project."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, base: Path) -> None:
        super().__init__(monkeypatch, folder)
        self.base, self.rules = base, base / "checkouts" / PROJECT
        monkeypatch.setattr(governance, "default_base", lambda: self.base)
        monkeypatch.setattr(governance, "require_lasting", lambda base: None)
        monkeypatch.setattr(governance, "environment_names", tuple)
        monkeypatch.setattr(governance, "ancestors", tuple)
        monkeypatch.setenv("HARNESS_PROJECT_KEY", NAME)

    def propose(self, text: str = TEXT, category: str = "security", *more: str) -> str:
        """The id of a new proposal."""
        return str(self.ok("propose", "--json", category, *more, "--", text).json["id"])

    def rows(self) -> dict[str, dict[str, object]]:
        """id -> what `review --all` says of the rule."""
        return {row["id"]: row for row in self.json("review", "--all")["rules"]}

    def standing(self) -> dict[str, str]:
        return {rule: str(row["standing"]) for rule, row in self.rows().items()}

    def approve(self, rule: str, *answers: str) -> Result:
        """Type what is shown."""
        typed = "\n".join([str(self.rows()[rule]["digest"])[:12], *answers])
        return self("approve", rule, stdin=typed + "\n", tty=True)

    def revoke(self, rule: str) -> Result:
        return self("revoke", rule, stdin=rule + "\n", tty=True)

    def file(self, rule: str) -> Path:
        """Where the rule's file lies."""
        return self.rules / str(self.rows()[rule]["path"])
