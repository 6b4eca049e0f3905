"""Plants mutants in the decisions and compares what `whatif` names with the record that really changes.

    python -m packages.lab.tests.whatif.mutants [--seed N] [--count N] [--out FILE]    # `make whatif-mutants`

It plants `--count` random mutants, and those that `make mutants` has published, where the code is still the same. A
mutant is one changed place (`tests.mutants.sites`) in a copy of the packages. The histories are recorded by the
program as it is. In the copy, the true messages say which record of each history the mutant changes first, and
`whatif` has to name that record from the records alone.
"""

import argparse
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from packages.lab.tests.whatif.recordings import histories
from tests.mutants.sites import sites

ROOT = Path(__file__).parents[4]
AREAS = ("planning", "policy", "run", "search", "execution")
"""The folders of `actors` whose code decides."""
COPIED = (
    *("actors", "configs", "prompts", "replan", "runtime"),
    "tests/execution",
    "tests/histories",
    "tests/long/shell",
    "tests/mutants",
    "tests/support",
    "packages/lab/replan_lab",
    "packages/lab/tests/whatif",
)
"""The folders that each copy has."""
PUBLISHED = ROOT / "benchmarks" / "results" / "mutants.json"
"""The mutants that `make mutants` has planted."""
TEXT_MAX = 60
"""The characters of a place that are published there."""
LIMIT_SECONDS = 120
"""The time limit of one mutant, which may never end."""
CHILD = """
import json, pickle, sys
from replan_lab.whatif.differences import EditedRules
from replan_lab.whatif.fold import compare_run
from replan.setup.kinds import Kinds
from packages.lab.tests.whatif.recordings import Played
kinds, rows = Kinds(), []
for name, kind, appends in pickle.load(open(sys.argv[1], "rb")):
    played = Played(name, kinds.named(kind), appends)
    expected = played.first_difference(played.kind.machine)
    finding = compare_run(played.run, played.kind, EditedRules())
    if expected is not None or finding.seq is not None:
        rows.append([name, expected, finding.seq, finding.reason])
print(json.dumps(rows))
"""


def chosen(seed):
    """Return the file and the place of every mutant, in the random order of a seed."""
    places = [
        (str(path.relative_to(ROOT)), site)
        for area in AREAS
        for path in sorted((ROOT / "actors" / area).glob("*.py"))
        for site in sites(path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(places)
    return places


class Copy:
    """A copy of the packages in which mutants are planted."""

    def __init__(self, folder, recorded):
        self.folder, self._recorded = Path(folder), recorded
        for name in COPIED:
            shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("*.png"))

    def judged(self, file, site):
        """Return `named`, `missed`, `undecided` (no history differs) or `broken` for a mutant, and the histories."""
        path = self.folder / file
        source, times = path.read_text(encoding="utf-8"), path.stat()
        paths = os.pathsep.join((str(self.folder), str(self.folder / "packages" / "lab")))
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
        try:
            path.write_text(site.applied(source), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-c", CHILD, self._recorded],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "broken", []
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))
        if done.returncode:
            return "broken", [done.stderr.strip().splitlines()[-1:]]
        rows = json.loads(done.stdout)
        missed = [row for row in rows if row[1] != row[2]]
        return "missed" if missed else "named" if rows else "undecided", missed or rows[:1]


def listed():
    """Return the file and the place of each mutant that `make mutants` has published, where the code is the same."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    samples = [sample for sample in published["samples"] if sample.get("tier") != "long"]
    rows = [row for sample in samples for row in sample["rows"] if row["area"] in AREAS]
    places = []
    for row in rows:
        path = ROOT / row["file"]
        # A published text is cut, and the line may have moved since.
        alike = [
            site
            for site in (sites(path.read_text(encoding="utf-8")) if path.exists() else ())
            if (site.before[:TEXT_MAX], site.after[:TEXT_MAX]) == (row["before"][:TEXT_MAX], row["after"][:TEXT_MAX])
        ]
        places += [(row["file"], min(alike, key=lambda site: abs(site.line - row["line"])))] if alike else []
    return places


def place(file, before, after):
    """Return the file and the first place in it where a mutant changes one text into another."""
    found = sites((ROOT / file).read_text(encoding="utf-8"))
    return file, next(site for site in found if (site.before, site.after) == (before, after))


def judged(places, parallel=2):
    """Yield the result of the mutant at each place: a dict as in the file of results."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(parallel) as pool:
        recorded = Path(folder) / "recorded"
        recorded.write_bytes(pickle.dumps([(each.name, each.kind.name, each.appends) for each in histories()]))
        free = SimpleQueue()
        for number in range(parallel):
            free.put(Copy(Path(folder) / str(number), str(recorded)))

        def tried(place):
            copy, (file, site) = free.get(), place
            try:
                result, rows = copy.judged(file, site)
            finally:
                free.put(copy)
            return {"file": file, "line": site.line, "before": site.before, "after": site.after} | {
                "result": result,
                "histories": rows,
            }

        yield from pool.map(tried, places)


def main():
    """Plant the mutants, print each, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows, counts = [], Counter()
    places = chosen(options.seed)[: options.count]
    for row in judged([*places, *(each for each in listed() if each not in places)]):
        rows.append(row)
        counts[row["result"]] += 1
        print(
            f"{row['result']:9} {row['file']}:{row['line']} {row['before'][:50]!r} -> {row['after'][:50]!r}", flush=True
        )
        if row["result"] == "missed":
            print(f"          {row['histories'][:3]}", flush=True)
    print(", ".join(f"{number} {name}" for name, number in counts.most_common()))
    if options.out is not None:
        result = {"seed": options.seed, "counts": counts, "rows": rows}
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
