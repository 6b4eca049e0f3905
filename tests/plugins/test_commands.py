"""Commands from installed distributions: found by entry points, and loaded when they are run or listed."""

import json
import subprocess
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from replan.cli import diagnosis
from replan.cli.app import app
from runtime.core import entry_points
from runtime.core.errors import UsageProblem
from tests.support.distributions import install

MODULE = """
import click
import replan
from replan.cli.options import under

@click.command()
@click.argument("name", default="world")
def greet(name):
    \"\"\"Greet somebody. Nothing more.\"\"\"
    click.echo(f"hello {name}")

@click.command()
@click.pass_context
@under("Operate")
def refuse(context):
    \"\"\"Refuse.\"\"\"
    raise replan.UsageProblem("no such friend", place="greet", hint="name another")

text = "no command"
"""
COMMANDS = {"greet": "polite:greet", "refuse": "polite:refuse", "words": "polite:text", "lost": "nowhere:greet"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The folder of a distribution with two commands and two that cannot be used."""
    install(monkeypatch, tmp_path / "site", "polite-words", {"replan.commands": COMMANDS}, polite=MODULE)
    return tmp_path / "site"


@pytest.fixture
def replan(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    return lambda *words: CliRunner().invoke(app, words)


def test_an_installed_command_is_run_and_listed_with_its_help(site, replan):
    assert replan("greet", "Ada").stdout == "hello Ada\n"
    assert "Greet somebody." in replan("greet", "--help").stdout
    assert "Greet somebody." in replan("help", "greet").stdout
    more = replan("help", "more").stdout
    assert "From polite-words:\n" in more
    assert "  greet       Greet somebody.\n" in more
    assert "  refuse      Refuse.\n" in more[more.index("Operate:") : more.index("Develop:")]
    rows = {row["name"]: row for row in json.loads(replan("help", "--json").stdout)["commands"]}
    assert rows["greet"] == {"name": "greet", "section": "From polite-words", "help": "Greet somebody.", "daily": False}
    assert "greet" not in replan("--help").stdout


def test_an_error_of_an_installed_command_is_one_line(site, replan):
    refused = replan("refuse")
    assert (refused.exit_code, refused.stderr) == (2, "replan: greet: no such friend (name another)\n")


@pytest.mark.parametrize(
    ("name", "cause"),
    [("words", "is of type str, and should be a click command"), ("lost", "cannot be loaded: ModuleNotFoundError")],
)
def test_a_broken_command_is_named_in_one_line_and_the_others_work(site, replan, name, cause):
    refused = replan(name)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"replan: replan.commands {name} (from polite-words): {cause}")
    assert f"replan.commands {name} (from polite-words): {cause}" in " ".join(replan("help", "more").stdout.split())
    assert replan("greet").exit_code == 0
    assert name not in app.list_commands(None)
    assert "greet" in app.list_commands(None)


def test_a_misspelt_command_is_compared_with_the_installed_ones(site, replan):
    assert "greet" in replan("gret").stderr


def test_two_distributions_with_a_command_of_one_name_are_refused_and_both_named(site, tmp_path, monkeypatch, replan):
    install(monkeypatch, tmp_path / "other", "rude-words", {"replan.commands": {"greet": "polite:refuse"}})
    assert (
        "replan.commands greet (from polite-words and rude-words): several packages have a plug-in of this name"
        in replan("greet").stderr
    )


def test_a_built_in_command_is_not_replaced_and_doctor_names_who_tries(site, tmp_path, monkeypatch, replan):
    install(monkeypatch, tmp_path / "other", "rude-words", {"replan.commands": {"version": "polite:greet"}})
    assert replan("version").stdout.startswith("replan ")
    with pytest.raises(UsageProblem) as caught:
        diagnosis._describe_plugins()
    problems = [problem.partition(": ")[::2] for problem in str(caught.value).split("; ")]
    assert (
        "replan.commands version (from rude-words)",
        "a plug-in cannot have a built-in name (rename the plug-in)",
    ) in problems
    assert {name for name, _ in problems} >= {
        f"replan.commands {name} (from polite-words)" for name in ("words", "lost")
    }


def test_no_entry_point_is_read_for_a_built_in_command(monkeypatch, replan):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(entry_points, "_points", refuse)
    assert replan("--help").exit_code == 0
    assert replan("version").exit_code == 0
    code = "import sys; sys.argv = ['replan', '--help']; import atexit; from replan.cli import main\n"
    code += "atexit.register(lambda: print('importlib.metadata' in sys.modules, file=sys.stderr)); main()"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stderr == "False\n"


@pytest.mark.parametrize("requires", ["replan==0.0.1", "replan (==0.0.1)", "replan == 0.0.1 ; python_version > '3'"])
def test_a_distribution_of_another_version_is_refused_in_one_line(tmp_path, monkeypatch, replan, requires):
    install(
        monkeypatch, tmp_path / "site", "old-words", {"replan.commands": COMMANDS}, requires=requires, polite=MODULE
    )
    done = replan("greet")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("replan: replan.commands greet (from old-words): needs replan 0.0.1, but replan ")
    assert line.endswith("(install both packages in the same version)")


def test_a_distribution_that_needs_this_version_or_a_range_is_used(tmp_path, monkeypatch, replan):
    this = metadata.version("replan")
    for number, requires in enumerate((f"replan=={this}", "replan>=0.1", "replan-house==0.1")):
        site = tmp_path / str(number)
        points = {"replan.commands": {f"greet{number}": f"polite{number}:greet"}}
        install(monkeypatch, site, f"words-{number}", points, requires=requires, **{f"polite{number}": MODULE})
        assert replan(f"greet{number}").stdout == "hello world\n"


def test_a_command_of_a_distribution_that_is_not_installed_names_what_to_install(monkeypatch, replan):
    monkeypatch.setattr(entry_points, "_points", lambda *_: ())
    done = replan("lab", "race", "problems")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("replan: `replan lab` is not installed: pip install ")
    assert "lab" in line.partition("pip install ")[2]
