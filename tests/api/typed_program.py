"""A program of a user, which `make lint` checks: what is right passes, and an ignored error that is none is one."""
# ruff: noqa: F841 -- values are assigned to say their types

import replan


async def right() -> None:
    result = await replan.asolve("Fix it.", model="template:bug", max_calls=3)
    if result.plan is not None:
        steps: list[str] = [step.step_id for step in result.plan.steps]
        text: str = result.plan.to_markdown() + str(result.plan.to_dict()["steps"]) + str(steps)
    if result.question is not None:
        text = result.question["text"]
    async with replan.start("Fix it.") as run:
        async for record in run:
            number: int = record.seq
        plan: replan.ProvedPlan | None = (await run.result()).plan
    for row in await replan.aruns(status="waiting"):
        shown: replan.RunResult = await replan.ashow(row.run_id)
        heard: replan.AnswerReceipt = await replan.aanswer(row.question or "", "x")
    version: str = replan.__version__


def ask(question: replan.OpenQuestion) -> str:
    return question["text"]


def right_without_a_loop() -> None:
    resumed: replan.RunResult = replan.resume("k7m2x9qa", ask=ask)
    rows: tuple[replan.RunSummary, ...] = replan.runs(home="here")


async def wrong() -> None:
    """Use keywords and values that do not exist."""
    replan.solve("Fix it.", modle="template:bug")  # type: ignore[call-arg]
    await replan.asolve("Fix it.", modle="template:bug")  # type: ignore[call-arg]
    replan.start("Fix it.", max_calls="3")  # type: ignore[arg-type]
    replan.execute("k7m2x9qa", tenant=3)  # type: ignore[arg-type]
    await replan.aundo("k7m2x9qa", max_calls=3)  # type: ignore[call-arg]
    await replan.aresume("k7m2x9qa", problem="Fix it.")  # type: ignore[call-arg]
    plan: int = replan.solve("Fix it.").plan  # type: ignore[assignment]
    replan.runs(status="sleeping")  # type: ignore[arg-type]
