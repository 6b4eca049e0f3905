"""From an experiment's file to trials that may begin: everything is found and checked before the first one does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from actors.config.model_spec import Simulated, parse_model_spec
from actors.config.policy_loader import load_policy
from actors.files.suggestions import nearest
from actors.files.yaml_document import Document
from actors.handlers.actors import Registry
from actors.planning.config import RunConfig
from actors.policy.table import Policy
from actors.search.strategies.notation import NUMBERS, UnknownSearch, read_search
from actors.simulated.model import load_profile
from actors.simulated.profile import Profile
from actors.simulated.verdict_filter import Lens
from actors.simulated.world import World
from replan.experiments.definition import Arm, Experiment, load_experiment
from replan.experiments.lab import Bench, play
from replan.experiments.measuring import Key, trial_of
from replan.experiments.problems import Problem, read_problems
from replan.experiments.results import Header, Trial
from replan.runs.models import check_model
from replan.runs.prepare import RunOptions, RunRequest, prepare_run, title_of
from replan.setup.settings import Choice, UserConfig
from replan.setup.version import release
from runtime.core.errors import UsageProblem
from runtime.core.events import text_hash


@dataclass(frozen=True)
class Ready:
    """An arm that may be tried: its job but for the problem, and its profile if the author is simulated."""

    arm: Arm
    job: RunRequest
    profile: Profile | None
    registry: Registry

    def __reduce__(self) -> tuple[type["Ready"], tuple[object, ...]]:
        """Leave the bench at home when another process gets this: guards are functions, and it makes its own."""
        return Ready, (self.arm, self.job, self.profile, self.registry)

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.arm.name

    @cached_property
    def bench(self) -> Bench:
        """What the laboratory plays its trials with."""
        assert self.profile is not None
        pipeline, lens = self.arm.pipeline, None
        if pipeline.lensed:
            lens = Lens(self.profile, 0, pipeline.feedback, pipeline.false_accept, pipeline.false_reject)
        return Bench(self.job.pinned, self.job.limits, self.profile, self.registry, lens)

    @property
    def calls_max(self) -> int:
        """The most calls of one trial."""
        return self.job.limits.calls

    def job_for(self, problem: Problem) -> RunRequest:
        """Return the job of a trial for the shell."""
        return replace(self.job, problem=problem.text, title=title_of(problem.text))

    def lab_trial(self, problem: Problem, seed: int) -> Trial:
        """Play a trial with the simulated author."""
        assert self.profile is not None
        state, events = play(self.bench, problem.text, seed)
        world = World(self.profile, seed, problem.text)
        key = Key(self.name, problem.name, problem.category, seed)
        return trial_of(key, state, events, world)


@dataclass(frozen=True)
class Prepared:
    """A whole experiment, ready. Trials go through all arms for a seed and a problem before the next ones."""

    experiment: Experiment
    problems: list[Problem]
    arms: list[Ready]
    notices: tuple[str, ...] = ()

    @cached_property
    def order(self) -> list[tuple[Ready, Problem, int]]:
        """The trials in their order."""
        return [
            (arm, problem, seed) for seed in self.experiment.seeds.all for problem in self.problems for arm in self.arms
        ]

    @property
    def simulated(self) -> bool:
        """Whether every trial can be played in the laboratory."""
        return all(arm.profile is not None for arm in self.arms)

    def header(self) -> Header:
        """Return what the results are of."""
        asked = {
            "experiment": self.experiment.model_dump(mode="json"),
            "problems": [(problem.name, text_hash(problem.text), problem.category) for problem in self.problems],
            "arms": [(arm.name, arm.job.pinned.workflow_ref, _profile_ref(arm.profile)) for arm in self.arms],
        }
        return Header(
            release=release(),
            name=self.experiment.name,
            definition=text_hash(json.dumps(asked, sort_keys=True)),
            trials=len(self.order),
        )


def _profile_ref(profile: Profile | None) -> str:
    return "" if profile is None else text_hash(profile.model_dump_json())


@dataclass(frozen=True, slots=True)
class Place:
    """Where an experiment is made: what is installed, configured and known there, and the time (UTC seconds)."""

    registry: Registry
    root: Path
    config: UserConfig
    environment: Mapping[str, str]
    now: float


def prepare(path: Path, where: Place, *, skip_broken: bool = False) -> Prepared:
    """Return the experiment in a file. Raises `UsageProblem` for the first thing that is wrong, with its place."""
    experiment, document = load_experiment(path)
    problems, notices = read_problems(experiment.problems, document, skip_broken=skip_broken)
    authors = {model: _author(model, number, document, where) for number, model in enumerate(experiment.models)}
    arms = []
    for arm in experiment.arms():
        place = ("pipelines", experiment.pipelines.index(arm.pipeline))
        _check_search(arm, experiment, document)
        try:
            arms.append(_ready(arm, authors[arm.model], experiment, problems[0], where=where, folder=path.parent))
        except UsageProblem as wrong:
            raise document.problem(f"{arm.name}: {_told(wrong)}", place, wrong.hint) from None
    return Prepared(experiment, problems, arms, tuple(notices))


def _told(wrong: UsageProblem) -> str:
    return f"{wrong.place}: {wrong.cause}" if wrong.place else wrong.cause


def _author(model: str, number: int, document: Document, where: Place) -> tuple[Choice, Profile | None]:
    """Return the model with this number, and its profile if it is simulated. Raises `UsageProblem` at its line."""
    try:
        spec = parse_model_spec(model, place="")
        if isinstance(spec, Simulated):
            return Choice(model, spec), load_profile(spec.profile, where.root, place="")
        check_model(spec, where.environment)
    except UsageProblem as wrong:
        raise document.problem(_told(wrong), ("models", number), wrong.hint) from None
    return Choice(model, spec), None


def _check_search(arm: Arm, experiment: Experiment, document: Document) -> None:
    try:
        if arm.search is not None:
            read_search(arm.search)
    except UnknownSearch as problem:
        place: tuple[str | int, ...] = ("pipelines", experiment.pipelines.index(arm.pipeline), "search")
        if arm.search in experiment.searches:
            place = ("searches", experiment.searches.index(arm.search))
        hint = nearest(problem.name, NUMBERS, kind="searches") if problem.name else problem.hint
        raise document.problem(str(problem), place, hint) from None


def _ready(
    arm: Arm,
    author: tuple[Choice, Profile | None],
    experiment: Experiment,
    problem: Problem,
    *,
    where: Place,
    folder: Path,
) -> Ready:
    choice, profile = author
    if arm.pipeline.lensed and profile is None:
        hint = "a real guard shows what it finds"
        raise UsageProblem("feedback and guard errors are set for a simulated author only", hint=hint)
    asked = RunOptions(
        workflow=_beside(folder, arm.pipeline.workflow), search=arm.search, max_calls=experiment.max_calls
    )
    job = prepare_run(
        problem.text,
        asked,
        choice,
        config=where.config,
        registry=where.registry,
        root=where.root,
        environment=where.environment,
        now=where.now,
    )
    policy = job.pinned.policy if arm.pipeline.policy is None else load_policy(arm.pipeline.policy, where.root, folder)
    pinned = _changed(job.pinned, arm, policy)
    calls = min(job.limits.calls, pinned.workflow.max_total_calls)
    job = replace(job, pinned=pinned, limits=job.limits.model_copy(update={"calls": calls}))
    return Ready(arm, job, profile, where.registry)


def _beside(folder: Path, workflow: str) -> str:
    """Return a workflow's name as it is, and a path as one that counts from the experiment's folder."""
    return str(folder / workflow) if "/" in workflow or Path(workflow).suffix else workflow


def _changed(pinned: RunConfig, arm: Arm, policy: Policy) -> RunConfig:
    """Return the configuration with what the pipeline changes. Raises `UsageProblem`."""
    pipeline, workflow = arm.pipeline, pinned.workflow
    for step in pipeline.steps:
        if step not in workflow.action_pairs:
            raise UsageProblem(f"there is no step {step!r}", hint=nearest(step, workflow.action_pairs, kind="steps"))
    keys = dict(pipeline.search_config)
    if pipeline.steps:
        pairs = {step: pair.model_dump() for step, pair in workflow.action_pairs.items()}
        keys["action_pairs"] = {step: pair | dict(pipeline.steps.get(step, {})) for step, pair in pairs.items()}
    if keys:
        workflow = workflow.changed(**keys)
    return RunConfig.model_validate(
        {**dict(pinned), "workflow": workflow, "policy": _without(policy, pipeline.without_rows)}
    )


def _without(policy: Policy, rows: tuple[str, ...]) -> Policy:
    """Return the policy without some rows; the last one stays, for every failure needs an answer."""
    known = [row.id for row in policy.rows[:-1]]
    for row in rows:
        if row not in known:
            raise UsageProblem(f"the policy has no row {row!r} to take out", hint=nearest(row, known, kind="rows"))
    return policy.model_copy(update={"rows": tuple(row for row in policy.rows if row.id not in rows)})
