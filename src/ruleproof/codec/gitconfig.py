"""Git's configuration format, as far as remotes need it. Reading is total: a line that is no setting is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SECTION = re.compile(r"""\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]""")
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(=)?")
_WHOLE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/:]*@|[/~.\\]|[A-Za-z]:[\\/]")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: section and key in lower case, the subsection as written."""

    section: str
    subsection: str
    key: str
    value: str


def settings(text: str) -> Iterator[Setting]:
    """Every setting of a config file, in its order."""
    section = subsection = ""
    lines = iter(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    for line in lines:
        rest = line.strip()
        header = _SECTION.match(rest)
        if header:
            name, quoted = header.group(1).lower(), header.group(2)
            section, _, dotted = name.partition(".")
            subsection = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else dotted
            rest = rest[header.end() :].strip()
        key = _KEY.match(rest)
        if key and section:
            value = _value(rest[key.end() :], lines) if key.group(2) else "true"
            yield Setting(section, subsection, key.group(1).lower(), value)


def _value(text: str, lines: Iterator[str]) -> str:
    """The value that begins in `text`: quotes, escapes and comments resolved; a final backslash takes the next line."""
    out: list[str] = []
    kept = 0
    quoted = False
    chars = iter(text.lstrip())
    while True:
        char = next(chars, None)
        if char is None or (char in "#;" and not quoted):
            break
        if char == '"':
            quoted = not quoted
        elif char == "\\":
            following = next(chars, None)
            if following is None:
                chars = iter(next(lines, ""))
                continue
            out.append(_ESCAPES.get(following, following))
        else:
            out.append(char)
        if quoted or not out or not out[-1].isspace():
            kept = len(out)
    return "".join(out[:kept])


def remotes(*texts: str) -> Mapping[str, str]:
    """name -> address of every remote in `texts` (the repository's config last).

    `insteadOf` is applied to a shorthand. A whole address (with a scheme, a user or a path) stays as it is written: it
    names the project, and where this user fetches it from, a mirror say, must not make another project of it.
    """
    found: dict[str, str] = {}
    instead: list[tuple[str, str]] = []
    for text in texts:
        for setting in settings(text):
            if setting.section == "remote" and setting.key == "url" and setting.subsection and setting.value:
                found.setdefault(setting.subsection, setting.value)
            elif setting.section == "url" and setting.key == "insteadof" and setting.value:
                instead.append((setting.value, setting.subsection))
    return {name: _rewritten(url, instead) for name, url in found.items()}


def _rewritten(url: str, instead: list[tuple[str, str]]) -> str:
    fitting = [(short, base) for short, base in instead if url.startswith(short)]
    if not fitting or _WHOLE.match(url):
        return url
    short, base = max(fitting, key=lambda pair: len(pair[0]))
    return base + url.removeprefix(short)
