"""Scale: concurrent runs beside LangGraph and DBOS, long runs, and what commands cost in a home of thousands of runs.

    python benchmarks/bench_scale.py [--rounds N] [--runs N] [--home-runs N] [--waiting N] [--attempts N] [--no-peers]
                                     [--only PART...] [--home DIR [--make]]

- crowd: the same step as in bench_steps.py (generate + judge, instant model, everything durable on SQLite) in 1,000
  concurrent runs of 5 steps, in interleaved rounds with the peers. For this project also: events per second, and the
  latency of a durable append from the call to the commit.
- growth: the storage of a run of 8,000 steps compared with one of 4,000.
- attempts: the processor time of a step at the end of a run of 2,000 attempts, compared with its beginning.
- home: a home of 20,000 runs of 15 records, of which 1,000 wait, in a file and in a database: what each command takes
  beyond the same command in a home of 20 runs, and how many runs a second are verified. The product makes the runs, and
  the commands are the user's. Making the home takes long and needs no quiet machine: `--home DIR --make` makes it once,
  and `--home DIR` measures in it.
- copies: how many runs of such a home are copied a second, from a file to a database and back to a file.

A part that is not measured keeps its results. Prints tables, writes results/scale.json.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import trio
from bench_steps import TEXT_BYTES, stored
from common import (
    HERE,
    RESULTS,
    SCRATCH,
    commit,
    interleave,
    machine,
    provenance_of,
    ratios,
    spread,
    spread_text,
    start_contestants,
    table,
    today,
    verdict,
    write,
)

sys.path.insert(0, str(HERE.parent))

import scale_home

from packages.server.tests.support.postgres import running_server

STEPS = 5
LONG = (4000, 8000)
GROWTH_GOAL = 2.1
"""The largest factor of the bytes for twice the steps."""


OVER_GOAL = 0.3
"""The seconds that a command may take beyond the same in a small home."""
COPIED_GOAL, VERIFIED_GOAL = 200, 500
"""The least runs a second."""
LATE_GOAL = 1.2
"""The largest factor of a step's processor time at the end of a long run."""
PARTS = ("crowd", "growth", "attempts", "home", "copies")


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    parser.add_argument("--runs", type=int, default=1000, help="concurrent runs (1000)")
    parser.add_argument("--home-runs", type=int, default=20_000, help="runs of the home (20,000)")
    parser.add_argument("--waiting", type=int, default=1000, help="those of them that wait (1000)")
    parser.add_argument("--home", type=Path, help="the folder of a home of --make (by default, one made for this time)")
    parser.add_argument("--make", action="store_true", help="only make the home, in the new folder --home (12 minutes)")
    parser.add_argument("--attempts", type=int, default=2000, help="attempts of the long run (2000)")
    parser.add_argument("--no-peers", action="store_true", help="measure only this project")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure only these parts")
    options = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    if options.make:
        if options.home is None or options.home.exists():
            parser.error("--make needs --home, a folder that does not exist")
        scale_home.make(options.home.resolve(), options.home_runs, options.waiting)
        return
    results = {}
    if {"crowd", "growth"} & {*options.only}:
        contestants = start_contestants(peers=not options.no_peers)
        results |= provenance_of(peers=not options.no_peers)
        if "crowd" in options.only:
            results["crowd"] = crowds(contestants, options.runs, options.rounds)
        if "growth" in options.only:
            results["growth"] = growth(contestants["replan"])
        for contestant in contestants.values():
            contestant.close()
    if "attempts" in options.only:
        results["attempts"] = attempts(options.attempts, options.rounds)
    if {"home", "copies"} & {*options.only}:
        with home_of(options) as folder:
            if "home" in options.only:
                results["home"] = homes(folder, options.rounds)
            if "copies" in options.only:
                results["copies"] = copies(folder)
    results = json.loads(json.dumps(earlier() | results))  # With the keys that the file has.
    print(tables(results))
    write("scale", results)


@contextmanager
def home_of(options):
    """Yield the folder of the made home that is named, or of one made for this time."""
    if options.home:
        yield options.home.resolve()
        return
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        folder = Path(scratch) / "home"
        server = scale_home.make(folder, options.home_runs, options.waiting)["server"]
        try:
            yield folder
        finally:
            shutil.rmtree(server)


def earlier():
    """Return what was measured before, so that one part can be measured again."""
    path = RESULTS / "scale.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def part_facts():
    """Return the commit, the date, the load and the machine of a part that is measured now."""
    return {"commit": commit(), "date": today(), "load_before": round(os.getloadavg()[0], 1), "machine": machine()}


