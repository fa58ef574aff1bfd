"""Run every benchmark, or the named ones, one after the other.

    python benchmarks/run.py [startup] [store] [governance] [evidence] [assumptions] [recheck] [--quick]

Each is a script of its own with its own options (`python benchmarks/bench_store.py --help`). --quick takes minutes
instead of a quarter of an hour. The exit code is that of the worst.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "startup": ("bench_startup.py", ("--times", "5")),
    "store": ("bench_store.py", ("--quick",)),
    "governance": ("bench_governance.py", ("--files", "2000")),
    "evidence": ("bench_evidence.py", ("--repeats", "200")),
    "assumptions": ("bench_assumptions.py", ("--repeats", "40")),
    "recheck": ("bench_recheck.py", ("--repeats", "20")),
}
"""Name, script, what makes it quick."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(SCRIPTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SCRIPTS))
        return 0
    unknown = [name for name in options.names if name not in SCRIPTS]
    if unknown:
        parser.error(f"{unknown[0]} is no benchmark; there are {', '.join(SCRIPTS)}")
    worst = 0
    for name in options.names or SCRIPTS:
        script, quick = SCRIPTS[name]
        print(f"\n## {name}", flush=True)
        command = [sys.executable, str(Path(__file__).with_name(script)), *(quick if options.quick else ())]
        worst = max(worst, abs(subprocess.run(command, check=False).returncode))
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
