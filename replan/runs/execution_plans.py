"""The plan that is to be executed: read from a file, or from the planning run that has made it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.planning.config import RunConfig
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.models.replies import BYTES_MAX, Parsed, read_reply

if TYPE_CHECKING:
    from replan.runs.reader import Reading


@dataclass(frozen=True, slots=True)
class PlanToExecute:
    """A plan, and what is known of how it was made. It is proved again before anything runs."""

    plan: Mapping[str, Any]
    """The plan as a JSON object."""
    place: str
    """The name of the file or the id of the run, for messages."""
    level: str = "expansive"
    """The level that it is proved at: of a planning run its own, else `expansive`."""
    assurance: str = "strong_cyclic"
    """The weakest assurance that is accepted."""
    r_max: int = 100
    """The largest `total_retry_budget` that is accepted."""
    problem: str = ""
    """The text of the problem that it solves; empty for a plan of a file."""
    plan_of: str = ""
    """The id of the planning run that has made it; empty for a plan of a file."""
    planning: RunConfig | None = None
    """The configuration of that run; None for a plan of a file."""


def is_file(name: str) -> bool:
    """Tell whether an argument names a file with a plan rather than a run: it is there, or looks like a path."""
    return "/" in name or name.endswith((".json", ".yaml", ".yml")) or Path(name).exists()


def plan_in_file(name: str, text: str) -> PlanToExecute:
    """Return the plan in the text of a file: a plan, or an object that holds one under `plan`, as `run --json` prints.

    Raises `UsageProblem` for anything else. Whether it is a valid plan is checked when it is proved.
    """
    reply = read_reply(text)
    value = reply.value if isinstance(reply, Parsed) else None
    if isinstance(value, Mapping) and "steps" not in value and isinstance(value.get("plan"), Mapping):
        value = value["plan"]
    if not isinstance(value, Mapping):
        hint = f"give a plan as a JSON object, such as `{program()} export RUN --format json` writes"
        raise UsageProblem("holds no plan", place=name, hint=hint)
    return PlanToExecute(value, name)


def read_plan_file(name: str) -> PlanToExecute:
    """Return the plan in a file. Raises `UsageProblem` as `plan_in_file`, and for a file that cannot be read."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or a planning run") from None
    if len(data) > BYTES_MAX:
        raise UsageProblem(f"the plan has more than {BYTES_MAX:,} bytes", place=name)
    try:
        return plan_in_file(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageProblem(f"not UTF-8 (byte {error.start})", place=name, hint="save it as UTF-8") from None


async def plan_of_run(reader: "Reading", run: str) -> PlanToExecute:
    """Return the proved plan of a planning run, by its id in full.

    Raises `UsageProblem` for a run that has none, and as `Reading.read` does.
    """
    from actors.planning.result import Result  # noqa: PLC0415 -- a plan of a file needs no run

    loaded, result = await reader.read(run), await reader.result(run)
    hint = f"`{program()} show {run}` says what it has come to"
    if not isinstance(result, Result):
        raise UsageProblem(f"run {run} is no planning run", place=run, hint=hint)
    if not isinstance(result.plan_json, Mapping):
        raise UsageProblem(f"run {run} has no proved plan", place=run, hint=hint)
    state = loaded.state
    workflow = state.config.workflow
    return PlanToExecute(
        plan=result.plan_json,
        place=run,
        level=str(result.proof.get("level") or workflow.target_guard_level),
        assurance=workflow.assurance,
        r_max=workflow.r_max,
        problem=state.specification,
        plan_of=run,
        planning=state.config,
    )
