"""The profile of a model: its results on shipped tasks, and the settings that do best in a simulation of the model.

The model plans each task once with the workflow `search`. The odds of the simulated author are fitted to the number of
attempts until a plan was accepted (`replan_lab.experiments.likelihood`). Numbers that the runs do not show, such as the
step at which problems are hard, are taken from the profile `base`. The settings are compared in simulated worlds. Each
world has odds that are drawn from the posterior distribution.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from actors.config.loader import read_workflow
from actors.config.model_profiles import ModelProfile, read_profiles
from actors.config.model_spec import unpin_model
from actors.planning.events import ArtifactProduced, PlanningEvent, RunFinished, VerdictReached
from actors.policy.author import NOTHING
from actors.run.ids import step_of
from replan.setup.installation import data_root
from replan_lab.experiments.equal_calls import Curve, curves_of
from replan_lab.experiments.likelihood import InstanceResult, odds_of, posterior_draws
from replan_lab.experiments.preparation import PROFILES, PreparedExperiment
from replan_lab.experiments.results import Trial
from runtime.core.errors import UsageProblem
from runtime.journal.folder import replace_file

FORM_FAMILIES = ("reply", "field")


@dataclass(frozen=True, slots=True)
class StepMeasure:
    """The numbers of attempts at one step, summed over all runs."""

    step: str
    attempts: int = 0
    form_errors: int = 0
    repaired: int = 0
    """The number of replies with broken JSON that were repaired."""
    firsts: int = 0
    """The number of runs whose first attempt at the step had no form error."""
    firsts_accepted: int = 0
    """The number of runs whose first attempt at the step was accepted."""
    told: int = 0
    """The number of attempts without a form error that followed a rejected attempt."""
    told_accepted: int = 0
    """The number of those attempts that the guard accepted."""


@dataclass(frozen=True, slots=True)
class AttemptsUntilPlan:
    """How many attempts a run needed for its plan. The odds of the model are fitted to these numbers."""

    attempts: int
    """The number of attempts at the plan without a form error, up to the first accepted attempt."""
    accepted: bool


@dataclass(frozen=True, slots=True)
class Measures:
    """The measurements of a model over several runs."""

    steps: tuple[StepMeasure, ...]
    plans: tuple[AttemptsUntilPlan, ...]
    """One entry for each run with a well-formed attempt at the plan."""

    @property
    def form_error_share(self) -> float:
        """The share of attempts with a form error.

        Half an attempt is added to the attempts with an error, and half to those without. So the share is never 0 or 1.
        """
        errors = sum(step.form_errors for step in self.steps)
        return (errors + 0.5) / (sum(step.attempts for step in self.steps) + 1)


def measure_steps(runs: Iterable[Sequence[PlanningEvent]], plan_step: str) -> Measures:
    """Return the measurements of the runs of one workflow; `plan_step` is the step that writes the plan."""
    steps, plans = dict[str, StepMeasure](), list[AttemptsUntilPlan]()
    for events in runs:
        before = dict[str, bool]()  # Whether the last attempt at a step was accepted.
        formed = list[bool]()  # Whether each well-formed attempt at the plan was accepted.
        for event in events:
            if isinstance(event, ArtifactProduced) and event.original:
                step = step_of(event.node)
                measure = steps.get(step, StepMeasure(step))
                steps[step] = replace(measure, repaired=measure.repaired + 1)
            if not isinstance(event, VerdictReached):
                continue
            step, accepted = step_of(event.node), event.verdict.passed
            malformed = any(finding.code.partition(".")[0] in FORM_FAMILIES for finding in event.verdict.errors)
            steps[step] = _count_attempt(
                steps.get(step, StepMeasure(step)), before.get(step), accepted=accepted, malformed=malformed
            )
            before[step] = accepted
            if step == plan_step and not malformed and True not in formed:
                formed.append(accepted)
        if formed:
            plans.append(AttemptsUntilPlan(len(formed), formed[-1]))
    return Measures(tuple(steps.values()), tuple(plans))


def profile_from(runs: Iterable[Sequence[PlanningEvent]], now: float) -> tuple[str, ModelProfile] | None:
    """Return the model of the runs, and the sum of the counts in the last records of the runs.

    Return None if no run has counts. `now` is in UTC seconds since 1970.
    """
    ends = [event for events in runs for event in events[-1:] if isinstance(event, RunFinished)]
    counted = [end.counted for end in ends if end.counted is not None]
    if not counted:
        return None
    total = sum(counted, NOTHING)
    return counted[0].model, ModelProfile(
        **total.model_dump(), date=datetime.fromtimestamp(now, UTC).date().isoformat()
    )


def write_profile(model: str, profile: ModelProfile, path: Path) -> None:
    """Write the profile of a model into the file `path`, which has the profiles of all models.

    An earlier profile of the model is replaced. Raises `UsageProblem` if the file cannot be read or written.
    """
    found = read_profiles(path)
    profiles = found.model_copy(update={"models": {**found.models, unpin_model(model): profile}})
    write_file(path, yaml.safe_dump(profiles.model_dump(), sort_keys=False, allow_unicode=True))


def _count_attempt(measure: StepMeasure, before: bool | None, *, accepted: bool, malformed: bool) -> StepMeasure:
    """Return the measure with one more attempt.

    `before` says whether the previous attempt at the step was accepted; None if this is the first attempt.
    """
    measure = replace(measure, attempts=measure.attempts + 1, form_errors=measure.form_errors + malformed)
    if malformed:
        return measure
    if before is None:
        return replace(measure, firsts=measure.firsts + 1, firsts_accepted=measure.firsts_accepted + accepted)
    if before:
        return measure
    return replace(measure, told=measure.told + 1, told_accepted=measure.told_accepted + accepted)


TASKS = Path("configs") / "calibration_tasks.jsonl"
"""The file with the shipped tasks: 60 short problems, 12 in each of five categories. The path is relative to the
laboratory's data folder."""
TASKS_MIN, TASKS_MAX = 10, 60
WORKFLOW, PLAN_STEP = "search", "g_plan"
"""The workflow whose model is measured, and the step of this workflow that writes the plan."""
CALLS_MIN, CALLS_MAX = 6, 12
"""The smallest and the largest number of model calls that one task may be allowed. If the model makes no mistake, a
task needs 4 calls."""
WORLDS = 8
SEED = 1000
"""The seed of the draws from the posterior distribution, and the first seed of the simulated trials."""
CAPS = (10, 20, 30)
CALL_PRICE = 0.025
"""How much one call lowers the value of settings, where a solved problem counts as 1. The default of `stop_below` is
the same number."""
PLANS_MIN = 10
"""The smallest number of tasks from which a profile is fitted. Only tasks with a plan that a guard has judged count."""


