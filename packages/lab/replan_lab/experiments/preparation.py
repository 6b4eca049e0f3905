"""Prepares an experiment: finds and checks everything that its file names, before the first trial begins."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from actors.config.loader import load_policy
from actors.config.model_spec import parse_model_spec, pin_model
from actors.files.suggestions import nearest
from actors.files.validation_errors import ParsedFile
from actors.handlers.generators import Registry
from actors.planning.config import RunConfig
from actors.planning.events import PlanningEvent
from actors.planning.prepare import PlanningInput, RunOptions, RunRequest, prepare_planning
from actors.policy.table import Policy
from actors.run.kind import Setup
from actors.run.limits import RunLimits
from actors.search.notation import NUMBERS, UnknownSearch, read_search
from actors.values.format import title_of
from actors.values.model_settings import KEY
from replan.runs.models import check_model
from replan.runs.prepare import setup_for
from replan.setup.home_folder import locate_home
from replan.setup.installation import data_root, release
from replan.setup.settings import ModelChoice, UserConfig, read_user_config
from replan_lab.experiments.definition import (
    Arm,
    Experiment,
    ExperimentProblem,
    Pipeline,
    load_experiment,
    read_problems,
)
from replan_lab.experiments.results import Header, Trial, trial_from
from replan_lab.experiments.simulation import LabSetup, simulate_run
from replan_lab.simulated.author import profile_of
from replan_lab.simulated.profile import AuthorProfile, load_profile
from replan_lab.simulated.verdict_filter import VerdictFilter
from replan_lab.simulated.world import World
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.events import text_hash

PROFILES = "profiles"
"""The name of the folder, beside the file of an experiment, that contains the experiment's own profiles."""


@dataclass(frozen=True)
class PreparedArm:
    """A checked arm, which is ready for its trials."""

    arm: Arm
    request: RunRequest
    """The request that starts a run of the arm. Each trial replaces the problem in it."""
    profile: AuthorProfile | None
    registry: Registry

    def __reduce__(self) -> tuple[type["PreparedArm"], tuple[object, ...]]:
        """Pickle only the fields.

        `lab_setup` contains functions and cannot be pickled, so another process builds its own setup.
        """
        return PreparedArm, (self.arm, self.request, self.profile, self.registry)

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.arm.name

    @cached_property
    def lab_setup(self) -> LabSetup:
        """The setup for simulated trials."""
        assert self.profile is not None
        errors = {name: share for name, share in self.profile.guard_errors.model_dump().items() if share}
        values, verdict_filter = errors | dict(self.arm.pipeline.filter_values), None
        if values:
            verdict_filter = VerdictFilter(self.profile, 0, **values)
        return LabSetup(self.request.pinned, self.request.limits, self.profile, self.registry, verdict_filter)

    @property
    def calls_max(self) -> int:
        """The limit of the calls of one trial."""
        return self.request.limits.calls

    def request_for(self, problem: ExperimentProblem) -> RunRequest:
        """Return the request for the run of a trial with a real model."""
        return replace(self.request, problem=problem.text, title=title_of(problem.text))

    def lab_events(self, problem: ExperimentProblem, seed: int) -> list[PlanningEvent]:
        """Simulate a trial, and return its events."""
        return simulate_run(self.lab_setup, problem.text, seed)[1]

    def lab_trial(self, problem: ExperimentProblem, seed: int) -> Trial:
        """Simulate a trial, and return its result."""
        assert self.profile is not None
        run = simulate_run(self.lab_setup, problem.text, seed)
        return trial_from(self.name, problem, seed, run, World(self.profile, seed, problem.text))


