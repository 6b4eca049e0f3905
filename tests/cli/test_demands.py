"""What the program says of a plan is true: the cases of a first hour with a lazy model, on the command line."""

import json

import pytest

from actors.values.requirements import requirement_id
from replan.setup.installation import data_root
from tests.cli.samples import ANALYSIS, STRATEGY
from tests.demands.test_authors import RECON, plan_of, stated

STACK = """# Workers leak database sessions

We can't just raise pool_size. Rollback to 1.4 is not possible. The workers must release their sessions after each task.
It must be done before Friday.
"""
RAISE, ROLLBACK, RELEASE, FRIDAY = DEMANDED = (
    "We can't just raise pool_size",
    "Rollback to 1.4 is not possible",
    "The workers must release their sessions after each task",
    "It must be done before Friday",
)
KINDS = ("must_avoid", "must_avoid", "goal", "deadline")


def script(requirements, satisfied=(), again=0):
    """Return the replies of an author who states some requirements and has steps for some of them."""
    recon, plan = {**RECON, "requirements": requirements}, plan_of(requirements, list(satisfied))
    replies = {"g_analysis": ANALYSIS, "g_recon": recon, "g_strategy": STRATEGY, "g_plan": plan}
    return {step: [reply] * (1 + again) for step, reply in replies.items()}


@pytest.fixture
def stack(tmp_path):
    path = tmp_path / "01_stack.md"
    path.write_text(STACK, encoding="utf-8")
    return path


CAREFUL = [stated(kind, quote) for kind, quote in zip(KINDS, DEMANDED, strict=True)]


def test_a_plan_of_one_step_that_ignores_the_text_is_not_called_proved(replan, scripted, stack):
    """A model that states no requirements got "Proved at level medium" for what the text forbids."""
    result = replan("run", stack, "-m", scripted(script([])), "--no-input")
    assert result.exit_code == 0
    assert "Proved" not in result.stdout
    assert "Consistent, but 4 demands are in no step (level medium).\n" in result.stdout
    for quote in DEMANDED:
        assert f"   in no step: {quote}\n" in result.stdout
    for command in (("show", "--last"), ("show", "--last", "--full"), ("export", "--last")):
        shown = replan(*command).stdout
        assert "Proved" not in shown
        assert "Consistent, but 4 demands are in no step" in shown
    shown = json.loads(replan("show", "--last", "--json").stdout)
    assert (shown["proved"], shown["unread"]) == (False, [])
    assert [(row["quote"], row["standing"]) for row in shown["demands"]] == [(each, "in_no_step") for each in DEMANDED]
    assert set(shown["demands"][0]) == {"id", "kind", "quote", "source", "standing", "steps", "guards"}


def test_the_same_model_with_requirements_and_a_step_for_the_goal_is_proved(replan, scripted, stack):
    result = replan("run", stack, "-m", scripted(script(CAREFUL, [CAREFUL[2]])), "--no-input", "--strict")
    assert result.exit_code == 0
    assert "Proved at level medium.\n" in result.stdout
    assert f"   in step do_0: {RELEASE}\n" in result.stdout
    assert f"   declared, not checked: {FRIDAY}\n" in result.stdout


def test_what_a_run_is_told_without_a_flag_is_demanded_too(replan, scripted, stack):
    asking = {**ANALYSIS, "open_questions": ["Which version of SQLAlchemy is it?"]}
    replies = script(CAREFUL, [CAREFUL[2]], again=1)
    model = scripted({**replies, "g_analysis": [asking, ANALYSIS]})
    assert replan("run", stack, "-m", model, "--no-input").exit_code == 6
    replan("tell", "--last", "Also bump psycopg to 3.2")
    replan("answer", "--last", "2.0")
    result = replan("resume", "--last", "--no-input")
    assert "Consistent, but 1 demand is in no step (level medium).\n" in result.stdout
    assert "   in no step: Also bump psycopg to 3.2\n" in result.stdout


def test_a_strict_run_without_a_way_back_ends_with_exit_code_3(replan, scripted, stack):
    result = replan("run", stack, "-m", scripted(script([])), "-w", "linear", "--no-input", "--strict")
    assert result.exit_code == 3
    for quote in DEMANDED:
        assert f'demand.in_no_step at {requirement_id(quote)}: the text demands "{quote}"' in result.stdout


def test_a_run_becomes_strict_when_it_is_resumed_so(replan, scripted, stack):
    asking = {**ANALYSIS, "open_questions": ["Which version of SQLAlchemy is it?"]}
    model = scripted({**script([]), "g_analysis": [asking, ANALYSIS]})
    assert replan("run", stack, "-m", model, "--max-calls", "5", "--no-input").exit_code == 6
    replan("answer", "--last", "2.0")
    result = replan("resume", "--last", "--no-input", "--strict")
    assert result.exit_code == 5
    for quote in DEMANDED:
        assert f'demand.in_no_step at {requirement_id(quote)}: the text demands "{quote}"' in result.stdout
    changed = "you changed the check of plans: a plan is rejected if a demand of the text is in no step"
    assert changed in replan("log", "--last").stdout


