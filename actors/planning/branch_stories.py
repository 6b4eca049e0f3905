"""The branches of a search for people: why each was opened, on which artifacts, and how it ended. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from actors.planning.events import BranchOpened, BranchPruned, PlanningEvent
from actors.planning.state import State
from actors.values.format import counted
from actors.values.lines import Line, Span, line
from runtime.core.events import Record


@dataclass(frozen=True, slots=True)
class BranchStory:
    """One branch, from its opening to its end."""

    branch: int
    """The branch's number, in the order of opening, from 0."""
    parent: int | None
    """The number of the branch that it was opened on; None where it began without artifacts."""
    kept: tuple[str, ...]
    """The steps whose artifacts it took from its parent."""
    opened: str
    """The reason for which it was opened, in words."""
    calls: int
    """The calls that are charged to it so far."""
    cause: str = ""
    """The reason for which it was pruned, as a code (`PruneCause`); empty while it lives."""
    pruned: str = ""
    """The same reason in words."""
    won: bool = False
    """Whether the run's plan is this branch's."""

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


def branch_stories(state: State, records: Iterable[Record[PlanningEvent]]) -> list[BranchStory]:
    """Return the branches in the order in which they were opened; none for a search that has only one."""
    if len(state.branches) == 1:
        return []
    calls = [branch.calls for branch in state.branches]
    stories = {0: BranchStory(0, None, (), "the search begins here", calls[0])}
    for record in records:
        match record.event:
            case BranchOpened() as event:
                number = event.branch
                stories[number] = BranchStory(number, event.parent, event.kept, event.why, calls[number])
            case BranchPruned() as event:
                stories[event.branch] = replace(stories[event.branch], cause=str(event.cause), pruned=event.why)
            case _:
                pass
    if state.end is not None and state.end.outcome == "success":
        winner = state.end.branch
        stories[winner] = replace(stories[winner], won=True)
    return list(stories.values())


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
