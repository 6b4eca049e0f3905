"""The picture of the core's rooms: its folders, and an arrow for each that imports another."""

from collections.abc import Mapping

from tests.tidy.source import CORE
from tests.tidy.test_packages import package_imports


def rooms() -> str:
    """Return the folders of the core as a flowchart in Mermaid, without the arrows that follow from others."""
    graph = {room: set(imported) for room, imported in package_imports(CORE).items()}
    lines = ["```mermaid", "flowchart TD"]
    for package in ("replan", "actors", "runtime"):
        names = sorted(room for room in graph if room.startswith(f"{package}."))
        lines += [f"  subgraph {package}", *(f"    {_id(name)}[{_shown(name)}]" for name in names), "  end"]
    arrows = ((room, other) for room in sorted(graph) for other in sorted(_needed(graph, room)))
    return "\n".join([*lines, *(f"  {_id(room)} --> {_id(other)}" for room, other in arrows), "```"])


def _needed(graph: Mapping[str, set[str]], room: str) -> set[str]:
    """Return the imported rooms that no other imported room imports by itself or through others."""
    return {other for other in graph[room] if not any(other in _below(graph, between) for between in graph[room])}


def _below(graph: Mapping[str, set[str]], room: str) -> set[str]:
    found, left = set[str](), [room]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found


def _id(room: str) -> str:
    return room.replace(".", "_")


def _shown(room: str) -> str:
    return room.partition(".")[2].replace(".", "/")
