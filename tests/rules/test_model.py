"""The model `rules`: roles, determinism, questions, strategies and critiques."""

import json

import jsonschema
import pytest

from actors.guards import fields
from actors.rules.model import RulesModel
from actors.values.requirements import requirements_in
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

from .author import PROBLEMS, RULES, TEMPLATES, ask, judged, pipeline

SCHEMAS = {
    "analysis": fields.ANALYSIS_SCHEMA,
    "recon": fields.RECON_SCHEMA,
    "strategy": fields.STRATEGY_SCHEMA,
    "critique": fields.CRITIQUE_SCHEMA,
}
THIN = PROBLEMS["too_thin"]
FIRST, SECOND = RULES.phrases.questions


def open_question(question):
    return {"question": question, "type": "text", "choices": []}


def request(material):
    """Return a request as the engine makes it."""
    return ModelRequest(
        request_id="g_x/v1.a1",
        purpose="g_x",
        system="",
        user="",
        timeout_seconds=1,
        output_tokens_max=1,
        material=material,
    )


async def test_a_reply_is_json_without_tokens():
    model = RulesModel(TEMPLATES)
    reply = await model.complete(request({"role": "recon", "specification": "See src/a.py."}))
    await model.aclose()
    assert isinstance(reply, Reply)
    assert (reply.model, reply.usage.tokens) == ("rules", 0)
    assert json.loads(reply.text)["mentioned_files"] == ["src/a.py"]


@pytest.mark.parametrize("role", ["poet", None, 3, ["plan"]])
async def test_an_unknown_role_is_a_final_fault(role):
    fault = await RulesModel(TEMPLATES).complete(request({"role": role, "specification": "x"}))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST
    assert fault.kind.final
    assert "analysis, recon, strategy, plan, critique" in fault.message


async def test_the_same_request_gives_the_same_bytes():
    """Also from another instance."""
    for role in ("analysis", "recon", "strategy", "plan", "critique"):
        material = {"role": role, "specification": PROBLEMS["login_timeout"]}
        replies = [await RulesModel(TEMPLATES).complete(request(material)) for _ in range(2)]
        assert replies[0] == replies[1]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_artifacts_fit_the_schemas_of_structured_output(problem):
    """No model is asked for the reason why a problem is not understood; what may be left out is written out here."""
    for role, value in pipeline(PROBLEMS[problem]).items():
        if role in SCHEMAS:
            requirements = value.pop("requirements", [])
            assert len(list(requirements_in(requirements))) == len(requirements)
            if role in ("plan", "recon"):
                value["requirements"] = []
            for step in value.get("steps", ()):
                step |= {"satisfies": step.get("satisfies", []), "implements": step.get("implements", [])}
            assert isinstance(value.pop("not_understood", ""), str)
            jsonschema.validate(value, SCHEMAS[role])


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name != "too_thin"])
def test_the_first_artifacts_for_the_shipped_problems_pass_every_guard(problem):
    for role, value in pipeline(PROBLEMS[problem]).items():
        for name, verdict in judged(role, value, PROBLEMS[problem]).items():
            assert verdict.passed, (name, verdict.errors)
            assert verdict.score == 1


def test_a_text_that_is_too_short_leads_to_a_question():
    """The question is the only finding of the guard."""
    analysis = ask("analysis", THIN)
    verdict = judged("analysis", analysis, THIN)["analysis_valid"]
    assert [(finding.code, finding.message) for finding in verdict.errors] == [("requirements.open_question", FIRST)]


@pytest.mark.parametrize(
    "text", ["fix it", "Please help me with this", "", "   \n", "Make the thing better, it should be more nice"]
)
def test_these_texts_are_too_short(text):
    assert ask("analysis", text)["open_questions"] == [open_question(FIRST)]


@pytest.mark.parametrize(
    "text", ["Fix the login timeout after a password reset", "src/a.py crashes", "Rename `Store.open()`"]
)
def test_these_texts_are_long_enough(text):
    assert ask("analysis", text)["open_questions"] == []


def test_facts_of_an_answer_fill_empty_lists_of_an_older_recon():
    """A list of the recon that is not empty is kept."""
    clarifications = [{"question": FIRST, "answer": "It crashes in src/export.py, `write_rows` raises TypeError."}]
    recon = {"mentioned_files": [], "apis_involved": ["kept_api"]}
    before = json.dumps(ask("plan", THIN, dependencies={"recon": recon}))
    after = json.dumps(ask("plan", THIN, dependencies={"recon": recon}, clarifications=clarifications))
    assert "src/export.py" not in before
    assert "src/export.py" in after
    assert "kept_api" in before
    assert "kept_api" in after


def test_an_answer_is_part_of_the_problems_text():
    answer = "The CSV export crashes with a TypeError in src/export.py on empty orders"
    clarifications = [{"question": FIRST, "answer": answer}]
    analysis = ask("analysis", THIN, clarifications=clarifications)
    assert (analysis["problem_type"], analysis["language"]) == ("bug_fix", "python")
    assert analysis["open_questions"] == []
    plan = ask("plan", THIN, clarifications=clarifications)
    assert plan["goal"].startswith("The CSV export crashes with a TypeError")


