"""Workflows are found by name, alias and path; the error for an unknown name has the nearest one."""

import shutil
from pathlib import Path

import pytest
import yaml

from actors.config.loader import ALIASES, load_workflow, read_workflow, shipped_workflows
from actors.config.workflow import Composite, find_prompt_entry, validate_names
from actors.planning.config import RunConfig, graph_of
from actors.search.graph import happy_calls, worst_case_calls
from runtime.core.errors import UsageProblem
from tests.support.worlds import default_policy

ROOT = Path(__file__).resolve().parents[2]
MINIMAL = "name: mine\naction_pairs:\n  g_plan: {generator: LLMPlanGenerator, guard: plan_medium}\n"
ENTRY = (
    "g_plan:\n  role: r\n  constraints: c\n  task: t\n"
    "  feedback_wrapper: 'a {feedback}'\n  escalation_feedback_wrapper: 'b {feedback}'\n"
)


def problem(name: str, root: Path = ROOT) -> str:
    with pytest.raises(UsageProblem) as caught:
        load_workflow(name, root)
    return str(caught.value)


def test_nine_workflows_are_shipped():
    """S127: the seeds' decompositions, the default, and two baselines; each is a file and no code."""
    options = {f"option_{name}" for name in ("a", "ad", "b", "bc", "c", "d")}
    assert set(shipped_workflows(ROOT)) >= {"linear", "search", "single", *options}


@pytest.mark.parametrize("name", shipped_workflows(ROOT))
def test_every_shipped_workflow_is_valid(name):
    loaded = load_workflow(name, ROOT)
    assert loaded.workflow.name == name
    assert loaded.notices == ()
    assert loaded.source == str(ROOT / "configs" / "workflows" / f"{name}.yaml")
    for step in loaded.workflow.graph.order:
        if not loaded.workflow.is_deterministic(step):
            assert find_prompt_entry(loaded.prompts, loaded.workflow, step).task


def shape(name):
    workflow, _, _ = read_workflow(name, ROOT)
    return {step: pair.requires for step, pair in workflow.action_pairs.items()}


def test_the_shapes_are_those_of_the_design():
    """S121 to S126, and the default: analysis and recon have no edge between them, so they run at once (S122, S125)."""
    assert shape("single") == {"g_plan": ()}
    assert shape("option_a") == {"g_analysis": (), "g_plan": ("g_analysis",)}
    assert shape("option_b") == {"g_analysis": (), "g_recon": (), "g_plan": ("g_analysis", "g_recon")}
    assert shape("option_c") == {
        "g_analysis": (),
        "g_template": ("g_analysis",),
        "g_plan_refine": ("g_template", "g_analysis"),
    }
    assert shape("option_d") == {
        "g_plan_draft": (),
        "g_critique": ("g_plan_draft",),
        "g_plan_final": ("g_plan_draft", "g_critique"),
    }
    assert shape("option_bc") == {
        "g_analysis": (),
        "g_recon": (),
        "g_template": ("g_analysis", "g_recon"),
        "g_plan_refine": ("g_template", "g_analysis", "g_recon"),
    }
    assert shape("option_ad") == {
        "g_analysis": (),
        "g_plan_draft": ("g_analysis",),
        "g_critique": ("g_analysis", "g_plan_draft"),
        "g_plan_final": ("g_analysis", "g_plan_draft", "g_critique"),
    }
    assert shape("search") == {
        "g_analysis": (),
        "g_recon": (),
        "g_strategy": ("g_analysis", "g_recon"),
        "g_plan": ("g_analysis", "g_recon", "g_strategy"),
    }
    assert shape("linear") == {
        "g_analysis": (),
        "g_recon": ("g_analysis",),
        "g_strategy": ("g_analysis", "g_recon"),
        "g_plan": ("g_analysis", "g_recon", "g_strategy"),
    }


