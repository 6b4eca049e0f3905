"""Files in AtomicGuard's format load unchanged; whatever is ignored or translated has a notice."""

import json
from pathlib import Path

import pytest

from actors.config.loader import load_workflow, read_workflow
from actors.config.step_guards import BUILT_IN
from actors.config.workflow import MODEL_GENERATORS, find_prompt_entry, validate_names
from actors.config.workflow_check import check_workflow
from actors.guards.port import Composite
from replan.setup.plugins import BUILT_IN_GENERATORS
from runtime.core.errors import UsageProblem
from tests.support.artifacts import plan

ROOT = Path(__file__).resolve().parents[2]


def step(generator, guard, *requires, **more):
    return {"generator": generator, "guard": guard, **({"requires": list(requires)} if requires else {}), **more}


PIPELINES = {
    "classify, then plan": {
        "g_analysis": step("LLMJsonGenerator", "analysis_valid", description="Classify the problem"),
        "g_plan": step("LLMPlanGenerator", "plan_medium", "g_analysis"),
    },
    "parallel analysis": {
        "g_analysis": step("LLMJsonGenerator", "analysis_valid"),
        "g_recon": step("LLMJsonGenerator", "recon_valid"),
        "g_plan": step("LLMPlanGenerator", "plan_medium", "g_analysis", "g_recon"),
    },
    "template, then refine": {
        "g_analysis": step("LLMJsonGenerator", "analysis_valid"),
        "g_template": step(
            "TemplateSelectorGenerator",
            "plan_minimal",
            "g_analysis",
            generator_config={"templates": {"bug_fix": "plans/bug_fix.json"}},
        ),
        "g_plan_refine": step("LLMPlanRefiner", "plan_medium", "g_template", "g_analysis"),
    },
    "decomposed, with escalation": {
        "ap_cause": step("CauseGenerator", "cause"),
        "ap_approach": step("ApproachGenerator", "approach", "ap_cause", r_patience=2, e_max=2),
        "ap_patch": step(
            "PatchGenerator",
            "composite",
            "ap_approach",
            guards=["patch", "lint", "test_green"],
            guard_config={"require_syntax_valid": True},
            r_patience=3,
            escalate_feedback_to=["ap_approach"],
            escalate_feedback_by_guard={"TestGreenGuard": ["ap_cause"], "lint": ["ap_approach"]},
        ),
    },
}


ENTRY = {"role": "You write.", "constraints": "Briefly.", "task": "Write.", "feedback_wrapper": "No: {feedback}"}


def write(folder, pairs, **more):
    path = folder / "workflow.json"
    path.write_text(json.dumps({"name": "Theirs", "rmax": 3, "action_pairs": pairs, **more}, indent="\t"))
    return path


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_read_unchanged(tmp_path, name):
    pairs = PIPELINES[name]
    workflow, _, _ = read_workflow(str(write(tmp_path, pairs)), ROOT)
    assert list(workflow.action_pairs) == list(pairs)
    assert {key: list(pair.requires) for key, pair in workflow.action_pairs.items()} == {
        key: pair.get("requires", []) for key, pair in pairs.items()
    }
    assert workflow.rmax == 3


def test_a_list_of_guards_is_asked_in_order_until_one_fails(tmp_path):
    workflow, _, notices = read_workflow(str(write(tmp_path, PIPELINES["decomposed, with escalation"])), ROOT)
    patch = workflow.action_pairs["ap_patch"]
    assert patch.guard == Composite(first_failure=("patch", "lint", "test_green"))
    assert patch.escalate_by_guard == {"test_green": ("ap_cause",), "lint": ("ap_approach",)}
    assert patch.escalate_to == ("ap_approach",)
    assert [notice.partition(" ")[2] for notice in notices] == [
        "action_pairs.ap_patch.escalate_feedback_by_guard.TestGreenGuard: in Replan, this guard is named 'test_green'"
    ]


