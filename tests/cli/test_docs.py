"""The page about the command line names every command and option, and links every exit code."""

import re

import click

from replan.cli.app import app
from replan.cli.exits import Exit
from tests.cli.conftest import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "cli.md").read_text(encoding="utf-8")


def commands(group, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def test_every_command_and_option_is_on_the_page():
    for path, command in commands(app):
        assert path[-1] in PAGE, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert any(f"`{option}`" in PAGE for option in parameter.opts), (path, parameter.opts)


def test_every_exit_code_is_on_the_page_that_it_leads_to():
    assert "(exit-codes.md)" in PAGE
    codes = re.findall(r"^\| (\d+) \|", (REFERENCE / "exit-codes.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(code) for code in codes} == {int(code) for code in Exit}


def test_commands_have_help_texts_that_begin_with_a_sentence():
    for path, command in commands(app):
        assert re.match(r"[A-Z][^\n]*\.", command.help or ""), path
