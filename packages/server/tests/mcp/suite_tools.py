"""The tools that the suite's task scenarios call, carried out as runs: a middleware calls those of Replan instead.

The suite tests servers with tools of its own, such as one that sleeps. Here each of these names is a planning run under
a model that does the same: it takes its time, asks one question or two, or ends badly. All else is the server as it is.
"""

from dataclasses import replace

import trio
from mcp_types import CallToolResult, TextContent

from packages.server.tests.mcp.world import ANSWER
from packages.server.tests.web.world import PLANS
from replan.runs.changes import record_crash
from tests.cli.samples import ANALYSIS, ASKING, PROBLEM, RECON, delayed_reply

SECONDS = (0, 1, 2, 60)
"""How long the sleeping tool is called for."""
ASKS_ONE = {**PLANS, "g_analysis": [ASKING, ANALYSIS, ANALYSIS]}
"""Asks one question."""
ASKS_TWO = {**ASKS_ONE, "g_recon": [{**RECON, "open_questions": ["Which browser is it?"]}, RECON, RECON]}
"""Asks two at a time, of steps that go on beside each other."""
SCRIPTS = {
    **{f"slow{each}": {**PLANS, "g_analysis": [delayed_reply(ANALYSIS, seconds=each)] * 2} for each in SECONDS},
    "asks_one": ASKS_ONE,
    "asks_two": ASKS_TWO,
}
"""The scripts of the models by their names."""
PLANNED = {
    "slow_compute": lambda sent: {"model": f"slow{sent['seconds']}"},
    "confirm_delete": lambda sent: {"model": "asks_one"},
    "multi_input": lambda sent: {"model": "asks_two"},
    "failing_job": lambda sent: {"model": "plans", "max_calls": 1, "at_limit": "stop"},
    "protocol_error_job": lambda sent: {"model": "asks_one"},
}
"""The tools that are runs, each with what is special about its run."""


class SuiteTools:
    def __init__(self, nursery):
        self._nursery, self.engine = nursery, None

    async def __call__(self, context, call_next):
        """Carry a request of the suite out."""
        params = dict(context.params or {})
        if context.method == "tasks/update":
            forms = {name: with_answer(form) for name, form in params["inputResponses"].items()}
            return await call_next(replace(context, params={**params, "inputResponses": forms}))
        name, sent = params.get("name"), params.get("arguments") or {}
        if context.method != "tools/call":
            return await call_next(context)
        if name == "greet":
            text = TextContent(text=f"Hello, {sent['name']}!")
            return CallToolResult(content=[text]).model_dump(by_alias=True, mode="json", exclude_none=True)
        if name not in PLANNED:
            return await call_next(context)
        arguments = {"problem": PROBLEM, **PLANNED[name](sent)}
        answer = await call_next(replace(context, params={**params, "name": "plan", "arguments": arguments}))
        if name == "protocol_error_job":
            self._nursery.start_soon(self._crash, answer["taskId"])
        return answer

    async def _crash(self, run):
        """Record a bug of the driver, once nobody drives the run."""
        while (row := await self.engine.journal.row(run)).status != "waiting" or row.owner is not None:  # noqa: ASYNC110 -- the host drives it
            await trio.sleep(0.02)
        await record_crash(self.engine, run, ZeroDivisionError("none"))


def with_answer(form):
    """Return a form with an answer in the field that the server has asked for; the suite fills others."""
    return {**form, "content": {"answer": ANSWER}} if form.get("action") == "accept" else form