@pytest.mark.parametrize(
    ("guards", "composite"),
    [
        ({"guards": ["a", "b"]}, Composite(first_failure=("a", "b"))),
        ({"compose": "sequential", "policy": "all_pass", "guards": ["a"]}, Composite(first_failure=("a",))),
        ({"compose": "parallel", "guards": ["a", "b"]}, Composite(all_of=("a", "b"))),
        (
            {"compose": "parallel", "policy": "majority_pass", "guards": ["a", "b", "c"]},
            Composite(majority=tuple("abc")),
        ),
    ],
)
def test_composites_are_translated(tmp_path, guards, composite):
    workflow, _, _ = read_workflow(str(write(tmp_path, {"a": step("G", "composite", guards=guards)})), ROOT)
    assert workflow.action_pairs["a"].guard == composite


@pytest.mark.parametrize(
    ("guards", "cause"),
    [
        ({"policy": "any_pass", "guards": ["a"]}, "Replan has no composite guard with these settings"),
        ({"guards": ["a"], "timeout": 3}, "Replan has no composite guard with these settings"),
        ({"compose": ["x"], "guards": ["a"]}, "Replan has no composite guard with these settings"),
        (["a", {"type": "b", "config": {}}], "the members of a composite guard must be a list of guard names"),
        ("a", "the members of a composite guard must be a list of guard names"),
    ],
)
def test_a_composite_without_an_equivalent_is_an_error(tmp_path, guards, cause):
    path = write(tmp_path, {"a": step("G", "composite", guards=guards)})
    with pytest.raises(UsageProblem, match=cause) as caught:
        read_workflow(str(path), ROOT)
    assert "action_pairs.a.guards" in str(caught.value)


def test_ignored_keys_have_a_notice_with_their_line(tmp_path):
    path = write(
        tmp_path,
        {"g": step("G", "h", output_type="json")},
        **{"$schema": "x", "model": "qwen", "provider": "ollama", "specification": {"type": "file", "ref": "a.md"}},
    )
    _, _, notices = read_workflow(str(path), ROOT)
    lines = path.read_text().splitlines()
    for key in ("model", "provider", "specification"):
        line = next(number for number, text in enumerate(lines, 1) if f'"{key}"' in text)
        assert any(notice.startswith(f"{path}:{line} {key}: ignored; ") for notice in notices)
    assert any("action_pairs.g.output_type: ignored" in notice for notice in notices)
    assert len(notices) == 4


EXAMPLE = {
    "g_gates": {"output_type": "Gates", "guard": "gates_found", "guard_config": {"gates_min": 3}},
    "g_tests": {"guard": "composite", "guards": ["test_syntax", "test_names"], "requires": ["g_gates"], "rmx": 4},
    "g_code": step("CoderGenerator", "test_syntax", "g_tests"),
}
"""An example of AtomicGuard: its guards and generator are classes there, and some keys are for its own script."""


def test_unknown_keys_of_a_foreign_file_have_a_notice_with_their_line(tmp_path):
    path = write(tmp_path, EXAMPLE, gates_min=3)
    workflow, _, notices = read_workflow(str(path), ROOT)
    assert list(workflow.action_pairs) == list(EXAMPLE)
    lines = path.read_text().splitlines()
    top = lines.index('\t"gates_min": 3') + 1
    inner = next(number for number, text in enumerate(lines, 1) if '"rmx"' in text)
    assert f"{path}:{top} gates_min: ignored; Replan does not use this key" in notices
    slip = f"{path}:{inner} action_pairs.g_tests.rmx: ignored; Replan does not use this key; did you mean 'rmax'?"
    assert slip in notices