def attempts(count, rounds):
    """Return the processor time of an attempt in the first and in the last tenth of a long run, and their factor."""
    facts, contestant = part_facts(), start_contestants(peers=False)["replan"]
    measured = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            answer = contestant.ask("late", scratch=folder, steps=count, text_bytes=TEXT_BYTES)
        measured.append(answer)
    contestant.close()
    return {
        **facts,
        "attempts": count,
        "first_us": spread([answer["first"] * 1e6 for answer in measured]),
        "last_us": spread([answer["last"] * 1e6 for answer in measured]),
        "factor": spread([answer["last"] / answer["first"] for answer in measured]),
        "goal": LATE_GOAL,
    }


def copies(folder):
    """Return how many runs a second are copied from a file to a database, and from there to a file."""
    facts, made = part_facts(), scale_home.made(folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch, scale_home.copy_of(folder) as source:
        spare = private(Path(scratch) / "spare")
        with running_server(**scale_home.SERVER) as server:
            server.execute("postgres", "CREATE DATABASE copies")
            url = server.url("copies")
            into_database = scale_home.copied(spare, scale_home.file_of(source), url)
            into_file = scale_home.copied(spare, url, scale_home.file_of(private(Path(scratch) / "second")))
    runs = made["runs"]
    rates = {"file to database": round(runs / into_database), "database to file": round(runs / into_file)}
    return {**facts, "runs": runs, "copied_per_s": rates, "goal": COPIED_GOAL}


def homes(folder, rounds):
    """Return what commands cost in a made home of many runs, in a file and in a database.

    Each measurement answers some of the runs that wait, so that the home can be measured some hundred times.
    """
    made = scale_home.made(folder)
    facts = {**part_facts(), **{name: made[name] for name in ("runs", "waiting", "fill_s")}, "rounds": rounds}
    found = {}
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        running_server(made["server"], **scale_home.SERVER) as server,
    ):
        homes_of = {"full": folder / "full"}
        for name in ("few", "few_source"):
            homes_of[name] = Path(scratch) / name
            trio.run(scale_home.fill, homes_of[name], scale_home.FEW, scale_home.FEW // 2)
        server.execute("postgres", "DROP DATABASE IF EXISTS few_home", "CREATE DATABASE few_home")
        urls = {name: server.url(f"{name}_home") for name in ("few", "full")}
        spare = private(Path(scratch) / "spare")
        scale_home.copied(spare, scale_home.file_of(homes_of["few_source"]), urls["few"])
        found["file"] = measured([(homes_of[name], "") for name in ("few", "full")], rounds)
        found["database"] = measured([(spare, urls[name]) for name in ("few", "full")], rounds)
        verified = {
            "file": scale_home.call(homes_of["full"], "", "home", "verify"),
            "database": scale_home.call(spare, urls["full"], "home", "verify", urls["full"]),
        }
    return {
        **facts,
        "verified_per_s": {name: round(made["runs"] / seconds) for name, seconds in verified.items()},
        **found,
        "goals": {"over_s": OVER_GOAL, "verified_per_s": VERIFIED_GOAL},
    }


def private(folder):
    """Make a folder for a home, and return it."""
    folder.mkdir(mode=0o700)
    return folder


def measured(places, rounds):
    """Return the times of commands and of requests in a small and in a full home."""
    few, full = ((*place, scale_home.waiting_runs(*place, rounds + 1)) for place in places)
    found = {"commands": scale_home.commands(few, full, rounds)}
    few_requests, full_requests = (scale_home.requests(home, url, max(3, rounds)) for home, url in places)
    return found | {"requests": {"few_s": few_requests, "full_s": full_requests}}


def crowds(contestants, runs, rounds):
    """Return the times per step of all contestants, and the other measurements of this project."""
    appends = []

    def measure(name, contestant):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            scratch = {} if name == "dbos" else {"scratch": folder}
            case = "crowd" if name == "replan" else "many"
            answer = contestant.ask(case, runs=runs, steps=STEPS, text_bytes=TEXT_BYTES, **scratch)
        if name == "replan":
            appends.append(answer)
        return answer["seconds"] / answer["steps"] * 1e6

    cases = {name: lambda name=name, who=who: measure(name, who) for name, who in contestants.items()}
    times = interleave(cases, rounds)
    measured = appends[-rounds:]
    return {
        "runs": runs,
        "steps": STEPS,
        "rounds": rounds,
        "us_per_step": {name: spread(values) for name, values in times.items()},
        "ratio": {name: ratios(times["replan"], values) for name, values in times.items() if name != "replan"},
        "events_per_second": spread([answer["events"] / answer["seconds"] for answer in measured]),
        "append_ms_median": spread([answer["append_median"] * 1e3 for answer in measured]),
        "append_ms_p99": spread([answer["append_p99"] * 1e3 for answer in measured]),
    }


def growth(contestant):
    """Return the bytes of files with one long run, and the factor between the two lengths."""
    sizes = {count: stored(contestant, "retries", {"steps": count}) for count in LONG}
    return {"bytes": sizes, "factor": round(sizes[LONG[1]] / sizes[LONG[0]], 3), "goal": GROWTH_GOAL}


def tables(results):
    """Return the results as Markdown."""
    crowd, grown = results["crowd"], results["growth"]
    rows = [
        (name, spread_text(time), spread_text(crowd["ratio"][name]) if name in crowd["ratio"] else "")
        for name, time in crowd["us_per_step"].items()
    ]
    facts = [
        ("events per second", spread_text(crowd["events_per_second"])),
        ("durable append, median ms", spread_text(crowd["append_ms_median"])),
        ("durable append, 99th percentile ms", spread_text(crowd["append_ms_p99"])),
    ]
    (less, small), (more, large) = ((int(count), size) for count, size in grown["bytes"].items())
    lines = (f"{less:,} steps: {small / 1e6:.2f} MB", f"{more:,} steps: {large / 1e6:.2f} MB")
    extra = [*late_lines(results), *home_lines(results), *copied_lines(results)]
    title = f"{crowd['runs']:,} concurrent runs of {crowd['steps']} steps, {crowd['rounds']} rounds:"
    goal = verdict(grown["factor"], grown["goal"])
    grows = f"One run that gets long: {', '.join(lines)}; {grown['factor']:g} times the bytes ({goal})."
    times = table(("", "µs per step", "replan : the same work"), rows)
    return "\n\n".join([title, times, table(("this project", ""), facts), grows, *extra])


def late_lines(results):
    """Return what is said of the run of many attempts."""
    if "attempts" not in results:
        return []
    late = results["attempts"]
    text = (
        f"A step of a run of {late['attempts']:,} attempts takes {spread_text(late['first_us'])} µs of processor time "
        f"in the first tenth and {spread_text(late['last_us'])} in the last, {spread_text(late['factor'])} times as "
        f"much ({verdict(late['factor']['median'], late['goal'])}). {measured_at(late)}"
    )
    return [text]


def home_lines(results):
    """Return the tables of the home of many runs."""
    if "home" not in results:
        return []
    home, lines = results["home"], []
    lines.append(
        f"Commands in a home of {home['runs']:,} runs, of which {home['waiting']:,} wait: seconds in a home of "
        f"{scale_home.FEW} runs, in the full one, and the difference. {measured_at(home)}"
    )
    rows = []
    for name in home["file"]["commands"]:
        row = [f"`{name}`"]
        for place in ("file", "database"):
            times = home[place]["commands"][name]
            over = times["over_s"]
            row += [f"{times['few_s']['median']:g}", f"{times['full_s']['median']:g}"]
            row.append(f"{spread_text(over)}: {'met' if over['median'] <= home['goals']['over_s'] else '**missed**'}")
        rows.append(tuple(row))
    for name in home["file"]["requests"]["few_s"]:
        row = [name]
        for place in ("file", "database"):
            small, full = (home[place]["requests"][key][name]["median"] for key in ("few_s", "full_s"))
            row += [f"{small:g}", f"{full:g}"]
            row.append(f"{full - small:.2g}: {'met' if full - small <= home['goals']['over_s'] else '**missed**'}")
        rows.append(tuple(row))
    goal = f"over (at most {home['goals']['over_s']:g})"
    lines.append(table(("", "file, few", "file, full", goal, "database, few", "database, full", goal), rows))
    goal, rows = home["goals"]["verified_per_s"], []
    for name, rate in home["verified_per_s"].items():
        rows.append((f"verified, {name}", rate, least(rate, goal)))
    lines.append(table(("runs a second", "", "goal"), rows))
    return lines


def copied_lines(results):
    """Return what is said of copying."""
    if "copies" not in results:
        return []
    found = results["copies"]
    rates = (f"{way} {rate} a second ({least(rate, found['goal'])})" for way, rate in found["copied_per_s"].items())
    return [f"`home copy` of {found['runs']:,} runs: {', '.join(rates)}. {measured_at(found)}"]


def least(rate, goal):
    """Return whether a rate reached its goal, as text; `verdict` has the goals that are largest values."""
    return f"at least {goal}: {'met' if rate >= goal else '**missed**'}"


def measured_at(part):
    """Return when a part was measured."""
    return f"Measured on {part['date']} at commit {part['commit']}, load {part['load_before']:g} before."


if __name__ == "__main__":
    main()
