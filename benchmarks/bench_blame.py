"""Blame on labelled failures that nobody here wrote: Who&When, 184 logs of agents with the decisive step marked.

    python benchmarks/bench_blame.py FOLDER [--fit]

FOLDER is a checkout of https://github.com/ag2ai/Agents_Failure_Attribution (MIT); nothing of it is kept here. Each
log is judged by weights that were fitted to the logs of all other questions, of both halves of the data; and, in a
second measurement, by weights fitted to a random half of the questions; and, in a third one, by weights fitted to the
other kind of logs alone. Compared with a naive Bayes of the same
features, with a fit of the kinds of evidence that the belief of a run has (who wrote it, at which place, and what
came next), and with the best fixed step. With `--fit`, the weights fitted to all logs are written as
configs/blame/who_and_when.yaml. Prints a table, writes results/blame.json.
"""

import argparse
import math
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml
from common import provenance_of, table, write

from replan.blame.attribution import BlameWeights, blame
from replan.blame.features import FEATURES, features
from replan.blame.fit import Labelled, calibration_error, fitted
from replan.blame.trace_reader import traces_in
from replan.experiments.tables import wilson_interval

SETS = {"automated": "Algorithm-Generated", "hand-crafted": "Hand-Crafted"}
BELIEF = ("kind", "turn", "next")
"""The features that say what the belief of a run knows too: whose step, at which place, and what followed it."""
DATA = "ag2ai/Agents_Failure_Attribution f4d2b6d"
HALVES = 20
SCALES = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Factors of the weights of the naive Bayes: below 1, since its features are not independent."""
SHIPPED = Path(__file__).resolve().parents[1] / "configs" / "blame" / "who_and_when.yaml"


class Case:
    """A labelled log with its features."""

    def __init__(self, part, trace):
        self.part, self.trace, self.seen = part, trace, features(trace)
        self.labelled = {
            "all": Labelled(self.seen, trace.mistake),
            "belief": Labelled([{name: each[name] for name in BELIEF} for each in self.seen], trace.mistake),
        }


def main():
    """Read, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fit", action="store_true", help="write the weights fitted to all logs")
    options = parser.parse_args()
    cases = [
        Case(part, traces_in(path.read_text(encoding="utf-8"), path.name)[0])
        for part, name in SETS.items()
        for path in sorted((options.folder / "Who&When" / name).glob("*.json"))
    ]
    methods = {
        "logit": lambda train: fitted([case.labelled["all"] for case in train], "all"),
        "naive Bayes": naive_bayes,
        "evidence of a belief": belief_evidence,
        "best fixed step": best_fixed,
    }
    found = {"cases": dict(Counter(case.part for case in cases)), "methods": {}}
    for name, method in methods.items():
        apart = left_out(cases, method)
        halves = by_halves(cases, method)
        across = {part: from_other(cases, method, part) for part in SETS}
        found["methods"][name] = {
            part: {**apart[part], "halves": halves[part], "from_other": across[part]} for part in SETS
        }
        print(name, found["methods"][name], flush=True)
    weights = fitted([case.labelled["all"] for case in cases], "who_and_when")
    found["milliseconds"] = {part: milliseconds(cases, weights, part) for part in SETS}
    write("blame", {**found, "data": DATA, **provenance_of(peers=False)})
    if options.fit:
        SHIPPED.parent.mkdir(exist_ok=True)
        SHIPPED.write_text(HEAD + yaml.safe_dump(weights.model_dump(), sort_keys=False), encoding="utf-8")
    rows = [[name, *(f"{100 * each[part]['step']:.1f} %" for part in SETS)] for name, each in found["methods"].items()]
    table(["Step found", *SETS], rows)


HEAD = """# The weights of `replan blame`, fitted by benchmarks/bench_blame.py to the 184 labelled logs of Who&When:
# MIT, https://github.com/ag2ai/Agents_Failure_Attribution, arXiv:2505.00212. The logs themselves are not here.
"""


def naive_bayes(train):
    """Return a naive Bayes as weights: the logarithm of how much more often a word is at mistakes than elsewhere."""
    best = max(SCALES, key=lambda scale: scaled_score(train, scale))
    return bayes_weights(train, best)


def scaled_score(train, scale):
    """Return the log score of a scale on every fifth question, by weights from the others."""
    questions = sorted({case.trace.question for case in train})
    held = set(questions[::5])
    weights = bayes_weights([case for case in train if case.trace.question not in held], scale)
    judged = [case for case in train if case.trace.question in held]
    return sum(math.log(weights.probabilities(case.seen)[case.trace.mistake]) for case in judged)


