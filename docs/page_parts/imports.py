"""The picture of the core: its folders, with an arrow from each folder to those that it imports."""

from collections.abc import Mapping

from tests.tidy.source import CORE
from tests.tidy.test_packages import package_imports


def between_folders() -> str:
    """Return the flowchart in Mermaid. It leaves out an arrow where others lead to the same folder."""
    graph = {folder: set(imported) for folder, imported in package_imports(CORE).items()}
    lines = ["```mermaid", "flowchart TD"]
    for package in ("replan", "actors", "runtime"):
        names = sorted(folder for folder in graph if folder.startswith(f"{package}."))
        lines += [f"  subgraph {package}", *(f"    {_id(name)}[{_shown(name)}]" for name in names), "  end"]
    arrows = ((folder, other) for folder in sorted(graph) for other in sorted(_needed(graph, folder)))
    return "\n".join([*lines, *(f"  {_id(folder)} --> {_id(other)}" for folder, other in arrows), "```"])


def _needed(graph: Mapping[str, set[str]], folder: str) -> set[str]:
    """Return the imported folders that no other imported folder imports by itself or through others."""
    return {other for other in graph[folder] if not any(other in _below(graph, between) for between in graph[folder])}


def _below(graph: Mapping[str, set[str]], folder: str) -> set[str]:
    found, left = set[str](), [folder]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found


def _id(folder: str) -> str:
    return folder.replace(".", "_")


def _shown(folder: str) -> str:
    return folder.partition(".")[2].replace(".", "/")