@pytest.mark.parametrize("ours", [{"search": "beam"}, {"action_pairs": {**EXAMPLE, "g": step("G", "h", role="plan")}}])
def test_an_unknown_key_is_an_error_in_a_file_with_a_key_of_replan(tmp_path, ours):
    with pytest.raises(UsageProblem, match=r"unknown key 'modle'|unknown key 'rmx' \(did you mean 'rmax'\?\)"):
        read_workflow(str(write(tmp_path, **{"pairs": EXAMPLE, "modle": "x", **ours})), ROOT)


def test_an_unknown_key_is_an_error_in_yaml(tmp_path):
    path = tmp_path / "theirs.yaml"
    path.write_text(write(tmp_path, PIPELINES["parallel analysis"], modle="x").read_text().replace("\t", " "))
    with pytest.raises(UsageProblem, match="unknown key 'modle'"):
        read_workflow(str(path), ROOT)


def test_everything_missing_is_one_notice_or_one_error_of_a_run(tmp_path):
    """The file loads and can be shown; a run reports everything that is missing at once, and writes nothing."""
    path = write(tmp_path, EXAMPLE)
    missing = (
        f"{path}: not available: guard 'gates_found', guard 'test_syntax', guard 'test_names', "
        "generator 'CoderGenerator', a prompt for 'g_gates', a prompt for 'g_tests', a prompt for 'g_code' "
        "(add guards and generators with plug-ins, and prompts with a prompts.json beside the file)"
    )
    loaded, _ = check_workflow(str(path), ROOT, BUILT_IN, MODEL_GENERATORS, to_run=False)
    assert loaded.notices[-1] == missing
    with pytest.raises(UsageProblem) as caught:
        check_workflow(str(path), ROOT, BUILT_IN, MODEL_GENERATORS)
    assert str(caught.value) == missing


def test_missing_parts_can_be_added(tmp_path):
    """By plug-ins with these names, and a prompts.json with an entry for each step."""
    path = write(tmp_path, EXAMPLE)
    (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(EXAMPLE, ENTRY)))
    guards = {"gates_found", "test_syntax", "test_names"}
    loaded, _ = check_workflow(str(path), ROOT, guards, {*MODEL_GENERATORS, "CoderGenerator"})
    assert loaded.missing == ()
    assert find_prompt_entry(loaded.prompts, loaded.workflow, "g_code").role == "You write."


def test_phases_are_read_as_steps(tmp_path):
    path = tmp_path / "workflow.json"
    first = {"name": "First", "generator": "G", "guard": "h", "dependencies": [], "retry_budget": 5}
    second = {**first, "dependencies": ["g_one"], "retry_budget": "7"}
    text = {"name": "w", "total_retry_budget": 12, "phases": {"g_one": first, "g_two": {**second, "retry_budget": 7}}}
    path.write_text(json.dumps(text, indent=1))
    workflow, _, notices = read_workflow(str(path), ROOT)
    assert [(pair.requires, pair.rmax) for pair in workflow.action_pairs.values()] == [((), 5), (("g_one",), 7)]
    assert f"{path}:3 total_retry_budget: ignored; Replan does not use this key" in notices
    assert f"{path}:6 action_pairs.g_one.name: ignored; Replan does not use this key" in notices
    path.write_text(json.dumps({**text, "phases": {"g_one": first, "g_two": second}}, indent=1))
    with pytest.raises(UsageProblem, match=rf"{path}:19 action_pairs\.g_two\.rmax: "):
        read_workflow(str(path), ROOT)
    ours = tmp_path / "workflow.yaml"
    ours.write_text(json.dumps({"name": "w", "phases": {"g_one": step("G", "h")}}))
    with pytest.raises(UsageProblem, match="unknown key 'phases'"):
        read_workflow(str(ours), ROOT)


