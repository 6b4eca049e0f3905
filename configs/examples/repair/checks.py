"""A check of this example that is a Python function."""

from pathlib import Path


def report_there(workspace: Path) -> bool:
    """Tell whether the report is there and has a line."""
    report = workspace / "report.txt"
    return report.is_file() and bool(report.read_text(encoding="utf-8").strip())
