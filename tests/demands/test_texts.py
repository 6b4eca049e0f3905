"""The reader finds the demands that were marked by hand, and names hardly any that is none."""

import pytest

from actors.demands.blocks import plain
from actors.demands.reader import is_policy
from actors.values.requirements import KINDS
from tests.demands.evaluation import FOLDER, measured, sets, shares, texts

LEAST = {
    "development": (0.95, 0.93),
    "second_development": (0.95, 0.93),
    "third_development": (0.91, 0.94),
    "fourth_development": (0.92, 0.91),
    "held_out": (0.88, 0.89),
}
"""The least recall and precision of each set."""


@pytest.mark.parametrize("name", sets())
def test_the_reader_finds_the_demands_of_a_set_and_hardly_more(name):
    print(shares(name))
    recall, precision = LEAST[name]
    assert measured(name).recall >= recall, measured(name).missed
    assert measured(name).precision >= precision, measured(name).wrong


@pytest.mark.parametrize("name", sets())
def test_the_demands_by_hand_stand_in_their_texts(name):
    for text in texts(name):
        folded = " ".join(plain(text["text"]).split())
        for demand in text["demands"]:
            assert " ".join(plain(demand["quote"]).split()) in folded, (text["id"], demand["quote"])
            assert demand["kind"] in KINDS


def test_no_text_that_asks_for_work_is_taken_for_a_policy():
    assert not [text["id"] for name in sets() for text in texts(name) if is_policy(text["text"])]


def test_there_are_enough_texts_and_each_has_a_name():
    assert (FOLDER / "development.yaml").exists()
    for name in sets():
        names = [text["id"] for text in texts(name)]
        assert len(names) >= 60
        assert len(names) == len(set(names))