@pytest.mark.parametrize(
    ("name", "happy", "worst"),
    [
        ("option_a", 2, 6),
        ("option_b", 3, 9),
        ("option_c", 2, 6),
        ("option_d", 3, 9),
        ("option_bc", 3, 9),
        ("option_ad", 4, 12),
        ("search", 4, 91),
        ("single", 1, 3),
    ],
)
def test_the_calls_are_those_of_the_seeds_comparison(name, happy, worst):
    """S121 to S126: the smallest and the largest number of calls of a decomposition, with three attempts per step."""
    graph = graph_of(read_workflow(name, ROOT)[0])
    assert (happy_calls(graph), worst_case_calls(graph)) == (happy, worst)


@pytest.mark.parametrize("name", ["option_c", "option_bc"])
def test_the_template_step_calls_no_model(name):
    """S123, S125."""
    workflow, _, _ = read_workflow(name, ROOT)
    free = [step for step in workflow.graph.order if workflow.is_deterministic(step)]
    assert free == ["g_template"]
    assert workflow.effective_guard("g_template") == "plan_minimal"


@pytest.mark.parametrize("name", ["option_d", "option_ad"])
def test_a_draft_is_checked_lightly_and_the_final_plan_fully(name):
    """S124, S126, S136."""
    workflow, _, _ = read_workflow(name, ROOT)
    assert workflow.effective_guard("g_plan_draft") == "plan_minimal"
    assert workflow.effective_guard("g_critique") == "critique_valid"
    assert workflow.effective_guard("g_plan_final") == Composite(
        all_of=("plan_medium", "follows_critique", "requirements_covered")
    )


def test_the_default_ships_visits_that_let_its_cap_of_calls_end_a_run():
    workflow, _, _ = read_workflow("search", ROOT)
    budgets = [(workflow.rmax_of(step), workflow.action_pairs[step].backtrack_budget) for step in workflow.graph.order]
    assert budgets == [(2, 5), (2, 6), (2, 12), (3, 0)]
    assert workflow.max_total_calls == 30


def test_the_baseline_goes_forward_only():
    workflow, _, _ = read_workflow("linear", ROOT)
    assert workflow.search == "linear"
    assert {workflow.rmax_of(step) for step in workflow.graph.order} == {1}
    assert all(pair.backtrack_budget == 0 for pair in workflow.action_pairs.values())


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_name_the_same_file(alias):
    assert load_workflow(alias, ROOT).source == load_workflow(ALIASES[alias], ROOT).source


def test_an_unknown_name_is_an_error_with_the_nearest_name():
    assert problem("serch") == "unknown workflow 'serch' (did you mean 'search'?)"
    assert problem("ful") == "unknown workflow 'ful' (did you mean 'full'?)"
    assert problem("").startswith("unknown workflow '' (shipped: classify-then-plan, full, linear, option_a")


def test_a_workflow_is_found_by_its_path(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text(MINIMAL)
    (tmp_path / "bare").write_text(MINIMAL)
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "./mine.yaml", str(tmp_path / "mine.yaml"), "bare"):
        assert load_workflow(name, ROOT).workflow.name == "mine"


def test_a_shipped_name_takes_precedence_over_a_file(tmp_path, monkeypatch):
    (tmp_path / "search").write_text(MINIMAL)
    monkeypatch.chdir(tmp_path)
    assert load_workflow("search", ROOT).workflow.name == "search"
    assert load_workflow("./search", ROOT).workflow.name == "mine"


@pytest.mark.parametrize("name", ["no.yaml", "../no", "no.json", "\0.yaml", "a" * 300 + ".yaml", "./"])
def test_a_missing_file_is_reported_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert "\n" not in problem(name)


def test_a_prompts_path_is_relative_to_the_workflows_folder(tmp_path, monkeypatch):
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINIMAL + "prompts: texts.yaml\n")
    (folder / "texts.yaml").write_text(ENTRY)
    monkeypatch.chdir(tmp_path)
    loaded = load_workflow("deep/mine.yaml", ROOT)
    assert find_prompt_entry(loaded.prompts, loaded.workflow, "g_plan").role == "r"
    assert loaded.prompts.sections == load_workflow("search", ROOT).prompts.sections


