"""The plans of the rules: every plan guard accepts them, they contain the problem's facts, and they handle failures."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.guards.built_in import BUILT_IN
from actors.plans.reader import read_plan
from actors.plans.semantics import replay
from actors.rules.plan import template_plan
from actors.values.artifacts import Artifact, Context
from tests.support.examples import examples

from .author import GUARDS, PROBLEMS, RULES, ask, judged, pipeline, read

KINDS = list(RULES.templates)
STRATEGY = {"bug_fix": "S1_locate_and_fix", "feature": "S2_tdd_feature", "refactoring": "S3_refactor_safely",
            "performance": "S4_profile_and_optimize", "decision": "S6_compare_and_decide"}  # fmt: skip
COMPARING = {
    "analysis": [],
    "recon": ["requirements_agree"],
    "strategy": ["fits_problem_type", "evidence_present"],
    "plan": ["requirements_covered", "evidence_present", "follows_strategy"],
}
"""The guards that compare an artifact with those before it, by role."""
PIECES = [
    "The importer crashes when it runs in parallel; there is a race condition.",
    "CVE-2024-1 is a vulnerability in the importer.",
    "We deprecate `Importer.run()` and rename `Importer.go()`.",
    "src/importer/main.py src/importer/rows.py src/importer/cells.py src/importer/out.py",
    "tests/test_importer.py::test_rows passes.",
    "It must use 2 GB. It must not lose rows. It has to run on Python 3.9. It must not block. It shall go.",
    "## Steps to reproduce\n1. Import\n2. Wait\n\n## Rest",
    'Traceback (most recent call last):\n  File "src/importer/rows.py", line 9, in parse\nValueError: bad row',
    "- make rows readable\n- {item} and {title} stay\n- split the parser\n- move the cells\n- name parts\n- one more",
    "As a user, I want to see what was imported.",
    'Braces { } and {n}, quotes " and back\\slashes, \u2028 and İ.',
]


def accepted(plan, specification):
    """Assert that the guards of all three levels accept the plan; return the highest one's verdict."""
    verdicts = judged("plan", plan, specification)
    for name, verdict in verdicts.items():
        assert verdict.passed, (name, [finding.message for finding in verdict.errors])
    budget = sum(step["retry_budget"] for step in plan["steps"])
    assert budget <= plan["total_retry_budget"] <= 100
    return verdicts["plan_expansive"]


