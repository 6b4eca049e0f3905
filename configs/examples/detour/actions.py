"""What the tools of this example do in the workspace."""

import csv
from pathlib import Path


def add_up(workspace: Path) -> str:
    """Write the sum of all orders to summary.txt."""
    with (workspace / "orders.csv").open(encoding="utf-8", newline="") as file:
        cents = [int(row["cents"]) for row in csv.DictReader(file)]
    (workspace / "summary.txt").write_text(f"{len(cents)} orders, {sum(cents)} cents\n", encoding="utf-8")
    return f"{len(cents)} orders"


def print_out(workspace: Path) -> str:
    """Fail as a printer does that this user may not use, today and tomorrow."""
    raise PermissionError(f"you may not use the printer for {workspace.name}")


def put_into_outbox(workspace: Path) -> str:
    """Copy the summary into the outbox."""
    outbox = workspace / "outbox"
    outbox.mkdir(exist_ok=True)
    (outbox / "summary.txt").write_bytes((workspace / "summary.txt").read_bytes())
    return "outbox/summary.txt"


def is_written(workspace: Path) -> bool:
    """Tell whether there is a summary."""
    return (workspace / "summary.txt").is_file()


def is_delivered(workspace: Path) -> bool:
    """Tell whether the summary is in the outbox or was printed."""
    return (workspace / "outbox" / "summary.txt").is_file() or (workspace / "printed").exists()