@dataclass(frozen=True, slots=True)
class ComparedSettings:
    """One of the combinations of settings that are compared."""

    name: str
    workflow: str
    policy: str
    visits: int
    """The number of attempts at the plan in one visit (`rmax`)."""
    patience: int | None = None
    """The number of equal failures that count as stagnation (`r_patience`); None for a policy with a belief, which
    counts failures itself.
    """

    @property
    def keys(self) -> dict[str, Any]:
        """The settings as a pipeline in the definition of an experiment."""
        config = {} if self.patience is None else {"search_config": {"r_patience": self.patience}}
        steps = {PLAN_STEP: {"rmax": self.visits}}
        return {"name": self.name, "workflow": self.workflow, "policy": self.policy, "steps": steps, **config}


SETTINGS = (
    ComparedSettings("single", "single", "default", 3, 2),
    ComparedSettings("single_patient", "single", "default", 5, 4),
    ComparedSettings("belief_1", WORKFLOW, "belief", 1),
    ComparedSettings("belief_3", WORKFLOW, "belief", 3),
    ComparedSettings("belief_5", WORKFLOW, "belief", 5),
    ComparedSettings("rows_3", WORKFLOW, "default", 3, 2),
    ComparedSettings("rows_5", WORKFLOW, "default", 5, 4),
)
"""The settings that the experiment compares. The entry `belief_3` has the default settings."""
SHIPPED = "belief_3"


