"""An experiment as a file: problems × pipelines × searches × seeds, what it may cost, and what it is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, model_validator

from actors.files.config_model import Config, config_error
from actors.files.suggestions import nearest
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import Document, read_document
from actors.simulated.profile import Share
from actors.simulated.verdict_filter import Feedback

ArmName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=10**6)]
TRIALS_MAX = 1_000_000
"""More than a computer plays in a night."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One thing that is compared: a pipeline with a search (None: the workflow's own) and a model.

    `label` names the first two, `name` all three.
    """

    pipeline: "Pipeline"
    search: str | None
    model: str
    label: str
    name: str


class Pipeline(Config):
    """A workflow with changes: what the problems are planned with."""

    name: ArmName
    """What the tables call it."""
    workflow: str = "search"
    """A shipped name, or a file counted from this one."""
    search: str | None = None
    """A search of its own; then the experiment's list of searches does not multiply it."""
    search_config: Mapping[str, Any] = Field(default_factory=dict)
    """Values that replace those of the workflow, such as `r_patience` or `max_total_calls`."""
    steps: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Values that replace those of single steps, such as `rmax` or `backtrack_budget`."""
    policy: str | None = None
    """A rule table in place of the workflow's: a shipped name, or a file counted from this one."""
    without_rows: tuple[str, ...] = ()
    """Rows that are taken out of the policy's table."""
    feedback: Feedback = "full"
    """What of a rejected plan's findings gets through; only with a simulated author."""
    false_accept: Share = 0.0
    """The share of wrong plans that the guard accepts; only with a simulated author."""
    false_reject: Share = 0.0
    """The share of right plans that the guard rejects; only with a simulated author."""

    @property
    def lensed(self) -> bool:
        """Whether guards are seen through a lens."""
        return self.feedback != "full" or self.false_accept > 0 or self.false_reject > 0


class Seeds(Config):
    """Consecutive seeds. By custom 0 to 999 are for tuning, and 1000 and up for what is reported."""

    first: Annotated[int, Field(ge=0, le=10**9)] = 1000
    """The first seed."""
    count: Count = 1
    """How many."""

    @property
    def all(self) -> range:
        """The seeds."""
        return range(self.first, self.first + self.count)


class Spending(Config):
    """What the whole experiment may use. It ends in good order, and the report says so."""

    calls: Count | None = None
    """Model calls. No trial begins that might need more than are left."""
    usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Dollars. No trial begins once they are spent, so those under way may pass them."""


class Experiment(Config):
    """A whole experiment."""

    name: ArmName
    """What its folder of results is called."""
    description: str = Field(min_length=1)
    """What it asks, for people."""
    problems: tuple[str, ...] = Field(min_length=1)
    """Files with a problem each, `.jsonl` files with one per line, or folders of such; counted from this file."""
    models: tuple[str, ...] = Field(min_length=1)
    """As after `--model`; a simulated author gets its seed from `seeds`."""
    pipelines: tuple[Pipeline, ...] = Field(min_length=1)
    """What the problems are planned with."""
    searches: tuple[str, ...] = ()
    """The searches that each pipeline is tried with; without any, each has its workflow's own."""
    seeds: Seeds = Field(default_factory=Seeds)
    """The seeds; with a model that is not simulated, just so many repetitions."""
    max_calls: Count | None = None
    """Calls of one trial; without it, the workflow's."""
    budgets: tuple[Count, ...] = (1, 5, 10, 20, 30)
    """The budgets of calls that success is shown for."""
    baseline: str
    """What all others on the same model are compared with: `PIPELINE`, or `PIPELINE/SEARCH` if there are several."""
    budget: Spending = Field(default_factory=Spending)
    """What the whole experiment may use."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Trials side by side, with a model that is not simulated; simulated ones take a process per core."""

    @model_validator(mode="after")
    def _sound(self) -> "Experiment":
        for key, names in (
            ("pipelines", [pipeline.name for pipeline in self.pipelines]),
            ("searches", list(self.searches)),
            ("models", list(self.models)),
            ("problems", list(self.problems)),
        ):
            for place, name in enumerate(names):
                if name in names[:place]:
                    raise config_error(f"{name!r} is named twice", (key, place))
        known = [arm.label for arm in self.arms()]
        if self.baseline not in known:
            raise config_error(f"there is no arm {self.baseline!r}", ("baseline",), nearest(self.baseline, known))
        if len(known) * self.seeds.count > TRIALS_MAX:
            raise config_error(f"more than {TRIALS_MAX:,} trials", ("seeds", "count"))
        return self

    def arms(self) -> tuple[Arm, ...]:
        """Return what is compared: each pipeline with each search and each model."""
        return tuple(
            self._arm(pipeline, search, model)
            for model in self.models
            for pipeline in self.pipelines
            for search in ((pipeline.search,) if pipeline.search else self.searches or (None,))
        )

    def _arm(self, pipeline: Pipeline, search: str | None, model: str) -> Arm:
        label = f"{pipeline.name}/{search}" if len(self.searches) > 1 and search else pipeline.name
        name = f"{label}@{model.removeprefix('simulated:')}" if len(self.models) > 1 else label
        return Arm(pipeline, search, model, label, name)

    def references(self) -> dict[str, str]:
        """Return the arm that each arm is compared with: the baseline on the same model."""
        base = {arm.model: arm.name for arm in self.arms() if arm.label == self.baseline}
        return {arm.name: base[arm.model] for arm in self.arms()}


def load_experiment(path: Path) -> tuple[Experiment, Document]:
    """Return the experiment in a file, and the document with its lines. Raises `UsageProblem` with file and line."""
    document = read_document(path)
    try:
        return Experiment.model_validate(document.value), document
    except ValidationError as error:
        raise usage_problem(error, document) from None
