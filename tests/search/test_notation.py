"""The notation of searches: each form is normalised, and each error is reported in one line."""

import pytest

from actors.config.workflow import Workflow
from actors.search.notation import NUMBERS, SINGLE_BRANCH, UnknownSearch, read_search
from runtime.core.errors import UsageProblem
from tests.support.worlds import SEEDS, pinned


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("depth_first", "depth_first"),
        ("beam", "beam:4"),
        ("beam:7", "beam:7"),
        ("beam:4x1", "beam:4"),
        ("beam:4x2", "beam:4x2"),
        ({"name": "beam", "width": 3, "branching": 2}, "beam:3x2"),
        ({"name": "best_of"}, "best_of:4"),
        ({"name": "iterative_deepening", "calls": 12}, "iterative_deepening:12"),
        ("iterative_deepening", "iterative_deepening"),
        ("restart:3", "restart:3"),
    ],
)
def test_every_form_of_a_search_becomes_one_text_with_all_its_numbers(written, normalised):
    """S9: a run keeps its numbers, whatever the defaults of a later release are."""
    assert str(read_search(written)) == normalised
    assert pinned(SEEDS, search=written).workflow.search == normalised


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("beem:4", "should be a search such as beam:4"),
        ("beam:0", "not a valid form of the search beam"),
        ("beam:2x2x2", "not a valid form of the search beam"),
        ("linear:2", "too many numbers"),
        ("restart:2x2", "too many numbers"),
        ("beam:1000", "from 1 to 256, not 1000"),
        ({"width": 4}, "needs the key `name`"),
        ({"name": "beam", "widht": 4}, "has no number called 'widht'"),
        ({"name": "beam", "width": True}, "whole number"),
        ({"name": "beam", "width": "4"}, "whole number"),
        (None, "should be a search"),
        (["beam"], "should be a search"),
    ],
)
def test_an_invalid_search_is_refused_in_one_line(written, message):
    with pytest.raises(UnknownSearch, match=message):
        read_search(written)
    with pytest.raises(UsageProblem, match=message):
        Workflow.model_validate({"name": "w", "action_pairs": {"a": {"generator": "g", "guard": "h"}}}).changed(
            search=written
        )


@pytest.mark.parametrize("name", NUMBERS)
def test_every_search_can_be_pinned_and_read_back(name):
    config = pinned(SEEDS, search=name)
    restored = type(config).model_validate_json(config.model_dump_json())
    assert restored.search is config.search
    assert restored.strategy == config.strategy
    assert config.strategy.compares == (name not in SINGLE_BRANCH)
