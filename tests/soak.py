"""Runs everything that looks for lost work at length, and writes what it came to: `make soak`, within two hours.

Each suite is the tests' own, with more seeds; three run at a time, since killed processes mostly wait. `--share 0.01`
plays a hundredth of them, to see that it all works; `--out FILE` says where the JSON goes (by default
`benchmarks/results/soak.json`). Exits 1 if a test fails or a planted bug is not found.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from benchmarks.common import RESULTS, commit, machine, table, today

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 7_200
ABREAST = 3
"""Suites that run at a time, on the two cores of the machine that this is for."""
SUITES = {
    "kills": (["tests/crash/test_kill.py"], {"REPLAN_KILLS": 1_000}),
    "more_kills": (["tests/crash/test_kill.py", "-k", "random"], {"REPLAN_KILLS": 2_000, "REPLAN_KILLS_FROM": 1_000}),
    "generated": (["tests", "--ignore=tests/crash", "--ignore=tests/power", "--ignore=tests/shell"], {}),
    "shell": (["tests/shell", "-k", "not planted"], {"REPLAN_SHELL_SEEDS": 20_000}),
    "power": (["tests/power"], {"REPLAN_POWER_PROGRAMS": 5}),
    "hosts": (["tests/crash/test_hosts.py", "tests/crash/test_children.py"], {"REPLAN_HOSTS": 8}),
    "fences": (["tests/crash/test_fencing.py"], {"REPLAN_FENCES": 100}),
}
"""What is run, the longest first, and how often at full length; `generated` is all the rest, with more examples."""
EXAMPLES, SIMULATED, PLANTED = 2_000, 20_000, 1_500
PLANTED_FROM = 0.1
"""The share from which all planted bugs are looked for, which takes a minute or two."""


def scaled(number, share):
    """Return a part of a number, at least one."""
    return max(1, round(number * share))


def run(name, share, folder):
    """Run one suite, and return what it came to."""
    arguments, counts = SUITES[name]
    counts = {key: scaled(number, share) for key, number in counts.items()}
    if name == "generated":
        counts |= {"REPLAN_SIM_SEEDS": scaled(SIMULATED, share), "REPLAN_EXAMPLES": scaled(EXAMPLES, share)}
    report, printed = folder / f"{name}.xml", folder / f"{name}.txt"
    command = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=soak", f"--junit-xml={report}", *arguments]
    environment = {**os.environ, **{key: str(number) for key, number in counts.items()}}
    began = time.monotonic()
    with printed.open("w") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, timeout=LIMIT_SECONDS, check=False
        )
    seconds = round(time.monotonic() - began, 1)
    found = ET.parse(report).getroot().find("testsuite") if report.exists() else None
    told = {} if found is None else {key: int(found.get(key, "0")) for key in ("tests", "failures", "errors")}
    green = bool(told) and told["tests"] > 0 and not (told["failures"] or told["errors"])
    print(f"{name:10} {'green' if green else 'RED':6} {seconds:8.1f} s", flush=True)
    if not green:
        print(printed.read_text()[-5_000:], flush=True)
    return {"counts": counts, "seconds": seconds, "green": green, **told}


def planted(share):
    """Look for the planted bugs: all of them, or in a short soak the first of each class."""
    from tests.shell.planted_bugs import BUGS, FIRST
    from tests.shell.planted_bugs import table as found

    began = time.monotonic()
    shown = []
    for name in BUGS if share >= PLANTED_FROM else FIRST:
        try:
            ((kind, _, seed, says),) = found(range(PLANTED), [name])
        except Exception as error:  # noqa: BLE001 - hours of other results shall not be lost for it
            kind, seed, says = BUGS[name].kind, None, f"wrongly planted: {type(error).__name__}: {error}"
        shown.append({"class": kind, "bug": name, "seed": seed, "says": says})
    green = all(row["seed"] is not None for row in shown)
    return {"seconds": round(time.monotonic() - began, 1), "green": green, "bugs": shown}


def main():
    """Run all, print the tables, write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "soak.json")
    wanted = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(ABREAST) as pool:
        going = {name: pool.submit(run, name, wanted.share, Path(folder)) for name in SUITES}
        bugs = planted(wanted.share)
        suites = {name: one.result() for name, one in going.items()}
    seconds = round(time.monotonic() - began, 1)
    green = bugs["green"] and all(suite["green"] for suite in suites.values()) and seconds <= LIMIT_SECONDS
    print(table(["class", "planted bug", "seed"], [(one["class"], one["bug"], one["seed"]) for one in bugs["bugs"]]))
    result = {
        "commit": commit(),
        "date": today(),
        "machine": machine(),
        "share": wanted.share,
        "seconds": seconds,
        "green": green,
        "suites": suites,
        "planted": bugs,
    }
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    wanted.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{'green' if green else 'RED'} after {seconds} s, written to {wanted.out}")
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
