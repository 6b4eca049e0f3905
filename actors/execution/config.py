"""The configuration of an execution: everything that later decisions use. The first event stores it as JSON."""

import json
import operator
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import Field

from actors.execution.ids import node_names
from actors.planning.config import RunConfig
from actors.plans.graph import bits
from actors.plans.plan import IRREVERSIBLE, Plan
from actors.plans.reader import read_draft
from actors.plans.semantics import Configuration, Program, compile_plan, is_ready
from actors.policy.table import Policy
from actors.prompting.book import PromptBook
from actors.prompting.render import PromptTemplate
from actors.run.settings import SettingsChanged, call_fields
from actors.tools.uses import ModelUse, PersonUse, ToolSet, ToolUse
from actors.values.model_settings import ModelSettings
from runtime.core.events import Value
from runtime.core.ledger import Price

Approval = Literal["each", "risky", "none"]
"""Which attempts must wait for a person's approval: all attempts, only risky or irreversible attempts, or no
attempts."""
WRITE_FILE = "write_file"
HAND_TO_AGENT = "hand_to_agent"


class ExecutionConfig(Value):
    """The configuration of an execution at its start. It never changes."""

    plan: str
    level: str
    """The guard that has proved the first plan: `plan_minimal`, `plan_medium` or `plan_expansive`."""
    assurance: str | None
    """The assurance that the guard measured for the first plan."""
    required_assurance: str
    """The weakest assurance that a new plan may have."""
    r_max: int
    """The largest `total_retry_budget` that a new plan may have."""
    tools: ToolSet
    approval: Approval
    policy: Policy
    prompts: PromptBook
    workspace: str
    snapshots: bool
    """Whether the run takes snapshots of the workspace before the first step and after each step, and compares them."""
    looks: bool = Field(default=False, exclude_if=operator.not_)
    """Whether a preflight check is made before the first step of each plan."""
    problem: str
    """The text of the problem that the plan solves; empty if there is no text."""
    planning: RunConfig | None
    """The configuration of the planning runs that make new plans; None if no new plan can be made."""
    author_lacks: str = Field(default="", exclude_if=lambda text: not text)
    """The reason why the model cannot make a plan for these tools, as a clause; empty if the model can plan."""
    replans_max: int = Field(ge=0)
    """The largest number of replans. A reopened run may make this number of replans again."""
    questions_max: int = Field(ge=0)
    """The largest number of questions about troubles. A reopened run may ask this number of questions again."""
    r_patience: int = Field(ge=1)
    """The number of equal failures of a step in a row that count as stagnation."""
    question_expires_seconds: float | None
    model: str
    price: Price | None
    timeout_seconds: float = Field(gt=0)
    output_tokens_max: int = Field(ge=1)
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)

    def with_settings(self, event: SettingsChanged) -> "ExecutionConfig":
        """Return the configuration after a person has changed the model or the limits of a call."""
        update = call_fields(event, self.timeout_seconds, self.model_settings)
        if not update:
            return self
        if event.model is not None:
            update["author_lacks"] = ""
        if self.planning is not None:
            update["planning"] = self.planning.with_settings(event)
        return self.model_copy(update=update)

    @cached_property
    def writer(self) -> PromptTemplate:
        """The prompt for a model that writes a file."""
        return PromptTemplate(self.prompts.entries[WRITE_FILE], self.prompts)

    @cached_property
    def agent_prompt(self) -> PromptTemplate:
        """The prompt for a coding agent that carries out a step."""
        return PromptTemplate(self.prompts.entries[HAND_TO_AGENT], self.prompts)

    def needs_approval(self, step: str, program: "ReadyPlan") -> bool:
        """Return whether a person must approve an attempt at a step before the attempt begins."""
        uses = [use for use in program.uses(self.tools, step) if not isinstance(use, PersonUse)]
        match self.approval:
            case "none":
                return False
            case "risky":
                lasting = program.plan.undoes and program.by_id[step].undo == IRREVERSIBLE
                return any(use.risky for use in uses) or (lasting and bool(uses))
            case "each":
                return bool(uses)


class ReadyPlan:
    """A plan that is ready to be executed: parsed and compiled, with each step's name for ids of requests.

    Two ready plans are equal if they have the same JSON.
    """

    def __init__(self, text: str) -> None:
        """Build the ready plan from the JSON of a plan that a guard has accepted."""
        self.text = text
        self.json: Any = json.loads(text)
        draft, _ = read_draft(self.json)
        assert draft is not None, "a guard has accepted the plan"
        self.plan: Plan = draft
        self.program: Program = compile_plan(draft)
        self.names = node_names(draft)
        self.by_name = {name: step for step, name in self.names.items()}
        self.index = self.program.order.index
        self.by_id = {step.step_id: step for step in draft.steps}
        self.unnamed = draft.initial_state.difference(self.program.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReadyPlan) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def needed_by(self) -> tuple[int, ...]:
        """For each token, the bit set of the steps that need this token."""
        return _invert(self.program.needs, len(self.program.tokens))

    @cached_property
    def waited_for_by(self) -> tuple[int, ...]:
        """For each step, the bit set of the steps that depend on this step."""
        return _invert(self.program.dependencies, len(self.program.steps))

    def ready_after(self, ready: tuple[int, ...], before: Configuration, now: Configuration) -> tuple[int, ...]:
        """Return the indices of the steps that may start now, in ascending order.

        `now` and `before` are the pending steps and the tokens that hold, now and earlier. `ready` lists the steps that
        could start earlier. The method checks only the steps that a difference between `before` and `now` can affect.
        So the time of this method does not grow with the size of the plan.
        """
        touched = different = before.pending ^ now.pending
        for index in bits(different):
            touched |= self.waited_for_by[index]
        for token in bits(before.tokens ^ now.tokens):
            touched |= self.needed_by[token]
        if not touched:
            return ready
        fresh = [index for index in bits(touched & now.pending) if is_ready(self.program, now, index)]
        return tuple(sorted([*(index for index in ready if not touched >> index & 1), *fresh]))

    def uses(self, tools: ToolSet, step: str) -> "tuple[ToolUse | ModelUse | PersonUse, ...]":
        """Return how a step is executed and, if the step has a guard, how the step is checked."""
        check = tools.guard_use(self.by_id[step])
        act = tools.generator_use(self.by_id[step])
        return (act,) if check is None else (act, check)

    def reads_output(self, tools: ToolSet, step: str) -> bool:
        """Return whether the step's outcome or values of tokens are read from its generator's output."""
        act = tools.generator_use(self.by_id[step])
        return bool(self.by_id[step].outcomes or (isinstance(act, ToolUse) and act.values))


def _invert(bit_sets: Sequence[int], count: int) -> tuple[int, ...]:
    """Return `count` bit sets. Item N of the result contains P if the set at position P of `bit_sets` contains N."""
    owners = [0] * count
    for index, bit_set in enumerate(bit_sets):
        for member in bits(bit_set):
            owners[member] |= 1 << index
    return tuple(owners)


@lru_cache(maxsize=64)
def read_config(text: str) -> ExecutionConfig:
    """Return the configuration of an execution from its JSON. Equal texts return the same object."""
    return ExecutionConfig.model_validate_json(text)


@lru_cache(maxsize=64)
def ready_plan(text: str) -> ReadyPlan:
    """Return a plan that is ready to be executed, from its JSON. Equal texts return the same object."""
    return ReadyPlan(text)
