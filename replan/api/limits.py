"""Changing a run that exists from Python: its limits, those of its calls and replies, and its model."""

from functools import partial
from typing import Any, Unpack

from actors.run.limits import RunLimits
from actors.run.result import RunResult
from replan.api.home import Home, at_home
from replan.api.loops import blocking, named_limits, same_parameters
from replan.runs.changes import Changes, post_changes
from replan.runs.engine import Engine
from replan.runs.run_ids import run_named

__all__ = ["alimits", "limits"]


@named_limits
async def alimits(
    run: str, *, model: str | None = None, strict: bool = False, home: Home = None, **limits: Unpack[RunLimits]
) -> RunResult:
    """Change the limits of a run, of its calls and replies, or its model, and return what it has come to.

    What is None stays as it is. Limits count from the start of the run, `deadline` from now. With
    `strict`, plans that leave a demand of the text in no step are rejected from now on. The run may be driven, wait, be
    parked, or have ended for want of a budget; it is not driven here: `resume` goes on with it, or its host does.
    Raises `RunNotFound`, and `UsageProblem`, whose place is the keyword, for a change that is not valid, for none at
    all, and for a run whose end is final.
    """
    changes = Changes(limits, model, strict)

    async def change(engine: Engine) -> RunResult:
        name = await run_named(engine.journal, run)
        await post_changes(engine, name, changes, engine.environment)
        return await engine.result(name)

    return await at_home(home, change)


@same_parameters(alimits)
def limits(run: str, **options: Any) -> RunResult:
    """Change the limits of a run, as `alimits` does, outside of a trio or asyncio program."""
    return blocking("limits", partial(alimits, run, **options))