@pytest.mark.parametrize("kind", KINDS)
@examples(20)
@given(data=st.data())
def test_every_template_gives_accepted_plans_for_any_problem(kind, data):
    """Every template, with and without investigation, after rejections and critiques, for many texts."""
    text = "\n\n".join(data.draw(st.lists(st.sampled_from(PIECES), unique=True))) or "Nothing."
    strategy = data.draw(st.sampled_from([STRATEGY[kind], *([] if kind == "decision" else ["S5_investigate_first"])]))
    dependencies = {"analysis": {"problem_type": kind}, "strategy": {"strategy_id": strategy}}
    if data.draw(st.booleans()):
        dependencies["critique"] = {"overall_assessment": "needs_revision", "missing_steps": ["Say {n} more"]}
    plan = ask("plan", text, dependencies=dependencies, retry=["no"] * data.draw(st.integers(0, 3)))
    verdict = accepted(plan, text)
    assert verdict.findings == ()
    assert verdict.facts["assurance"] in {"strong_cyclic", "strong"}
    assert plan["plan_id"].startswith(kind)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_the_plan_for_any_text_is_accepted(text):
    """Without an analysis the plan may have an open question; apart from it the guards accept the plan.

    What is not understood is not planned at all.
    """
    plan = ask("plan", text)
    if plan.pop("open_questions", None) == []:
        assert plan["steps"] == []
    else:
        plan.pop("not_understood", None)
        accepted(plan, text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("r_max", [12, 20, 33])
def test_budgets_fit_under_a_smaller_limit(kind, r_max):
    text = "\n\n".join(PIECES)
    plan = ask("plan", text, dependencies={"analysis": {"problem_type": kind}}, settings={"r_max": r_max})
    budget = sum(step["retry_budget"] for step in plan["steps"])
    assert budget <= max(r_max, len(plan["steps"]))
    assert plan["total_retry_budget"] <= max(r_max, len(plan["steps"]))
    assert all(step["retry_budget"] == 1 for step in plan["steps"]) or plan["total_retry_budget"] <= r_max


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (
            "login_timeout",
            ["session_store.py:87 in _reserve_token", "redis.exceptions.TimeoutError", "client pause 1500"],
        ),
        ("login_timeout", ["test_open_reserves_token", "The cookie's format must not change"]),
        (
            "export_orders",
            ["src/orders/query.ts", "GET /api/orders/export", "test/api/orders.spec.ts", "CSV"],
        ),
        ("slow_search", ["src/rank/score.rs", "benches/search.rs", "tests/search_ranking.rs", "stay below 1.5 GB"]),
        ("split_billing", ["BillingManager.java", "extract the discount rules", "BillingManagerTest.java"]),
    ],
)
def test_steps_contain_the_facts_of_the_problem(problem, names):
    plan = pipeline(PROBLEMS[problem])["plan"]
    text = " ".join(f"{step['name']} {step['description']}" for step in plan["steps"])
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name != "too_thin"])
@pytest.mark.parametrize("rejections", range(4))
def test_what_is_compared_with_other_artifacts_agrees(problem, rejections):
    """The offline author covers its requirements, names only evidence that recon has, and follows its strategy."""
    artifacts, roles = {}, {role: role for role in GUARDS}
    for role, names in COMPARING.items():
        feedback = {"escalation": ["x"] * rejections, "settings": {"escalations": rejections}}
        material = {"strategy": feedback, "plan": {"retry": ["x"] * rejections}}.get(role, {})
        value = ask(role, PROBLEMS[problem], dependencies=dict(artifacts), **material)
        accepted = {step: Artifact(step, step, json.dumps(result)) for step, result in artifacts.items()}
        context = Context(PROBLEMS[problem], dependencies=accepted, settings={"roles": roles})
        for name in names:
            verdict = BUILT_IN[name]({})(Artifact("a", role, json.dumps(value)), context)
            assert (verdict.errors, verdict.passed) == ((), True), name
        artifacts[role] = value
    goals = [item for item in artifacts["plan"]["requirements"] if item["kind"] == "goal"]
    assert all(item["tokens"] for item in goals)
    assert {item["id"] for item in artifacts["strategy"]["key_steps"]} == {
        name for step in artifacts["plan"]["steps"] for name in step.get("implements", [])
    }
    assert artifacts["strategy"]["for_type"] == artifacts["analysis"]["problem_type"]


def test_every_slot_is_filled():
    for text in PROBLEMS.values():
        assert "{" not in json.dumps([[step["name"], step["description"]] for step in ask("plan", text)["steps"]])


def test_slots_in_inserted_text_are_not_filled():
    """The name of a slot in the problem's text is literal."""
    text = "# Crash in {area} with {files}\n\nIt crashes in src/a.py, see {title}."
    assert ask("plan", text)["steps"][0]["name"] == "Reproduce: Crash in {area} with {files}"


def test_steps_for_missing_facts_are_left_out():
    """No checks without constraints, no load test without concurrency, no advisory without a vulnerability."""
    plan = ask("plan", "The importer crashes on empty rows in src/rows.py")
    ids = {step["step_id"] for step in plan["steps"]}
    assert not ids & {"check_constraint_1", "stress", "write_advisory", "survey"}
    assert plan["goal_state"] == ["fix_verified", "regression_safe", "change_reviewed"]


def test_each_constraint_is_checked_by_a_step():
    plan = ask("plan", PROBLEMS["login_timeout"])
    checks = [step for step in plan["steps"] if step["step_id"].startswith("check_constraint")]
    assert len(checks) == 4
    kept = [requirement for requirement in plan["requirements"] if requirement["kind"] in {"must_keep", "must_avoid"}]
    assert "No new dependency" in {requirement["text"] for requirement in kept}
    for requirement in kept:
        (check,) = [step for step in checks if requirement["id"] in step["satisfies"]]
        assert requirement["text"] in check["description"]


@pytest.mark.parametrize(
    ("problem", "trace", "next_step"),
    [
        ("login_timeout", ["reproduce:fail"], "instrument"),
        ("login_timeout", ["reproduce:fail", "instrument:fail"], "ask_reporter"),
        ("slow_search", ["build_benchmark:fail"], "record_workload"),
        ("split_billing", ["run_baseline:fail"], "mend_baseline"),
        ("export_orders", ["write_scenarios:fail"], "decide_scope"),
    ],
)
def test_a_failure_enables_its_contingent_step(problem, trace, next_step):
    plan, _ = read_plan(ask("plan", PROBLEMS[problem]))
    assert next_step not in replay(plan, trace[:-1]).ready
    assert next_step in replay(plan, trace).ready


