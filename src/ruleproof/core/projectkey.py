"""Which project a checkout belongs to: a UUIDv5 over the canonical address of its *code* remote.

Two addresses of one repository give one key (scheme, user, port, case, `.git` and known aliases of a host do not
count); a checkout without a remote gets a key from its path, and says so. Names are never compared: `acme/api` and
`acme api` are two projects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote
from uuid import NAMESPACE_URL, uuid5

Source = Literal["remote", "path", "override"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_SCP = re.compile(r"(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s@]+):(?!//)(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_WEB = frozenset(["http", "https", "ssh", "git", "git+ssh", "ssh+git", "git+https", "git+http", "ftp", "ftps"])
_PORTS = frozenset(["22", "80", "443", "9418"])
_HOSTS = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}
"""Other names under which a host serves the same repositories."""


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """`key`: a UUID, fit for a folder's name. `canonical`: what it was made from, free of credentials."""

    key: str
    canonical: str
    source: Source

    @property
    def name(self) -> str:
        """The project for a reader: `acme/api` of a remote, the last folder of a path, the words of an override."""
        text = self.canonical.partition("://")[2] if "://" in self.canonical else self.canonical
        if self.source == "override":
            return text
        parts = [part for part in text.split("/") if part]
        return "/".join(parts[-2:] if self.source == "remote" and len(parts) > 2 else parts[-1:])

    @property
    def note(self) -> str:
        """What a person has to know about this key; empty for one that every checkout of the repository shares."""
        if self.source == "path":
            return (
                f"no remote: the project key comes from the path {self.canonical.removeprefix('path://')}, "
                "so a checkout shares it only at the same path, here or on another machine"
            )
        return "the project key was set by hand" if self.source == "override" else ""


def canonical_remote(url: str) -> str | None:
    """`host/path` in lower case for an address of a server, `file:///path` for a local one; None for an empty text.

    Credentials never appear in it.
    """
    text = url.strip()
    if not text:
        return None
    scheme = _SCHEME.fullmatch(text)
    if scheme and scheme.group(1).lower() in _WEB:
        return _server(*_authority(scheme.group(2)))
    if scheme and scheme.group(1).lower() == "file":
        return _local(unquote(scheme.group(2).removeprefix("localhost")))
    if scheme:
        return _server(*_authority(scheme.group(2)))
    if _DRIVE.match(text) or text.startswith(("/", "./", "../", "~", "\\")):
        return _local(text)
    scp = _SCP.fullmatch(text)
    if scp:
        return _server(scp.group(1), scp.group(2))
    return _local(text)


def _authority(rest: str) -> tuple[str, str]:
    """(host, path) of what follows a scheme; user, secret and well-known port dropped."""
    authority, _, path = rest.replace("\\", "/").partition("/")
    host = authority.rpartition("@")[2]
    name, colon, port = host.rpartition(":")
    if colon and not host.endswith("]"):
        if port in _PORTS or not port:
            host = name
        elif not port.isdigit():
            host, path = name, f"{port}/{path}"
    return host, unquote(path)


def _server(host: str, path: str) -> str:
    name = host.lower().strip("[]").rstrip(".")
    name = _HOSTS.get(name, name)
    parts = [part for part in path.partition("?")[0].partition("#")[0].lower().split("/") if part not in ("", ".")]
    if name == "dev.azure.com":
        parts = [part for part in parts if part not in ("_git", "v3")]
    return "/".join([name, *parts]).removesuffix(".git")


def _local(path: str) -> str:
    text = path.replace("\\", "/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    return "file:///" + "/".join(parts).removesuffix("/.git").removesuffix(".git")


def choose_remote(remotes: Mapping[str, str]) -> str | None:
    """The address that names the project: of `origin`, else of the only remote, else of the first by name."""
    if not remotes:
        return None
    return remotes.get("origin") or remotes[min(remotes)]


def project_key(remote: str | None, path: str, override: str = "") -> ProjectKey:
    """The key of a checkout. `path`: of the main work tree (all worktrees share it); `override`: a text set by hand."""
    if override.strip():
        return _key(f"override://{override.strip()}", "override")
    canonical = canonical_remote(remote or "")
    if canonical is not None:
        return _key(canonical, "remote")
    return _key("path://" + path.replace("\\", "/"), "path")


def _key(canonical: str, source: Source) -> ProjectKey:
    return ProjectKey(str(uuid5(NAMESPACE_URL, canonical.encode("utf-8", "replace").decode())), canonical, source)


def without_secret(url: str) -> str:
    """`url` without user and secret and without its query: what may stand in a message, a log or a config file."""
    scheme = _SCHEME.fullmatch(url.strip())
    if not scheme:
        return url.strip()
    authority, slash, path = scheme.group(2).partition("/")
    return f"{scheme.group(1)}://{authority.rpartition('@')[2]}{slash}{path.partition('?')[0].partition('#')[0]}"
