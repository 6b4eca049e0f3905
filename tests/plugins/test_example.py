"""The plug-ins in `docs/examples/plugins`, installed as a user would install them: through their entry points."""

import ast
import importlib
import tomllib

import anyio
import anyio.lowlevel
import pytest

import replan
from replan.setup.plugins import GENERATOR_PLUGINS, GUARD_PLUGINS
from tests.support.distributions import install
from tests.tidy.source import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "plugins"
PROBLEM = (ROOT / "configs" / "problems" / "slow_search.md").read_text(encoding="utf-8")
FILES = ["benches/search.rs", "src/catalogue/facets.rs", "src/rank/score.rs", "tests/search_ranking.rs"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder with the files that the problem names; it is the current folder."""
    for name in FILES:
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The example's module, in a folder of packages with the entry points that its `pyproject.toml` declares."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = (EXAMPLE / "repository_plugins.py").read_text(encoding="utf-8")
    install(monkeypatch, tmp_path / "site", project["name"], project["entry-points"], repository_plugins=module)
    return importlib.import_module("repository_plugins")


def solve():
    return replan.solve(PROBLEM, workflow=str(EXAMPLE / "workflow.yaml"), model="template:bug", home=replan.MEMORY)


def test_the_example_solves_a_problem(installed, repository):
    assert GUARD_PLUGINS.problems() == GENERATOR_PLUGINS.problems() == []
    result = solve()
    assert result.succeeded
    assert result.calls == 1
    facts = result.path[0].value
    assert sorted(facts["mentioned_files"]) == FILES
    assert "GET /search" in facts["apis_involved"]


def test_a_file_that_does_not_exist_is_rejected(installed, repository):
    (repository / FILES[0]).unlink()
    result = solve()
    assert not result.succeeded
    assert any(finding.code == "house.file_missing" for finding in result.findings)


def judge(module, config, artifact='{"mentioned_files": ["a.py", 3]}'):
    async def run():
        await anyio.lowlevel.checkpoint()
        value = replan.Artifact(artifact_id="a", step="g", content=artifact)
        return await module.make_files_exist(config)(value, replan.Context(specification=""))

    return anyio.run(run, backend="trio")


def test_the_guard_has_a_verdict_for_any_artifact(installed, repository):
    assert judge(installed, {}, "no JSON").passed
    assert judge(installed, {}, '{"mentioned_files": 3}').passed
    assert not judge(installed, {}).passed


def test_a_look_up_that_takes_too_long_is_a_finding(installed, repository, monkeypatch):
    async def hangs(*_, **__):
        await anyio.sleep_forever()

    monkeypatch.setattr(installed.anyio.to_thread, "run_sync", hangs)
    assert [finding.code for finding in judge(installed, {"seconds": 0.01}).findings] == ["tool.transient"]


def test_a_folder_that_does_not_exist_is_bad_configuration(installed):
    with pytest.raises(replan.UsageProblem, match="files_exist: root: nowhere is not a folder"):
        installed.make_files_exist({"root": "nowhere"})


def test_the_example_names_no_runner():
    tree = ast.parse((EXAMPLE / "repository_plugins.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"json", "re", "collections.abc", "pathlib", "typing", "anyio", "anyio.to_thread", "replan"}
