"""The guards that compare an artifact with the results of other steps, and the requirements of a plan."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.config.step_guards import BUILT_IN
from actors.plans.coverage import GOALS_MAX
from actors.values.artifacts import Artifact, Clarified, Context
from actors.values.findings import ReasonTag
from actors.values.given import Given
from actors.values.requirements import requirement_id
from runtime.core.errors import UsageProblem

ROLES = {"g_analysis": "analysis", "g_recon": "recon", "g_strategy": "strategy"}
GUARDS = ("evidence_present", "fits_problem_type", "follows_strategy", "requirements_agree", "requirements_covered")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
VIOLATION = (ReasonTag.REQUIREMENT_VIOLATION,)


def judge(guard, value, *, problem="The export loses the last row.", clarifications=(), notes=(), **results):
    """Return a guard's verdict on a value; `results` are the accepted artifacts by role."""
    accepted = {f"g_{role}": artifact(f"g_{role}", result) for role, result in results.items()}
    said = {"clarifications": tuple(clarifications), "notes": tuple(notes)}
    context = Context(problem, dependencies=accepted, settings={"roles": ROLES}, **said)
    return BUILT_IN[guard]({})(artifact("g_plan", value), context)


def artifact(step, value):
    return Artifact(artifact_id=step, step=step, content=value if isinstance(value, str) else json.dumps(value))


def found(verdict, severity="error"):
    """Return the verdict's findings of one severity as (code, where)."""
    return [(each.code, each.where) for each in verdict.findings if each.severity == severity]


def demand(quote, kind="goal", **keys):
    return {"kind": kind, "text": quote, "quote": quote, "source": "problem"} | keys


def step(name, needs, makes, **keys):
    fields = {"step_id": name, "name": name, "generator": "coder", "guard": "syntax", "retry_budget": 1}
    return fields | {"preconditions": needs.split(), "effects": makes.split()} | keys


def plan(*steps, goal="goal", **keys):
    return {
        "plan_id": "p",
        "initial_state": ["start"],
        "goal_state": goal.split(),
        "total_retry_budget": 9,
        "steps": list(steps),
    } | keys


GOAL = requirement_id("the last row")
MAKE, SHIP = step("make", "start", "made"), step("ship", "made", "goal")


def covered(*steps, tokens=("goal",), **keys):
    """Return the verdict of `requirements_covered` on a plan that states one goal."""
    return judge("requirements_covered", plan(*steps, requirements=[demand("the last row", tokens=tokens)], **keys))


def test_a_goal_is_covered_by_a_step_that_contributes_to_one_of_its_tokens():
    assert covered(MAKE | {"satisfies": [GOAL]}, SHIP).findings == ()
    assert covered(MAKE, SHIP | {"satisfies": [GOAL]}).passed
    assert covered(MAKE, step("ship", "", "goal", dependencies=["make"]) | {"satisfies": [GOAL]}).passed


@pytest.mark.parametrize(
    ("steps", "tokens", "words"),
    [
        ((MAKE, SHIP), ["goal"], "no step satisfies it"),
        ((MAKE, SHIP, step("idle", "start", "nothing", satisfies=[GOAL])), ["goal"], "do not lead to"),
        ((MAKE | {"satisfies": [GOAL]}, SHIP), ["made"], "none of its tokens is in goal_state"),
        ((MAKE | {"satisfies": [GOAL]}, SHIP), [], "its 'tokens' are empty"),
    ],
)
def test_a_goal_that_no_contributing_step_satisfies_is_uncovered(steps, tokens, words):
    verdict = covered(*steps, tokens=tokens)
    assert found(verdict) == [("requirement.uncovered", GOAL)]
    assert words in verdict.findings[0].message
    assert verdict.findings[0].tags == VIOLATION
    assert verdict.score < 1


