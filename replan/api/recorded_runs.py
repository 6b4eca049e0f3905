"""`whatif` from Python: it folds recorded runs under edited rules. It drives no run and calls no model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from replan.api.loops import blocking, in_any_loop
from replan.api.options import Home, environment_of
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from replan.whatif.differences import FoldOutcome, RunComparison
from replan.whatif.limits import LIMIT_SECONDS
from runtime.core.errors import UsageProblem

__all__ = ["FoldOutcome", "RunComparison", "awhatif", "whatif"]


async def awhatif(
    *runs: str,
    workflow: Path | str | None = None,
    guards: Sequence[str] = (),
    policy: Path | str | None = None,
    release: Path | str | None = None,
    plugins: Sequence[Path | str] = (),
    time_limit: float = LIMIT_SECONDS,
    home: Home = None,
) -> tuple[RunComparison, ...]:
    """Fold recorded runs under an edited workflow, guard, policy or program; return a comparison for each run.

    Waiting runs come first.

    `runs` are ids, none for all; `workflow` and `policy` are shipped names or files. `guards` have the form `NAME` or
    `STEP=NAME`. `release` is the folder of another checkout. `plugins` are files beside those of the home's settings.
    `time_limit` is in seconds for one run. A guard that raises or does not end is the outcome `failed` of its run.
    Raises `UsageProblem` for an edit that cannot be used, and `RunNotFound`.
    """
    from replan.whatif.query import WhatIfQuery, findings_of  # noqa: PLC0415 -- only where runs are folded

    if isinstance(guards, str) or isinstance(plugins, str):
        raise UsageProblem("should be a list, not a text", place="guards" if isinstance(guards, str) else "plugins")
    if not 0.1 <= time_limit < float("inf"):
        raise UsageProblem("should be at least 0.1 seconds, and finite", place="time_limit")
    environment = environment_of(home)
    place = locate_home(environment)
    config = read_user_config(place.config)
    files = (*(str(place.config.parent / name) for name in config.plugins), *map(str, plugins))
    asked = WhatIfQuery(runs, _text(workflow), tuple(guards), _text(policy), _text(release), files, time_limit)
    work = partial(trio.to_thread.run_sync, partial(findings_of, asked, config, environment))
    return tuple(await in_any_loop(work))


def whatif(*runs: str, **options: Any) -> tuple[RunComparison, ...]:
    """Fold recorded runs under edited rules, without an event loop. Parameters and errors are those of `awhatif`."""
    return blocking("whatif", partial(awhatif, *runs, **options))


def _text(value: Path | str | None) -> str | None:
    return None if value is None else str(value)
