"""Processes while a provider is down: they wait, and use next to no processor time, and what they drive goes on.

Real processes and a real server, with the clock of the system.
"""

import os
import signal
import time
from pathlib import Path

import trio

from actors.config.model_spec import parse_model_spec
from actors.planning.prepare import RunOptions
from actors.run.calls import Replied
from replan.cli.exits import Exit
from replan.runs.home import open_home
from replan.runs.prepare import prepare_run
from replan.setup.settings import Choice, UserConfig
from runtime.journal.port import RunFilter, RunRow
from tests.crash.cli_case import Case
from tests.support.answers import Answer, request_parts
from tests.support.artifacts import GOOD, PROBLEM
from tests.support.openai_server import serve
from tests.wire.outages import write

PATIENCE = 30.0
MEASURED_SECONDS = 3.0
"""The time over which a process is watched."""
BUSY_SECONDS_MAX = 0.5
"""The processor time that a process which waits may use in it; a loop without a pause uses all of it."""


class Outage:
    """A provider that is down until `up` is set, but for the first step of the run with a child run."""

    def __init__(self) -> None:
        self.up, self.answered = False, list[str]()

    def handle(self, _body, headers, _n):
        """Answer one completion."""
        name = headers["x-client-request-id"]
        step = request_parts(name)["step"]
        if not self.up and step != "g_analysis":
            return Answer.fault(503)
        self.answered.append(name)
        return Answer.value(GOOD[step])

    def models(self, _headers):
        """Answer `GET /models`."""
        return Answer.json({"object": "list", "data": [{"id": "test-model"}]}) if self.up else Answer.fault(503)


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_seconds(process: int) -> float:
    """Watch a process, and return the processor time that it uses meanwhile."""
    before = processor_seconds(process)
    time.sleep(MEASURED_SECONDS)
    return processor_seconds(process) - before


async def admit(environment: dict[str, str], folder: Path) -> list[str]:
    """Admit a run, one that a process stays for, and one with a child run."""
    async with open_home(environment=environment) as engine:
        choice = Choice("test-model", parse_model_spec("test-model"))
        options = (
            RunOptions(workflow="single", patience_seconds=1.0),
            RunOptions(workflow="single"),
            RunOptions(workflow=write(folder), patience_seconds=1.0),
        )
        prepared = [
            prepare_run(
                PROBLEM,
                each,
                choice,
                config=UserConfig(),
                registry=engine.registry,
                root=engine.root,
                environment=environment,
                now=engine.clock.now(),
            )
            for each in options
        ]
        return [await engine.admit(each) for each in prepared]


async def rows(environment: dict[str, str]) -> list[RunRow]:
    """Return the rows of all runs."""
    async with open_home(environment=environment) as engine:
        return await engine.journal.runs(RunFilter())


def waits(row: RunRow) -> bool:
    """Tell whether nobody drives a run before a time to come."""
    return row.owner is None and (row.summary.next_wake or 0.0) > time.time()


def wait_for_rows(environment, condition) -> list[RunRow]:
    """Wait until the rows of the runs fulfil a condition, and return them."""
    until = time.monotonic() + PATIENCE
    while not condition(seen := trio.run(rows, environment)):
        assert time.monotonic() < until, seen
        time.sleep(0.1)
    return seen


def check_books(case: Case, outage: Outage) -> None:
    """Each answered call is in the journal once, and no other call of a model; the rest is refunded."""
    replies = [
        f"{run}/{record.event.request_id}"
        for run, (_, records) in case.runs().items()
        for record in records
        if isinstance(record.event, Replied) and not record.event.node.startswith("g_below")
    ]
    assert sorted(replies) == sorted(outage.answered)
    assert sum(result.unknown.calls for result, _ in case.runs().values()) == 0


def test_a_command_that_waits_for_its_provider_uses_no_processor_time(tmp_path, fork_server):
    outage = Outage()
    with serve(outage.handle, models=outage.models) as server:
        case = Case(tmp_path, fork_server, server)
        process = fork_server.start(case.request((*case.run_command(9), "-w", "single")))
        assert server.wait_for(lambda seen: len(seen.seen) >= 2, PATIENCE), "it tries again"
        busy, asked = busy_seconds(process), len(server.seen)
        assert busy < BUSY_SECONDS_MAX
        assert asked < 10
        outage.up = True
        assert fork_server.wait(process) == Exit.OK
        check_books(case, outage)


def test_a_host_whose_runs_wait_for_their_provider_uses_no_processor_time(tmp_path, fork_server):
    """Neither a run that nobody stays for, nor one with a child run, is taken up again and again."""
    outage = Outage()
    with serve(outage.handle, models=outage.models) as server:
        case = Case(tmp_path, fork_server, server)
        environment = case.request(())["env"]
        case.journal.parent.mkdir(mode=0o700)
        alone, stayed_for, parent = trio.run(admit, environment, tmp_path)
        host = fork_server.start(case.request(("host", "--json"), "host."))
        try:
            wait_for_rows(environment, lambda seen: {alone, parent} <= {row.run for row in seen if waits(row)})
            before = {row.run: row.last_seq for row in trio.run(rows, environment)}
            busy = busy_seconds(host)
            assert busy < BUSY_SECONDS_MAX
            after = {row.run: row.last_seq for row in trio.run(rows, environment)}
            assert {run for run in after if before.get(run) != after[run]} <= {stayed_for}
            assert len(server.seen) < 20
            outage.up = True
            wait_for_rows(
                environment,
                lambda seen: any(row.run == stayed_for and row.summary.status == "finished" for row in seen),
            )
        finally:
            os.kill(host, signal.SIGTERM)
            assert fork_server.wait(host) == Exit.OK
        for run in (alone, parent):
            assert case.replan("resume", run, "--json")[0] == Exit.OK
        check_books(case, outage)
