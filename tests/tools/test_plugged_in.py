"""Sorts of tools that installed distributions add: pinned with their settings, and called like Python functions."""

import json

import pytest

from actors.run.tools import ToolOutcome
from actors.tools.tools_file import TOOL_PLUGINS
from actors.tools.uses import use_text
from runtime.core import entry_points
from runtime.core.errors import UsageProblem
from tests.support.distributions import install

MODULE = """
def check(settings):
    if "unit" not in settings:
        raise ValueError("there is no unit")
    if settings["unit"] == "odd":
        raise KeyError("odd")

async def call(settings, workspace, *, file, count=1):
    if count > 5:
        raise TimeoutError("too many")
    (workspace / "made").touch()
    return f"{count} {settings['unit']} {file.relative_to(workspace)}"
"""
SORTS = {"weigh": "scales", "half": "scales:check", "lost": "nowhere", "agent": "scales"}
TOOLS = """
tools:
  t:
    plugin: weigh
    settings: {unit: kg, more: [1]}
    parameters: {file: {type: path}, count: {type: integer, minimum: 1, maximum: 9}}
    repeatable: true
generators: {WeighGenerator: {tool: t, with: {file: a/b, count: 3}}}
"""


@pytest.fixture
def site(tmp_path_factory, monkeypatch):
    """Install a distribution with a sort of tools, and with sorts that cannot be used."""
    folder = tmp_path_factory.mktemp("site")
    install(monkeypatch, folder / "scales", "kitchen-scales", {"replan.tools": SORTS}, scales=MODULE)
    return folder


async def test_a_tool_of_an_installed_sort_gets_its_settings_and_its_arguments(bench, site):
    toolset = bench.pin(TOOLS)
    done = await bench.call(toolset, file="a/b", count=3)
    assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "3 kg a/b")
    assert (bench.workspace / "made").exists()
    done = await bench.call(toolset, file="a/b", count=6)
    assert (done.outcome, done.reason) == (ToolOutcome.TRANSIENT, "TimeoutError: too many")
    shown = use_text(toolset.generators["WeighGenerator"], toolset)
    assert shown == """t: weigh {"more":[1],"unit":"kg"} with {"count": 3, "file": "a/b"}"""
    assert type(toolset).model_validate_json(toolset.model_dump_json()) == toolset


async def test_a_run_whose_package_is_gone_gets_a_permanent_failure(bench, site, monkeypatch):
    toolset = bench.pin(TOOLS)
    monkeypatch.setattr(entry_points, "_points", lambda *_: ())
    done = await bench.call(toolset, file="a/b", count=1)
    assert (done.outcome, done.reason) == (
        ToolOutcome.PERMANENT,
        "no installed package provides tools of the sort 'weigh'",
    )


@pytest.mark.parametrize(
    ("plugin", "settings", "problem"),
    [
        (
            "weight",
            {},
            "tools.t.plugin: no installed package provides tools of the sort 'weight' (did you mean 'weigh'?)",
        ),
        (
            "agent",
            {},
            "tools.t.plugin: no installed package provides tools of the sort 'agent' (known: half, lost, weigh)",
        ),
        (
            "half",
            {},
            (
                "tools.t.plugin: replan.tools half (from kitchen-scales): "
                "is the function check(settings), and should be a module"
            ),
        ),
        ("lost", {}, "tools.t.plugin: replan.tools lost (from kitchen-scales): cannot be loaded: ModuleNotFoundError"),
        ("weigh", {}, "tools.t.settings: there is no unit"),
        ("weigh", {"unit": "odd"}, "tools.t.settings: KeyError: 'odd'"),
    ],
)
def test_a_sort_or_settings_that_cannot_be_used_are_refused_with_the_line(bench, site, plugin, settings, problem):
    with pytest.raises(UsageProblem) as caught:
        bench.pin(f"tools:\n  t:\n    plugin: {plugin}\n    settings: {json.dumps(settings)}\n")
    assert f"tools.yaml:{4 if 'tools.t.settings' in problem else 3} {problem}" in str(caught.value)


def test_a_sort_is_neither_taken_twice_nor_built_in(bench, site, monkeypatch):
    install(monkeypatch, site / "other", "shop-scales", {"replan.tools": {"weigh": "scales"}})
    with pytest.raises(
        UsageProblem,
        match=r"weigh \(from kitchen-scales and shop-scales\): several packages have a plug-in of this name",
    ):
        bench.pin(TOOLS)
    assert any(
        "agent (from kitchen-scales): a plug-in cannot have a built-in name" in line for line in TOOL_PLUGINS.problems()
    )
