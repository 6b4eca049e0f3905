"""Writes the measured tables of the benchmarks below, from their results, into `results/tables.md`.

Run it by `python benchmarks/page.py`.
"""

import json

import bench_before
import bench_branches
import bench_execution
import bench_guards
import bench_host
import bench_lab
import bench_postgres
import bench_prompts
import bench_run
import bench_scale
import bench_shared
import bench_startup
import bench_steps
import bench_web
from common import HERE, RESULTS

BENCHMARKS = {
    "steps": bench_steps,
    "shared": bench_shared,
    "scale": bench_scale,
    "host": bench_host,
    "web": bench_web,
    "branches": bench_branches,
    "execution": bench_execution,
    "guards": bench_guards,
    "prompts": bench_prompts,
    "startup": bench_startup,
    "run": bench_run,
    "lab": bench_lab,
    "before": bench_before,
    "postgres": bench_postgres,
}
TABLES = RESULTS / "tables.md"


def main():
    """Write the tables of all benchmarks."""
    parts = ["# Measured", "`python benchmarks/page.py` writes this file from the results beside it."]
    for name, benchmark in BENCHMARKS.items():
        results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        parts += [f"## {name}", benchmark.tables(results), provenance(results)]
    TABLES.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written to {TABLES.relative_to(HERE.parent)}")


def provenance(results):
    """Return a line with date, commit, machine and versions of a result."""
    facts = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"{results['date']}, commit {results['commit']}: {facts['cores']} cores ({facts['processor']}), "
        f"Python {facts['python']}, load {facts['load_before']:g}; {packages}."
    )


if __name__ == "__main__":
    main()
