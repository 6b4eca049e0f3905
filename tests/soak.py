"""Runs the randomised test suites at length, and writes the results: `make soak`, within two hours.

Each suite is one of the tests' own, with more seeds. Four run at a time, since killed processes mostly wait.
`--share 0.01` runs a hundredth of the seeds, to check the soak itself; `--out FILE` names the JSON file (by default
`benchmarks/results/soak.json`). `--only SUITE...` runs some suites, or the search for planted bugs (`planted`), and
writes them into the results of the others, each with the commit and the date at which it ran. A long suite prints a
line each minute. Exits 1 if a test fails or a planted bug is not found.
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
EVERYTHING = ("-o", "norecursedirs=.*")
"""Collects the folders named `long` too."""
LIMIT_SECONDS = 7_500
"""The time limit in seconds: two hours, and the start and the end of the suite that takes them."""
PARALLEL = 4
"""The number of suites that run at a time, on two cores; the one of the servers mostly waits."""
KILLS = "tests/long/crash/test_kill.py"
FLEET = ["packages/server/tests/long/dispatch/test_fleet.py", "packages/server/tests/long/dispatch/test_placing.py"]
OWN_SUITES = ("crash", "power", "shell")
"""The long suites that have counts of their own below."""
LINKS = ["packages/server/tests/long/webhooks/test_kill_links.py", "packages/server/tests/long/webhooks/test_storm.py"]
LABORATORY = [
    "packages/lab/tests/experiments/test_lab.py",
    "packages/lab/tests/experiments/test_exact_values.py",
    "packages/lab/tests/long/experiments/test_independent_world.py",
]
SUITES = {
    "server": (["packages/server/tests/long/web/test_server_soak.py"], {"REPLAN_SERVER_SECONDS": 7_200}),
    "kills": ([KILLS], {"REPLAN_KILLS": 1_000}),
    "more_kills": ([KILLS, "-k", "random"], {"REPLAN_KILLS": 2_000, "REPLAN_KILLS_FROM": 1_000}),
    "generated": ([*EVERYTHING, *(f"--ignore=tests/long/{name}" for name in OWN_SUITES)], {}),
    "shell": (["tests/long/shell", "-k", "not planted"], {"REPLAN_SHELL_SEEDS": 20_000}),
    "power": (["tests/long/power"], {"REPLAN_POWER_PROGRAMS": 5}),
    "hosts": (["tests/long/crash/test_hosts.py", "tests/long/crash/test_children.py"], {"REPLAN_HOSTS": 8}),
    "kill_executions": (["tests/long/crash/test_kill_execution.py"], {"REPLAN_KILLS": 200}),
    "plans": (["tests/plans/test_contingent_steps.py"], {"REPLAN_PLANS": 10_000}),
    "workers": (FLEET, {"REPLAN_WORKER_ROUNDS": 11}),
    "hostile_documents": (["packages/acquire/tests/long/documents/test_hostile.py"], {"REPLAN_HOSTILE_DOCUMENTS": 500}),
    "traces": (["tests/long/execution/test_traces.py"], {"REPLAN_TRACES": 10_000}),
    "forks": (["tests/long/simulation", "-k", "fork"], {"REPLAN_SIM_FORKS": 400}),
    "undos": (["tests/long/execution/test_undo_simulation.py"], {"REPLAN_UNDOS": 100_000}),
    "prohibitions": (["tests/long/execution/test_forbidden_simulation.py"], {"REPLAN_PROHIBITIONS": 3_000}),
    "links": (LINKS, {"REPLAN_LINK_QUESTIONS": 90, "REPLAN_LINK_INTERLEAVINGS": 1_000}),
    "fences": (["tests/long/crash/test_fencing.py"], {"REPLAN_FENCES": 100}),
    "copies": (["packages/server/tests/long/postgres/test_copy_sequences.py"], {"REPLAN_COPIES": 2_000}),
    "replies": (["tests/replies/test_fuzzed_runs.py"], {"REPLAN_REPLIES": 100_000}),
    "laboratory": (LABORATORY, {"REPLAN_TRIALS": 1_000}),
    "prices": (["tests/models/test_prices.py"], {"REPLAN_PRICES": 1_000_000}),
    "api": (["packages/server/tests/long/web/test_schemathesis.py"], {"REPLAN_API_EXAMPLES": 200}),
    "web": (["packages/server/tests/long/web/test_memory.py"], {"REPLAN_WEB_SECONDS": 3_600}),
}
"""The suites, the longest first, with counts at full length; `generated` has all other tests, with more examples."""
EXAMPLES, SIMULATED, SEARCHED, PLANTED = 2_000, 20_000, 5_000, 3_000
SEARCHED_MIN = 50
"""The fewest random worlds of a search test, which asserts that some have a plan and some have none."""
LEAST = {"REPLAN_PLANS": 300, "REPLAN_REPLIES": 250, "REPLAN_TRIALS": 20, "REPLAN_SERVER_SECONDS": 6}
"""The least counts, for any share. A test checks that its random plans are of every kind; fewer may lack one."""


def scaled(number, share):
    """Return a part of a number, at least one."""
    return max(1, round(number * share))


def run(name, share, folder):
    """Run one suite, and return its counts, seconds and failures."""
    arguments, counts = SUITES[name]
    counts = {key: max(scaled(number, share), LEAST.get(key, 1)) for key, number in counts.items()}
    if name == "generated":
        counts |= {"REPLAN_SIM_SEEDS": scaled(SIMULATED, share), "REPLAN_EXAMPLES": scaled(EXAMPLES, share)}
        counts["REPLAN_SEARCH_WORLDS"] = max(SEARCHED_MIN, scaled(SEARCHED, share))
    report, output_file = folder / f"{name}.xml", folder / f"{name}.txt"
    # Tests record properties, such as the memory of a server. Only this form of the report can contain them.
    form = ["-o", "junit_family=xunit1", f"--junit-xml={report}"]
    command = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=soak", *form, *arguments]
    environment = {**os.environ, **{key: str(number) for key, number in counts.items()}}
    began = time.monotonic()
    with output_file.open("w") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(command, cwd=ROOT, env=environment, stdout=output, timeout=LIMIT_SECONDS, check=False)
    seconds = round(time.monotonic() - began, 1)
    totals = ET.parse(report).getroot().find("testsuite") if report.exists() else None
    tests = {} if totals is None else {key: int(totals.get(key, "0")) for key in ("tests", "failures", "errors")}
    green = bool(tests) and tests["tests"] > 0 and not (tests["failures"] or tests["errors"])
    print(f"{name:10} {'green' if green else 'RED':6} {seconds:8.1f} s", flush=True)
    if not green:
        print(output_file.read_text()[-5_000:], flush=True)
    found = {} if totals is None else {each.get("name"): each.get("value") for each in totals.iter("property")}
    facts = {"counts": counts, "seconds": seconds, "green": green, **tests}
    return {**facts, "found": found} if found else facts


def planted():
    """Search for every planted bug, which takes a minute or two."""
    from tests.long.shell.planted_bugs import BUGS
    from tests.long.shell.planted_bugs import table as search_results

    began = time.monotonic()
    rows = []
    for name in BUGS:
        try:
            ((kind, _, seed, message),) = search_results(range(PLANTED), [name])
        except Exception as error:  # noqa: BLE001 - the results of the other suites must not be lost
            kind, seed, message = BUGS[name].kind, None, f"wrongly planted: {type(error).__name__}: {error}"
        rows.append({"class": kind, "bug": name, "seed": seed, "says": message})
    green = all(row["seed"] is not None for row in rows)
    return {"seconds": round(time.monotonic() - began, 1), "green": green, "bugs": rows}


def some(options):
    """Run some suites, and write them into the results that are there."""
    facts = {"commit": commit(), "date": today(), "share": options.share}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL) as pool:
        names = [name for name in options.only if name in SUITES]
        futures = {name: pool.submit(run, name, options.share, Path(folder)) for name in names}
        bugs = {"planted": facts | planted()} if "planted" in options.only else {}
        suites = {name: facts | future.result() for name, future in futures.items()}
    result = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {"suites": {}}
    result |= bugs
    result["suites"] |= suites
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each["green"] for each in (*suites.values(), *bugs.values())) else 1


def main():
    """Run all suites, print the tables, write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "soak.json")
    parser.add_argument("--only", nargs="+", choices=("planted", *SUITES), help="run only these")
    options = parser.parse_args()
    if options.only:
        return some(options)
    began, machine_facts = time.monotonic(), machine()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL) as pool:
        futures = {name: pool.submit(run, name, options.share, Path(folder)) for name in SUITES}
        bugs = planted()
        suites = {name: future.result() for name, future in futures.items()}
    seconds = round(time.monotonic() - began, 1)
    green = bugs["green"] and all(suite["green"] for suite in suites.values()) and seconds <= LIMIT_SECONDS
    print(table(["class", "planted bug", "seed"], [(bug["class"], bug["bug"], bug["seed"]) for bug in bugs["bugs"]]))
    result = {
        "commit": commit(),
        "date": today(),
        "machine": machine_facts,
        "share": options.share,
        "seconds": seconds,
        "green": green,
        "suites": suites,
        "planted": bugs,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{'green' if green else 'RED'} after {seconds} s, written to {options.out}")
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
