"""Processes while a provider is down: they wait, and use next to no processor time, and what they drive goes on.

Real processes and a real server, with the clock of the system.
"""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import trio

from actors.config.model_spec import parse_model_spec
from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.calls import CallFailed, Replied
from replan.cli.exits import Exit
from replan.runs.home import open_home
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import ModelChoice, UserConfig
from runtime.journal.port import RunFilter, RunRow
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer, request_parts
from tests.support.artifacts import GOOD, PROBLEM
from tests.support.commands import Command
from tests.support.openai_server import serve
from tests.support.receiver import free_port
from tests.wire.outages import write

PATIENCE = 300.0
MEASURED_SECONDS = 3.0
"""The time over which a process is watched."""
BUSY_SECONDS_MAX = 0.5
"""The processor time that a process which waits may use in it; a loop without a pause uses all of it."""


class Outage:
    """A provider that is down until `up` is set, but for the first step of the run with a child run."""

    def __init__(self, status: int = 503) -> None:
        self.status, self.up = status, False
        self.answered, self.failed = list[str](), list[str]()

    def handle(self, _body, headers, _n):
        name = headers["x-client-request-id"]
        step = request_parts(name)["step"]
        if not self.up and step != "g_analysis":
            self.failed.append(name)
            return Answer.fault(self.status)
        self.answered.append(name)
        return Answer.value(GOOD[step])

    def models(self, _headers):
        if not self.up:
            return Answer.fault(self.status)
        return Answer.json({"object": "list", "data": [{"id": "test-model"}]})


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_seconds(*processes: int) -> float:
    """Watch processes, and return the processor time that the busiest of them uses meanwhile."""
    before = [processor_seconds(process) for process in processes]
    time.sleep(MEASURED_SECONDS)
    return max(processor_seconds(process) - used for process, used in zip(processes, before, strict=True))


async def admit(environment: dict[str, str], folder: Path) -> list[str]:
    """Admit a run, one that a process stays for, and one with a child run."""
    async with open_home(environment=environment) as engine:
        choice = ModelChoice("test-model", parse_model_spec("test-model"))
        options = (
            RunOptions(workflow="single", limits={"patience": 1.0}),
            RunOptions(workflow="single"),
            RunOptions(workflow=write(folder), limits={"patience": 1.0}),
        )
        prepared = [
            prepare(
                RunOrder(PlanningInput(PROBLEM, each), choice.text),
                config=UserConfig(),
                registry=engine.registry,
                environment=environment,
                now=engine.clock.now(),
            ).request
            for each in options
        ]
        return [await engine.admit(each) for each in prepared]


async def rows(environment: dict[str, str]) -> list[RunRow]:
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
    """Each answered call is in the journal once, and no other. No server on this machine is paid for a failed call."""
    replies = [
        f"{run}/{record.event.request_id}"
        for run, (_, records) in case.runs().items()
        for record in records
        if isinstance(record.event, Replied) and not record.event.node.startswith("g_below")
    ]
    assert sorted(replies) == sorted(outage.answered)
    unknown = sum(result.unknown.calls for result, _ in case.runs().values())
    assert unknown == 0


def failed_tries(case: Case) -> int:
    """Return how many tries of the runs have failed."""
    return sum(isinstance(record.event, CallFailed) for _, records in case.runs().values() for record in records)


def test_commands_that_wait_for_their_provider_use_no_processor_time(tmp_path, commands):
    """It answers 503, answers 502, or refuses connections; a command that waits for each is watched, all together."""
    port = free_port()
    with ExitStack() as stack:
        cases = dict[Command, tuple[Case, Outage]]()
        for status in (503, 502, 0):
            folder, outage = tmp_path / str(status), Outage(status)
            folder.mkdir()
            if status:
                server = stack.enter_context(serve(outage.handle, models=outage.models))
            else:
                server = SimpleNamespace(base_url=f"http://127.0.0.1:{port}/v1", seen=[])
            case = Case(folder, commands, server)
            process = case.start((*case.run_command(9), "-w", "single"))
            cases[process] = case, outage
        until = time.monotonic() + PATIENCE
        while not all(case.journal.exists() and failed_tries(case) >= 2 for case, _ in cases.values()):
            assert time.monotonic() < until, "they try again"
            time.sleep(0.2)
        assert busy_seconds(*(process.pid for process in cases)) < BUSY_SECONDS_MAX
        assert all(len(case.server.seen) < 10 for case, _ in cases.values())
        for case, outage in cases.values():
            outage.up = True
            if not outage.status:
                case.server = stack.enter_context(serve(outage.handle, models=outage.models, port=port))
        for process, (case, outage) in cases.items():
            assert process.rest() == Exit.OK
            check_books(case, outage)


def test_a_host_whose_runs_wait_for_their_provider_uses_no_processor_time(tmp_path, commands):
    """Neither a run that nobody stays for, nor one with a child run, is taken up again and again."""
    outage = Outage()
    with serve(outage.handle, models=outage.models) as server:
        case = Case(tmp_path, commands, server)
        environment = case.environment
        case.journal.parent.mkdir(mode=0o700)
        alone, stayed_for, parent = trio.run(admit, environment, tmp_path)
        host = case.start(("host", "--json"), "host.")
        try:
            wait_for_rows(environment, lambda seen: {alone, parent} <= {row.run for row in seen if waits(row)})
            before = {row.run: row.last_seq for row in trio.run(rows, environment)}
            busy = busy_seconds(host.pid)
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
            host.send_signal(signal.SIGTERM)
            assert host.rest() == Exit.OK
        for run in (alone, parent):
            assert case.replan("resume", run, "--json")[0] == Exit.OK
        check_books(case, outage)
