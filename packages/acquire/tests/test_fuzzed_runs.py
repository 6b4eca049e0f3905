"""No reply of a model ends an acquisition by a bug. `tests/replies/test_fuzzed_runs.py` tests the other kinds."""

import random
from collections import Counter

import pytest

from packages.acquire.tests.acquisition import stage as acquisition
from packages.acquire.tests.acquisition.states import BOOT, SMALL
from replan_acquire.acquisition.prepare import PreparedAcquisition
from replan_acquire.acquisition.profile import Profile
from tests.replies.hostile_replies import hostile
from tests.replies.test_fuzzed_runs import broken, check_endings, unread_texts  # noqa: F401 -- a fixture

PROFILE = Profile.model_validate(
    {**SMALL, "fields": {**SMALL["fields"], "market.kiosks": {
        "label": "kiosks", "source": "components", "decomposition": "generated"}}}
)  # fmt: skip
PASSAGE = (
    "There are about 7.5 shops and 1,200 people in Portugal; each makes 12 visits per year and pays 3 EUR per shop."
)


def acquire(dice, sent):
    """Play one acquisition with hostile replies."""
    base = acquisition.prepared()
    config = base.pinned.model_copy(update={"profile": PROFILE})
    stage = acquisition.Stage(PreparedAcquisition("goal", config, base.limits, dice.choice(({}, BOOT)), "random"))
    for _ in range(600):
        if stage.finished:
            return str(stage.finished.outcome)
        work = dice.choice([*stage.work.values()])
        if work.address == "user":
            stage.answer(dice.choice(("EUR", "7", "Portugal", "12 kWh"))) if dice.random() < 0.7 else stage.decline()
        elif work.address.startswith("tool:"):
            stage.found(*([PASSAGE] * dice.randint(0, 2)))
        elif work.address == "model":
            sent[stage.request.purpose] += 1
            stage.reply(hostile(dice, good_reply(dice, stage.request)))
        else:
            stage.wake(work.request_id)
    raise AssertionError("the run does not end")


def good_reply(dice, request):
    """Return a reply that an acquisition could use."""
    path = dice.choice(("market.shops", "market.kiosks", "market.visits.people", "market.visits.rate"))
    match request.purpose:
        case "plan":
            action = dice.choice(("search", "search", "search", "ask_user", "reflect", "calculate", "finish"))
            return {
                "action": action,
                "target_field": path,
                "query": "shops",
                "question": "how many?",
                "reasoning": "so",
            }
        case "observe":
            keys = ("field", "value", "unit", "quote", "source", "confidence")
            rows = (
                ("market.shops", "7.5", "shop", PASSAGE, "doc1.md", 0.9),
                ("market.visits.people", 1200, "", "1,200 people in Portugal", "doc1.md", 1),
                ("market.visits.rate", "12", "1/year", "12 visits per year", "doc1.md", 0.2),
            )
            return {"values": [dict(zip(keys, row, strict=True)) for row in rows[: dice.randint(1, 3)]]}
        case "decompose":
            fields = [{"name": name, "label": name, "unit": "", "words": [name], "source": "web"} for name in "xy"]
            fields[0] |= {"minimum": 0, "maximum": 100}
            return {"formula": dice.choice(("x * y", "x / y", "(x + y) * 3")), "fields": fields}
        case _:
            return {"next_field": path, "finish": dice.random() < 0.3, "caveats": ["doubtful"]}


def test_no_reply_of_a_model_ends_a_run_by_a_bug_and_no_reader_raises(unread):
    check_endings("acquisition", acquire, 1, unread)


def test_a_value_that_cannot_be_read_is_not_taken_and_the_run_goes_on(monkeypatch, unread):
    """As `yottaparsec^9` was: the rejection names the field, and of the error its type alone."""
    base = acquisition.prepared()
    config = base.pinned.model_copy(update={"profile": Profile.model_validate(SMALL)})
    stage = acquisition.Stage(PreparedAcquisition("goal", config, base.limits, BOOT, "random"))
    stage.plan("search", "market.shops", query="shops")
    stage.found(PASSAGE)
    with monkeypatch.context() as patch:
        patch.setattr("replan_acquire.acquisition.observation.read_stated_quantity", broken)
        stage.observed(("market.shops", "7.5", "yottaparsec^9", "about 7.5 shops", "doc1.md"))
        [rejection] = stage.planner.rejections
    assert (rejection.path, rejection.code) == ("market.shops", "unreadable")
    assert rejection.message == (
        "Replan could not read the value of market.shops (OverflowError); write it in a simpler form."
    )
    assert stage.finished is None
    assert {what for what, _ in unread} == {"the value of market.shops"}


@pytest.mark.parametrize(
    ("inside", "purpose", "what"),
    [
        ("replan_acquire.acquisition.replies.PlannerDecision.model_validate", "plan", "the decision"),
        ("replan_acquire.acquisition.observation.schema_of", "observe", "the values"),
        ("replan_acquire.acquisition.replies.check_formulas", "decompose", "the components and their formula"),
        ("replan_acquire.acquisition.replies.Reflection", "reflect", "the review"),
        ("runtime.models.replies._read_value", "plan", "the reply"),
    ],
)
def test_each_reader_of_an_acquisition_rejects_what_it_raises_at(inside, purpose, what, monkeypatch, unread):
    """The model is asked once more and told what was not read; then the run goes on without the reply."""
    dice, sent = random.Random(purpose), Counter()
    monkeypatch.setattr(inside, broken)
    for _ in range(12):
        assert acquire(dice, sent) in ("incomplete", "success", "budget_exhausted")
    assert sent[purpose] > 1
    assert what in {about for about, _ in unread}
