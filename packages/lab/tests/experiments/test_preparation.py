"""Everything that an experiment's file names is found and checked before the first trial; an error is one line."""

import json

import pytest

from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem


@pytest.mark.parametrize(
    ("changes", "message"),
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
        (
            {"models": ["template:bug"], "pipelines": [{"name": "search", "feedback": "shuffled"}]},
            "need a simulated model",
        ),
        ({"pipelines": [{"name": "search", "without_rows": ["stagnatio"]}]}, "did you mean 'stagnation'?"),
        ({"pipelines": [{"name": "search", "search_config": {"r_patience": 3}}]}, "cannot use r_patience"),
        ({"pipelines": [{"name": "search", "steps": {"g_plan": {"r_patience": 3}}}]}, "cannot use r_patience"),
        ({"pipelines": [{"name": "search", "without_rows": ["structure"]}]}, "belief of policy 'belief' needs row"),
        (
            {"pipelines": [{"name": "search", "policy": "default", "without_rows": ["otherwise"]}]},
            "no row 'otherwise' that can be removed",
        ),
        ({"pipelines": [{"name": "search", "steps": {"g_plon": {"rmax": 1}}}]}, "did you mean 'g_plan'?"),
        ({"pipelines": [{"name": "search", "search_config": {"r_patience": 0}}]}, "r_patience"),
        ({"pipelines": [{"name": "search", "false_accept": 2}]}, "false_accept"),
        ({"serches": []}, "did you mean 'searches'?"),
    ],
)
def test_an_invalid_experiment_is_reported_in_one_line(prepared, changes, message):
    with pytest.raises(UsageProblem) as caught:
        prepared(**changes)
    assert "mine.yaml" in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", ["simulated:nobody", "simulated:", "scripted:nowhere.yaml", "gpt-5-mini"])
def test_an_invalid_model_is_reported_at_its_line(prepared, model):
    """Not at the line of a pipeline, since that is the same for all models."""
    with pytest.raises(UsageProblem) as caught:
        prepared(models=["simulated:base", model])
    assert caught.value.place.endswith("models[1]")
    assert "pipelines" not in str(caught.value)


def test_a_broken_line_is_an_error_or_is_skipped_with_a_notice(prepared, tmp_path):
    lines = [
        json.dumps({"id": f"p{n}", "problem": f"Fix the parser, case {n}.", "category": "bug_fix"}) for n in range(1000)
    ]
    lines[499] = '{"id": "p499", "problem": '
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    with pytest.raises(UsageProblem, match=r"many\.jsonl:500: this line is not JSON \(--skip-broken leaves it out\)"):
        prepared(problems=["many.jsonl"])
    experiment = prepared(problems=["many.jsonl"], skip_broken=True)
    assert len(experiment.problems) == 999
    left_out, by_rows = experiment.notices
    assert "many.jsonl:500" in left_out
    assert by_rows.startswith("search/blind: the search 'blind' cannot use the belief of policy 'belief'")
    assert {problem.category for problem in experiment.problems} == {"bug_fix"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("[]", "not a JSON object"),
        ('{"id": "x"}', "has no problem text"),
        ('{"problem": "  "}', "the problem is empty"),
        ('{"problem": 3}', "has no problem text"),
        ('{"id": "x", "problem": "a"}\n{"id": "x", "problem": "b"}\n', r"\.jsonl:2: two problems are named 'x'"),
    ],
)
def test_an_invalid_line_is_an_error(prepared, tmp_path, lines, message):
    (tmp_path / "some.jsonl").write_text(lines)
    with pytest.raises(UsageProblem, match=message):
        prepared(problems=["some.jsonl"])


def test_a_folder_of_problems_is_read_in_the_order_of_names(prepared, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b.md", "a.txt", "c.png"):
        (folder / name).write_text("Fix it.")
    assert [problem.name for problem in prepared(problems=["folder"]).problems] == ["a", "b"]


def test_a_pipeline_has_its_own_search_settings(prepared):
    """S40: pipeline `search` with an embedded search configuration."""
    settings = {"search_config": {"r_patience": 4, "max_total_calls": 7}, "steps": {"g_plan": {"rmax": 1}}}
    own = {"name": "own", "policy": "default", **settings}
    experiment = prepared(pipelines=[own, {"name": "search"}], baseline="search/blind")
    workflows = {arm.name: arm.request.pinned.workflow for arm in experiment.arms}
    assert workflows["own/blind"].r_patience == 4
    assert workflows["own/blind"].rmax_of("g_plan") == 1
    assert workflows["search/blind"].r_patience == 2
    assert {arm.name: arm.calls_max for arm in experiment.arms}["own/depth_first"] == 7
    assert {str(workflow.search) for workflow in workflows.values()} == {"depth_first", "blind"}


def test_a_workflow_path_is_relative_to_the_experiments_folder(prepared, tmp_path):
    shipped = (data_root() / "configs" / "workflows" / "single.yaml").read_text()
    (tmp_path / "own.yaml").write_text(shipped.replace("name: single", "name: own"))
    experiment = prepared(pipelines=[{"name": "search", "workflow": "own.yaml"}])
    assert experiment.arms[0].request.pinned.workflow.name == "own"


def test_without_rows_removes_only_the_named_rows(prepared):
    taken_out = {"name": "search", "policy": "default", "without_rows": ["stagnation", "structure"]}
    experiment = prepared(pipelines=[taken_out])
    rows = [row.id for row in experiment.arms[0].request.pinned.policy.rows]
    assert "stagnation" not in rows
    assert "structure" not in rows
    assert rows[-1] == "otherwise"


def test_the_definition_hash_covers_everything_that_trials_depend_on(prepared):
    plain = prepared().header()
    assert prepared().header() == plain
    for changes in ({"seeds": {"first": 7, "count": 4}}, {"max_calls": 9}, {"models": ["simulated:muddled"]}):
        assert prepared(**changes).header().definition != plain.definition


def test_all_arms_have_the_same_problems_and_seeds(prepared):
    """S45: informed and blind search are compared on the same problems and seeds."""
    order = [(arm.name, problem.name, seed) for arm, problem, seed in prepared().trials]
    assert len(order) == len(set(order)) == 8
    assert {key[1:] for key in order if key[0] == "search/blind"} == {
        key[1:] for key in order if key[0] == "search/depth_first"
    }
