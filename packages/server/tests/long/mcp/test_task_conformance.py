"""The scenarios about tasks of the MCP conformance suite, over the server of `replan mcp` and its runs.

They are in a later version of the suite than the others; `make linters` installs both into `build/protocols`. The suite
calls tools of its own, which `suite_tools` carries out as runs. One that fails is listed with its reason.
"""

from functools import partial

import pytest
import trio

from packages.server.tests.long.mcp.test_conformance import FOLDER, run_suite, wrong
from packages.server.tests.mcp.suite_tools import SCRIPTS, SuiteTools
from packages.server.tests.mcp.world import served
from tests.docs.blocks import ROOT

SUITE = FOLDER / "mcp-task-scenarios" / "dist" / "index.js"
NO_SUCH_TOOL = "it calls a tool that refuses clients without tasks, or asks before it starts; Replan has none"
SCENARIOS = {
    "tasks-lifecycle": "",
    "tasks-capability-negotiation": "",
    "tasks-wire-fields": "",
    "tasks-request-state-removal": "",
    "tasks-mrtr-input": "",
    "tasks-request-headers": "",
    "tasks-dispatch-and-envelope": "",
    "tasks-status-notifications": "",
    "tasks-required-task-error": NO_SUCH_TOOL,
    "tasks-mrtr-composition": NO_SUCH_TOOL,
}
"""The scenarios, each with the reason why it fails; empty for those that pass."""


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_server_passes_the_scenarios_about_tasks_that_it_can_pass(scenario, tmp_path, monkeypatch):
    from replan_server.mcp.serving import make_server

    async with trio.open_nursery() as nursery:
        tools = SuiteTools(nursery)

        def with_tools(desk, sealed):
            server = make_server(desk, sealed)
            server.middleware.append(tools)
            tools.engine = desk.engine
            return server

        monkeypatch.setattr("replan_server.mcp.serving.make_server", with_tools)
        async with served(tmp_path, monkeypatch, scripts=SCRIPTS, runs_at_once=50) as home:
            words = ["server", "--url", home.address, "--scenario", scenario]
            suite = partial(run_suite, SUITE, tmp_path / "results", *words, token=home.house.token())
            found = await trio.to_thread.run_sync(suite)
        nursery.cancel_scope.cancel()
    assert wrong(found, {scenario: SCENARIOS[scenario]}) == {}


def test_the_page_states_how_many_scenarios_about_tasks_pass():
    page = (ROOT / "docs" / "reference" / "measurements.md").read_text(encoding="utf-8")
    reasons = [*SCENARIOS.values()]
    assert f"Of the scenarios about tasks, {reasons.count('')} of {len(reasons)} pass" in " ".join(page.split())
    assert "mcp-task-scenarios@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12" in (ROOT / "Makefile").read_text()
