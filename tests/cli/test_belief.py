"""A workflow that a belief policy does not fit is refused in one line, with the file, the line and what to do."""

import pytest

WORKFLOW = """name: mine
policy: belief
search: depth_first
action_pairs:
  g_strategy: {guard: strategy_valid, generator: LLMJsonGenerator}
  g_plan: {guard: plan_medium, generator: LLMPlanGenerator, requires: [g_strategy]}
"""
MANY = "".join(f"  s{number}: {{guard: strategy_valid, generator: LLMJsonGenerator}}\n" for number in range(8))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("search: depth_first", "search: beam:3"), "'belief' cannot be used with the search 'beam'"),
        (("search: depth_first", "r_patience: 3"), "'belief' cannot use r_patience"),
        (("requires: [g_strategy]}", "requires: [g_strategy], r_patience: 3}"), "'belief' cannot use r_patience"),
        (
            ("action_pairs:\n", f"action_pairs:\n{MANY}"),
            "allows at most 8 steps that call a model; this workflow has 10",
        ),
    ],
)
def test_what_a_belief_does_not_fit_is_refused(replan, problem, tmp_path, change, says):
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW.replace(*change))
    done = replan("run", problem, "-w", path, "-m", "template:bug", "--dry-run")
    assert done.exit_code == 2
    assert says in done.stderr
    assert f"{path}:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_search_given_as_an_option_is_checked_too(replan, problem, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW)
    assert replan("run", problem, "-w", path, "-m", "template:bug", "--dry-run").exit_code == 0
    done = replan("run", problem, "-w", path, "-m", "template:bug", "--search", "restart", "--dry-run")
    assert (done.exit_code, "'belief' cannot be used with the search 'restart'" in done.stderr) == (2, True)


def test_a_misnamed_row_of_a_belief_is_reported_with_its_place(replan, tmp_path):
    shown = replan("policy", "show", "belief")
    assert shown.exit_code == 0
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nrows: [{id: otherwise, why: x, level: local_retry}]\nbelief:\n  rules: [otherwize]\n"
        "  causes: {other: 1, unsolvable: 0.1}\n  easy: 0.9\n"
        "  chances: {other: [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]}\n"
        "  codes: {other: {otherwise: 1}, unsolvable: {otherwise: 1}}\n  repeats: {other: 0.5, unsolvable: 0.5}\n"
    )
    done = replan("policy", "check", path)
    assert done.exit_code != 0
    assert "there is no row 'otherwize'" in done.stdout + done.stderr
    assert "did you mean 'otherwise'" in done.stdout + done.stderr
