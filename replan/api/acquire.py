"""Filling a schema from Python: by searching documents, asking and calculating."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from actors.acquisition.prepare import AcquisitionInput
from actors.acquisition.result import AcquisitionResult
from actors.run.result import RunResult
from replan.api.driving import beside_the_loop, drive_run
from replan.api.loops import blocking, name_keywords, same_parameters
from replan.api.options import Memory, StartKeywords, driving
from replan.runs.acquiring import prepare_to_acquire
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from runtime.drive.options import Stop

__all__ = ["AcquisitionResult", "aacquire", "acquire"]


@name_keywords
async def aacquire(
    profile: str | Path,
    goal: str,
    *,
    docs: Path | str | None = None,
    given: Mapping[str, str] | None = None,
    home: Path | str | Memory | None = None,
    **options: Unpack[StartKeywords],
) -> AcquisitionResult:
    """Fill the schema of a profile and return the result, in trio or in asyncio.

    `profile` is a shipped name or a file; `docs` is a folder of documents, without which the search service of the
    home's config is asked, if there is one; `given` are values that you know, as texts by the path of the field. The
    limits, `tenant` and `priority` are those of `start`; `ask` answers questions, and without it a run that needs an
    answer ends with the status `waiting`. `home` is a folder, None for `$REPLAN_HOME`, or `MEMORY`.

    Whether all values were found is a value (`result.succeeded`), not an error. Cancelling it parks the run, which can
    be resumed where it has a home. Raises `UsageProblem`, whose place is the keyword, before anything is written.
    """
    how, limits = driving(home, options)
    wish = AcquisitionInput(os.fspath(profile), goal, given=given or {}, limits=limits)
    folder = None if docs is None else os.fspath(docs)
    prepared = await beside_the_loop(partial(how.prepare, prepare_to_acquire, wish, folder))

    async def begin(session: RunSession, stop: Stop) -> RunResult:
        return await session.begin(prepared.request, stop)  # Here: a host lacks the passed function.

    async with drive_run(new_run_id(), begin, how, is_new=True) as run:
        result = await run.result()
        assert isinstance(result, AcquisitionResult)
        return result


@same_parameters(aacquire)
def acquire(profile: str | Path, goal: str, **options: Any) -> AcquisitionResult:
    """Fill the schema of a profile, without an event loop. Parameters and errors are those of `aacquire`."""
    return blocking("acquire", partial(aacquire, profile, goal, **options))
