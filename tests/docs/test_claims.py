"""Each claim about the program and each function of the program leads to tests that exist."""

import ast
import re
from functools import cache

import click
import pytest

import replan
from replan.cli.app import app
from replan_server.mcp.server import offered_tools
from replan_server.web.api_routes import addressed_operations
from tests.docs.blocks import ROOT
from tests.support.yaml_files import read_yaml

CLAIMS = read_yaml(ROOT / "docs" / "reference" / "claims.yaml")


@cache
def functions(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {each.name for each in ast.walk(tree) if isinstance(each, kinds)}


@pytest.mark.parametrize("section", CLAIMS)
def test_each_claim_has_tests_that_exist(section):
    assert len(CLAIMS[section]) >= 5
    for entry in CLAIMS[section]:
        assert entry["claim"]
        assert entry["tests"]
        for name in entry["tests"]:
            file, _, test = name.partition("::")
            assert test in functions(file), entry["claim"]


def test_each_guarantee_on_the_page_is_a_claim():
    """The page begins with the guarantees; the words in bold type begin a claim, so each guarantee has its tests."""
    page = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
    guarantees = re.findall(r"^- \*\*(.+?)\.?\*\*", page.partition("\n## ")[0], re.MULTILINE)
    claims = [entry["claim"] for entry in CLAIMS["Promises"]]
    assert len(guarantees) >= 8
    assert [text for text in guarantees if not any(claim.startswith(text) for claim in claims)] == []


TABLE = read_yaml(ROOT / "docs" / "reference" / "functions.yaml")


def commands(group, *names):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name))


FACES = {
    "command": lambda: commands(app),
    "http": lambda: (f"{each.method} {each.path}" for _, each in addressed_operations()),
    "mcp": lambda: offered_tools(allow_execute=True),
    "python": lambda: (
        name for name in replan.__all__ if not isinstance(getattr(replan, name), type) and name.islower()
    ),
}


@pytest.mark.parametrize("face", FACES)
def test_each_function_of_the_program_has_a_row_and_each_row_is_one_or_says_why_it_is_gone(face):
    there = {name for name, entry in TABLE[face].items() if isinstance(entry, str)}
    gone = {name: entry["gone"] for name, entry in TABLE[face].items() if name not in there}
    assert there == set(FACES[face]())
    assert all(gone.values())


@pytest.mark.parametrize("face", FACES)
def test_each_test_of_the_table_exists(face):
    for name, entry in TABLE[face].items():
        if isinstance(entry, str):
            file, _, test = entry.partition("::")
            path = ROOT / file if file.startswith("packages/") else ROOT / "tests" / file
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert test in {getattr(node, "name", "") for node in tree.body}, f"{name}: {entry}"