def test_a_goal_of_recon_that_the_plan_leaves_out_is_uncovered():
    """The goals count from where they were stated; the plan's entry only adds the tokens."""
    recon = {"requirements": [demand("the last row"), demand("by Friday", "deadline")]}
    assert found(judge("requirements_covered", plan(MAKE, SHIP), recon=recon)) == [("requirement.uncovered", GOAL)]
    own = [demand("the  last\nrow", tokens=["goal"])]
    verdict = judge("requirements_covered", plan(MAKE | {"satisfies": [GOAL]}, SHIP, requirements=own), recon=recon)
    assert verdict.passed
    assert verdict.facts["not_checked"] == [requirement_id("by Friday")]


def test_an_author_may_refer_to_requirements_by_ids_of_its_own():
    own = [
        demand("the last row", id="r1", tokens=["goal"]),
        demand("docs", id="r2", tokens=["goal"], depends_on=["r1"]),
    ]
    steps = (MAKE | {"satisfies": ["r1"]}, SHIP | {"satisfies": ["r2"]})
    assert judge("requirements_covered", plan(*steps, requirements=own)).findings == ()


def test_goals_that_wait_for_each_other_are_an_error_and_unknown_ones_a_warning():
    ids = [requirement_id(quote) for quote in ("a", "b")]
    goals = [
        demand("a", tokens=["goal"], depends_on=[ids[1]]),
        demand("b", tokens=["goal"], depends_on=[ids[0], "r_x"]),
    ]
    verdict = judge("requirements_covered", plan(MAKE, SHIP | {"satisfies": ids}, requirements=goals))
    assert found(verdict) == [("requirement.cycle", min(ids))]
    assert found(verdict, "warning") == [("plan.unknown_requirement", ids[1])]


@pytest.mark.parametrize(("field", "name"), [("guard", "Dynamic_Test"), ("generator", " dynamic_test")])
def test_a_forbidden_tool_is_an_error_where_a_step_uses_it(field, name):
    """White space and case are folded; a name that differs in its separators only is a warning."""
    forbids = demand("do not run it", "must_avoid", tools=["dynamic_test"])
    verdict = judge("requirements_covered", plan(MAKE, SHIP | {field: name}, requirements=[forbids]))
    assert found(verdict) == [("requirement.violated", "ship")]
    assert verdict.findings[0].tags == VIOLATION
    near = judge("requirements_covered", plan(MAKE, SHIP | {field: "dynamic-test"}, requirements=[forbids]))
    assert (found(near), found(near, "warning")) == ([], [("requirement.nearly_violated", "ship")])
    other = judge("requirements_covered", plan(MAKE, SHIP | {field: "dynamic_tests"}, requirements=[forbids]))
    assert other.findings == ()


def test_a_plan_cannot_drop_what_recon_forbids():
    recon = {"requirements": [demand("do not run it", "must_avoid", tools=["coder"])]}
    own = [demand("do not run it", "goal", tools=[], tokens=["goal"])]
    verdict = judge("requirements_covered", plan(MAKE, SHIP, requirements=own), recon=recon)
    assert found(verdict) == [("requirement.violated", "make"), ("requirement.violated", "ship")]


@pytest.mark.parametrize(
    ("kind", "tokens", "changes", "errors", "unchecked"),
    [
        ("must_avoid", ["lost"], {"failure_effects": ["lost"]}, ["requirement.violated"], 0),
        ("must_avoid", ["lost"], {"delete_effects": ["lost"]}, [], 0),
        ("must_avoid", ["lost"], {}, [], 1),  # no step can change the token, so it shows nothing
        ("must_keep", ["start"], {"delete_effects": ["start"]}, ["requirement.violated"], 0),
        ("must_keep", ["start"], {"effects": ["goal", "start"]}, [], 0),
        ("must_keep", ["start"], {}, [], 1),
        ("must_keep", ["goal"], {"delete_effects": ["goal"], "effects": ["goal"]}, [], 0),
        ("must_avoid", [], {}, [], 1),
        ("budget", [], {}, [], 1),
    ],
)
def test_a_token_counts_only_if_some_step_can_change_it(kind, tokens, changes, errors, unchecked):
    value = plan(MAKE, SHIP | changes, requirements=[demand("quoted", kind, tokens=tokens)])
    verdict = judge("requirements_covered", value)
    assert [code for code, _ in found(verdict)] == errors
    assert len(verdict.facts["not_checked"]) == unchecked


