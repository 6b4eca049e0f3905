"""Tools that are Python functions, written beside a test, and a plan of one step that they can do."""

STEP = {
    "step_id": "make",
    "name": "Make it",
    "generator": "maker",
    "guard": "dynamic_test",
    "retry_budget": 2,
    "dependencies": [],
    "preconditions": ["start"],
    "effects": ["made"],
}
PLAN = {
    "plan_id": "p1",
    "initial_state": ["start"],
    "goal_state": ["made"],
    "total_retry_budget": 4,
    "steps": [STEP],
}


def execution_options(folder, tools, actions):
    """Write a tools file and its module `actions.py` into a folder; return keywords for `replan.execute`."""
    (folder / "tools.yaml").write_text(tools)
    (folder / "actions.py").write_text(actions)
    (folder / "work").mkdir()
    folders = {"tools": folder / "tools.yaml", "workspace": folder / "work", "home": folder / "home"}
    return {**folders, "model": "template:bug", "approve": "none"}
