"""The tables of bench_postgres.py, from its results."""

from common import spread_text, table, verdict


def tables(results):
    """Return the results as Markdown."""
    parts = {
        "steps": steps_tables,
        "growth": growth_tables,
        "waiting": waiting_tables,
        "memory": memory_tables,
    }
    shown = [
        f"{make(results, results[f'part_{name}'])}\n\nLoad {results[f'part_{name}']['load_before']:g} before."
        for name, make in parts.items()
        if f"part_{name}" in results
    ]
    return "\n\n".join(shown)


def steps_tables(results, part):
    """Return the tables of the steps."""
    rows = [
        (
            f"{count} process{'es' if int(count) > 1 else ''}",
            *(spread_text(part["per_second"][name][count]) for name in part["per_second"]),
            *goal_of(part["times_dbos"].get(count), results["goals"]["times_dbos"]),
        )
        for count in part["per_second"]["replan"]
    ]
    heads = ("", *(f"{name}, steps a second" for name in part["per_second"]))
    heads += ("replan : dbos", "goal") if part["times_dbos"] else ("", "")
    where = f"{results['runs']} concurrent runs in each process, on one Postgres {results['server']}"
    title = f"{where}, {results['rounds']} rounds:"
    syncs = [(name, *(f"{value:g}" for value in values.values())) for name, values in part["syncs_per_step"].items()]
    counts = [f"{count} process{'es' if int(count) > 1 else ''}" for count in part["syncs_per_step"]["replan"]]
    work = [
        (name, spread_text(times["process"]), spread_text(times["server"]))
        for name, times in part["processor_us_per_step"].items()
    ]
    beside = part["processor_dbos_to_replan"]
    more = f" DBOS takes {spread_text(beside)} times as much, process and server together." if beside else ""
    shares = part.get("others_percent", {})
    apart = ", ".join(f"{spread_text(share)} % while {name} ran" for name, share in shares.items())
    return "\n\n".join(
        [
            title,
            table(heads, rows),
            *([f"Other programs took a part of the two cores: {apart}."] if shares else []),
            f"Processor time of a step, of one process and of the server, which a busy machine changes less.{more}",
            table(("", "µs in the process", "µs in the server"), work),
            "Syncs of the server's log for a step:",
            table(("", *counts), syncs),
        ]
    )


def goal_of(ratio, least):
    """Return two cells: how many times as many, and whether that meets the goal."""
    if ratio is None:
        return "", ""
    return spread_text(ratio), f"at least {least:g}: {'met' if ratio['median'] >= least else '**missed**'}"


def growth_tables(results, part):
    """Return the table of the sizes."""
    ratio, goal = part["largest_to_smallest"], results["goals"]["growth"]
    rows = [
        (f"{int(size):,}", f"{part['database_mb'][size]:,}", spread_text(time))
        for size, time in part["us_per_step"].items()
    ]
    flat = ratio["median"] <= goal or ratio["min"] <= 1 <= ratio["max"]
    met = f"at most {goal:g}, or covers 1: {'met' if flat else '**missed**'}"
    return "\n\n".join(
        [
            f"{results['runs']} concurrent runs of one process, beside finished runs in the database:",
            table(("finished runs", "MB", "µs per step"), rows),
            f"The largest : the smallest is {spread_text(ratio)} ({met}).",
        ]
    )


def waiting_tables(results, part):
    """Return the table of the waiting runs."""
    goals = results["goals"]
    rows = [
        (
            "list of the newest 200, ms",
            spread_text(part["list_ms"]),
            verdict(part["list_ms"]["median"], goals["list_ms"]),
        ),
        ("list of all, ms", spread_text(part["all_ms"]), ""),
    ]
    for name, woken in part["woken"].items():
        rows += [
            (
                f"waking one, {name}, ms",
                spread_text(woken["wake_ms"]),
                verdict(woken["wake_ms"]["median"], goals["wake_ms"]),
            ),
            (f"memory of the {name}, MiB", woken["memory_mib"], ""),
            (f"CPU of the {name}, percent of a core", woken["cpu_percent"], ""),
        ]
    return f"{part['runs']:,} waiting runs:\n\n{table(('', 'measured', 'goal'), rows)}"


def row(name, values, goal):
    """Return a row of a measurement with a goal."""
    return name, spread_text(values), verdict(values["median"], goal)


def memory_tables(results, part):  # noqa: ARG001 -- as the others
    """Return the sentence about memory."""
    return (
        f"A process that drives {part['runs']:,} runs at once needs {part['peak_mib']:g} MiB at most, and one that has"
        f" driven a single run {part['one_mib']:g} MiB: {part['kib_per_run']} KiB for each driven run."
    )
