"""The table of what can be done through each face is that of the program, and each of its tests exists."""

import ast

import click
import pytest

import replan
from replan.cli.app import app
from replan.mcp.server import offered_tools
from replan.web.api_routes import addressed_operations
from tests.docs.blocks import ROOT
from tests.support.yaml_files import read_yaml

TABLE = read_yaml(ROOT / "docs" / "reference" / "functions.yaml")


def commands(group, *names):
    """Yield the names of all commands below a group."""
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
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert test in {getattr(node, "name", "") for node in tree.body}, f"{name}: {entry}"
