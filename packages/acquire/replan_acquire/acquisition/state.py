"""The state and the configuration of an acquisition run: all that decisions depend on. Frozen."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from pydantic import Field

from actors.prompting.book import PromptBook
from actors.prompting.render import PromptTemplate
from actors.run.settings import SettingsChanged, call_fields
from actors.run.state import RunState
from actors.run.tools import ToolFinished
from actors.values.model_settings import ModelSettings
from replan_acquire.acquisition.events import AcquisitionCall
from replan_acquire.acquisition.planner_state import PlannerState
from replan_acquire.acquisition.profile import Profile
from runtime.core.events import Value
from runtime.core.ledger import Price


class RunConfig(Value):
    """The configuration of a run.

    The run's first event stores the configuration, so that later decisions need no file.
    """

    profile: Profile
    prompts: PromptBook
    model: str
    """The model, as given to `--model`."""
    price: Price | None = None
    search: Mapping[str, Any] = Field(default_factory=dict)
    """The places to search (`replan_acquire.documents.tools.SearchPlaces`) as JSON; empty if there are no places."""
    output_tokens_max: int = Field(ge=1)
    """The largest number of tokens in one reply."""
    timeout_seconds: float = Field(gt=0)
    """The time limit of one try of a call, in seconds."""
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)
    search_seconds: float = Field(gt=0)
    """The time limit of one search, in seconds."""
    question_expires_seconds: float | None = Field(gt=0)
    """The seconds after which an unanswered question expires; None if it never expires."""

    def with_settings(self, event: SettingsChanged) -> "RunConfig":
        """Return the configuration with the model or the limits of a call that a person has changed."""
        changes = call_fields(event, self.timeout_seconds, self.model_settings)
        if not changes:
            return self
        # A copy would keep the cached properties, which were computed from the old values.
        return RunConfig(**({name: getattr(self, name) for name in RunConfig.model_fields} | changes))

    @cached_property
    def templates(self) -> dict[str, PromptTemplate]:
        """The prompts by the purpose of the call."""
        return {name: PromptTemplate(entry, self.prompts) for name, entry in self.prompts.entries.items()}


@lru_cache(maxsize=64)
def read_config(text: str) -> RunConfig:
    """Return a configuration from its JSON. Runs with equal configurations share one value."""
    return RunConfig.model_validate_json(text)


class ReplyText(NamedTuple):
    """A model's reply to a call of the run's current node."""

    call: str
    """The name of the call, `PURPOSE/vVISIT.aATTEMPT`."""
    path: str
    """The field that the call is about; empty if it is about no field."""
    content: str
    ended_early: bool
    """Whether the reply was cut off before its end."""


class Visited(NamedTuple):
    """A step through the graph: the node that the run has left, and the next node `to`."""

    node: str
    outcome: str
    to: str
    reason: str


@dataclass(frozen=True)
class State:
    """The state of a run, from its first event on."""

    run: RunState[AcquisitionCall]
    """The part of the state that all kinds of runs have: calls, tools, waits, questions, messages, ledger and end."""
    config: RunConfig
    goal: str
    source: str = ""
    planner: PlannerState = field(default_factory=PlannerState)
    """The part of the state that the nodes of the graph change."""
    node: str = ""
    visits: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    """The number of calls by purpose. Only the first try of a call's first attempt is counted."""
    path: tuple[Visited, ...] = ()
    replies: tuple[ReplyText, ...] = ()
    tool: ToolFinished | None = None
    """The event with which the current node's search ended; None if no search of this node has ended."""
    question: str = ""
    """The id of the question that the latest visit of `ask_user` has asked; empty if it has asked no question."""
    round: int = 1
    """The number of the round. A new requirement begins a round, in which all attempts are allowed again."""

    @property
    def visit(self) -> int:
        """The number of the current visit of the node, from 1."""
        return self.visits.get(self.node, 0)
