"""Files in AtomicGuard's own format load as they are, and nothing in them changes its meaning unsaid."""

import json
from pathlib import Path

import pytest

from actors.config.pair import Composite
from actors.config.resolve import load_workflow, read_workflow
from actors.config.workflow import validate_names
from runtime.errors import UsageProblem

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


def write(folder, pairs, **more):
    path = folder / "workflow.json"
    path.write_text(json.dumps({"name": "Theirs", "rmax": 3, "action_pairs": pairs, **more}, indent="\t"))
    return path


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_read_as_it_stands(tmp_path, name):
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
        "action_pairs.ap_patch.escalate_feedback_by_guard.TestGreenGuard: read as the guard 'test_green'"
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
def test_composites_become_ours(tmp_path, guards, composite):
    workflow, _, _ = read_workflow(str(write(tmp_path, {"a": step("G", "composite", guards=guards)})), ROOT)
    assert workflow.action_pairs["a"].guard == composite


@pytest.mark.parametrize(
    ("guards", "cause"),
    [
        ({"policy": "any_pass", "guards": ["a"]}, "no guard here combines its members like this"),
        ({"guards": ["a"], "timeout": 3}, "no guard here combines its members like this"),
        ({"compose": ["x"], "guards": ["a"]}, "no guard here combines its members like this"),
        (["a", {"type": "b", "config": {}}], "a composite guard takes guard names here"),
        ("a", "a composite guard takes guard names here"),
    ],
)
def test_a_composite_without_an_equal_is_refused(tmp_path, guards, cause):
    path = write(tmp_path, {"a": step("G", "composite", guards=guards)})
    with pytest.raises(UsageProblem, match=cause) as caught:
        read_workflow(str(path), ROOT)
    assert "action_pairs.a.guards" in str(caught.value)


def test_keys_without_a_meaning_here_are_told_with_their_line(tmp_path):
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


def test_a_key_that_nobody_knows_is_still_refused(tmp_path):
    with pytest.raises(UsageProblem, match="unknown key 'modle'"):
        read_workflow(str(write(tmp_path, PIPELINES["parallel analysis"], modle="x")), ROOT)


def test_a_step_without_a_generator_asks_the_model_in_their_format_only(tmp_path):
    """Their schema requires the guard alone; in a file of ours a missing generator is a slip."""
    path = write(tmp_path, {"g_test": {"guard": "syntax", "human_prompt_title": "REVIEW"}})
    workflow, _, notices = read_workflow(str(path), ROOT)
    assert workflow.action_pairs["g_test"].generator == "model"
    assert f"{path}:5 action_pairs.g_test: names no generator; the model is asked" in notices
    ours = path.rename(tmp_path / "ours.yaml")
    ours.write_text("name: w\naction_pairs:\n  g_test: {guard: syntax}\n")
    with pytest.raises(UsageProblem, match="missing key 'generator'"):
        read_workflow(str(ours), ROOT)


@pytest.mark.parametrize("pairs", [3, [1], {"g": 3}, {"g": {"guard": "composite", "guards": None}}])
def test_wrong_shapes_are_left_for_the_models_to_refuse(tmp_path, pairs):
    with pytest.raises(UsageProblem):
        read_workflow(str(write(tmp_path, pairs)), ROOT)


def test_the_shipped_prompts_serve_the_seeds_pipelines(tmp_path):
    """Their steps find an entry by role, so options A and B run from their own file."""
    for name in ("classify, then plan", "parallel analysis"):
        loaded = load_workflow(str(write(tmp_path, PIPELINES[name])), ROOT)
        assert loaded.prompts.entry_for(loaded.workflow, "g_analysis") == loaded.prompts.entries["analysis"]
        validate_names(
            loaded.workflow, {"analysis_valid", "recon_valid", "plan_medium"}, {"LLMJsonGenerator", "LLMPlanGenerator"}
        )


def test_prompts_beside_a_workflow_are_not_passed_over_in_silence(tmp_path):
    path = write(tmp_path, PIPELINES["classify, then plan"])
    (tmp_path / "prompts.json").write_text("{}")
    notices = load_workflow(str(path), ROOT).notices
    assert notices == (f"{path}: {tmp_path}/prompts.json is not used; the key `prompts: prompts.json` would name it",)