def test_a_broken_regression_goes_back_to_the_fix():
    """The fix is taken back and made again, with the failing test kept."""
    plan, _ = read_plan(ask("plan", PROBLEMS["login_timeout"]))
    before = ["reproduce", "locate_1", "locate_2", "diagnose", "write_failing_test", "apply_fix", "verify_fix"]
    back = replay(plan, [*(f"{step}:ok" for step in before), "run_regression:fail"])
    assert back.ready == ("apply_fix",)
    assert "failing_test_exists" in back.tokens
    assert not back.tokens & {"fix_applied", "fix_verified"}


def test_a_change_without_gain_is_reverted_and_the_next_one_tried():
    plan, _ = read_plan(ask("plan", PROBLEMS["slow_search"]))
    nominal = [
        "build_benchmark",
        "measure_baseline",
        "pin_results",
        "profile_1",
        "profile_2",
        "rank_hypotheses",
        "optimise_first",
    ]
    trace = [*(f"{step}:ok" for step in nominal), "compare_first:fail", "revert_first:ok"]
    assert "change_made" not in replay(plan, trace).tokens
    trace += ["optimise_second:ok", "compare_second:ok"]
    assert replay(plan, trace).ready == ("run_regression",)


def test_each_rejection_makes_the_next_plan_smaller():
    """First the optional steps go, then the loops; the goal stays within reach."""
    text = "\n\n".join(PIECES)
    plans = [
        ask("plan", text, dependencies={"analysis": {"problem_type": "bug_fix"}}, retry=["x"] * n) for n in range(4)
    ]
    sizes = [len(plan["steps"]) for plan in plans]
    assert sizes[0] > sizes[1] == sizes[2]
    assert any(step["on_failure"] == "apply_fix" for step in plans[1]["steps"])
    assert {step["on_failure"] for step in plans[2]["steps"]} == {"continue", "escalate"}
    assert plans[2] == plans[3]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_template_without_repetitions_is_an_accepted_plan(problem, kind):
    """The plan of a template selector has no repetitions and no steps that depend on cues."""
    plan = template_plan(RULES.templates[kind], read(PROBLEMS[problem]), RULES)
    accepted(plan, PROBLEMS[problem])
    assert not [step["step_id"] for step in plan["steps"] if step["step_id"].endswith("_2")]


def test_the_id_of_a_plan_is_its_kind_and_title():
    assert ask("plan", PROBLEMS["login_timeout"])["plan_id"] == "bug_fix_login_fails_with_a_timeout_when_the_session"
    assert ask("plan", "???", dependencies={"analysis": {"problem_type": "feature"}})["plan_id"] == "feature"


@pytest.mark.parametrize("kind", KINDS)
def test_plans_with_strong_assurance_have_no_loops(kind):
    text = "\n\n".join(PIECES)
    plan = ask("plan", text, dependencies={"analysis": {"problem_type": kind}}, settings={"assurance": "strong"})
    assert {step["on_failure"] for step in plan["steps"]} <= {"continue", "escalate"}
    assert accepted(plan, text).facts["assurance"] == "strong"


def test_the_facts_of_an_accepted_recon_are_used():
    """They replace the facts that the rules extract."""
    recon = {"mentioned_files": ["lib/other.py"], "apis_involved": [], "test_references": ["t_one"]}
    dependencies = {"analysis": {"problem_type": "bug_fix"}, "recon": recon}
    names = [step["name"] for step in ask("plan", "src/a.py crashes", dependencies=dependencies)["steps"]]
    assert "Examine lib/other.py" in names
    assert "Examine src/a.py" not in names


def test_malformed_dependencies_are_ignored():
    odd = {
        "analysis": [1],
        "recon": {"mentioned_files": "a"},
        "strategy": {"strategy_id": ["S1"]},
        "critique": "good",
        "plan": 3,
    }
    assert ask("plan", PROBLEMS["slow_search"], dependencies=odd) == ask("plan", PROBLEMS["slow_search"])