@dataclass(frozen=True)
class PreparedExperiment:
    """A checked experiment, which is ready to run."""

    experiment: Experiment
    problems: list[ExperimentProblem]
    arms: list[PreparedArm]
    notices: tuple[str, ...] = ()

    @cached_property
    def trials(self) -> list[tuple[PreparedArm, ExperimentProblem, int]]:
        """The trials as (arm, problem, seed), sorted by seed, then by problem, then by arm."""
        return [
            (arm, problem, seed) for seed in self.experiment.seeds.all for problem in self.problems for arm in self.arms
        ]

    def run_trial(self, position: int) -> Trial:
        """Simulate the trial at a position, and return its result."""
        arm, problem, seed = self.trials[position]
        return arm.lab_trial(problem, seed)

    @property
    def simulated(self) -> bool:
        """Whether all models are simulated."""
        return all(arm.profile is not None for arm in self.arms)

    def header(self) -> Header:
        """Return the header of the results, with a hash of everything that the trials depend on."""
        definition = {
            "experiment": self.experiment.model_dump(mode="json"),
            "problems": [(problem.name, text_hash(problem.text), problem.category) for problem in self.problems],
            "arms": [
                (
                    arm.name,
                    arm.request.pinned.workflow_ref,
                    "" if arm.profile is None else text_hash(arm.profile.model_dump_json()),
                )
                for arm in self.arms
            ],
        }
        return Header(
            release=release(),
            name=self.experiment.name,
            definition=text_hash(json.dumps(definition, sort_keys=True)),
            trials=len(self.trials),
        )


@dataclass(frozen=True, slots=True)
class Installation:
    """The parts of this process that an experiment needs in addition to its file."""

    registry: Registry
    root: Path
    config: UserConfig
    environment: Mapping[str, str]
    now: float

    @classmethod
    def here(cls, registry: Registry) -> "Installation":
        """Return the installation of this process. Raises `UsageProblem` for an invalid configuration of the user."""
        config = read_user_config(locate_home().config)
        return cls(registry, data_root(), config, os.environ, SystemClock().now())

    def setup(self, choice: ModelChoice, profile: AuthorProfile | None) -> Setup:
        """Return the settings for preparing runs with a model. A profile need not be a shipped profile."""
        if profile is not None:
            return Setup(choice.text, profile.price, self.registry, self.root, self.environment, self.now)
        return setup_for(
            choice,
            config=self.config,
            registry=self.registry,
            root=self.root,
            environment=self.environment,
            now=self.now,
        )


def prepare(path: Path, installation: Installation, *, skip_broken: bool = False) -> PreparedExperiment:
    """Return the checked experiment in a file. With `skip_broken`, problems that cannot be read are skipped.

    Raises:
        UsageProblem: the experiment has an error. The error names the place of the first one.
    """
    experiment, document = load_experiment(path, Experiment)
    problems, notices = read_problems(experiment.problems, document, skip_broken=skip_broken)
    models = {
        model: _model(model, number, document, installation, path.parent / PROFILES)
        for number, model in enumerate(experiment.models)
    }
    arms = []
    for arm in experiment.arms():
        _check_search(arm, experiment, document)
        try:
            arms.append(
                _prepared_arm(arm, experiment, problems[0], models[arm.model], where=(installation, path.parent))
            )
        except UsageProblem as problem:
            place = ("pipelines", experiment.pipelines.index(arm.pipeline))
            raise document.problem(f"{arm.name}: {_text(problem)}", place, problem.hint) from None
    # A pipeline with a policy of its own does not use the workflow's, which the notices are about.
    own = [arm for arm in arms if arm.arm.pipeline.policy is None]
    arm_notices = dict.fromkeys(f"{arm.arm.label}: {notice}" for arm in own for notice in arm.request.notices)
    return PreparedExperiment(experiment, problems, arms, (*notices, *arm_notices))


def _text(problem: UsageProblem) -> str:
    return f"{problem.place}: {problem.cause}" if problem.place else problem.cause


def _model(
    model: str, number: int, document: ParsedFile, installation: Installation, own: Path
) -> tuple[ModelChoice, AuthorProfile | None]:
    """Return the checked model, and its profile if it is a simulated model.

    `number` is its index in `models`. Raises `UsageProblem` with the line of the model.
    """
    try:
        model = pin_model(model)
        spec = parse_model_spec(model, place="")
        if (profile := profile_of(spec)) is not None:
            return ModelChoice(model, spec), load_profile(profile, place="", own=own)
        check_model(spec, installation.environment)
    except UsageProblem as problem:
        raise document.problem(_text(problem), ("models", number), problem.hint) from None
    return ModelChoice(model, spec), None


def _check_search(arm: Arm, experiment: Experiment, document: ParsedFile) -> None:
    try:
        if arm.search is not None:
            read_search(arm.search)
    except UnknownSearch as problem:
        place: tuple[str | int, ...] = ("pipelines", experiment.pipelines.index(arm.pipeline), "search")
        if arm.search in experiment.searches:
            place = ("searches", experiment.searches.index(arm.search))
        hint = nearest(problem.name, NUMBERS, kind="searches") if problem.name else problem.hint
        raise document.problem(str(problem), place, hint) from None