@dataclass(frozen=True, slots=True)
class Fit:
    """Several simulated authors whose results fit the measurements of a model."""

    worlds: tuple[Mapping[str, float], ...]
    """The odds of each author, in the form of a profile's `odds`. They are draws from the posterior distribution."""
    first: tuple[float, float, float]
    """The factor by which the first finding multiplies the odds of a right plan: its median, and the bounds of its 95 %
    interval.
    """
    malformed: float

    def profiles(self) -> dict[str, str]:
        """Return the text of a profile file for each author, by the name of the profile."""
        texts = {}
        for number, odds in enumerate(self.worlds, 1):
            name = f"fitted_{number:02d}"
            value = {
                "name": name,
                "based_on": "base",
                "description": "A model that `replan lab profile` has measured: one draw of odds that fit its results.",
                "odds": dict(odds),
                "malformed": round(self.malformed, 4),
            }
            texts[name] = yaml.safe_dump(value, sort_keys=False)
        return texts


def fit_profile(measures: Measures) -> Fit:
    """Return the simulated authors that fit the measurements.

    Raises `UsageProblem` for fewer than `PLANS_MIN` tasks with a judged plan.
    """
    if len(measures.plans) < PLANS_MIN:
        cause = f"only {len(measures.plans)} tasks led to a plan that a guard judged, but a profile needs {PLANS_MIN}"
        raise UsageProblem(cause, place="profile", hint="allow more calls, or look at the form errors of each step")
    records = [InstanceResult(plan.attempts, plan.accepted) for plan in measures.plans]
    draws = posterior_draws(records, 20 * WORLDS, SEED)
    first = sorted(odds_of(logs).first for logs in draws)
    low, middle, high = (first[int(share * (len(first) - 1))] for share in (0.025, 0.5, 0.975))
    worlds = tuple(odds_of(logs).model_dump() for logs in draws[:: len(draws) // WORLDS][:WORLDS])
    return Fit(worlds, (middle, low, high), measures.form_error_share)


@dataclass(frozen=True, slots=True)
class Preference:
    """The settings that do best in the fitted worlds."""

    settings: ComparedSettings
    cap: int
    success: float
    calls: float
    ahead: float
    """The advantage over the shipped settings with their best cap. The value of settings is the share of solved
    problems minus the price of the calls.
    """
    worlds: int
    """The number of worlds in which no other settings have a higher value."""


def choose_settings(prepared: PreparedExperiment, trials: Sequence[Trial]) -> Preference:
    """Return the settings with the best mean value: the share of solved problems minus the price of the calls."""
    curves = list(curves_of(prepared.experiment, trials))
    models = list(prepared.experiment.models)
    options = [(settings, cap) for settings in SETTINGS for cap in CAPS]
    by_arm = {(curve.label, curve.model): curve for curve in curves}
    values = {
        (settings.name, cap): [_value(by_arm[settings.name, model], cap) for model in models]
        for settings, cap in options
    }
    best, cap = max(options, key=lambda option: fmean(values[option[0].name, option[1]]))
    wins = Counter(
        max(values, key=lambda key: (values[key][world], key[0] == best.name)) for world in range(len(models))
    )
    means = [_means(by_arm[best.name, model], cap) for model in models]
    shipped = max(fmean(values[SHIPPED, own]) for own in CAPS)
    won = sum(count for (name, _), count in wins.items() if name == best.name)
    success, calls = (fmean(mean) for mean in zip(*means, strict=True))
    return Preference(best, cap, success, calls, fmean(values[best.name, cap]) - shipped, won)


def _means(curve: Curve, cap: int) -> tuple[float, float]:
    success, calls = zip(*curve.at(cap).values(), strict=True)
    return fmean(success), fmean(calls)


def _value(curve: Curve, cap: int) -> float:
    success, calls = _means(curve, cap)
    return success - CALL_PRICE * calls


def divide_calls(calls: int | None, tasks: int) -> int:
    """Return the limit of calls for one task, where `calls` is the limit for all tasks together.

    Raises `UsageProblem` if `calls` is too small.
    """
    if calls is None:
        return CALLS_MAX
    if calls < CALLS_MIN * tasks:
        cause = f"{tasks} tasks need at least {CALLS_MIN * tasks} calls"
        raise UsageProblem(cause, place="--max-calls", hint=f"allow as many calls, or use --tasks {calls // CALLS_MIN}")
    return min(CALLS_MAX, calls // tasks)


def call_keys(*, compact: bool, output_tokens: int | None) -> dict[str, Any]:
    """Return the keys of a workflow for model calls.

    They choose prompts for a small context window, and the largest number of tokens in a reply. The model is measured
    with these keys, and the written workflow has them too.
    """
    keys: dict[str, Any] = {"model_settings": {"compact": True}} if compact else {}
    return keys | ({} if output_tokens is None else {"output_tokens_max": output_tokens})


def measurement_definition(
    tasks: Path, model: str, calls: int | None, usd: float | None, count: int, *, keys: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the definition of the experiment that measures a model on a file of `count` tasks.

    `keys` is the result of `call_keys`.
    """
    budget = ({} if calls is None else {"calls": calls}) | ({} if usd is None else {"usd": usd, "exact": True})
    return {
        "name": "measured",
        "description": "Plan each task once.",
        "problems": [str(tasks.absolute())],
        "models": [model],
        "pipelines": [{"name": "measured", "workflow": WORKFLOW, "search_config": dict(keys)}],
        "max_calls": divide_calls(calls, count),
        "baseline": "measured",
        "budget": budget,
    }


def comparison_definition(tasks: Path, fit: Fit) -> dict[str, Any]:
    """Return the definition of the experiment that compares `SETTINGS` in the worlds of a fit."""
    return {
        "name": "compared",
        "description": "Compare the settings in simulated worlds that fit the model.",
        "problems": [str(tasks.absolute())],
        "models": [f"simulated:{name}" for name in fit.profiles()],
        "pipelines": [settings.keys for settings in SETTINGS],
        "caps": list(CAPS),
        "seeds": {"first": SEED, "count": 1},
        "baseline": SHIPPED,
    }


def write_definition(folder: Path, value: Mapping[str, Any], fit: Fit | None = None) -> Path:
    """Write the definition of an experiment into a folder, and the profiles of a fit beside it.

    Return its file. Raises `UsageProblem`.
    """
    path = folder / f"{value['name']}.yaml"
    for name, text in ({} if fit is None else fit.profiles()).items():
        write_file(folder / PROFILES / f"{name}.yaml", text)
    write_file(path, yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True))
    return path


def first_tasks(folder: Path, count: int) -> Path:
    """Return the text of a file with `count` tasks: the first tasks of each category. Raises `UsageProblem`."""
    shipped = data_root("replan_lab") / TASKS
    lines = shipped.read_text(encoding="utf-8").splitlines()
    if count >= len(lines):
        return shipped
    by_category = dict[str, list[str]]()
    for line in lines:
        by_category.setdefault(json.loads(line)["category"], []).append(line)
    chosen = list(chain.from_iterable(zip(*by_category.values(), strict=True)))[:count]
    path = folder / TASKS.name
    write_file(path, "\n".join(chosen) + "\n")
    return path


def workflow_text(preference: Preference, root: Path, keys: Mapping[str, Any]) -> str:
    """Return the text of a workflow file with the preferred settings, and with the keys used for measuring."""
    settings = preference.settings
    document = read_workflow(settings.workflow, root)[1]
    pairs = {name: dict(keys) for name, keys in document.value["action_pairs"].items()}
    pairs[PLAN_STEP] |= {"rmax": settings.visits}
    found = {"policy": settings.policy, "max_total_calls": preference.cap, "action_pairs": pairs}
    patience = {} if settings.patience is None else {"r_patience": settings.patience}
    return yaml.safe_dump(
        {**document.value, **keys, **found, **patience}, sort_keys=False, allow_unicode=True, width=100
    )


MARK = "# Made by `replan "
"""The first characters of each file that tuning writes. Tuning replaces an existing file only if the file begins with
these characters."""


def check_target(path: Path) -> None:
    """Check that a file may be written. Raises `UsageProblem` for a file that tuning did not write."""
    try:
        if not path.exists():
            return
        if path.is_file() and path.read_text(encoding="utf-8", errors="replace").startswith(MARK):
            return
    except OSError as error:
        raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path)) from None
    raise UsageProblem(
        "the file exists, and Replan did not write it", place=str(path), hint="name another file with --out"
    )


def write_tuned(path: Path, command: str, comments: Iterable[str], text: str) -> None:
    """Write the result of a command as a YAML file that begins with a comment.

    The file is written completely or not at all. Raises `UsageProblem`.
    """
    head = "".join(f"# {' '.join(comment.split())}\n" for comment in comments)
    write_file(path, f"{MARK}{command}`.\n{head}{text}")


def write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all, and create its missing folders. Raises `UsageProblem`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise UsageProblem(f"cannot be written: {error.strerror}", place=str(path)) from None
