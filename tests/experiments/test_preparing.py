"""Everything in an experiment's file is found and checked before the first trial; what is wrong is one line."""

import json

import pytest

from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"searches": ["depth_furst", "blind"]}, "not 'depth_furst' (did you mean 'depth_first'?)"),
        ({"searches": ["blind", "blind"]}, "'blind' is named twice"),
        ({"pipelines": [{"name": "a"}, {"name": "a"}]}, "'a' is named twice"),
        ({"pipelines": [{"name": "a", "workflow": "serch"}], "baseline": "a/blind"}, "did you mean 'search'?"),
        ({"pipelines": []}, "pipelines"),
        ({"baseline": None}, "baseline"),
        ({"baseline": "search"}, "there is no arm 'search'"),
        ({"seeds": {"first": 0, "count": 0}}, "at least 1"),
        ({"seeds": {"first": 0, "count": 900_000}}, "more than 1,000,000 trials"),
        ({"problems": ["nowhere.md"]}, "no such file"),
        ({"problems": []}, "problems"),
        ({"models": ["simulated:bse"]}, "did you mean 'base'?"),
        ({"models": ["rules"], "pipelines": [{"name": "search", "feedback": "shuffled"}]}, "simulated author only"),
        ({"pipelines": [{"name": "search", "without_rows": ["stagnatio"]}]}, "did you mean 'stagnation'?"),
        ({"pipelines": [{"name": "search", "without_rows": ["otherwise"]}]}, "no row 'otherwise' to take out"),
        ({"pipelines": [{"name": "search", "steps": {"g_plon": {"rmax": 1}}}]}, "did you mean 'g_plan'?"),
        ({"pipelines": [{"name": "search", "search_config": {"r_patience": 0}}]}, "r_patience"),
        ({"pipelines": [{"name": "search", "false_accept": 2}]}, "false_accept"),
        ({"serches": []}, "did you mean 'searches'?"),
    ],
)
def test_what_is_wrong_with_an_experiment_is_told_in_one_line(prepared, changes, said):
    with pytest.raises(UsageProblem) as caught:
        prepared(**changes)
    assert "mine.yaml" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", ["simulated:nobody", "simulated:", "scripted:nowhere.yaml", "gpt-5-mini"])
def test_what_is_wrong_with_a_model_is_told_at_its_line(prepared, model):
    """And not at that of a pipeline, which is the same for all models."""
    with pytest.raises(UsageProblem) as caught:
        prepared(models=["simulated:base", model])
    assert caught.value.place.endswith("models[1]")
    assert "pipelines" not in str(caught.value)


def test_one_broken_line_of_a_thousand_is_named_and_left_out_only_when_asked_to(prepared, tmp_path):
    lines = [
        json.dumps({"id": f"p{n}", "problem": f"Fix the parser, case {n}.", "category": "bug_fix"}) for n in range(1000)
    ]
    lines[499] = '{"id": "p499", "problem": '
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    with pytest.raises(UsageProblem, match=r"many\.jsonl:500: this line is not JSON \(--skip-broken leaves it out\)"):
        prepared(problems=["many.jsonl"])
    ready = prepared(problems=["many.jsonl"], skip_broken=True)
    assert len(ready.problems) == 999
    assert len(ready.notices) == 1
    assert "many.jsonl:500" in ready.notices[0]
    assert {problem.category for problem in ready.problems} == {"bug_fix"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[]", "not an object"),
        ('{"id": "x"}', "has no text"),
        ('{"problem": "  "}', "the problem is empty"),
        ('{"problem": 3}', "has no text"),
    ],
)
def test_a_line_that_is_no_problem_says_why(prepared, tmp_path, line, said):
    (tmp_path / "one.jsonl").write_text(line)
    with pytest.raises(UsageProblem, match=said):
        prepared(problems=["one.jsonl"])


def test_two_problems_of_one_name_would_be_mixed_up(prepared, tmp_path):
    (tmp_path / "two.jsonl").write_text('{"id": "x", "problem": "a"}\n{"id": "x", "problem": "b"}\n')
    with pytest.raises(UsageProblem, match=r"two\.jsonl:2: a second problem is named 'x'"):
        prepared(problems=["two.jsonl"])


def test_a_folder_of_problems_is_read_by_name(prepared, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b.md", "a.txt", "c.png"):
        (folder / name).write_text("Fix it.")
    assert [problem.name for problem in prepared(problems=["folder"]).problems] == ["a", "b"]


def test_a_pipeline_has_search_settings_of_its_own(prepared):
    """S40: pipeline `search` with an embedded search configuration."""
    own = {"name": "own", "search_config": {"r_patience": 4, "max_total_calls": 7}, "steps": {"g_plan": {"rmax": 1}}}
    ready = prepared(pipelines=[own, {"name": "search"}], baseline="search/blind")
    workflows = {arm.name: arm.job.pinned.workflow for arm in ready.arms}
    assert workflows["own/blind"].r_patience == 4
    assert workflows["own/blind"].rmax_of("g_plan") == 1
    assert workflows["search/blind"].r_patience == 2
    assert {arm.name: arm.calls_max for arm in ready.arms}["own/depth_first"] == 7
    assert {str(workflow.search) for workflow in workflows.values()} == {"depth_first", "blind"}


def test_a_workflow_file_counts_from_the_experiments_folder(prepared, tmp_path):
    shipped = (data_root() / "configs" / "workflows" / "single.yaml").read_text()
    (tmp_path / "own.yaml").write_text(shipped.replace("name: single", "name: own"))
    ready = prepared(pipelines=[{"name": "search", "workflow": "own.yaml"}])
    assert ready.arms[0].job.pinned.workflow.name == "own"


def test_rows_taken_out_of_the_policy_are_gone_and_the_others_stay(prepared):
    ready = prepared(pipelines=[{"name": "search", "without_rows": ["stagnation", "structure"]}])
    rows = [row.id for row in ready.arms[0].job.pinned.policy.rows]
    assert "stagnation" not in rows
    assert "structure" not in rows
    assert rows[-1] == "otherwise"


def test_what_the_trials_depend_on_is_in_the_definitions_hash(prepared):
    plain = prepared().header()
    assert prepared().header() == plain
    for changes in ({"seeds": {"first": 7, "count": 4}}, {"max_calls": 9}, {"models": ["simulated:muddled"]}):
        assert prepared(**changes).header().definition != plain.definition


def test_all_arms_meet_the_same_problems_and_seeds(prepared):
    """S45: informed and blind search are compared on the same problems and seeds."""
    order = [(arm.name, problem.name, seed) for arm, problem, seed in prepared().order]
    assert len(order) == len(set(order)) == 8
    assert {key[1:] for key in order if key[0] == "search/blind"} == {
        key[1:] for key in order if key[0] == "search/depth_first"
    }
