"""Driving the runs of a home beside a server: a host, and the runs that clients want gone on with."""

from functools import partial

import trio

from replan.runs.engine import Engine
from replan.runs.hosting import host
from replan.service.resuming import resume_asked
from replan.setup.settings import UserConfig
from runtime.drive.options import Stop
from runtime.host.notices import Report


async def drive_runs(
    engine: Engine, config: UserConfig, asked: trio.MemoryReceiveChannel[str], *, stop: Stop, report: Report
) -> None:
    """Drive the runs of a home, and those that are asked for, until a stop is requested. Raises as `host` does."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(resume_asked, engine, asked, stop=stop, report=report))
        nursery.start_soon(partial(host, engine, runs_max=config.host.runs_max, stop=stop, report=report))
