"""Runs and messages that were accepted are in the journal, and outlive the processes that were to take them."""

import json
import signal
import threading

from replan.cli.exits import Exit
from tests.long.crash.test_children import wait_for
from tests.support.answers import by_step
from tests.support.artifacts import GOOD, plan
from tests.support.server_process import wait_until

RUNS = 4
TTL = 2.0
"""The length of the lease in seconds."""
PATIENCE = 300.0


class Gate:
    """A handler that holds all replies back until it is opened."""

    def __init__(self):
        self.opened = threading.Event()
        self.answer = by_step({step: [GOOD[step]] * 99 for step in GOOD})

    def __call__(self, body, headers, n):
        assert self.opened.wait(PATIENCE)
        return self.answer(body, headers, n)


def admitted(case, number_of_hosts):
    """Start hosts that drive two runs each at a time, and have all runs accepted; return the hosts and the runs."""
    case.journal.parent.mkdir(mode=0o700)
    (case.journal.parent / "config.yaml").write_text("host: {runs_max: 2}\n")
    names = range(1, 1 + number_of_hosts)
    hosts = [case.start(("host", "--json"), f"{name}.", ttl=TTL, machine=f"machine-{name}") for name in names]
    for name in names:
        wait_for(case.folder / f"{name}.out", "ready")
    for number in range(RUNS):
        assert case.start((*case.run_command(9)[:-1], "--detach"), f"run{number}.").wait() == Exit.OK
    return hosts, [(case.folder / f"run{number}.out").read_text().strip() for number in range(RUNS)]


def finished(case, host):
    lines = [json.loads(line) for line in (case.folder / f"{host}.out").read_text().splitlines()]
    return {line["run_id"] for line in lines if line["event"] == "finished"}


def check_all(case, runs, host):
    """Wait until a host has ended all runs, stop it, and check what came of them."""
    wait_until(lambda: finished(case, 2) == {*runs}, "the host does not end all runs")
    host.send_signal(signal.SIGTERM)
    assert host.rest() == Exit.OK
    ended = case.runs()
    assert {run: (ended[run][0].outcome, ended[run][0].plan_json == plan()) for run in runs} == dict.fromkeys(
        runs, ("success", True)
    )
    case.check_billing()


def test_queued_runs_and_messages_outlive_the_host_that_was_to_take_them(open_case):
    """microsoft/autogen#5327: the distributed runtime keeps its queue in memory, and loses it in a restart.

    The host is killed while it drives two of four accepted runs. A note is sent while no process is alive.
    The next host ends all runs.
    """
    case = open_case(gate := Gate())
    [first], runs = admitted(case, 1)
    wait_until(lambda: len(case.requested()) >= 2, "the host drives no run")
    first.kill()
    assert first.rest() == -signal.SIGKILL
    assert case.replan("tell", runs[-1], "The store is Redis.")[0] == Exit.OK
    gate.opened.set()
    check_all(case, runs, case.start(("host", "--json"), "2.", ttl=TTL))
    prompts = [seen.prompt for seen in case.server.seen if seen.request_id.startswith(runs[-1])]
    assert any("The store is Redis." in prompt for prompt in prompts)


def test_the_runs_of_a_killed_host_go_on_under_another_one_that_is_alive(open_case):
    """dbos-inc/dbos-transact-py#453: after a crash of one node its workflow stayed pending beside another node.

    Two hosts on two machines drive two runs each. Nobody asks for a recovery, and no further service takes part.
    """
    case = open_case(gate := Gate())
    [first, second], runs = admitted(case, 2)
    wait_until(lambda: len({name.partition("/")[0] for name in case.requested()}) == RUNS, "some run is not driven")
    first.kill()
    assert first.rest() == -signal.SIGKILL
    gate.opened.set()
    check_all(case, runs, second)
