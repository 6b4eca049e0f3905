"""Each example of a help text of the laboratory has options that its command reads; the quick ones are run."""

import re
import shlex

import pytest
from click.testing import CliRunner

from packages.lab.tests.pddl.worlds import BLOCKS, SWAP, TWO
from replan.cli.app import app
from replan_lab.commands import lab
from tests.cli.test_docs import commands
from tests.long.cli.test_help_examples import options_read

LINES = sorted(
    {
        re.split(r" {3,}|  #| \| ", line)[0]
        for command in (lab, *(command for _, command in commands(lab)))
        for line in re.findall(r"^  (\S.*)$", command.epilog or "", re.MULTILINE)
    }
)


@pytest.mark.parametrize("line", LINES)
def test_the_options_of_an_example_are_read(line):
    program, *words = shlex.split(line)
    assert program == "replan"
    options_read(words)


def test_an_example_of_checking_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"domain.pddl": BLOCKS, "problem.pddl": TWO, "plan.txt": SWAP}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    [line] = [line for line in LINES if "pddl check" in line and "--json" in line]
    assert CliRunner().invoke(app, shlex.split(line)[1:]).exit_code == 0
