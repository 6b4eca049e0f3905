"""The keys of a workflow, their defaults, and errors in the terms of the file's author."""

import pytest
from pydantic import ValidationError

from actors.config.workflow import STEPS_MAX, Workflow, validate_names
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import parse_document
from actors.guards.port import Composite
from actors.policy.table import Policy
from runtime.core.errors import UsageProblem

START = "name: w\naction_pairs:\n  g_a:\n    generator: LLMJsonGenerator\n    guard: analysis_valid\n"
SECOND = "  g_b: {generator: LLMPlanGenerator, guard: plan_medium, requires: [g_a]}\n"


def load(text: str) -> Workflow:
    document = parse_document(text, "w.yaml")
    return document.read_as(Workflow)


def problem(text: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        load(text)
    return str(caught.value)


def test_the_defaults_are_those_of_the_design():
    workflow = load(START + SECOND)
    assert (workflow.rmax, workflow.max_total_calls, workflow.r_max) == (3, 30, 100)
    assert (workflow.search, workflow.target_guard_level, workflow.assurance) == (
        "depth_first",
        "medium",
        "strong_cyclic",
    )
    assert (workflow.policy, workflow.prompts, workflow.constraints) == ("default", "planning", "")
    assert (workflow.questions_max, workflow.feedback_window, workflow.r_patience, workflow.e_max) == (5, 5, 2, None)
    assert (workflow.model_timeout_seconds, workflow.guard_timeout_seconds) == (120.0, 60.0)
    assert workflow.output_tokens_max == 4096
    assert workflow.guard_catalog == ()
    assert {pair.backtrack_budget for pair in workflow.action_pairs.values()} == {0}
    pair = workflow.action_pairs["g_b"]
    assert (pair.backtrack_budget, pair.concurrency, pair.escalate_to, pair.prompt) == (0, 4, (), None)


def test_a_step_inherits_the_workflows_values():
    workflow = load(
        "rmax: 7\nr_patience: 4\ne_max: 2\nmodel_timeout_seconds: 9\noutput_tokens_max: 11\n"
        + START
        + "  g_b: {generator: g, guard: h, rmax: 1, r_patience: 3, e_max: 0, timeout_seconds: 1.5,\n"
        + "        output_tokens_max: 5}\n"
    )
    of_both = [
        (of("g_a"), of("g_b"))
        for of in (
            workflow.rmax_of,
            workflow.r_patience_of,
            workflow.e_max_of,
            workflow.timeout_seconds_of,
            workflow.output_tokens_max_of,
        )
    ]
    assert of_both == [(7, 1), (4, 3), (2, 0), (9.0, 1.5), (11, 5)]


def test_the_role_is_the_steps_own_or_its_guards():
    workflow = load(
        START
        + SECOND
        + "  g_c: {generator: g, guard: {all_of: [human, recon_valid]}}\n"
        + "  g_d: {generator: g, guard: strategy_valid, role: lawyer}\n"
        + "  g_e: {generator: g, guard: human}\n"
        + "  g_f: {generator: g, guard: critique_valid}\n"
    )
    roles = [workflow.role(step) for step in workflow.action_pairs]
    assert roles == ["analysis", "plan", "recon", "lawyer", "", "critique"]


def test_the_goal_level_replaces_the_level_of_leaves_only():
    text = (
        "name: w\ntarget_guard_level: expansive\naction_pairs:\n"
        "  draft: {generator: g, guard: plan_minimal}\n"
        "  final: {generator: g, guard: plan_medium, requires: [draft]}\n"
        "  other: {generator: g, guard: {first_failure: [plan_minimal, plan_medium, human]}, requires: [draft]}\n"
        "  plain: {generator: g, guard: human, requires: [draft]}\n"
    )
    workflow = load(text)
    assert workflow.effective_guard("draft") == "plan_minimal"
    assert workflow.effective_guard("final") == "plan_expansive"
    assert workflow.effective_guard("other") == Composite(first_failure=("plan_expansive", "human"))
    assert workflow.effective_guard("plain") == "human"


def test_a_replaced_plan_guard_keeps_its_escalation_targets():
    text = (
        "name: w\ntarget_guard_level: expansive\naction_pairs:\n"
        "  a: {generator: g, guard: human}\n"
        "  b: {generator: g, guard: plan_minimal, requires: [a], escalate_by_guard: {plan_minimal: [a]}}\n"
        "  c: {generator: g, guard: {all_of: [plan_medium, human]}, requires: [b],\n"
        "      escalate_by_guard: {plan_medium: [b], plan_minimal: [a], human: [a]}}\n"
        "  d: {generator: g, guard: plan_medium, requires: [b],\n"
        "      escalate_by_guard: {plan_medium: [b], plan_expansive: [a]}}\n"
    )
    workflow = load(text)
    assert workflow.escalate_by_guard_of("a") == {}
    assert workflow.escalate_by_guard_of("b") == {"plan_minimal": ("a",)}  # Not a leaf, so its guard is kept.
    assert workflow.escalate_by_guard_of("c")["plan_expansive"] == ("b",)
    assert workflow.escalate_by_guard_of("c")["human"] == ("a",)
    assert workflow.escalate_by_guard_of("d")["plan_expansive"] == ("a",)  # The file has an entry for this level.


@pytest.mark.parametrize("level", ["minimal", "medium", "expansive"])
def test_the_default_goal_level_is_that_of_the_leaf(level):
    workflow = load(START + SECOND.replace("medium", level))
    assert workflow.target_guard_level == level
    assert workflow.effective_guard("g_b") == f"plan_{level}"


def test_the_default_goal_level_is_the_strictest_of_the_leaves():
    lax = SECOND.replace("g_b", "g_c").replace("medium", "minimal")
    assert load(START + SECOND.replace("medium", "expansive") + lax).target_guard_level == "expansive"
    assert load(START + lax + SECOND).target_guard_level == "medium"


def test_only_steps_that_call_no_model_are_deterministic():
    workflow = load(
        "name: w\naction_pairs:\n"
        "  t: {generator: TemplateSelectorGenerator, guard: h}\n"
        "  p: {generator: PlanGenerator, guard: h}\n"
        "  m: {generator: LLMPlanGenerator, guard: h}\n"
        "  yes: {generator: Mine, guard: h, deterministic: true}\n"
        "  nay: {generator: PlanGenerator, guard: h, deterministic: false}\n"
    )
    assert [workflow.is_deterministic(step) for step in workflow.graph.order] == [True, True, False, True, False]
    assert workflow.is_deterministic("m", free={"LLMPlanGenerator"})


def test_a_workflow_round_trips_through_json():
    """A run records its workflow as JSON, and a resume reads it."""
    workflow = load(START + SECOND + "  c: {generator: g, guard: {majority: [x, y, z]}, requires: [g_b]}\n")
    again = Workflow.model_validate_json(workflow.model_dump_json())
    assert again == workflow
    assert list(again.action_pairs) == list(workflow.action_pairs)
    assert again.model_dump_json() == workflow.model_dump_json()


def test_a_changed_workflow_is_checked_like_a_file():
    workflow = load(START)
    assert workflow.changed(search="blind", max_total_calls=5).max_total_calls == 5
    assert workflow.max_total_calls == 30
    with pytest.raises(UsageProblem, match=r"^max_total_calls: should be at least 1, not 0$"):
        workflow.changed(max_total_calls=0)
    with pytest.raises(UsageProblem, match=r"^search: should be .* \(did you mean 'blind'\?\)$"):
        workflow.changed(search="blnd")
    with pytest.raises(UsageProblem, match=r"^serch: unknown key 'serch'"):
        workflow.changed(serch="blind")


def test_a_workflow_is_frozen():
    with pytest.raises(ValidationError):
        load(START).name = "other"


def test_both_spellings_of_escalation_are_read():
    theirs = load(
        START + SECOND.replace("}", ", escalate_feedback_to: [g_a], escalate_feedback_by_guard: {human: [g_a]}}")
    )
    ours = load(START + SECOND.replace("}", ", escalate_to: [g_a], escalate_by_guard: {human: [g_a]}}"))
    assert theirs == ours
    assert ours.action_pairs["g_b"].escalate_by_guard == {"human": ("g_a",)}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            START + "    requries: []\n",
            "w.yaml:6 action_pairs.g_a.requries: unknown key 'requries' (did you mean 'requires'?)",
        ),
        (START + "rmx: 3\n", "w.yaml:6 rmx: unknown key 'rmx' (did you mean 'rmax'?)"),
        ("name: w\n", "w.yaml:1: missing key 'action_pairs' (add `action_pairs: ...`)"),
        (
            "name: w\naction_pairs:\n  g_a:\n    generator: g\n",
            "w.yaml:3 action_pairs.g_a: missing key 'guard' (add `guard: ...`)",
        ),
        (
            START + "    requires: [g_bb]\n  g_b: {generator: g, guard: h}\n",
            "w.yaml:6 action_pairs.g_a.requires[0]: there is no step 'g_bb' (did you mean 'g_b'?)",
        ),
        (
            "name: w\naction_pairs:\n"
            + "".join(f"  {a}: {{generator: g, guard: h, requires: [{b}]}}\n" for a, b in ("ab", "bc", "ca")),
            (
                "w.yaml:3 action_pairs.a.requires: steps require each other: a -> b -> c -> a "
                "(remove one of these steps from `requires`)"
            ),
        ),
        (
            START + "    escalate_to: [g_b]\n" + SECOND,
            (
                "w.yaml:6 action_pairs.g_a.escalate_to[0]: 'g_b' is not a step that 'g_a' requires, directly or "
                "through other steps (g_a requires nothing)"
            ),
        ),
        (
            START + SECOND.replace("}", ", escalate_by_guard: {h: [g_b]}}"),
            (
                "w.yaml:6 action_pairs.g_b.escalate_by_guard.h[0]: "
                "'g_b' is not a step that 'g_b' requires, directly or through other steps (g_b requires: g_a)"
            ),
        ),
        (START + "    rmax: 0\n", "w.yaml:6 action_pairs.g_a.rmax: should be at least 1, not 0"),
        (START + "rmax: -2\n", "w.yaml:6 rmax: should be at least 1, not -2"),
        (
            START + "    backtrack_budget: -1\n",
            "w.yaml:6 action_pairs.g_a.backtrack_budget: should be at least 0, not -1",
        ),
        (START + "max_total_calls: 0\n", "w.yaml:6 max_total_calls: should be at least 1, not 0"),
        (START + "r_patience: 1\n", "w.yaml:6 r_patience: should be at least 2, not 1"),
        (START + "rmax: true\n", "w.yaml:6 rmax: should be a whole number, not True"),
        (START + "rmax: '3'\n", "w.yaml:6 rmax: should be a whole number, not '3'"),
        (START + "rmax: 2.0\n", "w.yaml:6 rmax: should be a whole number, not 2.0"),
        (START + "model_timeout_seconds: 0\n", "w.yaml:6 model_timeout_seconds: should be above 0, not 0"),
        (START + "    requires: g_b\n", "w.yaml:6 action_pairs.g_a.requires: should be a list, not 'g_b'"),
        (
            START + "search: depth-first\n",
            ("w.yaml:6 search: should be a search such as beam:4, not 'depth-first' (did you mean 'depth_first'?)"),
        ),
        (
            "name: w\naction_pairs:\n  G-A: {generator: g, guard: h}\n",
            (
                "w.yaml:3 action_pairs.G-A: should be a lower-case letter, then lower-case letters, digits and _, "
                "64 characters at most, not 'G-A'"
            ),
        ),
        (
            "name: w\naction_pairs: {}\n",
            (
                "w.yaml:2 action_pairs: a workflow must have 1 to 64 steps, and this workflow has 0 "
                "(add a step, such as `g_plan: ...`)"
            ),
        ),
        (
            "name: w\naction_pairs: [a]\n",
            "w.yaml:2 action_pairs: should be a mapping of keys to values, not ['a']",
        ),
        (
            "name: w\naction_pairs:\n  a: {generator: g, guard: {all: [x]}}\n",
            "w.yaml:3 action_pairs.a.guard.all: unknown key 'all' (did you mean 'all_of'?)",
        ),
        (
            "name: w\naction_pairs:\n  a: {generator: g, guard: {all_of: [x], majority: [y]}}\n",
            (
                "w.yaml:3 action_pairs.a.guard: "
                "a composite guard must have one list of guards: all_of, first_failure or majority"
            ),
        ),
        (
            "name: w\naction_pairs:\n  a: {generator: g, guard: [x]}\n",
            "w.yaml:3 action_pairs.a.guard: should be text, not ['x']",
        ),
    ],
)
def test_each_error_is_one_line_with_its_place(text, line):
    assert problem(text) == line


