"""The model of an experiment file about executions: policies × worlds of simulated tools × seeds, and a baseline."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from actors.execution.prepare import QUESTIONS, REPLANS
from actors.files.config_model import Config, config_error
from actors.files.document import Document
from actors.files.suggestions import nearest
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from actors.simulated.profile import Share
from actors.simulated.tool_task import Task
from actors.simulated.tool_world import ToolOdds
from replan.experiments.definition import TRIALS_MAX, ArmName, Seeds

KIND = "executions"
"""The value of the key `kind` by which such a file differs from an experiment about planning runs."""
Budget = Annotated[int, Field(ge=0, le=100)]


class ExecutionPolicy(Config):
    """A policy that is compared, with the budgets that it has."""

    name: ArmName
    """The name in tables and in `baseline`; unique in the experiment."""
    policy: str = "default"
    """The rule table: a shipped name, or a path relative to this file."""
    replans_max: Budget = REPLANS
    """The most replans of an execution."""
    questions_max: Budget = QUESTIONS
    """The most questions about failures; questions about interrupted calls come on top."""


class ExecutionExperiment(Config):
    """An experiment about executions: each policy is tried in each world with each seed."""

    kind: Literal["executions"]
    """What is compared."""
    name: ArmName
    """The name, also of the folder of its results."""
    description: str = Field(min_length=1)
    """The question that it answers, for people."""
    task: Task = Field(default_factory=Task)
    """The goals of an execution, and the tools that can do each step."""
    worlds: tuple[ToolOdds, ...] = Field(min_length=1)
    """How often tools and checks fail."""
    policies: tuple[ExecutionPolicy, ...] = Field(min_length=1)
    """The policies to compare, in every world."""
    by_hand: Share = 0.5
    """The share of steps that a person who is asked can do. For the others they choose a new plan, else another try."""
    seeds: Seeds = Field(default_factory=Seeds)
    """The seeds: each policy has as many trials in each world."""
    baseline: str
    """The policy that the others are compared with in the same world."""

    @model_validator(mode="after")
    def _check(self) -> "ExecutionExperiment":
        for key, names in (
            ("worlds", [world.name for world in self.worlds]),
            ("policies", [policy.name for policy in self.policies]),
        ):
            for place, name in enumerate(names):
                if name in names[:place]:
                    raise config_error(f"{name!r} is named twice", (key, place))
        policies = [policy.name for policy in self.policies]
        if self.baseline not in policies:
            hint = nearest(self.baseline, policies)
            raise config_error(f"there is no policy {self.baseline!r}", ("baseline",), hint)
        if len(policies) * len(self.worlds) * self.seeds.count > TRIALS_MAX:
            raise config_error(f"more than {TRIALS_MAX:,} trials", ("seeds", "count"))
        return self


def is_about_executions(path: Path) -> bool:
    """Return whether an experiment file is about executions. Raises `UsageProblem` where it cannot be read."""
    value = read_document(path).value
    return isinstance(value, dict) and value.get("kind") == KIND


def load_execution_experiment(path: Path) -> tuple[ExecutionExperiment, Document]:
    """Return the experiment in a file, and its document. Raises `UsageProblem` with file and line."""
    document = read_document(path)
    try:
        return ExecutionExperiment.model_validate(document.value), document
    except ValidationError as error:
        raise usage_problem(error, document) from None
