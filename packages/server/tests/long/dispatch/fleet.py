"""A fleet of workers in processes of their own, as if on several machines, a provider that bills, people who answer."""

import json
import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import trio

from actors.config.model_spec import parse_model_spec
from actors.planning.prepare import PlanningInput, RunOptions
from packages.server.tests.long.dispatch import audit
from replan.cli.exits import Exit
from replan.runs.home import open_home
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import ModelChoice, UserConfig
from replan_server.postgres import connecting, schema
from replan_server.postgres.address import parse_address
from replan_server.workers import tables
from runtime.core.errors import JournalError
from runtime.journal.port import Placement, RunFilter
from tests.support.answers import Answer, request_parts
from tests.support.artifacts import GOOD, PROBLEM
from tests.support.commands import Command, Commands

DATABASE = "fleet"
APP = "fleet_app"
FLOW = """
name: asks
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_plan: {generator: model, guard: plan_medium, requires: [g_analysis]}
"""
ASKING = {**GOOD["g_analysis"], "open_questions": ["Which of the two services is meant?"]}
DAY = 86_400.0
AHEAD = (0.0, 3 * DAY, -3 * DAY, 0.0)
"""How far the clocks of the workers' machines are ahead."""


def make_database(server):
    """Make the database of a fleet anew, with its tables, a role for workers, and the audit."""
    server.execute("postgres", f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", f"CREATE DATABASE {DATABASE}")
    if not server.execute("postgres", f"SELECT 1 FROM pg_roles WHERE rolname = '{APP}'"):
        server.execute("postgres", f"CREATE ROLE {APP}")
    connection = connecting.connect(parse_address(server.url(DATABASE)))
    schema.ensure_tables(connection, "tests")
    schema.grant(connection, {"app": APP}, tables.make(connection, "tests"))
    connection.close()
    server.execute(DATABASE, audit.INSTALL)


def provider(seconds):
    """Return a handler that asks a question until it is answered, and then leads to a plan; it answers that late."""

    def answer(body: dict[str, Any], headers: Any, _: int) -> Answer:
        step = request_parts(headers["x-client-request-id"])["step"]
        asks = step == "g_analysis" and "ANSWER-" not in json.dumps(body["messages"])
        return Answer.value(ASKING if asks else GOOD[step]).slowly(seconds)

    return answer


@dataclass
class Worker:
    slot: int
    command: Command
    role: str
    out: Path

    def is_ready(self):
        """Tell whether it has reached the journal and serves."""
        return self.out.exists() and '"ready"' in self.out.read_text()


@dataclass
class Fleet:
    folder: Path
    server: Any
    commands: Commands
    model: Any
    concurrency: int = 6
    config: str = ""
    ports: dict[int, int] = field(default_factory=dict)
    """Ports of proxies to the server, by the slot of a worker that uses one."""
    workers: list[Worker] = field(default_factory=list)
    started: int = 0

    def environment(self, slot, role=None):
        url = self.server.url(DATABASE, user=role or "replan", port=self.ports.get(slot))
        home = self.folder / f"home-{slot}"
        if not home.exists():
            home.mkdir(mode=0o700)
            if self.config:
                (home / "config.yaml").write_text(self.config)
        return {
            "REPLAN_HOME": str(home),
            "REPLAN_JOURNAL": url,
            "REPLAN_JOURNAL_DIRECT": url,
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "sk-test-key-0000000000",
            "PATH": os.environ["PATH"],
        }

    def start(self, slot, **more):
        """Start a worker on the machine of a slot, with a role of its own in the database."""
        self.started += 1
        role = f"worker_{self.started}"
        self.server.execute("postgres", f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role} LOGIN IN ROLE {APP}")
        out = self.folder / f"worker-{self.started}.out"
        words = ["worker", "--json", "--concurrency", self.concurrency]
        streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out.with_suffix(".err")}
        more |= {"machine": f"machine-{slot}", "ahead": AHEAD[slot % len(AHEAD)]}
        command = self.commands.start(*words, env=self.environment(slot, role), **streams, **more)
        worker = Worker(slot, command, role, out)
        self.workers.append(worker)
        return worker

    def end(self, worker, number):
        """Send a signal that ends a worker, and return its exit code."""
        self.workers.remove(worker)
        worker.command.send_signal(number)
        return worker.command.wait()

    def restart_ended(self):
        """Start again what has ended by itself, as a supervisor would: the server was away when it started."""
        for worker in list(self.workers):
            if (code := worker.command.poll()) is not None:
                self.workers.remove(worker)
                assert code == Exit.JOURNAL, worker.out.with_suffix(".err").read_text()
                self.start(worker.slot)

    def kill_all(self, number):
        return [self.end(worker, number) for worker in list(self.workers)]

    async def admit(self, runs, tenant="", priority=0):
        """Admit runs that ask a question each; return their ids."""
        flow = self.folder / "asks.yaml"
        flow.write_text(FLOW)
        async with open_home(environment=self.environment(99)) as engine:
            choice = ModelChoice("test-model", parse_model_spec("test-model"))
            more = {
                "config": UserConfig(),
                "registry": engine.registry,
                "environment": self.environment(99),
                "now": engine.clock.now(),
            }
            prepared = prepare(
                RunOrder(
                    PlanningInput(PROBLEM, RunOptions(workflow=str(flow), limits={"max_calls": 400})), choice.text
                ),
                **more,
            ).request
            placed = replace(engine, placement=Placement(tenant, priority))
            return [await placed.admit(prepared) for _ in range(runs)]

    async def answer(self, until):
        """Answer every question twice with the same words and once with others; return when a condition holds."""
        answered = set()
        async with open_home(environment=self.environment(99)) as engine:
            while True:
                try:
                    rows = await engine.journal.runs(RunFilter(limit=2000))
                    if until(rows):
                        return
                    for row in rows:
                        question = f"{row.run}/{row.summary.detail}"
                        if row.summary.status != "waiting" or row.unread or question in answered:
                            continue
                        first = await engine.answer(question, f"ANSWER-{row.run}", via="cli")
                        again = await engine.answer(question, f"ANSWER-{row.run}", via="cli")
                        other = await engine.answer(question, "the other one", via="cli")
                        assert (again.result, other.result) == ("duplicate", "conflict"), (first, again)
                        answered.add(question)
                except JournalError as error:
                    if not error.passing:
                        raise
                await trio.sleep(0.05)

    def billed(self):
        """Return the ids of all requests that the provider has got, with the time of each."""
        return [(seen.request_id, seen.started) for seen in self.model.seen]

    def rows(self, statement):
        with psycopg.connect(self.server.url(DATABASE)) as connection:
            return connection.execute(statement).fetchall()


def finished(rows):
    """Tell whether all runs have ended and nobody holds one."""
    return all(row.summary.status == "finished" and row.owner is None for row in rows)