def test_missing_prompts_are_an_error_at_their_key(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(MINIMAL + "prompts: plannin\n")
    assert problem(str(path)) == f"{path}:4 prompts: unknown prompts 'plannin' (did you mean 'planning'?)"
    path.write_text(MINIMAL.replace("plan_medium", "human"))
    assert problem(str(path)).startswith(f"{path}:3 action_pairs.g_plan: the prompts have no entry 'g_plan' (")
    path.write_text(MINIMAL.replace("}", ", prompt: plan_direkt}"))
    assert problem(str(path)) == (
        f"{path}:3 action_pairs.g_plan: the prompts have no entry 'plan_direkt' (did you mean 'plan_direct'?)"
    )


def test_a_classifier_without_its_prompt_is_an_error(tmp_path):
    """S22: a user's prompts need the entry only if failures are classified."""
    entries = yaml.safe_load((ROOT / "prompts" / "planning.yaml").read_text())
    del entries["failure_classifier"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(entries))
    path = tmp_path / "w.yaml"
    text = "prompts: ./mine.yaml\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium}\nname: w\n"
    path.write_text(text)
    assert load_workflow(str(path), ROOT).workflow.classifications_max == 0
    path.write_text(f"{text}classifications_max: 1\n")
    assert problem(str(path)).startswith(
        f"{path}:5 classifications_max: the prompts have no entry 'failure_classifier' ("
    )


def test_a_step_without_a_model_needs_no_prompt(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: m\naction_pairs:\n  t: {generator: PlanGenerator, guard: human}\n")
    assert load_workflow(str(path), ROOT).workflow.name == "m"


def test_the_document_gives_lines_to_later_checks(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(MINIMAL)
    loaded = load_workflow(str(path), ROOT)
    with pytest.raises(UsageProblem) as caught:
        validate_names(loaded.workflow, {"plan_medum"}, {"LLMPlanGenerator"}, loaded.document)
    assert str(caught.value).startswith(f"{path}:3 action_pairs.g_plan.guard: unknown guard 'plan_medium'")


def reference(root: Path, name: str = "search") -> str:
    loaded = load_workflow(name, root)
    config = RunConfig(workflow=loaded.workflow, policy=default_policy(), prompts=loaded.prompts, model="toy")
    return config.workflow_ref


def test_the_content_hash_changes_with_every_value_and_text(tmp_path):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    shutil.copytree(ROOT / "prompts", tmp_path / "prompts")
    before = reference(ROOT)
    assert reference(tmp_path) == before, "the place of the files does not count"
    workflow = tmp_path / "configs" / "workflows" / "search.yaml"
    text = workflow.read_text()
    workflow.write_text("# a comment\n" + text)
    assert reference(tmp_path) == before, "comments do not count"
    for old, new in (("rmax: 3", "rmax: 4"), ("max_total_calls: 30", "max_total_calls: 29")):
        workflow.write_text(text.replace(old, new))
        assert reference(tmp_path) != before
    workflow.write_text(text)
    prompts = tmp_path / "prompts" / "planning.yaml"
    prompts.write_text(prompts.read_text().replace("triage engineer", "triage  engineer"))
    assert reference(tmp_path) != before


def test_the_content_hash_covers_the_order_of_steps(tmp_path):
    """The order decides ties in the search, so two orders are two workflows."""
    path = tmp_path / "w.yaml"
    refs = set()
    for first, second in ("ab", "ba"):
        path.write_text(
            f"name: w\naction_pairs:\n  {first}: &s {{generator: PlanGenerator, guard: human}}\n  {second}: *s\n"
        )
        refs.add(reference(ROOT, str(path)))
    assert len(refs) == 2
