"""`kill -9` at every labelled point of `replan archive`: no run is lost, and the same command finishes it."""

import signal

import pytest

from replan.cli.exits import Exit
from runtime.core.crash_points import ARCHIVE_LABELS
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


def runs_of(case):
    return [row["run_id"] for row in case.replan("runs", "--json")[1]["runs"]]


@pytest.mark.parametrize(
    ("label", "nth"), [*((label, 1) for label in ARCHIVE_LABELS), ("archive.written", 2), ("archive.verified", 2)]
)
def test_a_kill_at_every_point_loses_no_run(label, nth, case):
    into, runs = case.folder / "archive", runs_of(case)
    before = {run: case.replan("show", run, "--events", "--json")[1]["events"] for run in runs}
    command = ("archive", "--keep", "0", "--to", str(into), "--json")
    code, _ = case.replan(*command, kill={"label": label, "nth": nth})
    assert code == -signal.SIGKILL
    assert case.replan("home", "verify", "--json")[1]["ok"]
    kept = runs_of(case)
    assert set(kept) == (set() if label == "archive.removed" else set(runs))
    for run in kept:
        assert case.replan("show", run, "--events", "--json")[1]["events"] == before[run]
    code, shown = case.replan(*command)
    assert (code, shown["left"]) == (Exit.OK, [])
    assert runs_of(case) == []
    assert sorted(file.name for file in into.iterdir()) == sorted([".lock", *(f"{run}.replan.gz" for run in runs)])
    for run in runs:
        assert case.replan("show", str(into / f"{run}.replan.gz"), "--events", "--json")[1]["events"] == before[run]
    assert case.replan("restore", *map(str, into.glob("*.gz")), "--json")[0] == Exit.OK
    assert sorted(runs_of(case)) == sorted(runs)
    assert case.replan("home", "verify", "--json")[1]["ok"]
