"""The state of an acquisition run: all that decisions depend on. Frozen; only `evolve` makes new ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from actors.acquisition.config import RunConfig
from actors.acquisition.events import AcquisitionCall
from actors.acquisition.planner_state import PlannerState
from actors.run.state import RunState
from actors.run.tools import ToolFinished


class ReplyText(NamedTuple):
    """A model's reply to a call of the node at which the run is."""

    call: str
    """The name of the call, `PURPOSE/vVISIT.aATTEMPT`."""
    path: str
    """The field that the call is about; empty for none."""
    content: str
    """The reply's text."""
    ended_early: bool
    """Whether its end is missing."""


class Visited(NamedTuple):
    """A node that the run has left."""

    node: str
    """The name of the node."""
    outcome: str
    """Its outcome."""
    to: str
    """The node that followed."""
    reason: str
    """Why, in one line."""


@dataclass(frozen=True)
class State:
    """The state of a run, from its first event on."""

    run: RunState[AcquisitionCall]
    """The part that every kind of agent has: calls, tools, waits, questions, messages, ledger and end."""
    config: RunConfig
    """The run's configuration."""
    goal: str
    """The text of the user's goal."""
    source: str = ""
    """The profile's name if it is shipped, else the path of its file."""
    planner: PlannerState = field(default_factory=PlannerState)
    """The part that the nodes of the graph own."""
    node: str = ""
    """The node at which the run is."""
    visits: Mapping[str, int] = field(default_factory=dict)
    """How many times the run has come to each node."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """How many calls there were by purpose; further attempts and tries do not count."""
    path: tuple[Visited, ...] = ()
    """The nodes that the run has left, in order."""
    replies: tuple[ReplyText, ...] = ()
    """The replies that came at this node, oldest first."""
    tool: ToolFinished | None = None
    """The end of the search that was made at this node; None before."""
    question: str = ""
    """The id of the question that was asked at this node, or at the node before `observe_user`; empty for none."""
    round: int = 1
    """The number of the round: it begins anew with a requirement, which gives all attempts back."""

    @property
    def visit(self) -> int:
        """The number of this stay at the node, from 1."""
        return self.visits.get(self.node, 0)
