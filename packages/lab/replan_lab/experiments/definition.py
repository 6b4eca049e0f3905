"""The definitions in experiment files, which compare arms with a baseline, and the problems of experiments."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints, model_validator

from actors.execution.prepare import QUESTIONS, REPLANS
from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, ParsedFile, config_error
from actors.files.yaml_document import read_document
from actors.planning.prepare import check_problem
from replan_lab.simulated.profile import Share
from replan_lab.simulated.tool_world import Task, ToolOdds
from replan_lab.simulated.verdict_filter import Feedback
from runtime.core.errors import UsageProblem

ArmName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=10**6)]
Times = Annotated[int, Field(ge=0, le=100)]
DIVIDES_CALLS = frozenset(("beam", "best_of"))
"""The searches whose moves depend on the limit of calls, because they divide it among their branches."""
TRIALS_MAX = 1_000_000
"""The largest number of trials in one experiment. One computer cannot simulate more trials in a night."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One combination of a pipeline, a search and a model. An experiment compares its arms with each other."""

    pipeline: "Pipeline"
    """The workflow, with its changes."""
    search: str | None
    """The search; None uses the workflow's own search."""
    model: str
    """The model in the form of `--model`."""
    label: str
    name: str
    """The names of the pipeline, the search and the model, joined; unique in the experiment."""
    cap: int | None = None
    family: str = ""
    """The label without the cap. Arms that differ only in the cap have the same family."""


class Pipeline(Config):
    """A workflow, with changes."""

    name: ArmName
    """The name in tables and in `baseline`; unique in the experiment."""
    workflow: str = "search"
    """A shipped name, or a path relative to this file."""
    search: str | None = None
    """The search. It replaces the experiment's list of searches for this pipeline."""
    search_config: Mapping[str, Any] = Field(default_factory=dict)
    """Values that replace the workflow's values, such as `r_patience` or `max_total_calls`."""
    steps: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Values that replace values of single steps, such as `rmax` or `backtrack_budget`."""
    policy: str | None = None
    """The policy: a shipped name, or a path relative to this file. It replaces the workflow's policy."""
    without_rows: tuple[str, ...] = ()
    """Rows to remove from the policy's table."""
    feedback: Feedback = "full"
    """The findings in the rejection of a plan. This key and all keys below need a simulated author."""
    search_sees: Feedback | None = None
    """The findings that the search uses; None uses the findings of `feedback`."""
    author_sees: Feedback | None = None
    """The findings that the author reads; None uses the findings of `feedback`."""
    false_accept: Share = 0.0
    """The probability that the guard accepts a wrong plan, for each attempt."""
    false_reject: Share = 0.0
    """The probability that the guard rejects a right plan, for each attempt."""
    accepting_problems: Share = 0.0
    """The share of problems on which the guard accepts every plan."""
    rejecting_problems: Share = 0.0
    """The share of problems on which the guard rejects every plan."""

    @property
    def filter_values(self) -> Mapping[str, Any]:
        """The arguments of the pipeline's `VerdictFilter`; empty if the pipeline changes no verdicts."""
        values = {
            "search_sees": self.search_sees or self.feedback,
            "author_sees": self.author_sees or self.feedback,
            "false_accept": self.false_accept,
            "false_reject": self.false_reject,
            "accepting_problems": self.accepting_problems,
            "rejecting_problems": self.rejecting_problems,
        }
        return {name: value for name, value in values.items() if value not in ("full", 0.0)}


class Seeds(Config):
    """Consecutive seeds. By convention 0 to 999 are for tuning, and seeds from 1000 on are for reported results."""

    first: Annotated[int, Field(ge=0, le=10**9)] = 1000
    """The lowest seed."""
    count: Count = 1
    """The number of seeds, which is also the number of trials of each arm on each problem."""

    @property
    def all(self) -> range:
        """The seeds."""
        return range(self.first, self.first + self.count)


