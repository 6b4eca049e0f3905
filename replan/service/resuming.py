"""Going on with parked and ended runs that a person has asked for: a host leaves them alone."""

from functools import partial
from typing import Any

import trio

from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from runtime.core.errors import Held, ReplanError
from runtime.drive.options import Stop
from runtime.host.notices import Report, Trouble

WAITING_MAX = 100
"""Runs that wait to be gone on with."""


async def resume_asked(engine: Engine, asked: trio.MemoryReceiveChannel[str], *, stop: Stop, report: Report) -> None:
    """Drive each run that is asked for until it rests; at a stop, park them all."""
    driven: set[str] = set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_close_at, stop, asked)
        async with asked:
            try:
                async for run in asked:
                    if run not in driven:
                        nursery.start_soon(_drive, engine, run, stop, report, driven)
            except trio.ClosedResourceError:
                pass  # The stop was requested.


async def _drive(engine: Engine, run: str, stop: Stop, report: Report, driven: set[str]) -> None:
    driven.add(run)
    try:
        await engine.resume(run, DriveOptions(stop, notice=partial(_note, report, run)))
    except Held:
        pass  # Another process goes on with it already.
    except ReplanError as error:
        report(Trouble(run, str(error)))
    except Exception as error:  # noqa: BLE001 -- a bug ends its own run, and no other
        report(Trouble(run, f"{type(error).__name__}: {error}"))
    finally:
        driven.discard(run)


def _note(report: Report, run: str, text: Any) -> None:
    report(Trouble(run, str(text)))


async def _close_at(stop: Stop, asked: trio.MemoryReceiveChannel[str]) -> None:
    await stop.requested.wait()
    asked.close()
