"""What a start costs: the bare interpreter, `import ruleproof`, `import ruleproof.harness`, `ruleproof --help`.

    python benchmarks/bench_startup.py [--times 15]

Best of so many new processes, since the best is the one that was disturbed least; byte code is compiled before. Beside
it, which packages from outside the standard library were loaded, and the imports that cost most by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence

STARTS: tuple[tuple[str, str], ...] = (
    ("bare interpreter", "pass"),
    ("import ruleproof", "import ruleproof"),
    ("import ruleproof.harness", "import ruleproof.harness"),
    (
        "ruleproof --help",
        "import sys; sys.argv = ['ruleproof', '--help']\nfrom ruleproof.surfaces.cli.main import main\nmain()",
    ),
)
LIST = """
import atexit, json, sys

def tell():
    own = sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))
    sys.stderr.write(json.dumps([len(sys.modules), [name for name in own if not name.startswith(('_', 'ruleproof'))]]))

atexit.register(tell)
"""


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)


def best(code: str, times: int) -> float:
    """Seconds of the fastest of `times` processes."""
    run(code)
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run(code)
        found.append(time.perf_counter() - start)
    return min(found)


def loaded(code: str) -> tuple[int, list[str]]:
    """(how many modules, the packages from outside the standard library)."""
    count, packages = json.loads(run(LIST + code).stderr.splitlines()[-1])
    return count, packages


def dearest(code: str, most: int = 5) -> list[tuple[float, str]]:
    """(milliseconds by itself, module) of the imports that cost most."""
    found = []
    for line in run(code, "-X", "importtime").stderr.splitlines():
        own, _, name = line.removeprefix("import time:").split("|") if line.count("|") == 2 else ("", "", "")
        if own.strip().isdigit():
            found.append((int(own) / 1e3, name.strip()))
    return sorted(found, reverse=True)[:most]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args(arguments).times
    print(f"\n### Start, best of {times}\n")
    print("| what | wall time | more than bare | modules | packages from outside the standard library |")
    print("|---|--:|--:|--:|---|")
    bare = 0.0
    for name, code in STARTS:
        taken = best(code, times)
        bare = bare or taken
        count, packages = loaded(code)
        more = (taken - bare) * 1e3
        print(f"| `{name}` | {taken * 1e3:.0f} ms | {more:.0f} ms | {count} | {', '.join(packages) or '-'} |")
    for name, code in STARTS[2:]:
        shown = ", ".join(f"{module} {own:.1f} ms" for own, module in dearest(code))
        print(f"\nDearest imports by themselves, `{name}`: {shown}.")
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"\nCPython {platform.python_version()}, {os.cpu_count()} cores; load average {load}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
