"""Plants mutants in machines, guards and values, and counts how many the suites of their area catch: `make mutants`.

`--seed` and `--count` choose the mutants, `--out` names the JSON file: a list of samples, one for each seed and tier.
`--tier fast` runs the tests of `make test`, `--tier check` (the default) also those in folders named `long`, with the
examples of `make check`. `--tier long` plants only the survivors of the fast sample again, and runs what `check` runs.
Each mutant is one changed place (`sites.py`) in a copy of a commit. The test files that import its module run first,
then the suites of its area, then the test of the generated pages. A mutant is caught by a test that fails with it and
passes without it, or by a suite that takes more than `LIMIT_SECONDS` with it and less than half of that without it.
One that only a test finds which fails anyway is unclear; one whose module cannot be imported is left out, since no
test is needed to see it. `judged.yaml` lists survivors that behave as the program does, each with the reason. The
share is that of those caught among all that are neither unclear nor judged.

The file is written after each mutant. A sample with fewer mutants than `--count` goes on, at its own commit.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

import yaml

from benchmarks.common import RESULTS, commit, machine, table, today
from tests.mutants.sites import sites

ROOT = Path(__file__).parents[2]
JUDGED = Path(__file__).with_name("judged.yaml")
LIMIT_SECONDS = 900
PARALLEL = 2
"""Mutants at a time, on two cores."""
VIEWS, STORED = "tests/histories/test_views.py", "tests/journal/test_frozen_names.py"
LONG = "tests/long/"
SIMULATION = f"{LONG}simulation"
PAGES = ("tests/docs/test_pages.py", "-k", "generated")
AREAS = {
    "acquisition": (
        "packages/acquire/tests/acquisition",
        "packages/acquire/tests/histories",
        "packages/acquire/tests/quantities",
        VIEWS,
        STORED,
    ),
    "config": ("tests/config", "tests/planning", "tests/guards", "tests/plugins", STORED),
    "demands": (VIEWS, "tests/demands", "tests/guards"),
    "documents": (
        "packages/acquire/tests/documents",
        "packages/acquire/tests/acquisition",
        "packages/acquire/tests/long/documents",
    ),
    "execution": (
        "tests/histories/test_execution_histories.py",
        VIEWS,
        "tests/execution",
        STORED,
        "tests/long/execution",
    ),
    "templates": ("tests/templates",),
    "files": ("tests/config", "tests/tools"),
    "guards": ("tests/guards", "tests/plans", "tests/histories"),
    "handlers": ("tests/handlers", "tests/supervision", "tests/tools"),
    "pddl": ("packages/lab/tests/pddl", "packages/lab/tests/cli"),
    "planning": ("tests/histories", "tests/planning", STORED, SIMULATION),
    "plans": ("tests/plans", "tests/guards", "tests/execution", VIEWS),
    "policy": ("tests/policy", "tests/histories", SIMULATION),
    "prompting": ("tests/prompting", "tests/histories"),
    "quantities": ("packages/acquire/tests/quantities", "packages/acquire/tests/acquisition"),
    "run": ("tests/histories", "tests/run", "tests/planning", "tests/execution", STORED, SIMULATION),
    "search": ("tests/search", "tests/histories", "tests/planning", SIMULATION),
    "simulated": (
        "packages/lab/tests/simulated",
        "packages/lab/tests/experiments",
        "packages/lab/tests/long/experiments",
    ),
    "tools": ("tests/tools", "tests/execution", "tests/long/tools"),
    "values": ("tests/histories", "tests/run", "tests/guards", "tests/planning", "tests/tools", STORED),
}
"""The suites of each area, the quickest first; the tier `fast` leaves out those in `long`."""
SLOW = {"cli", "conformance", "crash", "dispatch", "host", "postgres", "power", "real", "web", "wire"}
"""Suites that start processes: a module is judged without their test files."""
PLANTED = ("actors", "packages/acquire/replan_acquire", "packages/lab/replan_lab")
"""The folders of the areas in which mutants are planted."""
COUNTED = ("caught", "survived", "equivalent", "unclear")
"""The results of mutants; only the first two are in the share."""
TIERS = {"fast": "test", "check": "check", "long": "check"}
"""The Hypothesis profile of each tier."""
PYTEST = ("-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


def judged():
    """Return the survivors that were judged by hand to behave as the program does."""
    return yaml.safe_load(JUDGED.read_text(encoding="utf-8")) or []


def chosen(folder, seed):
    """Return the area, the file and the place of every mutant, in the random order of a seed."""
    places = [
        (path.parent.name, str(path.relative_to(folder)), site)
        for planted in PLANTED
        for path in sorted((folder / planted).glob("*/*.py"))
        if path.parent.name in AREAS
        for site in sites(path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(places)
    return places


def dotted(file):
    """Return the name under which a file is imported."""
    return re.sub(r"^packages/\w+/", "", file).removesuffix(".py").replace("/", ".")


def import_paths(folder):
    """Return the folders of a copy of the repository that Python imports its packages from."""
    return [folder, *sorted(folder.glob("packages/*"))]


class Tree:
    """A copy of a commit in which mutants are planted."""

    def __init__(self, folder, commit, tier):
        self.folder, self.tier = Path(folder), tier
        self._pytest = (*PYTEST, f"--hypothesis-profile={TIERS[tier]}")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", ROOT, folder], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)

    def result(self, area, file, site):
        """Return `caught`, `survived`, `broken` or `unclear` for a mutant, and the test or suite that tells."""
        path = self.folder / file
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(site.applied(source), encoding="utf-8")
            for suite in self.suites(area, file):
                status, output = self._run(*self._pytest, *suite)
                if status == 0:
                    continue
                if self._run("-c", f"import {dotted(file)}")[0]:
                    return "broken", ""
                path.write_text(source, encoding="utf-8")
                failed = _FAILED.search(output)
                telling = [failed[1]] if failed else suite
                begun = time.monotonic()
                again, _ = self._run(*self._pytest, *telling)
                within = status is not None or time.monotonic() - begun < LIMIT_SECONDS / 2
                return "caught" if again == 0 and within else "unclear", " ".join(telling)
            return "survived", ""
        finally:
            path.write_text(source, encoding="utf-8")

    def suites(self, area, file):
        """Yield the arguments of pytest: the test files of any suite that import the module, then the area's suites."""
        module = re.compile(rf"\b{dotted(file)}\b".replace(".", r"\."))
        folders = ["tests/*", *(f"packages/{name}/tests{below}" for name in ("acquire", "lab") for below in ("", "/*"))]
        folders += [] if self.tier == "fast" else [f"{LONG}*", "packages/*/tests/long/*"]
        found = sorted(path for name in folders for path in self.folder.glob(f"{name}/test_*.py"))
        files = [path for path in found if path.parent.name not in SLOW]
        own = [str(each.relative_to(self.folder)) for each in files if module.search(each.read_text(encoding="utf-8"))]
        if own:
            yield own
        for suite in AREAS[area]:
            if suite not in own and (self.tier != "fast" or "/long/" not in suite):
                yield [suite, *(f"--ignore={each}" for each in own)]
        yield PAGES

    def _run(self, *words):
        """Run Python in the copy, and return its status, None where it takes too long, and its output."""
        paths = os.pathsep.join(map(str, import_paths(self.folder)))
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = None
            output.seek(0)
            return status, output.read().decode(errors="replace")


