"""The tables of what users of other tools have reported, from `docs/explanation/comparison.yaml`."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from page_parts.markdown import DOCS, table

SOURCE = DOCS / "explanation" / "comparison.yaml"
CLASSES = ("After a crash", "People", "Limits and size")
"""The classes of reports, in their order on the page."""
SHOWN = 2
"""How many reports of each class the page shows."""
HEAD = ("Report", "What it says", "Test here")


def reports() -> Mapping[str, list[dict[str, Any]]]:
    """Return the reports by class."""
    found: Mapping[str, list[dict[str, Any]]] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    assert tuple(found) == CLASSES
    return found


def peers() -> str:
    """Return a heading and a table for each class of reports, with links to the threads and to the tests."""
    return "\n\n".join(f"### {title}\n\n{table(HEAD, map(_row, rows[:SHOWN]))}" for title, rows in reports().items())


def _row(report: Mapping[str, Any]) -> tuple[str, ...]:
    repository, _, number = report["issue"].partition("#")
    kind = "pull" if report["state"] == "merged" else "issues"
    link = f"[{repository.partition('/')[2]} #{number}](https://github.com/{repository}/{kind}/{number})"
    return link, report["says"], _links(report["tests"])


def _links(tests: Iterable[str]) -> str:
    links = []
    for number, name in enumerate(tests, 1):
        file, _, test = name.partition("::")
        links.append(f'[{"test" if number == 1 else number}](../../{file} "{test}")')
    return ", ".join(links)
