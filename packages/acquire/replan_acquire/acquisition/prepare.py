"""Prepares an acquisition run: checks its profile, prompts, initial values and limits before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.config.model_spec import check_settings
from actors.files.suggestions import nearest
from actors.planning.prepare import check_script
from actors.prompting.book import load_prompts
from actors.run.kind import Setup
from actors.run.limits import RunLimits, check_limits, ledger_limits
from actors.values.format import title_of
from replan.setup.installation import data_root
from replan_acquire.acquisition.answers import read_answer
from replan_acquire.acquisition.events import PURPOSES, AcquisitionStarted
from replan_acquire.acquisition.planner_state import PlannerState
from replan_acquire.acquisition.profile import Profile
from replan_acquire.acquisition.profile_check import load_profile, unused_fields
from replan_acquire.acquisition.schema import Schema
from replan_acquire.acquisition.state import RunConfig
from replan_acquire.acquisition.values import FieldValue
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits

GOAL_BYTES_MAX = 64 * 1024
"""The largest number of bytes in a goal. Every prompt contains the goal."""
CALLS = 60
"""The largest number of model calls of a run if the user states no limit."""
OUTPUT_TOKENS = 2_048
"""The largest number of tokens in a model's reply if the user states no limit."""
SEARCH_SECONDS = 60.0
"""The time limit of one search, in seconds."""


@dataclass(frozen=True, slots=True)
class AcquisitionInput:
    """The input of `prepare_acquisition`: a profile, the user's goal, and the limits of the run."""

    profile: str
    goal: str
    """The purpose of the filled schema, in the user's words."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """The places to search (`replan_acquire.documents.tools.SearchPlaces`) as JSON; empty if there are no places."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The values that the user gives at the start: a text for the path of each field."""
    limits: RunLimits = field(default_factory=RunLimits)
    """The limits; the defaults are `CALLS`, `OUTPUT_TOKENS`, and the time limit of the model's server."""
    question_expires_seconds: float | None = None
    """The seconds after which an unanswered question expires; None if it never expires."""


@dataclass(frozen=True, slots=True)
class PreparedAcquisition:
    """An acquisition run whose input is checked, and which can begin (`actors.run.kind.PreparedRun`)."""

    goal: str
    pinned: RunConfig
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the deadline as a time."""
    given: Mapping[str, FieldValue]
    source: str
    notices: tuple[str, ...] = ()
    kind: str = "acquisition"
    other_models: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title in lists of runs: the goal's first line, cut to 80 characters."""
        return title_of(self.goal)

    def first(self, run: str, at: float) -> AcquisitionStarted:
        """Return the first event of the run `run`; `at` is the event's time in seconds since 1970."""
        return AcquisitionStarted(
            at=at,
            run=run,
            goal=self.goal,
            pinned=self.pinned.model_dump_json(),
            limits=self.limits,
            given=dict(self.given),
            source=self.source,
        )


def prepare_acquisition(request: AcquisitionInput, setup: Setup) -> PreparedAcquisition:
    """Check the input of an acquisition run.

    Raises `UsageProblem` with the cause, the place and a hint. For an invalid option, the place is its name in
    `AcquisitionInput` or `RunLimits`.
    """
    _check_goal(request.goal)
    wanted = check_limits(request.limits)
    if "stop_below" in wanted:
        raise UsageProblem("an acquisition has no belief, so `stop_below` has no effect", place="stop_below")
    loaded = load_profile(request.profile)
    prompts = data_root("replan_acquire") / "prompts" / "acquisition.yaml"
    book, notices = load_prompts(prompts, prompts)
    check_script(setup.model, PURPOSES, "an acquisition run", "call")
    setup.check_price(limited="max_cost" in wanted)
    pinned = RunConfig(
        profile=loaded.profile,
        prompts=book,
        model=setup.model,
        price=setup.price,
        search=dict(request.search),
        output_tokens_max=wanted.get("output_tokens_max") or OUTPUT_TOKENS,
        timeout_seconds=float(wanted.get("timeout") or setup.call_seconds),
        model_settings=setup.settings_of(setup.model).apply_patch(wanted.get("model_settings") or {}),
        search_seconds=SEARCH_SECONDS,
        question_expires_seconds=request.question_expires_seconds,
    )
    check_settings(setup.model, pinned.model_settings.body)
    limits = ledger_limits(wanted, {"calls": CALLS}, setup.now)
    given = _read_given_values(loaded.profile, request.given)
    if unused := unused_fields(loaded.profile):
        notices += (f"no formula of the profile {loaded.profile.name} uses these fields: {', '.join(unused)}",)
    return PreparedAcquisition(request.goal, pinned, limits, given, loaded.source, notices)


def _read_given_values(profile: Profile, texts: Mapping[str, str]) -> dict[str, FieldValue]:
    values: dict[str, FieldValue] = {}
    first = [path for path in texts if path in profile.bootstrap]  # Units of other fields may depend on these fields.
    for path in dict.fromkeys([*first, *texts]):
        schema = Schema(profile, PlannerState(values={name: (value,) for name, value in values.items()}))
        if path not in schema.fields:
            raise UsageProblem(
                f"{path!r} is not a field of the profile",
                place="given",
                hint=nearest(path, schema.fields, kind="fields"),
            )
        value = read_answer(schema, path, texts[path], source="given at the start", via="given")
        if isinstance(value, str):
            raise UsageProblem(f"{path}: {value}", place="given", hint=_describe_expected(schema, path))
        values[path] = value
    return values


def _describe_expected(schema: Schema, path: str) -> str:
    unit = schema.unit(path)
    return f"give {path} in {unit}" if unit else f"give {schema.fields[path].label}"


def _check_goal(goal: object) -> None:
    if not isinstance(goal, str):
        raise UsageProblem(
            f"the goal must be text, not {type(goal).__name__}", place="GOAL", hint="describe the goal in plain text"
        )
    if not goal.strip():
        raise UsageProblem("the goal is empty", place="GOAL", hint="say what the schema is for")
    size = len(goal.encode(errors="replace"))
    if size > GOAL_BYTES_MAX:
        hint = f"use at most {GOAL_BYTES_MAX:,} bytes, and put long material into documents"
        raise UsageProblem(f"the goal has {size:,} bytes", place="GOAL", hint=hint)
