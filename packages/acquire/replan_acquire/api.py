"""Acquisitions from Python, in one call."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Unpack

from replan.api.loops import blocking_form, name_keywords
from replan.api.options import Memory, StartKeywords, read_keywords
from replan.api.runs import drive_run, run_beside_loop
from replan.runs.reader import new_run_id
from replan_acquire.acquiring import prepare_to_acquire
from replan_acquire.acquisition.prepare import AcquisitionInput
from replan_acquire.acquisition.result import AcquisitionResult


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

    `profile` is a shipped name or a file. `docs` is a folder of documents. Without `docs`, the search service of the
    home's config is used, if there is one. `given` has the values that you know: a text for the path of each field. The
    limits, `tenant` and `priority` have the same meaning as for `replan.start`. `ask` answers questions. Without `ask`,
    a run that needs an answer ends with the status `waiting`. `home` is a folder, None for `$REPLAN_HOME`, or `MEMORY`.

    Missing values are not an error. `result.succeeded` tells whether every required field has a value. Cancelling the
    call parks the run, which can be resumed if it has a home. Raises `UsageProblem` before anything is written. The
    place of this error is the name of the argument.
    """
    how, limits = read_keywords(home, options)
    wish = AcquisitionInput(os.fspath(profile), goal, given=given or {}, limits=limits)
    folder = None if docs is None else os.fspath(docs)
    prepared = await run_beside_loop(partial(how.prepare, partial(prepare_to_acquire, wish, folder)))
    async with drive_run(new_run_id(), how, new=prepared.request) as run:
        result = await run.result()
        assert isinstance(result, AcquisitionResult)
        return result


acquire = blocking_form(aacquire)