def test_paths_are_left_to_the_execution():
    forbids = demand("keep the file", "must_avoid", tools=["nobody"], paths=["src/api.py"])
    verdict = judge("requirements_covered", plan(MAKE, SHIP, requirements=[forbids]))
    assert (verdict.passed, len(verdict.facts["not_checked"])) == (True, 1)


def test_a_step_that_satisfies_more_than_five_is_a_warning():
    goals = [demand(f"goal {number}", tokens=["goal"]) for number in range(6)]
    ids = [requirement_id(goal["quote"]) for goal in goals]
    assert (
        judge("requirements_covered", plan(MAKE, SHIP | {"satisfies": ids[:5]}, requirements=goals[:5])).findings == ()
    )
    verdict = judge("requirements_covered", plan(MAKE, SHIP | {"satisfies": ids}, requirements=goals))
    assert (found(verdict), found(verdict, "warning")) == ([], [("requirement.many_satisfied", "ship")])


@pytest.mark.parametrize("recon", [None, {"mentioned_files": ["a.py"]}, {"requirements": []}])
def test_a_plan_without_requirements_passes(recon):
    results = {} if recon is None else {"recon": recon}
    verdict = judge("requirements_covered", plan(MAKE, SHIP), **results)
    assert (verdict.passed, verdict.findings, verdict.facts) == (True, (), {})


def test_conflicts_are_found_in_a_plan_where_no_recon_came_before():
    limits = [demand(f"{days} days", "budget", limit={"name": "time", "value": days}) for days in ("3", "5")]
    verdict = judge("requirements_covered", plan(MAKE, SHIP, requirements=limits))
    assert found(verdict) == [("requirements.conflict", requirement_id("3 days"))]
    assert found(judge("requirements_covered", plan(MAKE, SHIP, requirements=limits), recon={})) == []


def agree(*requirements, **keys):
    """Return the verdict of `requirements_agree` on requirements whose quotes stand in a note of the user."""
    notes = ["; ".join(each["quote"] for each in requirements)]
    return judge("requirements_agree", {"requirements": list(requirements)}, **{"notes": notes} | keys)


CONFLICTS = {
    "declared": [demand("fast"), demand("small", conflicts_with=["  FAST "])],
    "the same text": [demand("write to disk"), demand("never", "must_avoid", text="Write  to disk")],
    "the same name": [demand("a", tokens=["migrated"]), demand("b", "must_avoid", tokens=["migrated"])],
    "two values": [
        demand("two days", "budget", limit={"name": "time", "value": 2}),
        demand("three days", "deadline", limit={"name": "Time", "value": "3"}),
    ],
}


