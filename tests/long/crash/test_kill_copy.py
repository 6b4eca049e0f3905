"""`kill -9` at every labelled point of `home copy --delete`: no run is lost, and the same command finishes it."""

import signal
from dataclasses import replace

import pytest

from replan.cli.exits import Exit
from runtime.core.hooks import COPY_LABELS
from tests.long.crash.cli_case import Case
from tests.long.crash.test_kill import HAPPY, SCRIPT
from tests.support.answers import by_step
from tests.support.openai_server import serve


@pytest.fixture
def case(tmp_path, commands):
    with serve(by_step(SCRIPT)) as server:
        case = Case(tmp_path, commands, server)
        for _ in range(2):
            assert case.begin(HAPPY + 2)[0] == Exit.OK
        yield case


@pytest.fixture
def old(case):
    """The home that the runs are moved to."""
    folder = case.folder / "old"
    folder.mkdir()
    return replace(case, folder=folder)


def events_of(case):
    runs = [row["run_id"] for row in case.replan("runs", "--json")[1]["runs"]] if case.journal.exists() else []
    return {run: case.replan("show", run, "--events", "--json")[1]["events"] for run in runs}


@pytest.mark.parametrize("label", COPY_LABELS)
def test_a_kill_at_every_point_loses_no_run(label, case, old):
    before, command = events_of(case), ("home", "copy", f"sqlite:{old.journal}", "--ended", "--delete", "--json")
    code, _ = case.replan(*command, kill={"label": label, "nth": 1})
    assert code == -signal.SIGKILL
    assert events_of(case) == ({} if label == "copy.removed" else before)
    assert events_of(old) == ({} if label == "copy.marked" else before)
    code, _ = case.replan(*command)
    assert (code, events_of(case), events_of(old)) == (Exit.OK, {}, before)
    for home in (case, old):
        assert home.replan("home", "verify", "--json")[1]["ok"]
