"""Which of a repository's instruction files an agent's loader would cut, ignore or load at the wrong time.

The limits are the loaders' own and each names its source; they were read in September 2026 and change without notice,
so a finding says what is documented, not what one version does. Nothing here is a matter of style.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ruleproof.core.problems import Problem, Severity

CODEX_BYTES = 32 * 1024
CLAUDE_BYTES = 4 * 1024 * 1024
CLAUDE_LINES = 200
CLAUDE_IMPORT_HOPS = 5
MEMORY_LINES, MEMORY_BYTES = 200, 25 * 1024
CURSOR_LINES = 500

Effect = Literal["cut", "never-loaded", "on-request-only", "always-loaded", "partly-matched", "long"]
"""`on-request-only`: only when somebody names it. `always-loaded`: a scope was meant and has no effect.
`partly-matched`: some versions match the first pattern only. `long`: loaded, above the documented target."""

SOURCES: Mapping[str, str] = {
    "codex": "https://developers.openai.com/codex/guides/agents-md (32 KiB for the whole chain: openai/codex#36371)",
    "claude-code": "https://code.claude.com/docs/en/memory (200 lines is a target, 4 MiB the limit, 5 import hops)",
    "claude-memory": "https://code.claude.com/docs/en/memory (MEMORY.md: its first 200 lines or 25 KB)",
    "claude-rules": "https://code.claude.com/docs/en/memory and anthropics/claude-code#45587, #16853",
    "cursor": "https://cursor.com/docs/context/rules (four kinds of rules; keep one below 500 lines)",
}


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One file of a repository. `path`: relative, slashes. `header`: its front matter, list items after newlines."""

    path: str
    size: int
    """Bytes."""
    text: str = ""
    header: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def lines(self) -> int:
        return self.text.count("\n") + (not self.text.endswith("\n") and self.text != "")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one loader does to one file."""

    loader: str
    path: str
    effect: Effect
    message: str

    @property
    def source(self) -> str:
        return SOURCES[self.loader]

    def as_problem(self) -> Problem:
        severity: Severity = "error" if self.effect in ("cut", "never-loaded") else "warning"
        message = f"{self.loader}: {self.message}"
        return Problem(f"loader-{self.effect}", message, self.path, severity, f"Source: {self.source}")


def is_instruction_file(path: str) -> bool:
    """Whether some loader that we know looks at `path`, or its author may believe so."""
    name = path.rpartition("/")[2]
    inside = f"/{path}"
    return (
        name in ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "MEMORY.md", ".cursorrules")
        or "/.claude/rules/" in inside
        or "/.cursor/rules/" in inside
    )


def lint_loaders(files: Iterable[InstructionFile]) -> tuple[Finding, ...]:
    """Every finding, sorted by path and loader. `files`: those for which `is_instruction_file` holds, and any others
    that a CLAUDE.md imports."""
    held = {file.path: file for file in files}
    found: list[Finding] = []
    found += _codex(held)
    found += _claude(held)
    for file in held.values():
        if "/.claude/rules/" in f"/{file.path}":
            found += _claude_rule(file)
        if "/.cursor/rules/" in f"/{file.path}":
            found += _cursor(file)
        if file.path == ".cursorrules" and any(path.startswith(".cursor/rules/") for path in held):
            found.append(
                Finding("cursor", file.path, "long", "an older kind of file beside .cursor/rules; move it there")
            )
    return tuple(
        sorted(set(found), key=lambda finding: (finding.path, finding.loader, finding.effect, finding.message))
    )


def _codex(files: Mapping[str, InstructionFile]) -> list[Finding]:
    """One file a folder, from the root down to where the agent is started, within one budget of bytes."""
    chosen: dict[str, InstructionFile] = {}
    found: list[Finding] = []
    for file in files.values():
        if file.name not in ("AGENTS.md", "AGENTS.override.md"):
            continue
        override = files.get(f"{file.folder}/AGENTS.override.md".lstrip("/"))
        if file.name == "AGENTS.md" and override is not None and override.text.strip():
            found.append(
                Finding("codex", file.path, "never-loaded", "AGENTS.override.md stands beside it and is read instead")
            )
        elif not file.text.strip():
            found.append(Finding("codex", file.path, "never-loaded", "it is empty"))
        else:
            chosen[file.folder] = file
    for folder, file in chosen.items():
        above = [chosen[other] for other in _above(folder) if other in chosen]
        used = sum(other.size for other in above)
        if used >= CODEX_BYTES:
            message = f"the files above it hold {used} bytes; {CODEX_BYTES} are read in all, so nothing of it is"
            found.append(Finding("codex", file.path, "never-loaded", message))
        elif used + file.size > CODEX_BYTES:
            line = file.text.encode("utf-8", "replace")[: CODEX_BYTES - used].count(b"\n") + 1
            figures = f"{file.size} bytes after {used} of the files above it; {CODEX_BYTES} are read in all"
            message = f"cut in line {line}: {figures}"
            found.append(Finding("codex", file.path, "cut", message))
    return found


def _above(folder: str) -> list[str]:
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:count]) for count in range(len(parts))]


_IMPORT = re.compile(r"(?<![\w`@])@([\w~./-]*[\w/-])")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _claude(files: Mapping[str, InstructionFile]) -> list[Finding]:
    """CLAUDE.md with what it imports; AGENTS.md only where a CLAUDE.md imports it."""
    found: list[Finding] = []
    imported: set[str] = set()
    for file in files.values():
        if file.name in ("CLAUDE.md", "CLAUDE.local.md"):
            if file.size > CLAUDE_BYTES:
                found.append(
                    Finding(
                        "claude-code",
                        file.path,
                        "never-loaded",
                        f"{file.size} bytes; above {CLAUDE_BYTES} it is skipped",
                    )
                )
            elif file.lines > CLAUDE_LINES:
                message = f"{file.lines} lines; loaded whole, and the documented target is below {CLAUDE_LINES}"
                found.append(Finding("claude-code", file.path, "long", message))
            imported |= _imports(file, files, found)
        if file.name == "MEMORY.md" and (file.lines > MEMORY_LINES or file.size > MEMORY_BYTES):
            line = min(MEMORY_LINES, file.text.encode("utf-8", "replace")[:MEMORY_BYTES].count(b"\n")) + 1
            message = f"{file.lines} lines, {file.size} bytes: as a memory index it is cut at line {line}"
            found.append(Finding("claude-memory", file.path, "cut", message))
    for file in files.values():
        if (
            file.name == "AGENTS.md"
            and file.path not in imported
            and any(f"{folder}/CLAUDE.md".lstrip("/") in files for folder in (*_above(file.folder), file.folder))
        ):
            message = "Claude Code reads CLAUDE.md, and no CLAUDE.md imports this file with @"
            found.append(Finding("claude-code", file.path, "never-loaded", message))
    return found


def _imports(file: InstructionFile, files: Mapping[str, InstructionFile], found: list[Finding]) -> set[str]:
    """What the file imports, directly or through others; imports that go nowhere or too deep are findings."""
    seen: set[str] = set()
    level = [file]
    for hop in range(1, CLAUDE_IMPORT_HOPS + 2):
        following: list[InstructionFile] = []
        for importer in level:
            for target in _IMPORT.findall(_CODE.sub("", importer.text)):
                path = _joined(importer.folder, target)
                if path is None or path in seen or path not in files:
                    continue
                if hop > CLAUDE_IMPORT_HOPS:
                    message = f"imported from {file.path} over more than {CLAUDE_IMPORT_HOPS} hops"
                    found.append(Finding("claude-code", path, "never-loaded", message))
                    continue
                seen.add(path)
                following.append(files[path])
        level = following
    return seen


def _joined(folder: str, target: str) -> str | None:
    """`target` relative to `folder`, inside the repository; None for any other place."""
    if target.startswith(("/", "~")):
        return None
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _claude_rule(file: InstructionFile) -> list[Finding]:
    if not file.name.endswith(".md"):
        return [Finding("claude-rules", file.path, "never-loaded", "only .md files are loaded from .claude/rules")]
    found: list[Finding] = []
    if "paths" not in file.header and "globs" in file.header:
        message = "`globs` is another loader's key: the rule is loaded in every session; `paths` would scope it"
        found.append(Finding("claude-rules", file.path, "always-loaded", message))
    patterns = _patterns(file.header.get("paths", ""))
    if len(patterns) > 1:
        message = f"{len(patterns)} patterns: versions before 2.1.84 match only the first, {patterns[0]}, or none"
        found.append(Finding("claude-rules", file.path, "partly-matched", message))
    return found


def _cursor(file: InstructionFile) -> list[Finding]:
    if not file.name.endswith((".mdc", ".md")):
        return [Finding("cursor", file.path, "never-loaded", "only .mdc and .md files are loaded from .cursor/rules")]
    found: list[Finding] = []
    always = file.header.get("alwaysApply", "").strip()
    scoped = any(file.header.get(key, "").strip() for key in ("globs", "description"))
    if always != "true" and not scoped:
        extra = "; `paths` is another loader's key" if "paths" in file.header else ""
        quoted = "; alwaysApply is not the bare word true" if always not in ("", "false") else ""
        message = f"neither alwaysApply, nor globs, nor a description{quoted}{extra}"
        found.append(Finding("cursor", file.path, "on-request-only", message))
    if file.lines > CURSOR_LINES:
        found.append(
            Finding("cursor", file.path, "long", f"{file.lines} lines; the documented target is below {CURSOR_LINES}")
        )
    return found


def _patterns(value: str) -> list[str]:
    """The patterns of a list, a bracket list or a comma-separated line; commas inside braces do not count."""
    items = [item for item in value.split("\n") if item.strip()]
    if len(items) == 1:
        items = re.split(r",(?![^{]*\})", items[0].strip().strip("[]"))
    return [item.strip().strip("\"'") for item in items if item.strip()]