@pytest.mark.parametrize("requirements", CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_is_a_question_and_after_it_was_asked_a_warning(requirements):
    verdict = agree(*requirements)
    assert [code for code, _ in found(verdict)] == ["requirements.conflict"]
    message = verdict.findings[0].message
    assert message.partition("\n")[0].startswith("Which of the two holds, as ")
    assert verdict.findings[0].asks.whole == message
    for asked in (Clarified(f"1. {message}", "The first."), Clarified(message, "", unanswered="declined")):
        assert found(agree(*requirements, clarifications=[asked])) == []


@pytest.mark.parametrize("requirements", CONFLICTS.values(), ids=CONFLICTS)
def test_requirements_that_do_not_stand_in_the_text_are_asked_about_by_nobody(requirements):
    assert agree(*requirements, notes=()).findings == ()


@pytest.mark.parametrize(
    "requirements",
    [
        [demand("fast"), demand("small", conflicts_with=["r_none", "no such quote"])],
        [demand("fast", conflicts_with=["fast"])],
        [demand("2", "budget", limit={"name": "t", "value": 2}), demand("2.0", limit={"name": "t", "value": 2.0})],
        [
            demand("2", limit={"name": "t", "value": 2}),
            demand("3", source="user", limit={"name": "t", "value": 3}),
            demand("4", source="answer", limit={"name": "t", "value": "4"}),
        ],
    ],
)
def test_no_conflict_is_invented(requirements):
    """The later source of two is right, as the prompts say."""
    assert agree(*requirements).findings == ()


def test_a_goal_is_missing_only_where_the_problem_has_no_sentence_either():
    """The problem's first sentence is the fallback goal."""
    assert agree(demand("by Friday", "deadline")).findings == ()
    bare = {"problem": "--- 17 !!", "notes": ()}
    assert found(agree(demand("17", "deadline"), **bare)) == [("requirements.missing", "requirements")]
    assert found(agree(demand("x"), **bare)) == [("requirements.missing", "requirements")], "an invented goal is none"
    assert agree(demand("17"), **bare).findings == ()
    assert judge("requirements_agree", {"mentioned_files": []}, problem="---").findings == ()


RECON = {
    "mentioned_files": ["src/export.py"],
    "stack_traces": ["in `Writer::flush` of lib/io.rs:12"],
    "apis_involved": ["write_rows()"],
}


@pytest.mark.parametrize(
    ("evidence", "missing"),
    [
        (["src/export.py", "SRC/Export.py:31", "write_rows", "Writer::flush", "lib/io.rs"], []),
        (["src/import.py"], ["evidence[0]"]),
        (["export", "src/export.pyc", "rows"], ["evidence[1]", "evidence[2]"]),
    ],
)
def test_the_evidence_of_a_strategy_stands_in_recon(evidence, missing):
    verdict = judge("evidence_present", {"strategy_id": "s", "evidence": evidence}, recon=RECON)
    assert found(verdict) == [("evidence.missing", where) for where in missing]
    assert all(each.tags == (ReasonTag.MISSING_EVIDENCE,) for each in verdict.findings)


@pytest.mark.parametrize(
    ("initial", "missing"),
    [
        (["repository_available", "ci.green", "python3.11", "and/or", "write_rows() fails"], []),
        (["src/export.py exists", "file:src/other.py"], ["initial_state[1]"]),
        (["Cart::add", "close()"], ["initial_state[0]", "initial_state[1]"]),
        (["tests/test_new.py"], []),  # a step makes it
    ],
)
def test_the_names_that_a_plan_starts_with_stand_in_recon(initial, missing):
    steps = (step("make", "start", "goal tests/test_new.py"),)
    verdict = judge("evidence_present", plan(*steps, initial_state=initial), recon=RECON)
    assert found(verdict) == [("evidence.missing", where) for where in missing]


ANALYSIS = {"problem_type": "bug_fix"}


def test_a_strategy_for_another_type_of_problem_does_not_fit():
    verdict = judge("fits_problem_type", {"for_type": "feature"}, analysis=ANALYSIS)
    assert found(verdict) == [("workflow.mismatch", "for_type")]
    assert verdict.findings[0].tags == (ReasonTag.WORKFLOW_MISMATCH,)
    for fitting in ({"for_type": " Bug_Fix"}, {"for_type": None}, {}):
        assert judge("fits_problem_type", fitting, analysis=ANALYSIS).findings == ()


STRATEGY = {"key_steps": [{"id": "pin", "text": "Write a test"}, {"id": "fix", "text": "Fix it"}, "Be careful"]}


def test_each_key_step_with_an_id_is_implemented():
    value = plan(MAKE | {"implements": ["PIN "]}, SHIP | {"implements": ["other"]})
    verdict = judge("follows_strategy", value, strategy=STRATEGY)
    assert found(verdict) == [("plan.strategy_not_followed", "fix")]
    assert found(verdict, "warning") == [("plan.unknown_key_step", "ship")]
    assert judge("follows_strategy", plan(MAKE), strategy={"key_steps": ["a", "b"]}).findings == ()


@pytest.mark.parametrize(
    ("guard", "value"),
    [
        ("evidence_present", {"evidence": ["a.py"]}),
        ("fits_problem_type", {"for_type": "feature"}),
        ("follows_strategy", plan(MAKE)),
    ],
)
def test_a_guard_whose_step_requires_nothing_to_compare_with_warns(guard, value):
    verdict = judge(guard, value)
    assert verdict.passed
    assert found(verdict, "warning") == [("guard.nothing_to_compare", "")]


def test_in_a_run_that_goes_on_with_an_execution_what_was_done_before_is_a_warning():
    """The start and the goal are given, and the steps that were carried out are not in the plan any more."""
    goals = [demand("the last row", tokens=["goal"])]
    value = plan(MAKE, SHIP, requirements=goals, initial_state=["start", "src/other.py"])
    artifacts = {"recon": {"mentioned_files": ["src/app.py"]}, "strategy": STRATEGY}
    accepted = {f"g_{role}": artifact(f"g_{role}", result) for role, result in artifacts.items()}
    for guard in ("requirements_covered", "evidence_present", "follows_strategy"):
        assert not judge(guard, value, **artifacts).passed
        context = Context("x", dependencies=accepted, settings={"roles": ROLES}, given=Given(initial_state=("start",)))
        verdict = BUILT_IN[guard]({})(artifact("g_plan", value), context)
        assert verdict.passed
        assert found(verdict, "warning")


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("value", ["no JSON", "[1]", "{", '"text"'])
def test_what_is_no_object_is_rejected(guard, value):
    assert not judge(guard, value).passed


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_has_no_settings(guard):
    with pytest.raises(UsageProblem, match="unknown setting"):
        BUILT_IN[guard]({"strict": ["x"]})


KEYS = ["requirements", "evidence", "for_type", "key_steps", "steps", "initial_state", "goal_state", "problem_type"]
REQUIREMENTS = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["goal", "must_avoid"]), "quote": st.sampled_from(["a", "b", "c"])},
        optional=dict.fromkeys(["tokens", "depends_on", "tools", "paths", "conflicts_with", "limit", "id"], JSON),
    ),
    max_size=4,
)
VALUES = st.dictionaries(st.sampled_from(KEYS), JSON | REQUIREMENTS, max_size=6)