def test_a_strict_run_tells_each_missing_demand_to_the_author_of_the_facts(replan, scripted, stack):
    """A plan that stays without them sends the search back to where the demands were to be collected."""
    replies = script(CAREFUL, [CAREFUL[2]])
    lazy = script([])
    plan = lazy["g_plan"][0]
    plans = [plan, {**plan, "plan_id": "another"}]
    model = scripted(
        {
            "g_analysis": [ANALYSIS],
            "g_recon": [lazy["g_recon"][0], replies["g_recon"][0]],
            "g_strategy": [STRATEGY, STRATEGY],
            "g_plan": [*plans, replies["g_plan"][0]],
        }
    )
    result = replan("run", stack, "-m", model, "--no-input", "--strict")
    assert (result.exit_code, "Proved at level medium.\n" in result.stdout) == (0, True)
    prompt = replan("show", "--last", "--prompt", "g_recon/v2.a1").stdout
    for quote in DEMANDED:
        assert quote in prompt.partition("Escalation history")[2]


def test_the_built_in_author_never_calls_its_plan_proved(replan, tmp_path):
    path = tmp_path / "bug.md"
    path.write_text("# Export loses the last row\n\n`export_csv()` in `shop/export.py` leaves out the last order.\n")
    result = replan("run", path, "-m", "template:bug", "--no-input")
    assert result.exit_code == 0
    assert "Proved" not in result.stdout
    assert "Consistent, but the steps come from a template, not from the text (level medium).\n" in result.stdout


def test_an_execution_ends_in_the_table_too(replan, scripted, stack, tmp_path):
    replan("run", stack, "-m", scripted(script(CAREFUL, [CAREFUL[2]])), "--no-input")
    tools = tmp_path / "tools.yaml"
    tools.write_text("tools:\n  ok: {command: ['true']}\ngenerators: {coder: ok}\nguards: {dynamic_test: ok}\n")
    run = json.loads(replan("show", "--last", "--json").stdout)["run_id"]
    options = ("--tools", tools, "--approve", "none", "--workspace", tmp_path / "work", "--no-input")
    (tmp_path / "work").mkdir()
    dry = replan("execute", run, *options, "--dry-run")
    assert f"   in step do_0: {RELEASE}\n" in dry.stdout
    done = replan("execute", run, *options)
    assert done.exit_code == 0
    assert f"   met: {RELEASE}\n" in done.stdout
    assert f"   met, in step do_0: {RELEASE}\n" in replan("show", "--last", "--full").stdout
    assert json.loads(replan("show", "--last", "--json").stdout)["proved"] is True


READINGS = ["after each task", "when the worker ends"]


@pytest.fixture
def ambiguous(scripted):
    """A model whose facts say that a demand has two readings, each time that it is asked."""
    doubtful = [*CAREFUL[:2], {**CAREFUL[2], "text": READINGS[0], "readings": READINGS}, CAREFUL[3]]
    return scripted(script(doubtful, [doubtful[2]], again=1))


def test_a_demand_with_two_readings_is_asked_about_and_the_answer_is_no_assumption(replan, ambiguous, stack):
    """S114: an ambiguous requirement is a question, with its readings as choices."""
    assert replan("run", stack, "-m", ambiguous, "--no-input").exit_code == 6
    [question] = json.loads(replan("questions", "--json").stdout)["questions"]
    assert question["text"] == "Which reading of the passage below is meant?"
    assert question["shown"] == f"- {RELEASE}"
    assert [each["value"] for each in question["choices"]] == READINGS
    replan("answer", "--last", READINGS[1])
    result = replan("resume", "--last", "--no-input")
    assert result.exit_code == 0
    assert "assumed" not in result.stdout


def test_a_demand_with_two_readings_is_an_assumption_where_nobody_says_which_is_meant(replan, ambiguous, stack):
    """S114: after a decline, and without a question in a run that asks none."""
    line = f"   in step do_0: {RELEASE} (assumed: {READINGS[0]})\n"
    replan("run", stack, "-m", ambiguous, "--no-input")
    declining = replan("answer", "--last", "--decline")
    assert "The table of demands shows the step's reading of the text as an assumption" in declining.stderr
    declined = replan("resume", "--last", "--no-input")
    search = (data_root() / "configs" / "workflows" / "search.yaml").read_text(encoding="utf-8")
    (stack.parent / "silent.yaml").write_text(f"{search}\nquestions_max: 0\n", encoding="utf-8")
    silent = replan("run", stack, "-w", stack.parent / "silent.yaml", "-m", ambiguous, "--no-input")
    for result in (declined, silent):
        assert result.exit_code == 0
        assert line in result.stdout
        assert "Proved at level medium; the meaning of 1 demand is assumed.\n" in result.stdout
    shown = json.loads(replan("show", "--last", "--json").stdout)
    assert [row.get("assumed") for row in shown["demands"] if row["quote"] == RELEASE] == [READINGS[0]]
    assert "requirements.ambiguous" in replan("show", "--last", "--events", "--json").stdout, "it is recorded"