class Spending(Config):
    """The budget of the whole experiment. If the budget is spent, the experiment ends early, and the report says so."""

    calls: Count | None = None
    """Model calls. A trial begins only if the remaining calls cover its limit."""
    usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Dollars. A trial begins if any dollars are left, so running trials may exceed the budget."""
    exact: bool = Field(default=False, exclude_if=lambda exact: not exact)
    """Whether no trial may spend more than the remaining part of `usd`. Trials of real models then run one after the
    other, and the experiment ends at the first trial that is cut short.
    """


class Experiment(Config):
    """An experiment, as its file defines it: each arm is tried on each problem with each seed."""

    name: ArmName
    """The name of the experiment and of its results folder."""
    description: str = Field(min_length=1)
    """The question that the experiment answers, for people."""
    problems: tuple[str, ...] = Field(min_length=1)
    """Files with one problem each, `.jsonl` files with one problem per line, or folders; relative to this file."""
    models: tuple[str, ...] = Field(min_length=1)
    """The models in the form of `--model`; a simulated author gets its seed from `seeds`."""
    pipelines: tuple[Pipeline, ...] = Field(min_length=1)
    """The workflows to compare. Each workflow with each search and each model is an arm."""
    searches: tuple[str, ...] = ()
    """The searches for every pipeline; if the list is empty, each pipeline uses its workflow's search."""
    seeds: Seeds = Field(default_factory=Seeds)
    """The seeds. With a real model, only the number of repetitions counts."""
    max_calls: Count | None = None
    """The limit of calls of one trial. The default is the workflow's limit."""
    budgets: tuple[Count, ...] = (1, 5, 10, 20, 30)
    """The numbers of calls for which the table `budgets` has a row."""
    caps: tuple[Count, ...] = ()
    """The limits of calls for the comparison at equal calls. Without `max_calls`, the largest cap limits each trial. A
    search that divides its calls among branches is tried with each cap.
    """
    bounds: bool = False
    """Whether the bounds of a pipeline with four levels are computed for each simulated model (`bounds.py`)."""
    bound_prices: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.01, 0.02, 0.035)
    """The prices of a call, as fractions of a success. For each price, the bounds have a point in addition to the
    points at the caps.
    """
    mean_of_worlds: bool = False
    """Whether there is a table `worlds`. It has the differences at the baseline's mean calls, as means over all models.
    The models must share problems and seeds. Needs `caps`.
    """
    baseline_cap: Count = 30
    """The cap of the baseline. The other arms are compared at the baseline's mean calls within this cap."""
    baseline: str
    """The arm with which other arms of the same model are compared: `PIPELINE`, or `PIPELINE/SEARCH`."""
    budget: Spending = Field(default_factory=Spending)
    """The budget of the whole experiment."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """The number of concurrent trials with a real model. Simulated trials use one process per core."""

    @model_validator(mode="after")
    def _check(self) -> "Experiment":
        _check_names("pipelines", [pipeline.name for pipeline in self.pipelines])
        for key in ("searches", "models", "problems"):
            _check_names(key, getattr(self, key))
        labels = [arm.label for arm in self.arms()]
        for key in ("bounds", "mean_of_worlds"):
            if getattr(self, key) and not self.caps:
                raise config_error(f"`{key}` needs `caps`, which the experiment does not have", (key,))
        _check_compared("arm", self.baseline, labels, len(labels) * self.seeds.count)
        return self

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms: each pipeline with each search and each model."""
        return tuple(
            self._arm(pipeline, search, model, cap)
            for model in self.models
            for pipeline in self.pipelines
            for search in ((pipeline.search,) if pipeline.search else self.searches or (None,))
            for cap in (self.caps if (search or "").partition(":")[0] in DIVIDES_CALLS and self.caps else (None,))
        )

    def _arm(self, pipeline: Pipeline, search: str | None, model: str, cap: int | None) -> Arm:
        family = f"{pipeline.name}/{search}" if len(self.searches) > 1 and search else pipeline.name
        label = family if cap is None else f"{family}:{cap}_calls"
        name = f"{label}@{model.removeprefix('simulated:')}" if len(self.models) > 1 else label
        return Arm(pipeline, search, model, label, name, cap, family)

    @property
    def calls_max(self) -> int | None:
        """The limit of calls of one trial; None uses the workflow's limit."""
        return self.max_calls or max(self.caps, default=None)

    def references(self) -> dict[str, str]:
        """Return, for each arm, the name of the baseline with the same model."""
        baselines = {arm.model: arm.name for arm in self.arms() if arm.label == self.baseline}
        return {arm.name: baselines[arm.model] for arm in self.arms()}


class ExecutionPolicy(Config):
    """A policy to compare, with its budgets."""

    name: ArmName
    """The name in tables and in `baseline`; unique in the experiment."""
    policy: str = "default"
    """The rule table: a shipped name, or a path relative to this file."""
    replans_max: Times = REPLANS
    """The largest number of replans in an execution."""
    questions_max: Times = QUESTIONS
    """The largest number of questions about failures. Questions about interrupted calls are not counted."""


class ExecutionExperiment(Config):
    """An experiment about executions: each policy is tried in each world with each seed."""

    kind: Literal["executions"]
    """The subject of the experiment."""
    name: ArmName
    """The name of the experiment and of its results folder."""
    description: str = Field(min_length=1)
    """The question that the experiment answers, for people."""
    task: Task = Field(default_factory=Task)
    """The goals of an execution, and the tools that can do each step."""
    worlds: tuple[ToolOdds, ...] = Field(min_length=1)
    """The rates of failures of tools and checks, by world."""
    policies: tuple[ExecutionPolicy, ...] = Field(min_length=1)
    """The policies to compare, in every world."""
    by_hand: Share = 0.5
    """The share of steps that a person can do when asked. For other steps, the person chooses a new plan, or else
    another try.
    """
    seeds: Seeds = Field(default_factory=Seeds)
    """The seeds. Each policy has one trial for each seed in each world."""
    baseline: str
    """The policy with which the others are compared in the same world."""

    @model_validator(mode="after")
    def _check(self) -> "ExecutionExperiment":
        _check_names("worlds", [world.name for world in self.worlds])
        policies = [policy.name for policy in self.policies]
        _check_names("policies", policies)
        _check_compared("policy", self.baseline, policies, len(policies) * len(self.worlds) * self.seeds.count)
        return self