def bayes_weights(train, scale):
    """Return the weights of a naive Bayes with one pseudo-count a word, times a scale."""
    wrong, others = defaultdict(Counter), defaultdict(Counter)
    for case in train:
        rest = max(1, len(case.seen) - 1)
        for number, seen in enumerate(case.seen):
            for name, word in seen.items():
                (wrong if number == case.trace.mistake else others)[name][word] += (
                    1 if number == case.trace.mistake else 1 / rest
                )
    found = {}
    for name in FEATURES:
        words = set(wrong[name]) | set(others[name])
        sums = [sum(counts[name].values()) + len(words) for counts in (wrong, others)]
        found[name] = {
            word: scale * math.log((wrong[name][word] + 1) / sums[0] * sums[1] / (others[name][word] + 1))
            for word in words
        }
    return BlameWeights(name="naive", traces=len(train), weights=found)


def belief_evidence(train):
    """Return weights fitted to the kinds of evidence that the belief of a run has."""
    weights = fitted([case.labelled["belief"] for case in train], "belief")
    return weights.model_copy(update={"weights": {name: weights.weights[name] for name in BELIEF}})


def best_fixed(train):
    """Return weights that always name the same place: the one that is most often right in the logs."""
    places = Counter(case.seen[case.trace.mistake]["place"] for case in train)
    total = sum(places.values())
    shares = {place: math.log((count + 1) / (total + len(places))) for place, count in places.items()}
    return BlameWeights(name="fixed", traces=len(train), weights={"place": shares})


def left_out(cases, method):
    """Return the results of a method for each question, with weights fitted to all other questions."""
    rows = defaultdict(list)
    for question in sorted({case.trace.question for case in cases}):
        weights = method([case for case in cases if case.trace.question != question])
        for case in cases:
            if case.trace.question == question:
                rows[case.part].append(judged(case, weights))
    return {part: summary(rows[part]) for part in SETS}


def judged(case, weights):
    """Return what a method says about a case: its likeliest step and agent, and all probabilities."""
    chances = weights.probabilities(case.seen)
    agents = Counter()
    for step, chance in zip(case.trace.steps, chances, strict=True):
        agents[step.agent] += chance
    likeliest = max(sorted(agents), key=agents.get)
    best = chances.index(max(chances))
    return {
        "step": best == case.trace.mistake,
        "agent": likeliest == case.trace.agent,
        "score": math.log(max(chances[case.trace.mistake], 1e-300)),
        "top": (max(chances), best == case.trace.mistake),
        "every": [(chance, number == case.trace.mistake) for number, chance in enumerate(chances)],
    }


def summary(rows):
    """Return the shares with their intervals, the log score and the calibration errors."""
    count, found = len(rows), {}
    for name in ("step", "agent"):
        hits = sum(row[name] for row in rows)
        low, high = wilson_interval(hits, count)
        found |= {name: round(hits / count, 4), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}
    tops = [row["top"] for row in rows]
    draw = random.Random(1)
    perfect = [calibration_error([(chance, draw.random() < chance) for chance, _ in tops]) for _ in range(2000)]
    return {
        **found,
        "log_score": round(statistics.fmean(row["score"] for row in rows), 4),
        "calibration_top": round(calibration_error(tops), 4),
        "calibration_top_if_perfect": round(statistics.fmean(perfect), 4),
        "calibration_every": round(calibration_error([each for row in rows for each in row["every"]]), 4),
    }


def by_halves(cases, method):
    """Return the mean shares over random splits: fitted to one half of the questions, judged on the other half."""
    shares = defaultdict(lambda: defaultdict(list))
    for seed in range(HALVES):
        questions = sorted({case.trace.question for case in cases})
        random.Random(seed).shuffle(questions)
        learned = set(questions[: len(questions) // 2])
        weights = method([case for case in cases if case.trace.question in learned])
        for part in SETS:
            rows = [judged(each, weights) for each in cases if each.part == part and each.trace.question not in learned]
            for name in ("step", "agent"):
                shares[part][name].append(statistics.fmean(row[name] for row in rows))
    return {part: {name: round(statistics.fmean(values), 4) for name, values in shares[part].items()} for part in SETS}


def from_other(cases, method, part):
    """Return the shares in one part of the data with weights fitted to the other one, without common questions."""
    judging = [case for case in cases if case.part == part]
    asked = {case.trace.question for case in judging}
    weights = method([case for case in cases if case.part != part and case.trace.question not in asked])
    rows = [judged(case, weights) for case in judging]
    return {name: round(statistics.fmean(row[name] for row in rows), 4) for name in ("step", "agent")}


def milliseconds(cases, weights, part):
    """Return the median processor time that the blame for a log takes, the least of three."""
    times = []
    for case in cases:
        if case.part == part:
            tries = []
            for _ in range(3):
                begin = time.process_time()
                blame(case.trace, weights)
                tries.append(1000 * (time.process_time() - begin))
            times.append(min(tries))
    return round(statistics.median(times), 2)


if __name__ == "__main__":
    main()
