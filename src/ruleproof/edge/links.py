"""Which pool a project is linked to on this machine, and what the last pass said: one private folder in the state.

The token lies beside the address in a file that only this user can read (0600), and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruleproof.core.ids import component
from ruleproof.edge import fs


@dataclass(frozen=True, slots=True)
class Link:
    """Where a project's rules are shared. `token`: of an https address, or ""."""

    address: str
    token: str = field(default="", repr=False)


class Links:
    """The links in `folder`, which the caller found private. Reading is total: what cannot be read is no link."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, project: str) -> Link | None:
        """The link of the project; None where there is none."""
        value = _object(fs.read_bytes(self._file(project)))
        address, token = value.get("address"), value.get("token")
        if not isinstance(address, str) or not address:
            return None
        return Link(address, token if isinstance(token, str) else "")

    def write(self, project: str, link: Link) -> None:
        """Link the project from now on; its rule files stay, and the next pass publishes ours there."""
        fs.write_atomic(self._file(project), json.dumps({"address": link.address, "token": link.token}).encode())

    def store(self, project: str, link: Link) -> Path:
        """The private folder of what was seen in that pool: another address has another one."""
        name = f"{project}-{hashlib.sha256(link.address.encode('utf-8', 'replace')).hexdigest()[:12]}"
        return self._folder / component(name)

    def report(self, store: Path) -> Mapping[str, object]:
        """What the last pass said; empty before the first."""
        return _object(fs.read_bytes(store / "report.json"))

    def write_report(self, store: Path, report: Mapping[str, object]) -> None:
        """Remember what a pass said."""
        fs.write_atomic(store / "report.json", json.dumps(report).encode(), sync=False)

    def _file(self, project: str) -> Path:
        return self._folder / f"{component(project, 'project')}.json"


def _object(data: bytes | None) -> dict[str, object]:
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
