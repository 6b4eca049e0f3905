"""Weights fitted to labelled traces are the maximum of their likelihood, calibrated, and near the true ones."""

import math
import random
from statistics import fmean

import pytest

from replan.blame.attribution import VALUES_MAX, BlameWeights
from replan.blame.features import features
from replan.blame.fit import RIDGE, Labelled, calibration_error, fitted, judged
from replan.learning.blame_estimate import estimate_blame
from tests.blame.samples import TRUE, drawn, entropy


def labelled(traces):
    return [Labelled(features(trace), trace.mistake) for trace in traces]


@pytest.fixture(scope="module")
def many():
    return labelled(drawn(600))


def test_the_fit_is_a_maximum_of_the_penalised_likelihood(many):
    """Moving any of its weights lowers it. They are rounded to a thousandth, which moves it by next to nothing."""
    some = many[:60]
    weights = fitted(some, "mine")

    def value(table):
        model = BlameWeights(name="x", traces=0, weights=table)
        squares = sum(weight * weight for words in table.values() for weight in words.values())
        return math.fsum(judged(some, model).log_scores) - RIDGE / 2 * squares

    best = value(weights.weights)
    for name in ("assumes", "kind", "place", "numbers"):
        for word in weights.weights[name]:
            for move in (-0.05, 0.05):
                words = {**weights.weights[name], word: weights.weights[name][word] + move}
                assert value({**weights.weights, name: words}) < best


def test_weights_fitted_to_drawn_mistakes_forecast_others_nearly_as_well_as_the_true_ones(many):
    weights = fitted(many, "mine")
    fresh = drawn(600, seed=2)
    ours, best = fmean(judged(labelled(fresh), weights).log_scores), fmean(judged(labelled(fresh), TRUE).log_scores)
    uniform = fmean(-math.log(len(trace.steps)) for trace in fresh)
    assert best - ours < 0.25 * (best - uniform)
    perfect = fmean(entropy(TRUE.probabilities(features(trace))) for trace in fresh)
    assert best == pytest.approx(perfect, abs=0.1)


def test_fitted_probabilities_are_calibrated(many):
    weights = fitted(many, "mine")
    every = [
        (chance, number == case.mistake)
        for case in labelled(drawn(600, seed=4))
        for number, chance in enumerate(weights.probabilities(case.seen))
    ]
    assert calibration_error(every) < 0.03


def test_a_fit_stays_near_its_beginning_where_there_is_little_to_learn(many):
    one = fitted(many[:1], "mine", TRUE)
    assert one.traces == 1
    for name, words in TRUE.weights.items():
        for word, weight in words.items():
            assert one.weights[name][word] == pytest.approx(weight, abs=0.2)
    assert fitted(many[:1], "mine", TRUE, ridge=1e6).weights["assumes"]["yes"] == pytest.approx(1.5, abs=0.001)


def test_a_fit_that_does_not_converge_is_an_error(many, monkeypatch):
    monkeypatch.setattr("replan.blame.fit._ROUNDS", 2)
    with pytest.raises(ArithmeticError, match="no convergence in 2 iterations"):
        fitted(many, "mine")


def test_a_prior_with_too_many_values_for_the_traces_is_an_error(many):
    values = {f"v{number}": 1.0 for number in range(VALUES_MAX)}
    with pytest.raises(ValueError, match="'length' has more than 50 values"):
        fitted(many[:1], "mine", BlameWeights(name="full", traces=0, weights={"length": values}))


def test_nothing_is_fitted_to_no_trace():
    with pytest.raises(ValueError, match="no labelled traces"):
        fitted([], "mine")


@pytest.mark.parametrize(
    ("chances", "error"),
    [
        ([(1.0, True), (0.0, False)], 0.0),
        ([(0.95, True), (0.95, False)], 0.45),
        ([(0.25, True), (0.25, False), (0.25, False), (0.25, False)], 0.0),
        ([], 0.0),
    ],
)
def test_the_calibration_error_is_the_mean_distance_in_bins(chances, error):
    assert calibration_error(chances) == pytest.approx(error)


def test_an_estimate_is_judged_by_questions_that_it_has_not_seen_and_convinces_only_if_it_helps():
    other = BlameWeights(name="wrong", traces=0, weights={"kind": {"tool": 2.0, "agent": -1.0}})
    found = estimate_blame(drawn(200), other, "mine")
    assert found.convincing
    assert found.used + found.after.traces == 200
    assert found.after.hits > found.before.hits
    already = estimate_blame(drawn(200), TRUE, "mine")
    assert not already.convincing
    few = estimate_blame(drawn(20), other, "mine")
    assert few.improvement.groups < 20
    assert not few.convincing


def test_unlabelled_traces_are_left_out_of_an_estimate():
    plain = [type(trace)(trace.format, trace.steps) for trace in drawn(5)]
    found = estimate_blame(plain, TRUE, "mine")
    assert (found.used, found.after.traces, found.weights) == (0, 0, None)
    assert not found.convincing


def test_the_order_of_the_traces_does_not_change_the_weights(many):
    shuffled = many[:100]
    random.Random(1).shuffle(shuffled)
    assert fitted(shuffled, "mine") == fitted(many[:100], "mine")
