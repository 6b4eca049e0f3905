"""Before a limit the command line says so: in the progress, in the log, and in the list of runs.

At a daily budget it asks, and takes a raised budget without a restart.
"""

import json


def test_progress_and_the_log_have_one_line_for_each_level(replan, problem):
    done = replan("run", problem, "-m", "template:bug", "--max-calls", "5")
    assert done.exit_code == 0, done.output
    for shown in (done.stderr, replan("log", "--last").stdout):
        for line in ("60 % of 5 calls are used", "80 % of 5 calls are used"):
            assert shown.count(line) == 1, shown


def test_a_terminal_shows_the_line_above_the_tree(problem, in_terminal):
    terminal = in_terminal("run", problem, "-m", "template:bug", "--max-calls", "5", TERM="xterm", NO_COLOR="1")
    assert terminal.end() == 0
    assert "replan: 80 % of 5 calls are used" in terminal.text


def test_the_list_of_runs_marks_a_run_near_a_limit_until_it_has_finished(replan, problem):
    waits = replan(
        "run", problem, "-m", "template:bug", "--max-calls", "3", "--at-limit", "ask", "--no-input", "--json"
    )
    assert waits.exit_code == 6, waits.output
    run = json.loads(waits.stdout)["run_id"]
    assert f"{run}  waiting (80 %) " in replan("runs").stdout
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    assert row["limit_near"] == {"limit": "calls", "percent": 80}
    assert replan("answer", "--last", "3 more calls").exit_code == 0
    assert replan("resume", "--last").exit_code == 0
    assert f"{run}  success " in replan("runs").stdout
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    assert "limit_near" not in row
    assert replan("home", "verify").exit_code == 0


def test_a_run_on_a_terminal_goes_on_after_its_budget_was_raised_in_the_file(problem, in_terminal, home):
    home.mkdir(mode=0o700)
    config = home / "config.yaml"
    config.write_text("home_budget: {calls: 2}\n")
    terminal = in_terminal("run", problem, "-m", "template:bug", TERM="dumb")
    terminal.read_until(r"(?s)how\s+should\s+the\s+run\s+go\s+on.*> $")
    terminal.type("go on\n")
    terminal.read_until(r"(?s)> go on.*UTC.*> $")
    config.write_text("home_budget: {calls: 20}\n")
    terminal.type("go on\n")
    assert terminal.end() == 0, terminal.text
    assert "100 % of the home's budget for today (2 calls) is used" in terminal.text
