"""What `action.yml` runs: checks the plans of a checkout, annotates their lines, and draws them in the job's summary.

Reads `REPLAN_PLANS`, `REPLAN_LEVEL` and `REPLAN_GUARDS`, and exits as `replan check` does.
"""
# ruff: noqa: INP001, S603, T201 -- a script, not a package; it runs itself

import glob
import json
import os
import subprocess
import sys
from pathlib import Path

from actors.plans.plan_flow import plan_mermaid
from runtime.core.errors import UsageProblem

SUMMARY_PLANS_MAX = 20
"""Plans that the summary draws; GitHub shows a summary of at most 1 MiB."""


def main() -> int:
    """Check, and return the exit code."""
    patterns = os.environ.get("REPLAN_PLANS", "").split()
    found = {name for pattern in patterns for name in glob.glob(pattern, recursive=True)}  # noqa: PTH207 -- any pattern
    files = sorted(name for name in found if Path(name).is_file())
    if not files:
        print(f"::notice::no file matches {' '.join(patterns)}")
        return 0
    guards = [word for name in os.environ.get("REPLAN_GUARDS", "").split() for word in ("--guard", name)]
    command = [sys.executable, "-m", "replan", "check", "--level", os.environ.get("REPLAN_LEVEL") or "medium", *guards]
    done = subprocess.run([*command, "--format", "github", "--", *files], check=False)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"## Plans: {len(files)} checked\n\n")
            file.writelines(_drawn(name) for name in files[:SUMMARY_PLANS_MAX])
    return done.returncode


def _drawn(name: str) -> str:
    try:
        graph = plan_mermaid(json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError, UsageProblem):
        graph = ""  # The check has said why it is no plan.
    return f"### `{name}`\n\n```mermaid\n{graph}```\n\n" if graph else f"### `{name}`\n\nIt is not drawn.\n\n"


if __name__ == "__main__":
    sys.exit(main())
