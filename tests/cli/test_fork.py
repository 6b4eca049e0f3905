"""`replan fork`: a new run from the middle of another one."""

import json

import pytest

from tests.cli.samples import ANALYSIS, LOST, PLAN, RECON, STRATEGY

BACK = {"g_analysis": [ANALYSIS], "g_recon": [RECON, RECON], "g_strategy": [STRATEGY, STRATEGY], "g_plan": [LOST, PLAN]}


@pytest.fixture
def ended(replan, problem, scripted):
    done = replan("run", problem, "-m", scripted(BACK), "--no-input", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["run_id"]


def records(replan, run):
    return [json.loads(line) for line in replan("show", run, "--events", "--json").stdout.splitlines()]


def forked(replan, *arguments, code=0):
    done = replan("fork", *arguments, "--no-input", "--json", "-q")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def refused(replan, *arguments, code=2):
    before = replan("runs", "--json").stdout
    done = replan("fork", *arguments)
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    [line] = done.stderr.splitlines()
    assert replan("runs", "--json").stdout == before
    return line


def test_a_fork_begins_with_the_records_of_the_run_and_goes_on_under_other_rules(replan, ended):
    before = replan("log", ended).stdout
    done = forked(
        replan, ended, "--at", "before:g_plan/v1.a1", "--policy", "belief", "--max-calls", 5, "-m", "template:bug"
    )
    assert (done["outcome"], done["calls"]) == ("success", 1)
    assert done["forked_from"]["run_id"] == ended
    seq = done["forked_from"]["seq"]
    mine, theirs = replan("log", done["run_id"]).stdout.splitlines(), before.splitlines()
    assert [line.split("  ")[-1] for line in mine[1:seq]] == [line.split("  ")[-1] for line in theirs[1:seq]]
    assert mine[seq].endswith(f"forked from run {ended} after its record {seq}")
    assert replan("log", ended).stdout == before, "the other run is only read"
    assert replan("home", "verify").exit_code == 0


def test_a_fork_survives_the_deletion_of_the_other_run(replan, ended):
    run = forked(replan, ended, "--at", "g_plan/v1.a1")["run_id"]
    shown = replan("show", run, "--tree").stdout
    assert replan("home", "delete", ended).exit_code == 0
    assert replan("show", run, "--tree").stdout == shown
    assert replan("home", "verify").exit_code == 0


def test_a_run_without_calls_goes_on_in_a_fork_with_the_whole_budget(replan, problem, scripted):
    script = {"g_plan": [LOST, PLAN]}
    spent = replan("run", problem, "-w", "single", "-m", scripted(script), "--max-calls", 1, "--json", "-q")
    assert spent.exit_code == 5
    run = json.loads(spent.stdout)["run_id"]
    done = forked(replan, run)
    assert (done["outcome"], done["calls"], done["forked_from"]["calls"]) == ("success", 1, 1)
    assert forked(replan, done["run_id"], "--at", 1, "-m", "template:bug")["forked_from"]["seq"] == 1, (
        "a fork is forked"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "--at: the run has ended (success), so a fork has to begin before its end"),
        (("--at", 99), "and no record 99"),
        (("--at", 0), "and no record 0"),
        (("--at", "g_plan/v9.a9"), "--at: the run has no attempt 'g_plan/v9.a9'"),
        (("--at", 1, "--policy", "nope"), "--policy: unknown policy 'nope'"),
        (
            ("--at", 1, "-m", "template:bug", "-w", "option_a"),
            "--workflow: step 'g_recon' is missing in the other workflow",
        ),
        (("--at", 1, "--detach"), "--detach: no host is running"),
        (("--at", 1, "--stop-below", 3), "--stop-below"),
    ],
)
def test_a_fork_that_cannot_be_made_is_one_line_and_writes_nothing(replan, ended, arguments, error):
    assert error in refused(replan, ended, *arguments)


def test_the_place_of_the_end_is_refused_with_the_last_place_before_it(replan, ended):
    last = len(replan("log", ended).stdout.splitlines())
    told = f"the run had already ended at record {last} (fork at record {last - 1}, or before it)"
    assert told in refused(replan, ended, "--at", last)
    assert forked(replan, ended, "--at", last - 1)["outcome"] == "success"


def test_an_unknown_run_is_not_forked(replan, ended):
    assert replan("fork", "zzzzzzzz").exit_code == 8
