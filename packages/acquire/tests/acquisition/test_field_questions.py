"""The question that is made of a field's label is a grammatical sentence, whatever the label is."""

import pytest

from replan_acquire.acquisition.answers import LABEL_MAX, make_label_question
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.profile_check import load_profile, shipped_profiles
from tests.support.question_form import one_question

COUNTED = {
    "requests per month": "What is the number of requests per month?",
    "requests that one instance serves": "What is the number of requests that one instance serves?",
    "instances that are needed": "What is the number of instances that are needed?",
    "people in the region": "What is the number of people in the region?",
    "GPUs": "What is the number of GPUs?",
    "cars sold per year": "What is the number of cars sold per year?",
    "your customers": "What is the number of your customers?",
    "number of active users": "What is the number of active users?",
    "bus stops": "What is the number of bus stops?",
    "bus": "What is the bus?",
}
"""Labels of numbers that count things."""
MEASURED = {
    "price per shop": "What is the price per shop?",
    "costs per month": "What are the costs per month?",
    "operating expenses": "What are the operating expenses?",
    "stored data": "What is the amount of stored data?",
    "data sent to the internet per month": "What is the amount of data sent to the internet per month?",
    "energy used per year": "What is the amount of energy used per year?",
    "average utilisation of an instance": "What is the average utilisation of an instance?",
    "Germany's share": "What is Germany's share?",
    "the share of the winners": "What is the share of the winners?",
    "mean distance to the sensors": "What is the mean distance to the sensors?",
    "gas price (without taxes)": "What is the gas price (without taxes)?",
    "price paid": "What is the price paid?",
    "HTTPS": "What is the HTTPS?",
    "business loss": "What is the business loss?",
    "win_rate": "What is the value of 'win_rate'?",
    "3-year growth": "What is the value of '3-year growth'?",
    "Anzahl der Geb\u00e4ude": "What is the value of 'Anzahl der Geb\u00e4ude'?",
    "how many shops there are": "Can you say how many shops there are?",
    "How high is the tax?": "How high is the tax?",
    "growth.": "What is the growth?",
}
"""Labels of numbers with a unit that measures."""
TEXTS = {
    "name of the owner": "What is the name of the owner?",
    "names of the owners": "What are the names of the owners?",
    "provider and region": "What is the provider and region?",
    "whether the roof is flat": "Can you say whether the roof is flat?",
}
CHOICES = {
    ("kind of building", ("house", "flat", "office")): "Which of these is right for the kind of building?",
    ("payment methods", ("card", "cash")): "Which of these is right for the payment methods?",
    ("Whether the market is regulated", ("yes", "no")): "Can you say whether the market is regulated?",
    ("garage with a common meter", ("Yes", "No")): "Is 'garage with a common meter' true?",
    ("Is the roof flat?", ("yes", "no")): "Is the roof flat?",
}
SPECS = [
    *((FieldSpec(label=label), True, wanted) for label, wanted in COUNTED.items()),
    *((FieldSpec(label=label, unit="EUR"), False, wanted) for label, wanted in MEASURED.items()),
    *((FieldSpec(label=label, type="text"), True, wanted) for label, wanted in TEXTS.items()),
    *((FieldSpec(label=label, type="choice", choices=each), True, wanted) for (label, each), wanted in CHOICES.items()),
    (FieldSpec(label="currency of the results", type="currency"), True, "What is the currency of the results?"),
]


@pytest.mark.parametrize(("spec", "counted", "wanted"), SPECS, ids=[each[0].label for each in SPECS])
def test_a_label_becomes_a_grammatical_question(spec, counted, wanted):
    assert make_label_question(spec, counted=counted) == wanted


@pytest.mark.parametrize(
    "label", ["x" * 500, "a\nb", "?", "s", "'", "...", "per month", "(of)", "who?\nwhat?", "\u200bfee"]
)
def test_every_label_becomes_one_sentence_that_asks(label):
    text = make_label_question(FieldSpec(label=label))
    assert one_question(text)
    assert len(text) < LABEL_MAX + 100


def test_each_label_of_a_shipped_profile_becomes_one_sentence_that_asks():
    fields = [each for name in shipped_profiles() for each in load_profile(name).profile.static_fields()]
    assert len(fields) > 15
    assert [path for path, spec in fields if not one_question(make_label_question(spec))] == []
