"""What governance costs: notice, search, index and sync over a pool of many files.

    python benchmarks/bench_governance.py [--files 20000] [--approved 200] [--repeats 7]

Everything happens in a temporary folder. Cold means a new process with an empty cache of its own (the system's file
cache is warm); warm means the same process again. The goals stand beside the figures.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from statistics import median

from ruleproof.codec.facts import write_facts
from ruleproof.codec.rulefile import write_rule
from ruleproof.codec.shards import changed, entry_of
from ruleproof.config import HarnessConfig
from ruleproof.core.approval import CurationFact
from ruleproof.core.continuation import continuation_notice
from ruleproof.core.corerules import Block, OverBudget, cheapest_sets, compose
from ruleproof.core.projectkey import ProjectKey
from ruleproof.core.proposal import Proposal, place
from ruleproof.core.search import Document, Index, Query, pack
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge.approvals import ApprovalStore
from ruleproof.edge.pool import Pool
from ruleproof.edge.pool.remote import Remote
from ruleproof.edge.pool.store import GitStore
from ruleproof.edge.rulefiles import TICK_S, RuleFiles
from ruleproof.governance import APPROVALS, Governance

PROJECT = "p-1"
WRITERS = 50
BUDGET = 10**6
TODAY = date(2026, 9, 20)
_WORDS = "the a to of before after every never always check archive restore tag test run file rule"
COMMON = _WORDS.split()


def text(seed: random.Random) -> str:
    words = [
        seed.choice(COMMON) if seed.random() < 0.5 else f"word{int(seed.paretovariate(0.6)) % 9000}" for _ in range(22)
    ]
    return " ".join(words).capitalize() + "."


def make_pool(root: Path, files: int) -> list[Proposal]:
    seed = random.Random(1)
    made = []
    for number in range(files):
        harness, index = f"h{number % WRITERS:02d}", number // WRITERS + 1
        body = text(seed)
        where = place(PROJECT, harness, index, seed.choice(["security", "release", "db"]), body[:40])
        at = f"202{seed.randrange(5, 7)}-0{seed.randrange(1, 9)}-1{seed.randrange(10)}T00:00:00.000Z"
        topics = (f"topic{seed.randrange(200)}",)
        rule = Proposal(where, "security", body[:50], body + "\n", "", "manual", at, "agent", topics=topics)
        path = root / where.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(write_rule(rule))
        made.append(rule)
    return made


count = lru_cache(maxsize=4096)(estimate_tokens)


def notice(files: RuleFiles, ledger: ApprovalStore) -> str:
    approvals = ledger.read(PROJECT).approvals
    places = [found for group in files.find(PROJECT, approvals.approved()).values() for found in group]
    read = [files.read(found)[0] for found in places]
    block = compose(approvals.select([rule for rule in read if rule]), BUDGET, count)
    assert isinstance(block, Block)
    return continuation_notice("Benchmark", project="api", project_key=PROJECT, block=block.text)


def timed(action: Callable[[], object], repeats: int) -> float:
    """Median milliseconds."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) * 1e3)
    return median(found)


def show(what: str, value: float, goal: str = "") -> None:
    print(f"{what:<62} {value:>10.1f} ms   {goal}")


