"""The decompositions as whole runs: offline with the rules, and over the wire where a model slips."""

import json
from pathlib import Path

import pytest

import replan
from tests.support.answers import by_step
from tests.support.artifacts import ANALYSIS, PROBLEM, RECON, plan
from tests.support.openai_server import serve

PROBLEMS = {path.stem: path for path in (Path(__file__).resolve().parents[2] / "configs" / "problems").glob("*.md")}
THIN = "too_thin"
STEPS = {
    "option_c": ["g_analysis", "g_template", "g_plan_refine"],
    "option_d": ["g_plan_draft", "g_critique", "g_plan_final"],
    "option_bc": ["g_analysis", "g_recon", "g_template", "g_plan_refine"],
    "option_ad": ["g_analysis", "g_plan_draft", "g_critique", "g_plan_final"],
}
CALLS = {"option_c": 2, "option_d": 3, "option_bc": 3, "option_ad": 4}
CRITIQUE = {
    "overall_assessment": "needs_revision",
    "problem_type_match": "It is a bug fix.",
    "missing_steps": ["A person should review the change"],
    "unnecessary_steps": [],
    "ordering_issues": [],
    "guard_appropriateness": [],
    "specific_suggestions": [],
}
BROKEN = plan(needs_missing_token="licence_granted")
GOOD = {
    "g_analysis": ANALYSIS,
    "g_recon": RECON,
    "g_plan_draft": BROKEN,
    "g_critique": CRITIQUE,
    "g_plan_refine": plan(),
    "g_plan_final": plan(),
}


@pytest.mark.parametrize("problem", sorted(PROBLEMS.keys() - {THIN}))
@pytest.mark.parametrize("workflow", STEPS)
def test_the_rules_plan_through_every_decomposition(workflow, problem):
    """S123 to S126: every first attempt is accepted, and the calls are those of the seeds' comparison."""
    text = PROBLEMS[problem].read_text(encoding="utf-8")
    result = replan.solve(text, model="template:bug", workflow=workflow, home=replan.MEMORY)
    assert (result.outcome, result.calls) == ("success", CALLS[workflow])
    assert [step.step for step in result.path] == STEPS[workflow]


@pytest.mark.parametrize("workflow", STEPS)
def test_the_rules_ask_once_where_a_text_is_too_thin(workflow):
    answers = iter(["The function load() in src/orders.py raises KeyError when an order has no lines."] * 3)
    text = PROBLEMS[THIN].read_text(encoding="utf-8")
    result = replan.solve(
        text, model="template:bug", workflow=workflow, home=replan.MEMORY, ask=lambda _: next(answers)
    )
    assert result.outcome == "success"


@pytest.fixture
def against(monkeypatch):
    """Run a workflow against a server that answers each step from its list first; return the result and the server."""

    def run(workflow, **lists):
        with serve(by_step({step: [*lists.get(step, []), *[good] * 9] for step, good in GOOD.items()})) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-0000000000")
            return replan.solve(PROBLEM, model="test-model", workflow=workflow, home=replan.MEMORY), server

    return run


@pytest.mark.parametrize("workflow", ["option_c", "option_bc"])
def test_a_broken_adaptation_is_rejected_and_tried_again_with_the_reasons(against, workflow):
    """S133: what is made of a proved template is proved anew."""
    result, server = against(workflow, g_plan_refine=[BROKEN])
    assert (result.outcome, result.calls) == ("success", CALLS[workflow] + 1)
    assert result.plan_json == plan()
    first, again = (seen for seen in server.seen if seen.step == "g_plan_refine")
    assert "Result of g_template" in first.prompt
    assert "Your adaptation of the template was rejected" not in first.prompt
    assert "Your adaptation of the template was rejected" in again.prompt
    assert "licence_granted" in again.prompt
    assert "g_template" not in server.steps, "the template costs no call"


@pytest.mark.parametrize("workflow", ["option_d", "option_ad"])
def test_a_draft_may_be_wrong_where_the_final_plan_may_not(against, workflow):
    """S124, S126: only the structure of a draft is checked, and reviewer and author of the final plan see it."""
    result, server = against(workflow)
    assert (result.outcome, result.calls, result.plan_json) == ("success", CALLS[workflow], plan())
    prompts = {seen.step: seen.prompt for seen in server.seen}
    assert "licence_granted" in prompts["g_critique"]
    assert "licence_granted" in prompts["g_plan_final"]
    assert CRITIQUE["missing_steps"][0] in prompts["g_plan_final"]


@pytest.mark.parametrize("workflow", ["option_d", "option_ad"])
def test_a_final_plan_that_ignores_its_critique_is_tried_again(against, workflow):
    """S136: sound or not, the draft handed in again is no answer to a critique."""
    sound = {**plan(), "goal": "Users without a profile can log in."}
    result, server = against(workflow, g_plan_draft=[sound], g_plan_final=[{**sound, "plan_id": "renamed"}])
    assert (result.outcome, result.calls, result.plan_json) == ("success", CALLS[workflow] + 1, plan())
    last = [seen.prompt for seen in server.seen if seen.step == "g_plan_final"][-1]
    assert "but the plan equals the draft" in last


def test_a_template_of_ones_own_is_adapted(against, tmp_path):
    (tmp_path / "own.json").write_text(json.dumps(plan(plan_id="our-own-way")))
    shipped = (Path(replan.__file__).parents[1] / "configs" / "workflows" / "option_c.yaml").read_text()
    own = "TemplateSelectorGenerator\n    generator_config: {templates: {bug_fix: own.json}}"
    path = tmp_path / "mine.yaml"
    path.write_text(shipped.replace("TemplateSelectorGenerator", own, 1))
    result, server = against(str(path))
    assert result.outcome == "success"
    assert "our-own-way" in server.seen[-1].prompt
