"""One case of each suite in `tests/long`, so that the quick tests fail too when a change breaks a whole suite."""

import pytest

from tests.long.crash import test_kill
from tests.long.crash.cli_case import Case
from tests.long.crash.test_fencing import case, open_case  # noqa: F401 -- fixtures
from tests.long.crash.test_fencing import test_a_driver_stopped_before_an_append_is_fenced as stop_a_driver
from tests.long.crash.test_kill_execution import execution  # noqa: F401 -- a fixture
from tests.long.crash.test_kill_execution import test_a_kill_where_a_label_is_reached as kill_an_execution
from tests.long.execution import test_undo_simulation
from tests.long.models import test_streams
from tests.long.power.programs import whole_plan
from tests.long.power.test_power import run_with_fault
from tests.long.shell.home_world import world_of
from tests.long.shell.planted_bugs import FAST
from tests.long.simulation import test_forks
from tests.long.simulation.driver import Run
from tests.long.tools import test_mcp_calls
from tests.models.conftest import provider, wired  # noqa: F401 -- fixtures
from tests.support.answers import by_step
from tests.support.openai_server import serve
from tests.tools.conftest import bench  # noqa: F401 -- a fixture


@pytest.mark.parametrize("label", ["append.after", "reply.after"])
def test_a_planning_run_goes_on_after_a_kill(label, tmp_path, commands):
    with serve(by_step(test_kill.SHORT)) as server:
        result, wasted = test_kill.kill_and_resume(
            Case(tmp_path, commands, server), 3, {"label": label, "nth": 2}, "-w", "single"
        )
    assert result.outcome == "success"
    assert wasted <= 1


def test_a_tool_is_not_repeated_after_a_kill(execution):  # noqa: F811
    kill_an_execution("tool.after", 1, execution)


def test_a_driver_that_was_stopped_is_fenced(case):  # noqa: F811
    stop_a_driver(case)


@pytest.mark.parametrize("power", [True, False])
async def test_a_fault_of_the_disk_loses_nothing_acknowledged(power, tmp_path):
    assert await run_with_fault(whole_plan, tmp_path, 30, 0, power=power)


@pytest.mark.parametrize("seed", FAST)
def test_a_simulated_world_keeps_every_invariant(seed):
    world_of(seed).play()


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_run_keeps_every_promise(seed):
    Run(seed).simulate()


def test_a_fork_without_a_change_ends_as_the_other_run():
    test_forks.check(test_forks.played(1))


def test_what_is_undone_is_undone_once():
    assert {test_undo_simulation.played(seed) for seed in range(10)} >= {"undone"}


async def test_a_tool_of_an_mcp_server_is_called(bench):  # noqa: F811
    await test_mcp_calls.test_a_tool_of_a_server_gets_its_arguments_and_its_text_is_the_output(bench)


async def test_a_stream_that_stalls_times_out(wired):  # noqa: F811
    await test_streams.test_a_stalled_stream_times_out(wired)
