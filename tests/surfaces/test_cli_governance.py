"""Pool rules on the command line: anyone proposes, a person at a terminal decides, the notice has it word for word."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import HARMFUL, HOSTILE, Cli, Result

import ruleproof.governance as governance

TEXT = "Check the archive before starting a restore."
KEYED = "HARNESS_PROJECT_KEY"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def desk(bare: Cli, base: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line whose user has an empty state folder, and no agent anywhere above."""
    monkeypatch.setattr(governance, "default_base", lambda: base)
    monkeypatch.setattr(governance, "require_lasting", lambda base: None)
    by_person(monkeypatch)
    monkeypatch.setenv(KEYED, "p")
    return bare


def by_person(monkeypatch: pytest.MonkeyPatch, *variables: str) -> None:
    monkeypatch.setattr(governance, "environment_names", lambda: variables)
    monkeypatch.setattr(governance, "ancestors", tuple)


def propose(cli: Cli, text: str = TEXT, category: str = "security", *more: str) -> str:
    return str(cli.json("propose", category, text, *more)["id"])


def digest(cli: Cli, rule: str) -> str:
    return str(next(row["digest"] for row in cli.json("review", "--all")["rules"] if row["id"] == rule))


def approve(cli: Cli, rule: str, *answers: str) -> Result:
    typed = "\n".join([digest(cli, rule)[:12], *answers])
    return cli("approve", rule, stdin=typed + "\n", tty=True)


def standing(cli: Cli, rule: str) -> str:
    return str(next(row["standing"] for row in cli.json("review", "--all")["rules"] if row["id"] == rule))


def test_looking_makes_nothing(desk: Cli, base: Path) -> None:
    assert desk.json("review")["rules"] == []
    before = desk.ok("notice", "--title", "T").out
    assert "CORE RULES" not in before
    assert not base.exists() and not (desk.folder / ".ruleproof").exists()


def test_a_proposal_changes_no_byte_of_the_notice(desk: Cli) -> None:
    before = desk.ok("notice", "--title", "T").out
    propose(desk)
    assert desk.ok("notice", "--title", "T").out == before


def test_what_a_person_approved_stands_in_the_notice_word_for_word_until_revoked(desk: Cli, base: Path) -> None:
    before = desk.ok("notice", "--title", "T").out
    rule = propose(desk)
    done = approve(desk, rule)
    assert done.code == 0, done
    assert "of 1200 tokens" in done.err and TEXT in done.err and "in force" in done.out
    made = desk.json("notice", "--title", "T")
    assert f"\n[{rule}] (security) {TEXT}\n" in made["text"]
    assert made["rules"] == made["newly_approved"] == [rule]
    assert desk.json("notice", "--title", "T")["newly_approved"] == []
    ledger = next((base / "approvals").glob("*.jsonl"))
    assert json.loads(ledger.read_text())["digest"] == digest(desk, rule)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (base, ledger.parent, ledger)] == [0o700, 0o700, 0o600]
    assert desk("revoke", rule, stdin="no\n", tty=True).code == 1
    assert standing(desk, rule) == "core"
    assert desk("revoke", rule, stdin=rule + "\n", tty=True).code == 0
    assert desk.ok("notice", "--title", "T").out == before


@pytest.mark.parametrize("verb", ["approve", "revoke"])
@pytest.mark.parametrize("more", [(), ("--token",), ("--json",)])
def test_without_a_terminal_nobody_decides(desk: Cli, verb: str, more: tuple[str, ...], base: Path) -> None:
    rule = propose(desk)
    done = desk(verb, rule, *more, stdin=digest(desk, rule) + "\n", tty="--json" in more)
    assert done.code == 1
    assert "needs a person" in done.out + done.err
    assert not (base / "approvals").exists()