def _prepared_arm(
    arm: Arm,
    experiment: Experiment,
    problem: ExperimentProblem,
    model: tuple[ModelChoice, AuthorProfile | None],
    *,
    where: tuple[Installation, Path],
) -> PreparedArm:
    """Return the prepared arm.

    Relative paths begin at the folder in `where`. Raises `UsageProblem` if the arm cannot run.
    """
    (choice, profile), (installation, folder), pipeline = model, where, arm.pipeline
    if pipeline.filter_values and profile is None:
        hint = "remove these keys, or name a model simulated:NAME"
        raise UsageProblem("`feedback` and the keys below it need a simulated model", hint=hint)
    workflow = pipeline.workflow
    if "/" in workflow or Path(workflow).suffix:  # A shipped name is passed on unchanged.
        workflow = str(folder / workflow)
    limits: RunLimits = {"max_calls": arm.cap or experiment.calls_max}
    if KEY in pipeline.search_config:  # The settings of each step are resolved here, from those of the workflow too.
        limits["model_settings"] = pipeline.search_config[KEY]
    options = RunOptions(workflow=workflow, search=arm.search, limits=limits)
    request = prepare_planning(PlanningInput(problem.text, options), installation.setup(choice, profile))
    policy = request.pinned.policy
    if pipeline.policy is not None:
        policy = load_policy(pipeline.policy, installation.root, folder)
    pinned = _with_changes(request.pinned, pipeline, policy, arm.cap or max(experiment.caps, default=None))
    own = pinned.limits
    own["calls"] = min(request.limits.calls, own["calls"])
    own["at_limit"] = None  # Nobody answers in a trial.
    request = replace(request, pinned=pinned, limits=request.limits.model_copy(update=own))
    return PreparedArm(arm, request, profile, installation.registry)


def _with_changes(pinned: RunConfig, pipeline: Pipeline, policy: Policy, calls: int | None) -> RunConfig:
    """Return the configuration with the pipeline's changes. If `calls` is not None, it becomes the limit of calls."""
    workflow = pinned.workflow
    for step in pipeline.steps:
        if step not in workflow.action_pairs:
            raise UsageProblem(f"there is no step {step!r}", hint=nearest(step, workflow.action_pairs, kind="steps"))
    if policy.belief is not None and any(
        "r_patience" in keys for keys in (pipeline.search_config, *pipeline.steps.values())
    ):
        cause = f"policy {policy.name!r} cannot use r_patience, because its belief counts repeated failures"
        raise UsageProblem(cause, hint="name another `policy`")
    keys = dict(pipeline.search_config) | ({} if calls is None else {"max_total_calls": calls})
    if pipeline.steps:
        pairs = {step: pair.model_dump() for step, pair in workflow.action_pairs.items()}
        keys["action_pairs"] = {step: pair | dict(pipeline.steps.get(step, {})) for step, pair in pairs.items()}
    if keys:
        workflow = workflow.changed(**keys)
    # Not `dict(pinned)`, which has the cached properties too.
    fields = {name: getattr(pinned, name) for name in RunConfig.model_fields}
    changes = {"workflow": workflow, "policy": _without_rows(policy, pipeline.without_rows)}
    return RunConfig.model_validate(fields | changes)


def _without_rows(policy: Policy, rows: tuple[str, ...]) -> Policy:
    """Return the policy without the rows whose ids are in `rows`.

    The last row cannot be removed, because it matches every failure that no other row matches.
    """
    row_ids = [row.id for row in policy.rows[:-1]]
    read = () if policy.belief is None else {name for _, names in policy.belief.rows_named() for name in names}
    for row in rows:
        if row in read:
            raise UsageProblem(f"the belief of policy {policy.name!r} needs row {row!r}", hint="name another `policy`")
        if row not in row_ids:
            raise UsageProblem(
                f"the policy has no row {row!r} that can be removed", hint=nearest(row, row_ids, kind="rows")
            )
    return policy.model_copy(update={"rows": tuple(row for row in policy.rows if row.id not in rows)})
