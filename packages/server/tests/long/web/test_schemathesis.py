"""The HTTP API against Schemathesis, which makes requests from the OpenAPI document and compares the answers."""

import copy
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import trio

from packages.server.tests.web.test_api import api, fits
from replan_server.web.api_routes import addressed_operations, openapi
from tests.cli.samples import PROBLEM

CONFIG = Path(__file__).with_name("schemathesis.toml")
COMMAND = Path(sys.executable).parent / "st"
EXAMPLES = os.environ.get("REPLAN_API_EXAMPLES", "")
PHASES = "examples,coverage,fuzzing,stateful" if EXAMPLES else "coverage"
"""`coverage` makes the same requests each time, at the edges of each schema; `fuzzing` makes random ones."""
SEED = os.environ.get("REPLAN_API_SEED", "1")
SECONDS_MAX = 7_000
UNLIMITED = 10**9
NEVER_DONE = {"read_attempt", "start_execution", "undo", "rest_of_plan", "edit_plan"}
"""Schemathesis asks for no address with a slash in a part, and there are no tools to execute with. So no execution can
be undone, and none has a plan to edit."""
BODIES = {
    "start_run": {"problem": PROBLEM, "model": "plans"},
    "ag_ui": {
        "threadId": "thread",
        "runId": "run",
        "messages": [{"id": "message", "role": "user", "content": PROBLEM}],
        "forwardedProps": {"replan": {"model": "plans"}},
    },
    "answer": {"answer": "3.12"},
    "tell": {"text": "Use 3.12"},
    "change_limits": {"max_calls": 20},
}
"""Bodies that can be carried out, by the operation."""
if find_spec("replan_acquire"):
    BODIES["start_acquisition"] = {"profile": "market_size", "goal": "Sheds", "model": "exact"}


def with_values(own_runs, runs):
    """Return the description with examples that exist in this home: `own_runs` are for one operation each."""
    document = copy.deepcopy(openapi())
    for methods in document["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            values = {"run": own_runs.get(name, runs), "name": ["q1"]}
            for each in operation["parameters"]:
                if each["name"] in values:
                    each["examples"] = {value: {"value": value} for value in values[each["name"]]}
            if name in BODIES:
                operation["requestBody"]["content"]["application/json"]["example"] = BODIES[name]
    return document


def done_operations(report):
    """Return the names of the operations that answered with success, from the requests that were recorded."""
    found = set()
    for entry in json.loads(report.read_text(encoding="utf-8"))["log"]["entries"]:
        path = "/" + entry["request"]["url"].partition("?")[0].split("/", 3)[3]
        if entry["response"]["status"] in (200, 201):
            found |= {
                each.name for each, address in addressed_operations() if fits(address, entry["request"]["method"], path)
            }
    return found


async def test_the_answers_of_every_operation_are_as_described(tmp_path, monkeypatch):
    for limit in ("WRITES_MAX", "FAILURES_MAX"):
        monkeypatch.setattr(f"replan_server.service.service.{limit}", UNLIMITED)
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0)
    async with api(tmp_path, allow_execute=True, runs_per_day=UNLIMITED, runs_at_once=UNLIMITED) as (web, program):
        cancelled, answered, waiting = [await web.start("asks") for _ in range(3)]
        planned = await web.start("plans")
        for run in (cancelled, answered, waiting):
            await web.settled(run, "waiting")
        await web.settled(planned, "finished")
        runs = [planned, waiting]
        config = CONFIG.read_text(encoding="utf-8").replace('"RUNS"', ", ".join(map(json.dumps, runs)))
        (tmp_path / "schemathesis.toml").write_text(config, encoding="utf-8")
        document = with_values({"cancel": [cancelled], "answer": [answered]}, runs)
        (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
        headers = {"Authorization": program.headers["authorization"], "Host": web.host}
        arguments = [
            *("run", "openapi.json", "--url", web.loopback, "--no-color", "--phases", PHASES, "--warnings", "off"),
            *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}")),
            *(
                "--max-examples",
                EXAMPLES or "1",
                "--seed",
                SEED,
                "--continue-on-failure",
                "--report-har-path",
                "requests.har",
            ),
        ]
        options = {"cwd": tmp_path, "check": False, "capture_stdout": True, "capture_stderr": True}
        with trio.fail_after(SECONDS_MAX):
            done = await trio.run_process([COMMAND, *arguments], **options)
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, said
        names = {each.name for each, _ in addressed_operations()}
        assert f"Tested: {len(names)}" in said, said
        assert names - done_operations(tmp_path / "requests.har") <= NEVER_DONE
