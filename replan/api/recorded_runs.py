"""Functions over recorded runs, from Python: `attest` and `whatif`. They drive no run and call no model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from replan.api.loops import blocking, in_any_loop
from replan.api.options import Home, at_home, environment_of
from replan.runs.engine import Engine
from replan.runs.run_ids import run_named
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from replan.whatif.differences import FoldOutcome, RunComparison
from replan.whatif.limits import LIMIT_SECONDS
from runtime.core.errors import UsageProblem

__all__ = ["FoldOutcome", "RunComparison", "aattest", "attest", "awhatif", "whatif"]


async def aattest(run: str, *, key: Path | str | None = None, home: Home = None) -> bytes:
    """Return the signed attestation of a finished run: the bytes of the file that `replan attest` writes.

    `key` is the file of the private key, Ed25519 in PEM; None for that of the home. Raises `UsageProblem` for a run
    that has not ended, and without a key or the extra `attest`; `RunNotFound`, `KindUnknown`, `JournalDamaged`.
    """
    from replan.runs.attestation import signed  # noqa: PLC0415 -- only where something is signed
    from replan.runs.attested_runs import attested_runs, read_attestation  # noqa: PLC0415
    from replan.setup.attest_key import NAME, check_extra, read_key  # noqa: PLC0415

    check_extra()
    environment = environment_of(home)

    async def work(engine: Engine) -> bytes:
        members = await attested_runs(engine, await run_named(engine.journal, run))
        signer = read_key(Path(key) if key is not None else locate_home(environment).folder / NAME)
        unsigned = await trio.to_thread.run_sync(partial(read_attestation, members, environment))
        return signed(unsigned, signer)

    return await at_home(home, work)


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

    `runs` are ids, none for all; `workflow` and `policy` are shipped names or files, `guards` have the form `NAME` or
    `STEP=NAME`, `release` is the folder of another checkout, `plugins` are files beside those of the home's settings,
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


def attest(run: str, **options: Any) -> bytes:
    """Return the signed attestation of a run, as `aattest` does, outside of a trio or asyncio program."""
    return blocking("attest", partial(aattest, run, **options))


def whatif(*runs: str, **options: Any) -> tuple[RunComparison, ...]:
    """Fold recorded runs under edited rules, as `awhatif` does, outside of a trio or asyncio program."""
    return blocking("whatif", partial(awhatif, *runs, **options))


def _text(value: Path | str | None) -> str | None:
    return None if value is None else str(value)
