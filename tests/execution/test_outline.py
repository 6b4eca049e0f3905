"""The outline of an execution for people: how a step is headed, and how its fields are laid out."""

import pytest

from actors.execution.outline import outline_lines, outline_of
from tests.execution.stage import Stage, plan, step


def shown(**fields):
    """Return the outline of a plan of one step."""
    return list(outline_lines(outline_of(Stage(plan(step("a", "start", "goal", **fields))).config)))


@pytest.mark.parametrize(("name", "title"), [("a", "1. a"), ("Mend the login", "1. a  Mend the login")])
def test_a_step_is_headed_by_its_id_and_by_a_name_that_says_more(name, title):
    assert title in [line.plain for line in shown(name=name)]


def test_a_long_field_of_a_step_goes_on_below_its_text():
    fields = [line for line in shown() if len(line.spans) == 3]
    assert [line.spans[1].text.strip() for line in fields] == ["runs", "check", "tries"]
    assert all(line.hang == len(line.spans[0].text + line.spans[1].text) for line in fields)
