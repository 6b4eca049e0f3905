"""Hosts in processes of their own are killed by a signal around the start of an order: each time is started once."""

import os
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from replan.cli.exits import Exit
from tests.cli.samples import PROBLEM
from tests.support.server_process import wait_until

YEAR = 366 * 86_400
CONFIG = "schedules:\n  nightly: {cron: '0 0 1 1 *', problem: nightly.md, model: template:bug}\n"
KILLS = [{"label": label, "nth": nth} for label in ("append.before", "append.after") for nth in (1, 2)]


class Hosts:
    """A home with a schedule that has missed one time, and the hosts that serve it."""

    def __init__(self, folder, commands):
        self.folder, self.commands, self.count = folder, commands, 0
        self.journal = folder / "home" / "journal.sqlite3"
        self.journal.parent.mkdir(mode=0o700)
        (self.journal.parent / "config.yaml").write_text(CONFIG)
        (self.journal.parent / "nightly.md").write_text(PROBLEM)

    def start(self, kill=None):
        self.count += 1
        files = {name: self.folder / f"{self.count}{name}" for name in ("stdout", "stderr")}
        environment = {"REPLAN_HOME": str(self.journal.parent), "PATH": os.environ["PATH"]}
        faults = {"kill": kill, "count": str(self.folder / f"{self.count}count")}
        return self.commands.start("host", "--json", env=environment, stdin=subprocess.DEVNULL, **files, **faults)

    def query(self, statement):
        with closing(sqlite3.connect(self.journal)) as database, database:
            return database.execute(statement).fetchall()

    def rows(self):
        """Return the kind and the status of each run of the schedule by its id."""
        if not self.journal.exists():
            return {}
        try:
            return {run: rest for run, *rest in self.query("SELECT run, kind, status FROM runs")}
        except sqlite3.OperationalError:
            return {}  # Its tables are being made.

    def wait_for(self, condition):
        wait_until(lambda: condition(self.rows()), "the runs of the schedule do not get there")


def stop(host):
    host.send_signal(signal.SIGTERM)
    return host.rest()


def started(rows):
    return [run for run, (kind, _) in rows.items() if kind == "planning"]


@pytest.mark.parametrize("kill", KILLS, ids=lambda kill: f"{kill['label']}-{kill['nth']}")
def test_a_missed_time_is_started_once_by_several_hosts_of_which_two_are_killed(tmp_path, commands, kill):
    hosts = Hosts(tmp_path, commands)
    first = hosts.start()
    hosts.wait_for(lambda rows: "nightly-v1" in rows)
    assert stop(first) == Exit.OK
    assert started(hosts.rows()) == []
    hosts.query(f"UPDATE runs SET created = created - {YEAR} WHERE run = 'nightly-v1'")
    serving = [hosts.start(kill), hosts.start(kill), hosts.start()]
    hosts.wait_for(lambda rows: any(kind == "planning" and status == "finished" for kind, status in rows.values()))
    hosts.wait_for(lambda _: hosts.query("SELECT count(*) FROM inbox") == [(1,)])
    assert {stop(host) for host in serving} <= {Exit.OK, -signal.SIGKILL}
    assert len(started(hosts.rows())) == 1
    last = hosts.start()
    hosts.wait_for(lambda _: '"ready"' in (tmp_path / f"{hosts.count}stdout").read_text())
    assert stop(last) == Exit.OK
    assert len(started(hosts.rows())) == 1
    assert len(hosts.rows()) == 2
