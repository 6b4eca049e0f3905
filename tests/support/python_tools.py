"""Tools that are Python functions, written beside a test."""


def execution_options(folder, tools, actions):
    """Write a tools file and its module `actions.py` into a folder; return keywords for `replan.execute`."""
    (folder / "tools.yaml").write_text(tools)
    (folder / "actions.py").write_text(actions)
    (folder / "work").mkdir()
    folders = {"tools": folder / "tools.yaml", "workspace": folder / "work", "home": folder / "home"}
    return {**folders, "model": "template:bug", "approve": "none"}
