"""What loaders do to a repository's instruction files, at the edge of every limit; each finding names its source."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.loaders import SOURCES, Effect, InstructionFile, is_instruction_file, lint_loaders


def file(path: str, text: str = "Run the tests.\n") -> InstructionFile:
    header, _, _ = front_matter(text, path)
    return InstructionFile(path, len(text.encode()), text, header)


def found(*files: InstructionFile, loader: str = "") -> list[str]:
    lint = lint_loaders(files)
    return [f"{one.effect} {one.path}" for one in lint if not loader or one.loader.startswith(loader)]


def lines(count: int, width: int = 10) -> str:
    return ("x" * (width - 1) + "\n") * count


def test_codex_reads_32_kib_over_the_whole_chain_and_cuts_what_is_nearest_to_the_work() -> None:
    root, inner, deep = "AGENTS.md", "api/AGENTS.md", "api/v2/AGENTS.md"
    whole = file(root, lines(3_276, 10) + "12345678")
    assert found(whole, loader="codex") == [] and whole.size == 32 * 1024
    assert found(file(root, whole.text + "x"), loader="codex") == [f"cut {root}"]
    assert found(whole, file(inner), loader="codex") == [f"never-loaded {inner}"]
    assert found(file(root, lines(3_000)), file(inner, lines(276)), loader="codex") == []
    cut = lint_loaders([file(root, lines(3_000)), file(inner, lines(300)), file(deep)])
    assert [(one.path, one.effect) for one in cut] == [(inner, "cut"), (deep, "never-loaded")]
    assert "cut in line 277" in cut[0].message and "30000" in cut[0].message


def test_codex_reads_one_file_a_folder_and_a_sibling_costs_nothing() -> None:
    big = [file(f"{folder}/AGENTS.md", lines(3_000)) for folder in ("a", "b")]
    files = [file("AGENTS.md"), file("AGENTS.override.md"), *big]
    assert found(*files, loader="codex") == ["never-loaded AGENTS.md"]
    empty = file("AGENTS.override.md", " \n")
    assert found(file("AGENTS.md"), empty, loader="codex") == ["never-loaded AGENTS.override.md"]


def test_claude_code_loads_claude_md_whole_and_skips_it_above_4_mib() -> None:
    assert found(file("CLAUDE.md", lines(200))) == []
    assert found(file("CLAUDE.md", lines(201))) == ["long CLAUDE.md"]
    huge = InstructionFile("CLAUDE.md", 4 * 1024 * 1024 + 1, "x")
    assert found(huge) == ["never-loaded CLAUDE.md"]


def test_a_memory_index_is_cut_at_200_lines_or_25_kb() -> None:
    assert found(file("MEMORY.md", lines(200))) == []
    (cut,) = lint_loaders([file("MEMORY.md", lines(201))])
    assert (cut.effect, "line 201" in cut.message) == ("cut", True)
    (cut,) = lint_loaders([file("MEMORY.md", lines(150, 200))])
    assert "line 129" in cut.message


def test_agents_md_beside_claude_md_is_read_by_claude_code_only_where_it_is_imported() -> None:
    assert found(file("AGENTS.md"), file("CLAUDE.md"), loader="claude") == ["never-loaded AGENTS.md"]
    assert found(file("AGENTS.md"), file("CLAUDE.md", "See @AGENTS.md.\n"), loader="claude") == []
    assert found(file("AGENTS.md"), file("CLAUDE.md", "See `@AGENTS.md`, mail a@AGENTS.md\n"), loader="claude") != []
    assert found(file("AGENTS.md"), file("CLAUDE.md", "```\n@AGENTS.md\n```\n"), loader="claude") != []
    assert found(file("AGENTS.md"), loader="claude") == []
    assert found(file("a/AGENTS.md"), file("a/CLAUDE.md", "@./AGENTS.md"), file("b/CLAUDE.md"), loader="claude") == []
    assert found(file("AGENTS.md"), file("a/CLAUDE.md", "@../AGENTS.md"), file("CLAUDE.md"), loader="claude") == []


def test_imports_are_followed_over_five_hops_and_a_circle_ends() -> None:
    chain = [file("CLAUDE.md", "@d1.md")] + [file(f"d{number}.md", f"@d{number + 1}.md") for number in range(1, 7)]
    assert found(*chain, loader="claude") == ["never-loaded d6.md"]
    circle = file("a.md", "@CLAUDE.md @a.md @../x @/etc/passwd @~/y")
    assert found(file("CLAUDE.md", "@a.md"), circle, loader="claude") == []


def rule(header: str, name: str = ".claude/rules/a.md") -> InstructionFile:
    return file(name, f"---\n{header}---\nBody.\n")


def test_a_claude_rule_with_several_patterns_or_another_loaders_key_is_named() -> None:
    assert found(rule('paths: "**/*.ts"\n')) == found(rule("paths: src/**/*.{ts,tsx}\n")) == found(rule("")) == []
    for header in ("paths:\n  - a/**\n  - b/**\n", "paths: a/**, b/**\n", 'paths: ["a/**", "b/**"]\n'):
        assert found(rule(header)) == ["partly-matched .claude/rules/a.md"], header
    assert found(rule("globs: a/**\n")) == ["always-loaded .claude/rules/a.md"]
    assert found(rule("", ".claude/rules/deep/a.mdc")) == ["never-loaded .claude/rules/deep/a.mdc"]


def test_a_cursor_rule_without_a_way_to_be_attached_is_named() -> None:
    path = ".cursor/rules/a.mdc"
    for header in ("alwaysApply: true\n", "globs: *.ts\n", "description: Use when: x\n", "globs:\n  - '*.ts'\n"):
        assert found(rule(header, path)) == [], header
    for header in ("", "globs:\nalwaysApply: false\n", "alwaysApply: yes\n", "paths: a/**\n"):
        assert found(rule(header, path)) == [f"on-request-only {path}"], header
    assert found(file(path, "Body without front matter.\n")) == [f"on-request-only {path}"]
    assert found(rule("alwaysApply: true\n", ".cursor/rules/a.txt")) == ["never-loaded .cursor/rules/a.txt"]
    assert found(file(path, "---\nalwaysApply: true\n---\n" + lines(500))) == [f"long {path}"]
    assert found(file(".cursorrules"), rule("alwaysApply: true\n", path)) == ["long .cursorrules"]
    assert found(file(".cursorrules")) == []


def test_every_finding_names_its_source_and_its_effect_decides_how_bad_it_is() -> None:
    lint = lint_loaders([file("AGENTS.md", lines(4_000)), file("CLAUDE.md", lines(300)), rule("globs: x\n")])
    assert {one.loader for one in lint} <= set(SOURCES)
    for one in lint:
        problem = one.as_problem()
        assert problem.hint.startswith("Source: http") and problem.code == f"loader-{one.effect}"
        assert (problem.severity == "error") == (one.effect in ("cut", "never-loaded"))
    assert set(get_args(Effect)) >= {one.effect for one in lint}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("AGENTS.md", True),
        ("a/b/CLAUDE.md", True),
        (".claude/rules/x/y.md", True),
        (".cursor/rules/x.mdc", True),
        (".cursorrules", True),
        ("agents.md.txt", False),
        ("x.claude/rules/y.md", False),
        ("docs/rules/y.md", False),
    ],
)
def test_which_files_are_looked_at(path: str, expected: bool) -> None:
    assert is_instruction_file(path) is expected


def test_recorded_rule_files_are_linted_and_only_their_length_is_found(data_dir: Path) -> None:
    files = [
        file(f".cursor/rules/{one.name}", one.read_text()) for one in sorted((data_dir / "cursor_rules").glob("*"))
    ]
    assert len(files) == 79
    assert {one.effect for one in lint_loaders(files)} <= {"long"}


def test_hostile_text_is_linted_in_linear_time() -> None:
    for text in ("@" * 200_000, "@a/" * 60_000, "`" * 100_001, "```" * 50_000, "~" * 100_000, "@../" * 50_000):
        lint_loaders([file("CLAUDE.md", text), file("AGENTS.md", text)])
