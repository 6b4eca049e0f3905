"""The run on top of another: that which a person has started, of which the other is a step."""

from contextlib import suppress
from typing import TYPE_CHECKING

from actors.run.ids import is_child
from replan.setup.command_name import program
from runtime.core.errors import RunNotFound, UsageProblem

if TYPE_CHECKING:
    from replan.runs.reader import Reading


async def top_of(engine: "Reading", run: str) -> str:
    """Return the run that a run is a step of, however far up, or the run itself where a person has started it.

    The records of the runs above decide, and not the id, which a program may choose freely. Raises `JournalDamaged` for
    them.
    """
    top = run
    while is_child(top):
        above = top.rpartition(".")[0]
        with suppress(RunNotFound):
            loaded = await engine.read(above)
            if loaded.started and top in loaded.kind.children(loaded.state):
                top = above
                continue
        break
    return top


async def check_own(engine: "Reading", run: str, way: str) -> None:
    """Check that a run is no step of another, which alone goes on with it.

    `way` is the command to use instead, with `RUN` in the place of the top run's id. Raises `UsageProblem`, and as
    `top_of` does.
    """
    top = await top_of(engine, run)
    if top != run:
        hint = f"`{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, which alone goes on with it", place=run, hint=hint)