def test_other_problems_are_counted():
    assert problem(START + "search: blnd\nrmax: 0\nr_max: 0\n").endswith(
        "(did you mean 'blind'?; 2 more problems in this file)"
    )
    assert problem(START + "rmax: 0\nr_max: 0\n").endswith("(1 more problem in this file)")


def test_the_number_of_steps_is_limited():
    steps = "".join(f"  s{i}: {{generator: g, guard: h}}\n" for i in range(STEPS_MAX + 1))
    assert f"1 to {STEPS_MAX} steps" in problem("name: w\naction_pairs:\n" + steps)
    assert len(load("name: w\naction_pairs:\n" + steps.rpartition("  s")[0]).graph.order) == STEPS_MAX


def test_a_step_id_has_at_most_64_characters():
    load(f"name: w\naction_pairs:\n  {'a' * 64}: {{generator: g, guard: h}}\n")
    for bad in ("a" * 65, '"a\\n"'):
        message = problem(f"name: w\naction_pairs:\n  {bad}: {{generator: g, guard: h}}\n")
        assert "should be a lower-case letter" in message


GUARDS = {"analysis_valid", "plan_medium", "human"}
GENERATORS = {"LLMJsonGenerator", "LLMPlanGenerator"}


def name_problem(text: str) -> str:
    document = parse_document(text, "w.yaml")
    with pytest.raises(UsageProblem) as caught:
        validate_names(load(text), GUARDS, GENERATORS, document)
    return str(caught.value)


