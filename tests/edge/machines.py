"""Machines of a team that share a bare repository, and a stranger who can push anything into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from ruleproof.codec.facts import read_facts, write_fact
from ruleproof.core.approval import CurationFact, fold
from ruleproof.core.proposal import Proposal, place
from ruleproof.edge.pool import Pool, SyncReport
from ruleproof.edge.pool.remote import Remote
from ruleproof.edge.rulefiles import RuleFiles, Written

NOW = 1_790_000_000
FILE, FOLDER = 0o100644, 0o040000


@dataclass
class Machine:
    """One machine of the team: its checkout, its private store, its ledger."""

    home: Path
    harness: str
    remote: Remote
    facts: bytes = b""

    @property
    def files(self) -> RuleFiles:
        return RuleFiles(self.home / "pool", Written(self.home / "written", lambda: self.harness))

    @property
    def pool(self) -> Pool:
        return Pool(self.files, self.home / "state", self.harness)

    def propose(self, text: str) -> Proposal:
        def make(number: int, own: tuple[Proposal, ...]) -> Proposal:
            where = place("p-1", self.harness, number, "security", text)
            return Proposal(where, "security", text, text + "\n", "", "manual", "2026-09-20T12:00:00.000Z")

        taken = self.pool.taken("p-1") if (self.home / "state").exists() else ()
        made = self.files.create("p-1", self.harness, make, taken)
        assert made is not None
        return made

    def approve(self, rule: Proposal, status: str = "core") -> None:
        self.facts += write_fact(CurationFact(rule.id, rule.digest, status, "t"))  # type: ignore[arg-type]

    def sync(self) -> SyncReport:
        return self.pool.sync(self.remote, lambda: {"p-1": self.facts}, NOW, self.keeps)

    def keeps(self, rule: Proposal) -> bool:
        return fold(read_facts(self.facts, "")[0]).in_force(rule)

    def texts(self) -> list[str]:
        return sorted(rule.text for rule in self.files.read_all("p-1")[0])


def in_pool(remote: Remote) -> dict[str, bytes]:
    """path -> bytes of the plain files in the pool's newest commit."""
    found: dict[str, bytes] = {}
    with Repo(remote.address) as repo:

        def walk(sha: bytes, where: str) -> None:
            for name, mode, inner in repo[sha].iteritems():
                path = f"{where}{name.decode('utf-8', 'replace')}"
                if mode == FOLDER:
                    walk(inner, f"{path}/")
                elif mode == FILE:
                    found[path] = repo[inner].data

        walk(repo[repo.refs[b"refs/heads/main"]].tree, "")
    return found


def push(remote: Remote, files: dict[str, bytes | None], modes: dict[str, int] | None = None) -> None:
    """A commit by somebody else: path -> bytes (None: removed); whatever git can hold."""
    with Repo(remote.address) as repo:
        head = repo.refs[b"refs/heads/main"]
        held: dict[str, tuple[int, bytes]] = {}

        def walk(sha: bytes, where: str) -> None:
            for name, mode, inner in repo[sha].iteritems():
                path = f"{where}{name.decode('utf-8', 'replace')}"
                if mode == FOLDER:
                    walk(inner, f"{path}/")
                else:
                    held[path] = (mode, inner)

        walk(repo[head].tree, "")
        for path, data in files.items():
            if data is None:
                del held[path]
                continue
            blob = Blob.from_string(data)
            repo.object_store.add_object(blob)
            mode = (modes or {}).get(path, FILE)
            held[path] = (mode, head if mode == 0o160000 else blob.id)

        def build(entries: dict[str, tuple[int, bytes]]) -> bytes:
            tree = Tree()
            below: dict[str, dict[str, tuple[int, bytes]]] = {}
            for path, value in entries.items():
                name, slash, rest = path.partition("/")
                if slash:
                    below.setdefault(name, {})[rest] = value
                else:
                    tree.add(name.encode("utf-8", "surrogateescape"), *value)
            for name, inner in below.items():
                tree.add(name.encode("utf-8", "surrogateescape"), FOLDER, build(inner))
            repo.object_store.add_object(tree)
            return tree.id

        commit = Commit()
        commit.tree, commit.parents = build(held), [head]
        commit.author = commit.committer = b"hA <hA@ruleproof.invalid>"
        commit.author_time = commit.commit_time = NOW
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"x"
        repo.object_store.add_object(commit)
        repo.refs[b"refs/heads/main"] = commit.id
