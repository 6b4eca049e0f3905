"""Plants mutants in `actors/` and counts how many the suites of their area catch: `make mutants`.

`--seed` and `--count` choose the mutants, `--out` names the JSON file. Each mutant is one changed place (`sites.py`) in
a copy of the tree; only the suites of its area run, and stop at the first failure. A mutant is caught where a test
fails or a suite takes longer than `LIMIT_SECONDS`. One whose module cannot be imported is not counted, since no suite
is needed to see it. `judged.yaml` lists survivors that behave as the program does, each with the reason; they are
counted by themselves.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import yaml

from benchmarks.common import RESULTS, commit, machine, table, today
from tests.mutants.sites import sites

ROOT = Path(__file__).parents[2]
JUDGED = Path(__file__).with_name("judged.yaml")
LIMIT_SECONDS = 300
PARALLEL = 2
"""Mutants at a time, on two cores."""
AREAS = {
    "acquisition": ("tests/acquisition", "tests/histories/test_acquisition_histories.py", "tests/quantities"),
    "config": ("tests/config", "tests/planning"),
    "demands": ("tests/demands", "tests/guards"),
    "documents": ("tests/documents", "tests/acquisition"),
    "execution": ("tests/histories/test_execution_histories.py", "tests/execution"),
    "files": ("tests/config", "tests/tools"),
    "guards": ("tests/guards", "tests/plans", "tests/histories"),
    "handlers": ("tests/handlers", "tests/supervision", "tests/tools"),
    "planning": ("tests/histories", "tests/planning", "tests/simulation"),
    "plans": ("tests/plans", "tests/guards", "tests/execution"),
    "policy": ("tests/policy", "tests/histories"),
    "prompting": ("tests/prompting", "tests/histories"),
    "quantities": ("tests/quantities", "tests/acquisition"),
    "rules": ("tests/rules",),
    "run": ("tests/histories", "tests/run", "tests/planning", "tests/execution"),
    "search": ("tests/search", "tests/histories", "tests/planning"),
    "simulated": ("tests/simulated", "tests/experiments"),
    "tools": ("tests/tools", "tests/execution"),
    "values": ("tests/histories", "tests/run", "tests/guards", "tests/planning", "tests/tools"),
}
"""The suites of each room of `actors/`, the quickest first."""


def judged():
    """Return the survivors that were judged by hand to behave as the program does."""
    return yaml.safe_load(JUDGED.read_text(encoding="utf-8")) or []


def chosen(seed, count):
    """Yield the room, the file and the place of mutants in random order, each place once."""
    places = [
        (path.parent.name, path.relative_to(ROOT), site)
        for path in sorted((ROOT / "actors").glob("*/*.py"))
        for site in sites(path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(places)
    return places[: 2 * count]


class Tree:
    """A copy of the checkout in which mutants are planted."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("actors", "runtime", "replan", "tests", "benchmarks", "configs", "prompts", "docs", "README.md"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.folder / name)
        shutil.copy(ROOT / "pyproject.toml", self.folder)

    def result(self, file, site, suites):
        """Return `caught`, `survived` or `broken` for a mutant."""
        path = self.folder / file
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(site.applied(source), encoding="utf-8")
            module = ".".join(file.with_suffix("").parts)
            if self._run(["-c", f"import {module}"]):
                return "broken"
            for suite in suites:
                if self._run(["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", suite]):
                    return "caught"
            return "survived"
        finally:
            path.write_text(source, encoding="utf-8")

    def _run(self, words):
        """Run Python in the copy, and return whether it fails or takes too long."""
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder)}
        try:
            done = subprocess.run(
                [sys.executable, *words],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                timeout=LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main():
    """Plant the mutants, print the table, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS / "mutants.json")
    options = parser.parse_args()
    equivalent = {(each["file"], each["before"], each["after"]): each["why"] for each in judged()}
    begun, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL) as pool:
        free = SimpleQueue()
        for number in range(PARALLEL):
            (Path(folder) / str(number)).mkdir()
            free.put(Tree(Path(folder) / str(number)))

        def tried(place):
            room, file, site = place
            if len(rows) >= options.count:
                return
            tree = free.get()
            try:
                result = tree.result(file, site, AREAS[room])
            finally:
                free.put(tree)
            if result == "broken" or len(rows) >= options.count:
                return
            why = equivalent.get((str(file), site.before, site.after))
            if result == "survived" and why is not None:
                result = "equivalent"
            rows.append({"room": room, "file": str(file), "result": result, **site._asdict()})
            print(
                f"{len(rows):>4} {result:<10} {file}:{site.line} {site.before[:60]!r} -> {site.after[:60]!r}",
                flush=True,
            )

        list(pool.map(tried, chosen(options.seed, options.count)))
    counted = [row for row in rows if row["result"] != "equivalent"]
    caught = sum(row["result"] == "caught" for row in counted)
    lines = []
    for room in sorted({row["room"] for row in counted}):
        own = [row["result"] for row in counted if row["room"] == room]
        lines.append([room, len(own), own.count("caught"), own.count("survived")])
    print(table(["room", "mutants", "caught", "survived"], lines))
    share = caught / max(1, len(counted))
    print(f"{caught} of {len(counted)} caught ({share:.1%}), {len(rows) - len(counted)} equivalent")
    results = {
        "date": today(),
        "commit": commit(),
        "machine": machine(),
        "seed": options.seed,
        "seconds": round(time.monotonic() - begun),
        "mutants": len(counted),
        "caught": caught,
        "equivalent": len(rows) - len(counted),
        "rows": sorted(rows, key=lambda row: (row["file"], row["begin"])),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