class Sample:
    """The mutants of one seed, in a file that holds those of all seeds."""

    def __init__(self, out, seed, tier="check"):
        self.out, self._lock = out, Lock()
        self._all = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"samples": []}
        found = [each for each in self._all["samples"] if (each["seed"], each.get("tier", "check")) == (seed, tier)]
        self.value = found[0] if found else {"seed": seed, "tier": tier, "commit": commit(), "seconds": 0, "rows": []}
        if not found:
            self._all["samples"].append(self.value)

    def add(self, row, seconds):
        """Add a mutant, and write the file."""
        with self._lock:
            self.value["rows"].append(row)
            self.value["seconds"] = self.value.get("seconds", 0) + round(seconds)
            self.count()
            self._all |= {"date": today(), "machine": machine()}
            self.out.write_text(json.dumps(self._all, indent=1) + "\n", encoding="utf-8")
            change = f"{row['file']}:{row['line']} {row['before'][:60]!r} -> {row['after'][:60]!r}"
            print(f"{len(self.value['rows']):>4} {row['result']:<10} {change}", flush=True)

    def count(self):
        """Count the rows by their results; a survivor that is judged is equivalent."""
        rows = self.value["rows"]
        equivalent = {key(each) for each in judged()}
        for row in rows:
            if row["result"] == "survived" and key(row) in equivalent:
                row["result"] = "equivalent"
        counts = Counter(row["result"] for row in rows)
        self.value |= {"mutants": counts["caught"] + counts["survived"], **{name: counts[name] for name in COUNTED}}


def key(row):
    """Return what a judged survivor and a row of a sample have in common."""
    return row["file"], row["text"], row["before"], row["after"]


def planted(row):
    """Return which mutant a row of a sample is about."""
    return row["file"], row["line"], row["before"], row["after"]


def main():
    """Plant the mutants, print the table, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--tier", choices=TIERS, default="check")
    parser.add_argument("--out", type=Path, default=RESULTS / "mutants.json")
    options = parser.parse_args()
    sample = Sample(options.out, options.seed, options.tier)
    survivors = None
    if options.tier == "long":
        fast = Sample(options.out, options.seed, "fast").value
        sample.value["commit"] = fast["commit"]
        survivors = {planted(row) for row in fast["rows"] if row["result"] == "survived"}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL) as pool:
        free = SimpleQueue()
        for number in range(PARALLEL):
            free.put(Tree(Path(folder) / str(number), sample.value["commit"], options.tier))
        known = {planted(row) for row in sample.value["rows"]}

        def tried(place):
            area, file, site = place
            if len(sample.value["rows"]) >= options.count:
                return
            tree, begun = free.get(), time.monotonic()
            try:
                result, test = tree.result(area, file, site)
                text = (tree.folder / file).read_text(encoding="utf-8").splitlines()[site.line - 1].strip()
            finally:
                free.put(tree)
            if result != "broken" and len(sample.value["rows"]) < options.count:
                row = {"area": area, "file": file, "line": site.line, "text": text}
                row |= {"before": site.before, "after": site.after, "result": result, "test": test}
                sample.add(row, time.monotonic() - begun)

        places = chosen(Path(folder) / "0", options.seed)
        listed = {(file, site.line, site.before, site.after): (area, file, site) for area, file, site in places}
        wanted = listed if survivors is None else [each for each in listed if each in survivors]
        list(pool.map(tried, (listed[each] for each in wanted if each not in known)))
    rows = [row for row in sample.value["rows"] if row["result"] in COUNTED[:2]]
    lines = []
    for area in sorted({row["area"] for row in rows}):
        own = [row["result"] for row in rows if row["area"] == area]
        lines.append([area, len(own), own.count("caught"), own.count("survived")])
    print(table(["area", "mutants", "caught", "survived"], lines))
    counts = [f"{sample.value[name]} {name}" for name in COUNTED]
    print(f"{', '.join(counts)}: {sample.value['caught'] / max(1, len(rows)):.1%}")


if __name__ == "__main__":
    main()