def bench_notice(root: Path, state: Path, approved: int, repeats: int) -> None:
    code = (
        "import sys, time; start = time.perf_counter()\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "import bench_governance as bench\n"
        "bench.notice(bench.RuleFiles(Path(sys.argv[1])), bench.ApprovalStore(Path(sys.argv[2])))\n"
        "print((time.perf_counter() - start) * 1e3)"
    )
    command = [sys.executable, "-c", code, str(root), str(state), str(Path(__file__).parent)]
    cold = median(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))
    show(f"notice, {approved} approved, cold (imports included)", cold, "goal 1,000")
    files, ledger = RuleFiles(root), ApprovalStore(state)
    made = notice(files, ledger)
    time.sleep(0.2)
    notice(files, ledger)
    show(
        f"notice, {approved} approved, warm ({len(made):,} characters)",
        timed(lambda: notice(files, ledger), repeats),
        "goal 50",
    )
    per_rule = [(f"ha/{number:03d}", 20 + number % 37) for number in range(approved)]
    over = compose([], 1, estimate_tokens) or OverBudget(0, 0, (), ())
    assert isinstance(over, OverBudget)
    worst = max(timed(lambda share=share: cheapest_sets(per_rule, share * 31), 3) for share in (1, 7, approved // 2))
    show("refusal: the cheapest sets to revoke, worst of three excesses", worst)


def bench_search(rules: list[Proposal], repeats: int) -> None:
    documents = [
        Document(r.id, "rule", r.title, PROJECT, r.category, r.text, r.topics, r.authored_at, r.place.path)
        for r in rules
    ]
    start = time.perf_counter()
    index = Index(documents)
    show(f"search: building the index of {len(documents):,}", (time.perf_counter() - start) * 1e3)
    approved = [rule.id for rule in rules[:200]]
    for query in ("archive", "check the archive before every restore", "topic17 word3 security", "nothingmatches"):

        def ask(query: str = query) -> object:
            return pack(index.search(Query(query, PROJECT), approved, TODAY), 400, estimate_tokens)

        start = time.perf_counter()
        found = index.search(Query(query, PROJECT), approved, TODAY)
        first = (time.perf_counter() - start) * 1e3
        show(f"search {query!r}: {found.total:,} hits, warm (first {first:.1f})", timed(ask, repeats), "goal 10")
    show("search: one document replaced", timed(lambda: index.put(documents[7]), repeats))


def bench_facade(root: Path, work: Path, state: Path, repeats: int) -> None:
    """The same search through the facade, with this machine's decisions: a person's over all files, an agent's."""
    governance = Governance(HarnessConfig(harness_root=work / "w", project_key=PROJECT), start=work, base=work / "base")
    governance.project = ProjectKey(PROJECT, PROJECT, "override")
    governance.files = RuleFiles(root)
    shutil.copytree(state, work / "base" / APPROVALS)
    start = time.perf_counter()
    found = governance.search("archive restore")
    first = (time.perf_counter() - start) * 1e3
    show(f"search by a person, all files read and indexed first ({found.total:,} hits)", first)
    time.sleep(3 * TICK_S)
    governance.search("archive restore")
    show("search by a person, again", timed(lambda: governance.search("archive restore"), repeats), "goal 10")
    agents = governance.agents_search
    agents.search("archive restore")
    show("search by an agent, over what is in force", timed(lambda: agents.search("archive"), repeats), "goal 10")


def bench_process(work: Path) -> None:
    """`ruleproof pool sync` of one new file as a process of its own, to the local pool that `bench_sync` filled."""
    code = (
        "import sys; from pathlib import Path; import ruleproof.governance as governance\n"
        "base = Path(sys.argv.pop(1)); governance.default_base = lambda: base\n"
        "governance.require_lasting = lambda base: None\n"
        "from ruleproof.surfaces.cli.main import main; main()"
    )
    home = {**os.environ, "HARNESS_PROJECT_KEY": PROJECT, "HARNESS_ROOT": str(work / "none")}

    def ruleproof(*words: str) -> None:
        command = [sys.executable, "-c", code, str(work / "process"), *words]
        subprocess.run(command, env=home, capture_output=True, check=True)

    ruleproof("pool", "link", str(work / "team.git"))
    ruleproof("pool", "sync")
    wall, processor = [], []
    for number in range(6):
        ruleproof("propose", "security", f"Check archive number {number} before a restore.")
        start, used = time.perf_counter(), os.times()
        ruleproof("pool", "sync")
        now = os.times()
        wall.append((time.perf_counter() - start) * 1e3)
        spent = now.children_user + now.children_system - used.children_user - used.children_system
        processor.append(spent * 1e3)
    show("`pool sync` of one new file, a process of its own: wall", median(wall[1:]), "goal 1,000")
    show("`pool sync` of one new file, a process of its own: processor", median(processor[1:]))


def bench_shards(rules: list[Proposal], repeats: int) -> None:
    entries = {rule.place.path: entry_of(rule) for rule in rules}
    show(f"shards of {len(entries):,} files, all", timed(lambda: changed({}, entries), 3))
    last = next(reversed(entries))
    before = {path: entry for path, entry in entries.items() if path != last}
    written = changed(before, entries)
    size = sum(len(data or b"") for data in written.values())
    show(
        f"shards after one new file ({len(written)} written, {size:,} bytes)",
        timed(lambda: changed(before, entries), repeats),
    )


def bench_sync(rules: list[Proposal], work: Path) -> None:
    remote = Remote(str(work / "team.git"))
    remote.create()
    with GitStore(work / "seed", writing=True) as git:
        tree = git.changed(None, {rule.place.path: git.add_blob(write_rule(rule)) for rule in rules})
        head = git.commit(tree, None, "seed <seed@ruleproof.invalid>", "seed", 1_790_000_000)
        assert remote.push(git, "main", None, head)[0] == "ok"
    pool = Pool(RuleFiles(work / "hy"), work / "hy-state", "hy")
    start = time.perf_counter()
    assert len(pool.sync(remote, dict, 1_790_000_000, lambda rule: True).received) == len(rules)
    show(f"sync: first fetch of {len(rules):,} files", (time.perf_counter() - start) * 1e3)
    seed = random.Random(2)
    times = []
    for _ in range(4):

        def make(number: int, own: tuple[Proposal, ...]) -> Proposal:
            body = text(seed)
            where = place(PROJECT, "hy", number, "security", body[:40])
            return Proposal(where, "security", body[:50], body + "\n", "", "manual", "2026-09-20T00:00:00.000Z")

        RuleFiles(work / "hy").create(PROJECT, "hy", make)
        start = time.perf_counter()
        assert len(pool.sync(remote, dict, 1_790_000_001, lambda rule: True).published) == 1
        times.append((time.perf_counter() - start) * 1e3)
    show("sync: one new file, local pool, the first publish of this machine", times[0])
    show("sync: one new file, local pool, later", median(times[1:]), "goal 1,000")
    show("sync: nothing new", timed(lambda: pool.sync(remote, dict, 1_790_000_002, lambda rule: True), 3))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=20_000)
    options.add_argument("--approved", type=int, default=200)
    options.add_argument("--repeats", type=int, default=7)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root, state = Path(name) / "pool", Path(name) / "state"
        make_pool(root, asked.files)
        rules = RuleFiles(root).read_all(PROJECT)[0]
        assert len(rules) == asked.files
        picked = random.Random(3).sample(rules, asked.approved)
        state.mkdir()
        facts = write_facts(CurationFact(rule.id, rule.digest, "core", "t") for rule in picked)
        (state / f"{PROJECT}.jsonl").write_bytes(facts)
        print(f"{asked.files:,} rule files of {WRITERS} writers, {asked.approved} approved")
        bench_notice(root, state, asked.approved, asked.repeats)
        bench_search(rules, asked.repeats)
        bench_facade(root, Path(name), state, asked.repeats)
        bench_shards(rules, asked.repeats)
        bench_sync(rules, Path(name))
        bench_process(Path(name))


if __name__ == "__main__":
    main()