def test_an_agent_at_a_terminal_is_named_and_refused(desk: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = propose(desk)
    by_person(monkeypatch, "PATH", "CLAUDECODE")
    done = approve(desk, rule)
    assert (done.code, "variable CLAUDECODE" in done.err) == (1, True)
    by_person(monkeypatch)
    monkeypatch.setattr(governance, "ancestors", lambda: ("bash", "codex"))
    assert "process codex" in approve(desk, rule).err
    assert standing(desk, rule) == "proposed"


@pytest.mark.parametrize("typed", ["", "y", "yes", "0123456", "zzzzzzzz"])
def test_the_digest_has_to_be_typed(desk: Cli, typed: str) -> None:
    rule = propose(desk)
    assert desk("approve", rule, stdin=typed + "\n", tty=True).code == 1
    assert standing(desk, rule) == "proposed"


def test_a_text_that_changed_after_approval_is_out_of_force(desk: Cli, base: Path) -> None:
    before = desk.ok("notice", "--title", "T").out
    rule = propose(desk)
    assert approve(desk, rule).code == 0
    file = next((base / "checkouts").rglob("001-*.md"))
    file.write_bytes(file.read_bytes().replace(b"archive", b"servers"))
    assert standing(desk, rule) == "changed"
    assert desk.ok("notice", "--title", "T").out == before
    again = approve(desk, rule)
    assert (again.code, "does not match the SHA-256" in again.err) == (1, True)


def test_a_token_is_made_by_a_person_and_works_once_for_one_text(desk: Cli) -> None:
    first, second = propose(desk), propose(desk, "Run the replay before tagging.")
    made = desk("approve", first, "--token", stdin=digest(desk, first)[:8] + "\n", tty=True)
    token = made.out.strip()
    assert (made.code, len(token), standing(desk, first)) == (0, 32, "proposed")
    assert desk("approve", second, "--by-token", stdin=token).code == 1
    assert desk("approve", first, "--by-token", stdin="f" * 32).code == 1
    assert desk("approve", first, "--by-token", stdin=token).code == 0
    assert standing(desk, first) == "core"
    assert desk("approve", first, "--by-token", stdin=token).code == 1
    made = desk("revoke", first, "--token", stdin=first + "\n", tty=True)
    assert desk("revoke", first, "--by-token", stdin=made.out).code == 0
    assert standing(desk, first) == "revoked"


def test_over_the_budget_approve_and_notice_refuse_with_figures_and_write_nothing(
    desk: Cli, monkeypatch: pytest.MonkeyPatch, base: Path
) -> None:
    first, second = propose(desk), propose(desk, "Run the whole replay of the tape before a tag is set.")
    assert approve(desk, first).code == 0
    held = desk.json("notice")["tokens"]
    ledger = next((base / "approvals").glob("*.jsonl"))
    facts = ledger.read_bytes()
    monkeypatch.setenv("HARNESS_coreRulesBudgetTokens", str(held + 1))
    done = approve(desk, second)
    assert done.code == 1
    assert f"coreRulesBudgetTokens is {held + 1}: {first}=" in done.err and f"{second}=" in done.err
    assert ledger.read_bytes() == facts
    monkeypatch.delenv("HARNESS_coreRulesBudgetTokens")
    (desk.folder / "ruleproof.toml").write_text(f"coreRulesBudgetTokens = {held - 1}\n")
    target = desk.folder / "notice.md"
    refused = desk("notice", "--to", str(target))
    assert (refused.code, target.exists()) == (1, False)
    assert f"Revoke {first}" in refused.err


def test_approving_an_amended_text_offers_to_revoke_the_old_one(desk: Cli) -> None:
    old = propose(desk)
    assert approve(desk, old).code == 0
    new = propose(desk, "Check the archive and its digest before starting a restore.", "security", "--amends", old)
    assert approve(desk, new, "y").code == 0
    assert (standing(desk, old), standing(desk, new)) == ("revoked", "core")


def test_what_may_not_be_written_is_refused_and_no_file_is_left(desk: Cli, base: Path) -> None:
    for arguments in (
        ("security", "x"),
        ("se curity", TEXT),
        ("security", "Check\u202e the archive before starting."),
        ("security", "word " * 2_000),
        ("security", TEXT, "--amends", "hA/009"),
    ):
        assert desk("propose", *arguments).code == 1, arguments
    assert not list(base.rglob("*.md"))


def test_a_secret_is_redacted_and_the_same_text_is_not_written_twice(desk: Cli) -> None:
    made = desk.json("propose", "security", "Log in with password=hunter2hunter2 before the restore.")
    assert made["redacted"]
    assert "hunter2" not in desk.ok("review").out
    first = desk.json("propose", "security", TEXT)
    again = desk.json("propose", "security", TEXT)
    assert (first["created"], again["created"], again["id"]) == (True, False, first["id"])


def test_hostile_texts_cannot_harm_the_terminal(desk: Cli, base: Path) -> None:
    rule = propose(desk)
    file = next((base / "checkouts").rglob("001-*.md"))
    file.write_bytes(file.read_bytes().replace(TEXT.encode(), HOSTILE.encode("utf-8", "replace")))
    for done in (desk("review"), desk("review", "--json"), approve(desk, rule)):
        assert not set(HARMFUL) & set(done.out + done.err)
    assert all(len(line) <= 80 for line in desk("review").out.split("\n"))
