"""The blame for a trace is a distribution over its steps, with evidence that adds up, and the best place to go back."""

import math
import random
from itertools import pairwise

import pytest

from replan.blame.attribution import EVIDENCE_MAX, BlameWeights, blame
from replan.blame.features import FEATURES, features
from replan.blame.trace import BY_MODEL, AgentTrace, TraceStep
from replan.blame.trace_reader import shipped_weights
from tests.blame.samples import TRUE, random_trace

SHIPPED = shipped_weights()


def traces(count=60):
    source = random.Random(3)
    return [random_trace(source) for _ in range(count)]


def test_the_probabilities_are_those_of_a_conditional_logit_and_add_up():
    for trace in traces():
        found = blame(trace, TRUE)
        scores = [TRUE.score(seen) for seen in features(trace)]
        whole = sum(map(math.exp, scores))
        assert {each.number: each.probability for each in found.steps} == pytest.approx(
            {number: math.exp(score) / whole for number, score in enumerate(scores)}
        )
        assert sum(chance for _, chance in found.agents) == pytest.approx(1.0)
        assert all(first.probability >= second.probability for first, second in pairwise(found.steps))
        for agent, chance in found.agents:
            own = [each for each in found.steps if trace.steps[each.number].agent == agent]
            assert chance == pytest.approx(sum(each.probability for each in own))


def test_the_best_place_to_go_back_to_has_the_highest_chance_per_call_of_all():
    for trace in traces():
        found = blame(trace, SHIPPED)
        chances = {each.number: each.probability for each in found.steps}
        places = {}
        for number, step in enumerate(trace.steps):
            if step.kind in BY_MODEL:
                rest = range(number, len(trace.steps))
                calls = sum(trace.steps[each].kind in BY_MODEL for each in rest)
                places[number] = sum(chances[each] for each in rest) / calls
        if not places:
            assert found.redo is None
            continue
        assert found.redo.per_call == pytest.approx(max(places.values()))
        assert places[found.redo.number] == pytest.approx(max(places.values()))


def test_the_evidence_is_the_weight_against_the_mean_step():
    steps = [TraceStep("a", "agent", "I assume 3."), TraceStep("b", "agent", "Good."), TraceStep("t", "tool", "3")]
    first, *_ = blame(AgentTrace("chat messages", tuple(steps)), TRUE).steps
    assert first.number == 0
    assert [str(each) for each in first.evidence] == [
        "assumes, simulates or estimates: yes (+1.0)",
        "written by: agent (+0.8)",
    ]


def test_a_trace_of_tools_alone_has_no_place_to_go_back_to():
    found = blame(AgentTrace("chat messages", (TraceStep("t", "tool", ""),)), SHIPPED)
    assert found.redo is None
    assert found.steps[0].probability == 1.0


def test_what_the_weights_do_not_know_weighs_nothing():
    unknown = BlameWeights(name="none", traces=0, weights={"length": {"a word that never comes": 5.0}})
    found = blame(random_trace(random.Random(5), steps=4), unknown)
    assert [each.probability for each in found.steps] == [0.25] * 4
    assert all(each.evidence == () for each in found.steps)


def test_every_feature_has_a_word_for_every_step_and_the_shipped_weights_know_them_all():
    assert set(SHIPPED.weights) == set(FEATURES)
    unknown = set()
    for trace in traces(200):
        for seen in features(trace):
            assert set(seen) == set(FEATURES)
            unknown |= {(name, word) for name, word in seen.items() if word not in SHIPPED.weights[name]}
    assert unknown == set()


def test_the_evidence_is_short_and_the_strongest_comes_first():
    for trace in traces():
        for each in blame(trace, SHIPPED).steps:
            weights = [part.weight for part in each.evidence]
            assert len(weights) <= EVIDENCE_MAX
            assert weights == sorted(weights, reverse=True)


def test_of_a_long_text_the_beginning_and_the_end_are_read():
    filler = "x " * 5000
    seen = [
        features(AgentTrace("chat messages", (TraceStep("a", "agent", text),)))[0]["assumes"]
        for text in (f"I assume. {filler}", f"{filler} I assume.", f"{filler} I assume. {filler}")
    ]
    assert seen == ["yes", "yes", "no"]


def test_each_step_is_seen_with_what_comes_before_and_next():
    steps = (
        TraceStep("u", "user", "How many rows?"),
        TraceStep("a", "agent", "```python\ncount()\n```"),
        TraceStep("Computer_terminal", "tool", "exitcode: 1 (execution failed)"),
        TraceStep("a", "agent", "Sorry. I estimate 4711 rows."),
        TraceStep("a", "agent", "Final answer: 4711 rows"),
    )
    seen = features(AgentTrace("chat messages", steps))
    assert [each["before"] for each in seen] == ["nothing", "user", "agent", "tool that failed", "agent"]
    assert [each["next"] for each in seen] == ["agent", "tool that failed", "agent", "agent", "nothing"]
    assert [each["code"] for each in seen] == ["no", "yes", "no", "no", "no"]
    assert [each["turn"] for each in seen] == ["none", "0", "none", "1", "2"]
    assert [each["until_trouble"] for each in seen] == ["2", "1", "1", "none", "none"]
    assert [each["answer_words"] for each in seen] == ["0", "0", "0", "1 to 2", "1 to 2"]
    assert [each["same_agent"] for each in seen] == ["no", "no", "no", "no", "yes"]
    assert seen[4]["ends"] == "yes"