def _check_names(key: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise config_error(f"{name!r} is named twice", (key, position))


def _check_compared(kind: str, baseline: str, names: Sequence[str], trials: int) -> None:
    if baseline not in names:
        raise config_error(f"there is no {kind} {baseline!r}", ("baseline",), nearest(baseline, names))
    if trials > TRIALS_MAX:
        raise config_error(f"the experiment has more than {TRIALS_MAX:,} trials", ("seeds", "count"))


def is_about_executions(path: Path) -> bool:
    """Return whether an experiment file is about executions. Raises `UsageProblem` if the file cannot be read."""
    value = read_document(path).value
    return isinstance(value, dict) and value.get("kind") == "executions"


Model = TypeVar("Model", Experiment, ExecutionExperiment)


def load_experiment(path: Path, model: type[Model]) -> tuple[Model, ParsedFile]:
    """Return the experiment in a file, and its document. Raises `UsageProblem` with file and line."""
    document = read_document(path)
    return document.read_as(model), document


TEXT_SUFFIXES = (".md", ".txt")
_ID, _TEXT, _CATEGORY = ("id", "problem_id"), ("problem", "statement"), ("category", "type_hint")
"""The keys under which a line of a problem file may have its name, its text and its category. The first key that the
line has is used."""
_SKIP = "--skip-broken leaves it out"


@dataclass(frozen=True, slots=True)
class ExperimentProblem:
    """A problem that the arms of an experiment are tried on."""

    name: str
    """The name in the tables, which is unique in the experiment. It is the name of the problem's file, or the id in its
    line.
    """
    text: str
    """The problem statement, which the run gets unchanged."""
    category: str = ""
    """The category, by which tables group the trials; empty if the file names no category."""


def read_problems(
    names: tuple[str, ...], document: ParsedFile, *, skip_broken: bool = False
) -> tuple[list[ExperimentProblem], list[str]]:
    """Return the problems in the files and folders of these names, and a notice for each skipped problem.

    Raises:
        UsageProblem: a problem cannot be read or is invalid (with its line), two problems have the same name, or
            there is no problem.
    """
    folder, problems, notices = Path(document.source).parent, dict[str, ExperimentProblem](), list[str]()
    for number, name in enumerate(names):
        path = folder / name
        if not path.exists():
            raise document.problem(f"no such file {str(path)!r}", ("problems", number))
        for place, problem in _problems(path):
            if isinstance(problem, UsageProblem):
                if not skip_broken:
                    raise UsageProblem(problem.cause, place=place, hint=problem.hint or _SKIP)
                notices.append(f"left out: {place}: {problem.cause}")
            elif problem.name in problems:
                raise UsageProblem(f"two problems are named {problem.name!r}", place=place)
            else:
                problems[problem.name] = problem
    if not problems:
        raise document.problem(
            "the files have no problems", ("problems",), "name .md, .txt or .jsonl files, or folders"
        )
    return list(problems.values()), notices


def _problems(path: Path) -> Iterator[tuple[str, ExperimentProblem | UsageProblem]]:
    """Yield (place, problem) for each problem of a file or folder.

    For an invalid problem, the error is yielded in its place.
    """
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.suffix in (*TEXT_SUFFIXES, ".jsonl"):
                yield from _problems(inner)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        yield str(path), UsageProblem(f"cannot be read: {error}")
        return
    if path.suffix != ".jsonl":
        yield str(path), _check(ExperimentProblem(path.stem, text))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"{path}:{number}", _parse_line(line, number)


def _parse_line(line: str, number: int) -> ExperimentProblem | UsageProblem:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return UsageProblem("this line is not JSON")
    if not isinstance(value, dict):
        return UsageProblem("this line is not a JSON object")
    text = _first(value, _TEXT)
    if not isinstance(text, str):
        return UsageProblem("this line has no problem text", hint=f"put the text under the key {' or '.join(_TEXT)}")
    return _check(
        ExperimentProblem(str(_first(value, _ID) or f"line_{number}"), text, str(_first(value, _CATEGORY) or ""))
    )


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _check(problem: ExperimentProblem) -> ExperimentProblem | UsageProblem:
    try:
        check_problem(problem.text)
    except UsageProblem as error:
        return UsageProblem(error.cause, hint=error.hint)
    return problem
