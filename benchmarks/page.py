"""Writes the measured tables into the pages about performance and about capacity.

    python benchmarks/page.py

Reads the results of the benchmarks below, and replaces the text between the two marks of each page.
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
import bench_scale
import bench_shared
import bench_startup
import bench_steps
import bench_web
from common import HERE, RESULTS

FOLDER = HERE.parent / "docs" / "explanation"
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
    "lab": bench_lab,
    "before": bench_before,
}
BEGIN, END = "<!-- measured: benchmarks/page.py writes this -->", "<!-- end -->"


def main():
    """Write the tables into the pages."""
    for name, benchmarks in {"performance.md": BENCHMARKS, "capacity.md": {"postgres": bench_postgres}}.items():
        fill(FOLDER / name, benchmarks)


def fill(page, benchmarks):
    """Write the tables of benchmarks into a page."""
    parts = []
    for name, benchmark in benchmarks.items():
        results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        parts.append(f"{benchmark.tables(results)}\n\n{provenance(results)}")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text("\n\n".join([f"{before}{BEGIN}", *parts, f"{END}{after}"]), encoding="utf-8")
    print(f"written to {page.relative_to(HERE.parent)}")


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
