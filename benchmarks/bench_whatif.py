"""Time of `replan lab whatif` over many recorded runs: an unchanged workflow, an edited policy, a guard asked again.

    python benchmarks/bench_whatif.py [--runs N] [--out FILE]

The runs are planned by scripted replies in a home of their own, a tenth of them with three rejections, a tenth waiting
for an answer; each is copied until there are N. The whole command is measured, with its start, in processes on all
cores. Where other work shares the cores, the seconds of a processor say more than those of the clock.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common import RESULTS, commit, machine, table, today
from runtime.journal.chain import Tip, link
from runtime.open_offline import open_raw
from tests.cli.conftest import SCRIPT
from tests.cli.samples import ASKING, BACKTRACKS, PROBLEM, write_script

ROOT = Path(__file__).resolve().parents[1]
REPLAN = Path(sys.executable).with_name("replan")
EDITS = {
    "the program alone": (),
    "an unchanged workflow": ("--workflow", "search"),
    "another policy": ("--policy", "default"),
    "a guard asked again": ("--guard", "plan_medium"),
}
AT_ONCE = 500
"""Runs that are added in one transaction."""


def call(home, *arguments):
    """Call the program; return what it has printed."""
    environment = {**os.environ, "REPLAN_HOME": str(home)}
    return subprocess.run([REPLAN, *arguments], env=environment, capture_output=True, text=True, check=False).stdout


def renamed(copy, run):
    """Return a copy of a run under another id, with its chain of hashes made anew."""
    rows, previous = [], copy.head.start.hash
    for row in copy.records:
        body = row.body.replace(f'"run":"{copy.head.run}"'.encode(), f'"run":"{run}"'.encode(), 1)
        previous = link(previous, run, row._replace(body=body))
        rows.append(row._replace(body=body, hash=previous))
    head = copy.head._replace(run=run, tip=Tip(rows[-1].seq, previous))
    return copy._replace(head=head, records=rows)


def fill(home, folder, count):
    """Plan ten runs, and copy them under other ids until there are so many."""
    problem = folder / "problem.md"
    problem.write_text(PROBLEM, encoding="utf-8")
    scripts = [SCRIPT] * 8 + [BACKTRACKS, {**SCRIPT, "g_analysis": [ASKING]}]
    for number, script in enumerate(scripts):
        call(home, "run", str(problem), "-m", write_script(folder, script, f"s{number}.yaml"), "--no-input")
    with open_raw(f"sqlite:{home / 'journal.sqlite3'}") as store:
        with store.look() as reader:
            copies = [reader.copy(run) for run in reader.names(recorded=True)]
        numbers = range(len(copies), count)
        for begin in range(0, len(numbers), AT_ONCE):
            part = numbers[begin : begin + AT_ONCE]
            store.add([(renamed(copies[number % len(copies)], f"copy{number:06}"), None) for number in part])


def processor_seconds():
    """Return the seconds of processor time that the processes have used which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    """Measure, print the table, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=RESULTS / "whatif.json")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=ROOT / "build"))
    rows = []
    try:
        home = folder / "home"
        fill(home, folder, options.runs)
        for name, words in EDITS.items():
            begun, before = time.monotonic(), processor_seconds()
            report = json.loads(call(home, "lab", "whatif", *words, "--json"))
            seconds, used = time.monotonic() - begun, processor_seconds() - before
            counts = {key: number for key, number in report["counts"].items() if number}
            rows.append(
                {
                    "edit": name,
                    "seconds": round(seconds, 1),
                    "processor_seconds": round(used, 1),
                    "counts": counts,
                    "waiting": report["waiting"],
                }
            )
            print(rows[-1], flush=True)
    finally:
        shutil.rmtree(folder)
    result = {"date": today(), "commit": commit(), "machine": machine(), "runs": options.runs, "rows": rows}
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    lines = [[row["edit"], row["seconds"], row["processor_seconds"], row["counts"].get("same", 0)] for row in rows]
    print(table(["edit", "seconds", "of a processor", "same"], lines))


if __name__ == "__main__":
    main()