def test_each_question_is_asked_once():
    """Answers without content lead to the second question; after that the author gives up and does not guess."""
    once = [{"question": f"g_analysis asks: {FIRST}", "answer": "dunno"}]
    assert ask("analysis", THIN, clarifications=once)["open_questions"] == [open_question(SECOND)]
    twice = [*once, {"question": SECOND, "answer": "no idea"}]
    for role in ("analysis", "strategy", "plan"):
        value = ask(role, THIN, clarifications=twice)
        assert value["open_questions"] == []
        (finding,) = next(iter(judged(role, value, THIN).values())).errors
        assert finding.code == "problem.not_understood"
        assert "too little to plan from" in finding.message


def test_a_plan_asks_a_question_only_without_an_analysis():
    assert ask("plan", THIN)["open_questions"] == [open_question(FIRST)]
    assert "open_questions" not in ask("plan", THIN, dependencies={"analysis": ask("analysis", THIN)})


@pytest.mark.parametrize(
    ("problem", "strategy"),
    [
        ("login_timeout", "S1_locate_and_fix"),
        ("export_orders", "S2_tdd_feature"),
        ("split_billing", "S3_refactor_safely"),
        ("slow_search", "S4_profile_and_optimize"),
    ],
)
def test_escalations_move_down_the_ranking_of_strategies(problem, strategy):
    """Strategies of other kinds come last, and only where no analysis has settled the kind."""

    def ids(**dependencies):
        material = [{"dependencies": dependencies, "settings": {"escalations": count}} for count in range(3)]
        return [ask("strategy", PROBLEMS[problem], **each)["strategy_id"] for each in material]

    settled = ids(analysis=ask("analysis", PROBLEMS[problem]))
    assert settled == [strategy, "S5_investigate_first", "S5_investigate_first"]
    assert len(set(ids())) > 1


def test_an_uncertain_classification_leads_to_an_investigation():
    """A bug report without facts, and a text with signals of two kinds."""
    for text in ("The page sometimes crashes for one of our customers", "The export crashes, and it is slow"):
        assert ask("strategy", text)["strategy_id"] == "S5_investigate_first"
        assert ask("plan", text)["steps"][0]["step_id"] in {"survey", "investigate"}


def test_a_critique_of_the_models_own_plan_is_good():
    critique = pipeline(PROBLEMS["login_timeout"])["critique"]
    assert critique["overall_assessment"] == "good"
    assert critique["specific_suggestions"]


def test_a_critique_lists_the_omissions_of_a_poor_draft():
    step = {
        "step_id": "fix",
        "name": "Fix it",
        "guard": "nobody",
        "retry_budget": 9,
        "dependencies": ["gone"],
        "effects": ["x"],
    }
    draft = {"steps": [step, step], "goal_state": ["y"], "total_retry_budget": 3}
    critique = ask("critique", PROBLEMS["login_timeout"], dependencies={"plan": draft})
    assert critique["overall_assessment"] == "needs_revision"
    missing = " ".join(critique["missing_steps"])
    assert "session_store.py" in missing
    assert "No new dependency" in missing
    [twice, gone, *_] = critique["ordering_issues"]
    assert twice == "step fix: 2 steps have this step_id; give each step its own."
    assert gone.startswith("step fix: dependencies name no step of this plan: 'gone'")
    assert critique["guard_appropriateness"][0].startswith("step fix: unknown guard 'nobody'")
    assert any("Say what happens when fix fails" in suggestion for suggestion in critique["specific_suggestions"])


def test_a_critique_of_a_readable_draft_has_what_the_guard_of_plans_finds():
    draft = ask("plan", PROBLEMS["login_timeout"])
    draft["total_retry_budget"] = 5
    draft["steps"].append({**draft["steps"][0], "step_id": "idle", "effects": ["noise"], "failure_effects": []})
    critique = ask("critique", PROBLEMS["login_timeout"], dependencies={"plan": draft})
    assert [text for text in critique["unnecessary_steps"] if text.startswith("step idle makes 'noise'")]
    assert any("total_retry_budget" in suggestion for suggestion in critique["specific_suggestions"])


@pytest.mark.parametrize("draft", [None, 3, {}, {"steps": []}, {"steps": 3}, {"steps": [1, None]}])
def test_a_draft_that_is_not_a_plan_is_fundamentally_flawed(draft):
    critique = ask("critique", PROBLEMS["login_timeout"], dependencies={"plan": draft})
    assert critique["overall_assessment"] == "fundamentally_flawed"
    assert judged("critique", critique, "")["critique_valid"].passed


def test_a_plan_of_another_kind_is_fundamentally_flawed():
    draft = ask("plan", PROBLEMS["slow_search"])
    critique = ask("critique", PROBLEMS["split_billing"], dependencies={"plan": draft})
    assert critique["overall_assessment"] == "fundamentally_flawed"


def test_the_final_plan_contains_the_points_of_its_critique():
    """They are in the review step, so a plan that ignores its critique differs from one that does not."""
    critique = {"overall_assessment": "needs_revision", "missing_steps": ["Check the cookie's domain"]}
    plan = ask("plan", PROBLEMS["login_timeout"], dependencies={"critique": critique})
    assert plan["steps"][-1]["step_id"] == "review"
    assert "review: Check the cookie's domain" in plan["steps"][-1]["description"]
    critique["overall_assessment"] = "good"
    assert ask("plan", PROBLEMS["login_timeout"], dependencies={"critique": critique}) == ask(
        "plan", PROBLEMS["login_timeout"]
    )
