"""This machine's ledger of approvals and its one-time tokens, one file and one folder in the user's state.

A fact is decided and appended under one lock and is on the disk before anyone hears of it. A token is a file named by
the hash of its secret; whoever removes the file has used it, so it works once however many try.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ruleproof.codec.facts import read_facts, read_named, write_fact, write_facts, write_named
from ruleproof.core.approval import Approvals, CurationFact, OneTimeToken, closing, fold, is_digest
from ruleproof.core.ids import component
from ruleproof.core.problems import Problem
from ruleproof.edge import fs
from ruleproof.errors import Refused


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the ledger of one project holds now."""

    facts: tuple[CurationFact, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def approvals(self) -> Approvals:
        return fold(self.facts)


class ApprovalStore:
    """The ledgers and tokens in `folder`, which the caller found private (`edge.userstate`).

    `mounted`: project -> the facts of another user who decides here, or None. Where they are, the ledger of this user
    puts nothing in force; what its last word on a rule closed stays closed.
    """

    def __init__(self, folder: Path, mounted: Callable[[str], bytes | None] = lambda project: None) -> None:
        self._folder = folder
        self._mounted = mounted
        self._read: dict[str, tuple[object, Ledger]] = {}

    def _file(self, project: str, ending: str = "jsonl") -> Path:
        return self._folder / f"{component(project, 'project')}.{ending}"

    def read(self, project: str) -> Ledger:
        """Everything that was decided for `project`, in its order. Unchanged files are not read again."""
        file = self._file(project)
        mounted = self._mounted(project)
        key = (fs.stat_key(file), mounted)
        found = self._read.get(project)
        if found is None or found[0] != key:
            above, named = read_facts(mounted or b"", "mounted approvals")
            own, problems = read_facts(fs.read_bytes(file) or b"", str(file))
            own = own if mounted is None else closing(own)
            found = (key, Ledger((*above, *own), (*named, *problems)))
            self._read[project] = found
        return found[1]

    def commit(self, project: str, decide: Callable[[Ledger], CurationFact | None]) -> CurationFact | None:
        """Let `decide` look at the ledger and append the fact it returns, as one step among all processes.

        Whatever `decide` raises passes through and nothing is written. Raises StoreError when the disk refuses.
        """
        file = self._file(project)
        with fs.lock(self._file(project, "lock")):
            fact = decide(self.read(project))
            if fact is not None:
                fs.append(file, write_fact(fact))
        return fact

    def export(self, project: str) -> bytes:
        """The last fact of every rule, sorted by rule: what an operator mounts elsewhere."""
        latest = self.read(project).approvals.latest
        return write_facts(latest[rule] for rule in sorted(latest))

    def overruled(self, project: str) -> Approvals:
        """What this user's ledger says where another user decides; nothing where this one does."""
        if self._mounted(project) is None:
            return Approvals()
        return fold(read_facts(fs.read_bytes(self._file(project)) or b"", "")[0])

    def noticed(self, project: str) -> Mapping[CurationFact, str]:
        """The approvals that stood in notices -> when the first of these was delivered; none where nothing is kept."""
        return read_named(fs.read_bytes(self._file(project, "noticed")))

    def mark_noticed(self, project: str, named: Mapping[CurationFact, str]) -> None:
        """Remember `named` instead of what was remembered."""
        fs.write_atomic(self._file(project, "noticed"), write_named(named), sync=False)

    # --- one-time tokens -------------------------------------------------------------------------------------------

    def add_token(self, secret: str, token: OneTimeToken, now: datetime) -> None:
        """Store what `secret` allows; tokens that are over are removed."""
        for name in fs.listdir(self._folder / "tokens"):
            held = _read_token(fs.read_bytes(self._folder / "tokens" / name))
            if held is None or held.expires <= now:
                fs.unlink(self._folder / "tokens" / name)
        record = {
            "verb": token.verb,
            "rule": token.rule,
            "digest": token.digest,
            "expires": token.expires.isoformat(),
        }
        fs.mkdir(self._folder / "tokens")
        fs.create_exclusive(self._token(secret), json.dumps(record).encode())

    def use_token(self, secret: str, verb: str, rule: str, digest: str, now: datetime) -> None:
        """Use up the token; raises Refused where it does not exist, is over or is bound to something else.

        Call it inside `commit`, before the fact is made: a crash between the two approves nothing.
        """
        with fs.lock(self._folder / "tokens.lock"):
            held = _read_token(fs.read_bytes(self._token(secret)))
            if held is None:
                raise Refused("There is no such token, or it was used.", hint="Make a new one at a terminal.")
            held.check(verb, rule, digest, now)
            fs.unlink(self._token(secret))

    def _token(self, secret: str) -> Path:
        return self._folder / "tokens" / f"{hashlib.sha256(secret.encode('utf-8', 'replace')).hexdigest()}.json"


def _read_token(data: bytes | None) -> OneTimeToken | None:
    try:
        value = json.loads(data or b"")
        verb, rule, digest, expires = (value[key] for key in ("verb", "rule", "digest", "expires"))
        until = datetime.fromisoformat(expires)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if verb not in ("approve", "revoke") or not isinstance(rule, str) or not is_digest(digest) or until.tzinfo is None:
        return None
    return OneTimeToken(verb, rule, digest, until)
