"""Every question of a shipped example, problem and profile has the form; what asks none is counted too."""

import pytest

from replan.setup.installation import data_root
from tests.support.question_form import breaches_below

PROBLEMS = sorted((data_root() / "configs" / "problems").glob("*.md"))
COMMANDS = {
    **{f"problem {path.stem}": (("run", path, "-m", "template:bug", "--no-input"), 0) for path in PROBLEMS},
    **{f"example {name}": (("execute", "--example", name, "--workspace", "work"), 0) for name in ("detour", "repair")},
}
ANSWERS = 12
"""The largest number of answers that one run is given."""


@pytest.mark.parametrize(("command", "least"), COMMANDS.values(), ids=COMMANDS)
def test_every_question_of_a_shipped_example_has_the_form(replan, tmp_path, monkeypatch, command, least):
    monkeypatch.chdir(tmp_path)
    check_questions(replan, tmp_path, command, least)


def check_questions(replan, tmp_path, command, least):
    """Run a command and decline its questions in turn; check that there are enough, and that each has the form."""
    result = replan(*command, *([] if "--no-input" in command or "execute" in command else ["--no-input"]))
    for _ in range(ANSWERS):
        if result.exit_code != 6:
            break
        assert replan("answer", "--last", "--decline").exit_code == 0
        result = replan("resume", "--last", "--no-input")
    assert result.exit_code in (0, 3)
    breaches, asked = breaches_below(tmp_path)
    assert breaches == []
    assert asked >= least