def test_a_plan_source_is_read_as_a_plan_file(tmp_path):
    """`plan_source` is a path, or a name in `plans` beside the workflow; `defect` is ignored with a notice."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "small.json").write_text(json.dumps(plan()))
    ignored = ["ignored; the plan is used without a defect"]
    for source, defect, notices in (("small", None, []), ("small", "cycle", ignored), ("./plans/small.json", None, [])):
        config = {"plan_source": source, "defect": defect}
        path = write(tmp_path, {"g_plan": step("PlanGenerator", "plan_medium", generator_config=config)})
        loaded, _ = check_workflow(str(path), ROOT, BUILT_IN, BUILT_IN_GENERATORS)
        assert loaded.workflow.action_pairs["g_plan"].generator_config == {"plan": plan()}
        assert [notice.partition("defect: ")[2] for notice in loaded.notices] == notices
    (tmp_path / "plans" / "small.json").unlink()
    with pytest.raises(UsageProblem, match=r"generator_config.*small\.json: no such file"):
        load_workflow(str(path), ROOT)


def test_a_missing_generator_is_the_model_only_in_a_foreign_file(tmp_path):
    path = write(tmp_path, {"g_test": {"guard": "syntax", "human_prompt_title": "REVIEW"}})
    workflow, _, notices = read_workflow(str(path), ROOT)
    assert workflow.action_pairs["g_test"].generator == "model"
    assert f"{path}:5 action_pairs.g_test: this step names no generator, so it uses `model`" in notices
    ours = path.rename(tmp_path / "ours.yaml")
    ours.write_text("name: w\naction_pairs:\n  g_test: {guard: syntax}\n")
    with pytest.raises(UsageProblem, match="missing key 'generator'"):
        read_workflow(str(ours), ROOT)


@pytest.mark.parametrize(
    "pairs",
    [
        *(3, [1], {"g": 3}, {"g": {"guard": "composite", "guards": None}}),
        *({"g": step([1], "h")}, {"g": step("PlanGenerator", "h", generator_config={"plan_source": ["a"]})}),
    ],
)
def test_values_of_a_wrong_type_are_refused_by_validation(tmp_path, pairs):
    with pytest.raises(UsageProblem):
        load_workflow(str(write(tmp_path, pairs)), ROOT)


def test_the_shipped_prompts_fit_the_seeds_pipelines(tmp_path):
    """Steps find an entry by role, so options A and B run from the seeds' own files."""
    for name in ("classify, then plan", "parallel analysis"):
        loaded = load_workflow(str(write(tmp_path, PIPELINES[name])), ROOT)
        assert find_prompt_entry(loaded.prompts, loaded.workflow, "g_analysis") == loaded.prompts.entries["analysis"]
        validate_names(
            loaded.workflow, {"analysis_valid", "recon_valid", "plan_medium"}, {"LLMJsonGenerator", "LLMPlanGenerator"}
        )


def test_the_prompts_beside_a_workflow_take_precedence(tmp_path):
    path, beside = write(tmp_path, PIPELINES["classify, then plan"]), tmp_path / "prompts.json"
    beside.write_text(json.dumps({"g_analysis": ENTRY, "g_other": "all in one text"}))
    loaded = load_workflow(str(path), ROOT)
    assert find_prompt_entry(loaded.prompts, loaded.workflow, "g_analysis").role == "You write."
    assert find_prompt_entry(loaded.prompts, loaded.workflow, "g_plan") == loaded.prompts.entries["plan"]
    assert loaded.notices == (
        f"{path}: the prompts are read from {beside}; entries that it lacks come from the shipped prompts",
        f"{beside}:1 g_other: ignored, because an entry must have a role, constraints and a task",
        f"{beside}:1 g_analysis: it has no escalation_feedback_wrapper, so the shipped one is used",
    )


def test_named_prompts_replace_the_shipped_ones(tmp_path):
    path = write(tmp_path, PIPELINES["classify, then plan"], prompts="prompts.json")
    (tmp_path / "prompts.json").write_text(json.dumps({"g_analysis": ENTRY}))
    with pytest.raises(UsageProblem, match="the prompts have no entry 'g_plan' or 'plan'"):
        load_workflow(str(path), ROOT)
