"""A web service that plans problems. People answer the questions of runs over HTTP, even days later.

pip install . fastapi uvicorn
uvicorn service:app
"""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException

import replan

MODEL = os.environ.get("REPLAN_MODEL", "template:bug")
"""The model in the form of `--model`."""


class Background:
    """The tasks that drive runs."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, and keep it until it ends."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def stop(self) -> None:
        """Park all runs. This takes two seconds at most, and no paid reply is lost."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


background = Background()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Continue the runs that an earlier process has parked, and park all runs at the end."""
    for row in await replan.aruns(status="parked"):
        background.start(go_on(row.run_id))
    yield
    await background.stop()


app = FastAPI(lifespan=lifespan)


async def begin(problem: str, started: asyncio.Future[str]) -> None:
    """Plan a problem, and set `started` as soon as the run is stored."""
    try:
        async with replan.start(problem, model=MODEL) as run:
            async for _ in run:
                if not started.done():
                    started.set_result(run.run_id)
            await run.result()
    except replan.ReplanError as error:
        if not started.done():
            started.set_exception(error)


async def go_on(run_id: str) -> None:
    """Continue a run, unless another task drives it."""
    with suppress(replan.ReplanError):  # `GET /plans/RUN` shows the state of the run.
        await replan.aresume(run_id)


@app.post("/plans", status_code=202)
async def plan(problem: Annotated[str, Body(embed=True)]) -> dict[str, str]:
    """Start a run, and return its id."""
    started = asyncio.get_running_loop().create_future()
    background.start(begin(problem, started))
    try:
        return {"run_id": await started}
    except replan.UsageProblem as error:
        raise HTTPException(422, str(error)) from error


@app.get("/plans")
async def list_plans() -> list[dict[str, Any]]:
    """Return all runs, the newest first."""
    return [row.to_dict() for row in await replan.aruns()]


@app.get("/plans/{run_id}")
async def show(run_id: str) -> dict[str, Any]:
    """Return the result of a run, or its present state."""
    try:
        return (await replan.ashow(run_id)).to_dict()
    except replan.RunNotFound as error:
        raise HTTPException(404, str(error)) from error


@app.delete("/plans/{run_id}")
async def cancel(run_id: str) -> dict[str, Any]:
    """Cancel a run."""
    try:
        return (await replan.acancel(run_id)).to_dict()
    except replan.RunNotFound as error:
        raise HTTPException(404, str(error)) from error
    except replan.UsageProblem as error:
        raise HTTPException(409, str(error)) from error


@app.post("/plans/{run_id}/answers/{question}")
async def answer(run_id: str, question: str, text: Annotated[str, Body(embed=True)]) -> dict[str, str | None]:
    """Answer a question, and continue the run. The same answer may come twice. Only the first answer counts."""
    try:
        heard = await replan.aanswer(f"{run_id}/{question}", text)
    except replan.RunNotFound as error:
        raise HTTPException(404, str(error)) from error
    except replan.UsageProblem as error:
        raise HTTPException(422, str(error)) from error
    background.start(go_on(run_id))
    return {"result": heard.result, "stands": heard.stands}
