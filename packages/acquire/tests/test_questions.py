"""Every question of acquisitions has the form of questions, also those of the shipped examples."""

import pytest

from packages.acquire.tests.questions import every_question
from replan.setup.installation import data_root
from tests.cli.test_example_questions import check_questions
from tests.support.question_form import breaches

DRAWN = list(every_question())
DOCUMENTS = data_root() / "docs" / "examples"
EXAMPLES = {"market": ("market_size", "EV charging in Portugal"), "cloud": ("cloud_cost", "A shop")}


@pytest.mark.parametrize("drawn", DRAWN, ids=[f"{each.part}: {each.when}" for each in DRAWN])
def test_every_question_has_the_form(drawn):
    assert breaches(drawn.form) == []


def test_a_field_with_a_default_is_asked_for_with_low_priority():
    found = {drawn.when: drawn.form.priority for drawn in DRAWN if drawn.form.priority != "normal"}
    assert found == {"`compute.utilisation` is wanted of a person": "low"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_question_of_a_shipped_example_has_the_form(replan, tmp_path, monkeypatch, name):
    """Each question is declined in turn, so that all that follow are asked too."""
    monkeypatch.chdir(tmp_path)
    command = ("acquire", *EXAMPLES[name], "--docs", DOCUMENTS / name, "-m", "quoting:")
    check_questions(replan, tmp_path, command, 1)
