"""The simulated author makes the mistakes of a model in acquisition runs, as often as its profile says."""

import json

import pytest

from actors.simulated import author
from actors.simulated.author import ACQUISITION, acquisition_text

REPLIES = {
    "acquisition_plan": {"action": "ask_user", "target_field": "a.b", "query": ""},
    "acquisition_observe": {"values": [{"field": "a", "value": "7", "quote": "seven: 7"}]},
    "acquisition_reflect": {"finish": True, "assessment": "good"},
    "acquisition_decompose": {"formula": "x + y", "fields": []},
}


class Errors:
    """A profile of which only the share of wrong replies is read."""

    def __init__(self, share):
        self.acquisition_errors = share


@pytest.fixture(autouse=True)
def replies(monkeypatch):
    monkeypatch.setattr(author, "acquisition_reply", lambda role, _: json.dumps(REPLIES[role]))


def written(role, share=1.0, *, key="k"):
    return json.loads(acquisition_text(Errors(share), key, "n", {"role": role}))


def test_without_errors_the_author_writes_what_the_rules_write():
    assert {role: written(role, 0.0) for role in REPLIES} == REPLIES
    assert set(REPLIES) >= set(ACQUISITION)


def test_as_many_replies_are_wrong_as_the_profile_says():
    wrong = sum(written("acquisition_plan", 0.3, key=key) != REPLIES["acquisition_plan"] for key in range(500))
    assert wrong == pytest.approx(150, abs=30)


@pytest.mark.parametrize(
    ("role", "mistakes"),
    [
        (
            "acquisition_plan",
            [
                {"action": "search", "target_field": "no.such.field", "query": "anything"},
                {"action": "reflect", "target_field": "", "query": ""},
            ],
        ),
        (
            "acquisition_observe",
            [
                {"values": [{"field": "a", "value": "7", "quote": "Everybody knows this."}]},
                {"values": [{"field": "a", "value": "123,456,789", "quote": "seven: 7"}]},
            ],
        ),
        ("acquisition_reflect", [{"finish": False, "assessment": "good"}, {"assessment": "as simulated"}]),
        (
            "acquisition_decompose",
            [{"formula": "a * b", "fields": [{"name": "a", "label": "as simulated", "unit": "parsec"}]}],
        ),
    ],
)
def test_each_role_has_its_own_mistakes_and_half_of_them_are_of_each_sort(role, mistakes):
    made = [written(role, key=key) for key in range(200)]
    counts = [sum(each == mistake for each in made) for mistake in mistakes]
    assert sum(counts) == 200
    assert all(count > 70 for count in counts)
