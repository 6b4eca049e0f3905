"""The reader finds the demands that were marked by hand, and names hardly any that is none."""

import pytest

from actors.demands.sentences import plain
from actors.values.requirements import KINDS
from tests.demands.evaluation import FOLDER, measured, sets, shares, texts

LEAST = {
    "development": (0.95, 0.95),
    "second_development": (0.96, 0.96),
    "third_development": (0.95, 0.95),
    "fourth_development": (0.95, 0.94),
    "held_out": (0.9, 0.9),
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


def test_there_are_enough_texts_and_each_has_a_name():
    assert (FOLDER / "development.yaml").exists()
    for name in sets():
        names = [text["id"] for text in texts(name)]
        assert len(names) >= 60
        assert len(names) == len(set(names))