@given(value=VALUES, result=VALUES)
def test_the_guards_are_total(value, result):
    for guard in GUARDS:
        verdict = judge(guard, value, analysis=result, recon=result, strategy=result)
        assert verdict.passed == (not verdict.errors)


@pytest.mark.parametrize("guard", ["requirements_covered", "evidence_present", "follows_strategy"])
def test_a_large_plan_is_judged_in_linear_time(guard):
    """A chain of steps in which all contribute to all goals, with names that are parts of longer words."""
    goals = [demand(f"goal {number}", tokens=["t400"]) for number in range(GOALS_MAX)]
    ids = [requirement_id(goal["quote"]) for goal in goals]
    steps = [step(f"s{n}", f"t{n}", f"t{n + 1}", satisfies=ids[n::400], implements=[f"k{n}"]) for n in range(400)]
    value = plan(
        *steps, goal="t400", requirements=goals, initial_state=["t0", *(f"{'a' * n}.py" for n in range(3, 90))]
    )
    strategy = {"key_steps": [{"id": f"k{n}", "text": "do"} for n in range(400)]}
    started = time.process_time()
    verdict = judge(guard, value, recon={"mentioned_files": ["a" * 100_000 + ".py"]}, strategy=strategy)
    assert verdict.passed == (guard != "evidence_present")
    assert time.process_time() - started < 1.0
