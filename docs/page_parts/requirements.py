"""The requirements: the state of each, and the tests that name its number."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from page_parts.markdown import ROOT, read

NUMBER = re.compile(r"\bS(\d{1,3})\b(?: to S(\d{1,3})\b)?")


def requirement_state(entry: Mapping[str, Any]) -> str:
    """Return how far a requirement is met: `not yet`, `partly`, `differently` or `met`."""
    if "not_yet" in entry:
        return "not yet"
    return "partly" if "missing" in entry else "differently" if "instead" in entry else "met"


def requirement_counts() -> str:
    """Return how many requirements are in each state; an entry for a range counts each number of it."""
    counts = Counter[str]()
    for number, entry in read("requirements.yaml").items():
        counts[requirement_state(entry)] += len(numbers(number))
    return (
        f"Of {counts.total()} requirements, {counts['met']} are met as stated, {counts['differently']} are met in "
        f"another way (*Instead*), {counts['partly']} are met in part (*Missing*), and "
        f"{counts['not yet']} are not built yet."
    )


@cache
def named_tests() -> dict[str, list[str]]:
    """Return the tests and histories that name a number in their docstring or first line, by number."""
    tests: dict[str, list[str]] = {}
    folders = (ROOT / "tests", *sorted(ROOT.glob("packages/*/tests")))
    for path in (path for folder in folders for path in sorted(folder.rglob("test_*.py"))):
        for test, docstring in tests_in(path):
            for number in numbers(docstring):
                tests.setdefault(number, []).append(f"{path.relative_to(ROOT)}::{test}")
    for path in sorted((ROOT / "tests" / "histories").glob("*.txt")):
        for number in numbers(path.read_text(encoding="utf-8").partition("\n")[0]):
            tests.setdefault(number, []).append(str(path.relative_to(ROOT)))
    return tests


def numbers(text: str) -> list[str]:
    """Return the requirement numbers in a text; `S12 to S21` means all of them."""
    names: list[str] = []
    for low, high in NUMBER.findall(text):
        names += [f"S{number}" for number in range(int(low), int(high or low) + 1)]
    return names


def tests_in(path: Path) -> list[tuple[str, str]]:
    """Return the tests of a file with their docstrings; a method as `Class::test`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holders = [
        ("", tree.body),
        *((f"{node.name}::", node.body) for node in tree.body if isinstance(node, ast.ClassDef)),
    ]
    return [
        (f"{prefix}{node.name}", ast.get_docstring(node) or "")
        for prefix, body in holders
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


PARTS: Mapping[str, Callable[[], str]] = {
    "requirement-counts": requirement_counts,
}
"""The sentence by the name in the mark."""