def test_known_names_pass():
    validate_names(load(START + SECOND), GUARDS, GENERATORS)
    mine = SECOND.replace("LLMPlanGenerator", "mine").replace("}", ", deterministic: true}")
    validate_names(load(START + mine), GUARDS, {*GENERATORS, "mine"})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            START.replace("analysis_valid", "analysis_vald"),
            "w.yaml:5 action_pairs.g_a.guard: unknown guard 'analysis_vald' (did you mean 'analysis_valid'?)",
        ),
        (
            START.replace("LLMJson", "LLMJsn"),
            (
                "w.yaml:4 action_pairs.g_a.generator: unknown generator 'LLMJsnGenerator' "
                "(did you mean 'LLMJsonGenerator'?)"
            ),
        ),
        (
            START.replace("analysis_valid", "{all_of: [human, zzz]}"),
            (
                "w.yaml:5 action_pairs.g_a.guard: unknown guard 'zzz' (guards: analysis_valid, human, plan_medium; "
                "--plugins FILE.py adds your own guards)"
            ),
        ),
        (
            START + SECOND.replace("}", ", escalate_by_guard: {humn: [g_a]}}"),
            "w.yaml:6 action_pairs.g_b.escalate_by_guard: unknown guard 'humn' (did you mean 'human'?)",
        ),
        (
            START + SECOND.replace("}", ", deterministic: true}"),
            (
                "w.yaml:6 action_pairs.g_b.deterministic: "
                "generator 'LLMPlanGenerator' calls a model, so the step is not deterministic (remove the key)"
            ),
        ),
    ],
)
def test_each_unknown_name_is_one_line_with_its_place(text, line):
    assert name_problem(text) == line


