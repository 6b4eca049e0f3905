"""`--stop-below` and `--no-input`, as users meet them."""

import json

import pytest

from replan_lab.simulated.author import SimulatedModel, answer
from tests.cli.test_belief import WORKFLOW

MODEL = "simulated:base?seed=3"
BY_ROWS = "the search 'beam' cannot use the belief of policy 'belief', so the rows of the policy decide"


@pytest.fixture(autouse=True)
def author_without_latency(monkeypatch):
    """Give the simulated author's replies at once: nothing here depends on how long they take."""

    async def complete(self, request):
        return answer(self._profile, self._seed, request, self.name)[0]

    monkeypatch.setattr(SimulatedModel, "complete", complete)


@pytest.fixture
def workflow(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW)
    return path


def started(replan, run):
    return json.loads(replan("show", run, "--events", "--json").stdout)["events"][0]


def test_a_run_stops_when_no_move_is_worth_its_calls_and_goes_on_with_a_lower_limit(replan, problem, workflow):
    """Exit code 5, the reason, and the command that reopens it; after that the same failure is decided."""
    done = replan("run", problem, "-w", workflow, "-m", MODEL, "--stop-below", "0.9", "--json")
    result = json.loads(done.stdout)
    assert (done.exit_code, result["outcome"]) == (5, "budget_exhausted")
    run, calls = result["run_id"], result["calls"]
    shown = replan("show", run)
    assert "not_worth_it: the best remaining move (" in shown.stdout
    told = shown.stdout + shown.stderr
    assert f"replan resume {run} --keep-trying" in told
    assert f"replan resume {run} -m MODEL" in told
    assert f"replan tell {run} TEXT --as requirement" in told
    again = json.loads(replan("resume", run, "--max-calls", "60", "--json").stdout)
    assert (again["outcome"], again["calls"]) == ("budget_exhausted", calls)
    done = replan("resume", run, "--keep-trying", "--json")
    assert json.loads(done.stdout)["calls"] > calls
    assert "not_worth_it" not in replan("show", run).stdout


@pytest.mark.parametrize("value", ["-0.1", "1.5", "nan"])
def test_a_value_that_is_no_chance_is_refused(replan, problem, workflow, value):
    done = replan("run", problem, "-w", workflow, "-m", "template:bug", f"--stop-below={value}", "--dry-run")
    assert done.exit_code == 2
    assert "--stop-below" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_policy_of_rows_refuses_the_limit(replan, problem, workflow):
    """As an option, as a key of a workflow with its line, and of a run that exists."""
    done = replan("run", problem, "-w", "option_a", "-m", "template:bug", "--stop-below", "0.1", "--dry-run")
    assert (done.exit_code, "--stop-below" in done.stderr) == (2, True)
    assert "policy 'default' has no belief" in done.stderr
    workflow.write_text(WORKFLOW.replace("policy: belief\n", "stop_below: 0.1\n"))
    done = replan("run", problem, "-w", workflow, "-m", "template:bug", "--dry-run")
    assert (done.exit_code, f"{workflow}:2" in done.stderr) == (2, True)
    shortened = ("-w", "option_a", "-m", MODEL, "--max-calls", "1", "--json")
    run = json.loads(replan("run", problem, *shortened).stdout)["run_id"]
    done = replan("resume", run, "--stop-below", "0.1")
    assert (done.exit_code, "has no belief" in done.stderr, "--stop-below" in done.stderr) == (2, True, True)


def test_the_workflow_gives_the_limit_and_the_option_replaces_it(replan, problem, workflow):
    workflow.write_text(WORKFLOW + "stop_below: 0.2\n")
    limits = []
    for options in ((), ("--stop-below", "0.3"), ("--stop-below", "0"), ("--keep-trying",)):
        done = replan("run", problem, "-w", workflow, "-m", "template:bug", "--no-input", "--json", *options)
        limits.append(started(replan, json.loads(done.stdout)["run_id"])["limits"]["stop_below"])
    assert limits == [0.2, 0.3, 0.0, 0.0]
    done = replan(
        "run", problem, "-w", workflow, "-m", "template:bug", "--keep-trying", "--stop-below", "0.1", "--dry-run"
    )
    assert (done.exit_code, "--keep-trying" in done.stderr) == (2, True)
    assert replan("run", problem, "-w", "option_a", "-m", "template:bug", "--keep-trying", "--dry-run").exit_code == 0


def test_no_input_is_pinned_where_a_policy_weighs_questions(replan, problem, workflow):
    """With other policies the record of the start says nothing of it."""
    pinned = []
    for options in (("-w", workflow, "--no-input"), ("-w", workflow), ("-w", "option_a", "--no-input")):
        done = replan("run", problem, "-m", "template:bug", "--json", "--max-calls", "20", *options)
        start = started(replan, json.loads(done.stdout)["run_id"])
        pinned.append((json.loads(start["pinned"]).get("no_input"), start["limits"].get("stop_below")))
    assert pinned == [(True, 0.025), (None, 0.025), (None, None)]


def test_a_search_that_cannot_use_a_belief_uses_the_rows_in_a_shipped_workflow(replan, problem, workflow):
    """In a workflow file of the user, the combination is refused."""
    done = replan("run", problem, "-m", "template:bug", "--no-input", "--search", "beam:2", "--json")
    assert done.exit_code in (0, 6)
    assert done.stderr == f"replan: {BY_ROWS}\n"
    assert "belief" not in json.loads(started(replan, json.loads(done.stdout)["run_id"])["pinned"])["policy"]
    cut = replan("run", problem, "-m", "template:bug", "--no-input", "--search", "beam:2", "--max-calls", "1", "--json")
    resumed = replan("resume", json.loads(cut.stdout)["run_id"], "--max-calls", "30", "--no-input")
    assert (resumed.exit_code, "differs" in resumed.stderr) == (0, False)
    refused = replan("run", problem, "-w", workflow, "-m", "template:bug", "--search", "beam:2", "--dry-run")
    assert (refused.exit_code, "cannot be used with the search 'beam'" in refused.stderr) == (2, True)
    refused = replan("run", problem, "-m", "template:bug", "--search", "beam:2", "--stop-below", "0.1", "--dry-run")
    assert (refused.exit_code, "has no belief" in refused.stderr) == (2, True)


def test_a_deterministic_author_that_has_nothing_new_to_write_is_not_told_to_keep_trying(replan, problem, tmp_path):
    """More calls of it bring what it wrote before: another model helps, or another requirement."""
    guards, path = tmp_path / "house.py", tmp_path / "w.yaml"
    guards.write_text(
        "import replan\n\n\n@replan.guard\ndef never(artifact, context):\n"
        "    return replan.Verdict(guard='never', passed=False, score=0.0)\n"
    )
    pair = "{generator: model, guard: {all_of: [plan_medium, never]}, prompt: plan_direct, rmax: 9}"
    path.write_text(f"name: w\npolicy: belief\naction_pairs:\n  g_plan: {pair}\n")
    for options in ((), ("--keep-trying",)):
        done = replan("run", problem, "-w", path, "-m", "template:bug", "--plugins", guards, "--no-input", *options)
        assert done.exit_code == 5, done.output
        told = " ".join(done.stdout.split())
        assert "stuck for good: the model template:bug always gives the same reply to the same prompt" in told
        assert "-m MODEL` asks another model" in told
        assert "--keep-trying" not in told
