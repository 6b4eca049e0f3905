"""The branches of a search for people: on what each was opened and why, and what became of it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from actors.planning.events import BranchOpened, BranchPruned, PlanningEvent
from actors.planning.state import PlanningState, State
from actors.values.format import counted
from actors.values.lines import Line, Span, line
from runtime.core.events import Record


@dataclass(frozen=True, slots=True)
class BranchStory:
    """A branch: what it was opened on, its calls, and its end; `cause` is a code, empty while it lives."""

    branch: int
    parent: int | None
    kept: tuple[str, ...]
    opened: str
    calls: int
    cause: str = ""
    pruned: str = ""
    won: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the branch as plain data."""
        return {
            "branch": self.branch,
            "parent": self.parent,
            "kept": list(self.kept),
            "opened": self.opened,
            "calls": self.calls,
            "cause": self.cause or None,
            "pruned": self.pruned or None,
            "won": self.won,
        }


def branch_stories(state: PlanningState, records: Iterable[Record[PlanningEvent]]) -> list[BranchStory]:
    """Return the branches in the order in which they were opened; none for a search that has only one."""
    if not isinstance(state, State) or len(state.branches) == 1:
        return []
    calls = [branch.calls for branch in state.branches]
    found = {0: BranchStory(0, None, (), "the search begins here", calls[0])}
    for record in records:
        match record.event:
            case BranchOpened() as event:
                number = event.branch
                found[number] = BranchStory(number, event.parent, event.kept, event.why, calls[number])
            case BranchPruned() as event:
                found[event.branch] = replace(found[event.branch], cause=str(event.cause), pruned=event.why)
            case _:
                pass
    if state.end is not None and state.end.outcome == "success":
        winner = state.end.branch
        found[winner] = replace(found[winner], won=True)
    return list(found.values())


def branch_lines(stories: Iterable[BranchStory]) -> list[Line]:
    """Return a line for each branch."""
    return [_line(story) for story in stories]


def _line(story: BranchStory) -> Line:
    base = "" if story.parent is None else f" on branch {story.parent}"
    kept = f" with {', '.join(story.kept)}" if story.kept else ""
    shown = line(f"branch {story.branch}{base}{kept}", "bold") + Line((Span(": "),))
    shown += line(f"{story.opened}; {counted(story.calls, 'call')}")
    if story.won:
        return shown + Line((Span("; "), Span("brought the plan", "green")))
    if story.cause:
        return shown + Line((Span("; "),)) + line(f"pruned ({story.cause}): {story.pruned}", "yellow")
    return shown