def test_without_a_document_the_place_is_the_workflow():
    with pytest.raises(UsageProblem, match=r"^w action_pairs\.g_a\.guard: unknown guard"):
        validate_names(load(START), {"human"}, GENERATORS)


ROW = "{id: rest, why: because, level: local_retry}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: p\nrows: []\n", "p.yaml:2 rows: needs at least one entry"),
        (f"name: p\nrows: [{', '.join([ROW] * 101)}]\n", "p.yaml:2 rows: takes at most 100 entries"),
        ("name: p\nrows: 3\n", "p.yaml:2 rows: should be a list, not 3"),
        ("name: p\nrows: [3]\n", "p.yaml:2 rows[0]: should be a mapping of keys to values, not 3"),
        (f"name: ''\nrows: [{ROW}]\n", "p.yaml:1 name: should not be empty"),
        (f"name: {'p' * 201}\nrows: [{ROW}]\n", "p.yaml:1 name: takes at most 200 characters"),
        (
            f"name: p\nrows: [{ROW.replace('rest', 'The Rest')}]\n",
            (
                "p.yaml:2 rows[0].id: should be lower-case letters, digits and underscores, 40 characters at most, "
                "not 'The Rest'"
            ),
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, codes: [plan]}}]\n",
            (
                "p.yaml:2 rows[0].codes[0]: should be a finding code such as plan.unreachable, or a family of codes "
                "such as plan.*, not 'plan'"
            ),
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, backoff_seconds: 601}}]\n",
            "p.yaml:2 rows[0].backoff_seconds: should be at most 600, not 601",
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, fatal: 'maybe'}}]\n",
            "p.yaml:2 rows[0].fatal: should be true or false, not 'maybe'",
        ),
    ],
)
def test_each_kind_of_error_has_a_plain_message(text, message):
    document = parse_document(text, "p.yaml")
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate(document.value)
    assert str(usage_problem(caught.value, document)) == message
