"""Fits the simulated author to records of proposals, and tests it on models that were not used for the fit.

Each task has a probability that an attempt at it is right. This probability has a beta distribution over tasks. Three
more numbers describe a model. The first two are the shares of fresh attempts and of retries that reuse the random
numbers of the previous attempt. The third is the factor by which a visible rejection multiplies the odds. An attempt is
right if its random number is less than its probability, as in `replan_lab.simulated.world`. So a retry with the number
of a wrong attempt is right only because the rejection raised its probability.

In the test, one number predicts the author of a model: the share of accepted first attempts in one half of the model's
tasks. Each other number of the author, on a log or log-odds scale, is a linear function of the log odds of this share.
These functions are fitted to the other models. The predictions are compared with the model's results on the other half
of its tasks.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from replan_lab.experiments.tables import Row, Table, round_value
from replan_lab.recorded_dialogues.records import RecordedDialogue, Records

LEVELS = 64
"""The number of equally likely difficulties of a task over which the chances of success are averaged."""
TURNS = ("2", "3", "4", "5")
"""The fit uses the recorded runs whose limit of turns is one of these numbers. Each of these limits allows a second
proposal."""
LEAST = 1e-3
"""The smallest chance, averaged over tasks, that a first attempt of a fitted author is right. The largest such chance
is 1 minus this number."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a model on a set of tasks."""

    first: float
    told: float
    """The share of runs in which the first or the second proposal is accepted."""
    two: float
    """Among pairs of runs of one task, the share with at least one accepted first proposal."""
    four: float
    """Among tasks with four runs, the share with at least one accepted first proposal."""
    fresh_repeats: float
    told_repeats: float


MEASURES = ("first", "told", "two", "four")


@dataclass(frozen=True, slots=True)
class FittedAuthor:
    """The parameters of a simulated author that imitates a model."""

    mean: float
    size: float
    fresh_sticky: float
    """The share of fresh attempts (without the rejected attempts in the prompt) that reuse the random numbers of the
    previous attempt.
    """
    told_sticky: float
    lift: float

    def predict(self) -> Mapping[str, float]:
        """Return the predicted values of `MEASURES`."""
        p = _difficulties(round(self.mean, 4), round(self.size, 4))
        fresh = p * (1 - self.fresh_sticky)
        raised = p * self.lift / (1 - p + p * self.lift)
        mended = self.told_sticky * np.maximum(0.0, raised - p) / (1 - p) + (1 - self.told_sticky) * raised
        return {
            "first": float(p.mean()),
            "told": float((p + (1 - p) * mended).mean()),
            "two": float((1 - (1 - p) * (1 - fresh)).mean()),
            "four": float((1 - (1 - p) * (1 - fresh) ** 3).mean()),
        }


@lru_cache(maxsize=4096)
def _difficulties(mean: float, size: float) -> NDArray[np.float64]:
    from scipy.stats import beta  # type: ignore[import-untyped]  # noqa: PLC0415 -- slow to load

    at = (np.arange(LEVELS) + 0.5) / LEVELS
    found: NDArray[np.float64] = np.clip(beta.ppf(at, mean * size, (1 - mean) * size), 1e-9, 1 - 1e-9)
    return found


def measure(dialogues: Sequence[RecordedDialogue]) -> Measured:
    """Return the measurements of a model from its dialogues."""
    by_task: dict[str, list[RecordedDialogue]] = {}
    for dialogue in dialogues:
        if dialogue.prompt in TURNS:
            by_task.setdefault(dialogue.task, []).append(dialogue)
    tasks = [runs for runs in by_task.values() if len(runs) == len(TURNS)]
    runs = [run for task in tasks for run in task]
    pairs = [(one.at(0), other.at(0)) for task in tasks for one, other in combinations(task, 2)]
    rejected = [(one, other) for one, other in pairs if one.text and other.text and not one.accepted]
    retried = [run for run in runs if run.at(1).text]
    return Measured(
        first=fmean(run.at(0).accepted for run in runs),
        told=fmean(any(attempt.accepted for attempt in run.attempts) for run in runs),
        two=fmean(one.accepted or other.accepted for one, other in pairs),
        four=fmean(any(run.at(0).accepted for run in task) for task in tasks),
        fresh_repeats=fmean(one.text == other.text for one, other in rejected) if rejected else 0.5,
        told_repeats=fmean(run.at(0).text == run.at(1).text for run in retried) if retried else 0.5,
    )


def fit(measured: Measured) -> FittedAuthor:
    """Return the author that imitates a model.

    The shares of repeated texts are used as measured. The size and the factor `lift` are the grid values with the least
    error.
    """
    mean = min(max(measured.first, LEAST), 1 - LEAST)

    def author(size: float, lift: float = 1.0) -> FittedAuthor:
        return FittedAuthor(mean, size, measured.fresh_repeats, measured.told_repeats, lift)

    def spread(size: float) -> float:
        found = author(size).predict()
        return (found["two"] - measured.two) ** 2 + (found["four"] - measured.four) ** 2

    size = min(np.geomspace(0.1, 30, 60), key=spread)
    lift = min(np.geomspace(0.05, 50, 120), key=lambda at: abs(author(size, at).predict()["told"] - measured.told))
    return author(float(size), float(lift))


class AuthorLines:
    """Lines, fitted to several authors, that predict the parameters of an author from the log odds of its mean."""

    def __init__(self, authors: Sequence[FittedAuthor]) -> None:
        x = np.array([_logit(author.mean) for author in authors])
        self._lines = {
            name: np.polyfit(x, [to(getattr(author, name)) for author in authors], 1) for name, to, _ in _SCALES
        }

    def at(self, first: float) -> FittedAuthor:
        """Return the author whose share of accepted first attempts is `first`."""
        mean = min(max(first, LEAST), 1 - LEAST)
        values = {name: back(float(np.polyval(self._lines[name], _logit(mean)))) for name, _, back in _SCALES}
        return FittedAuthor(mean=mean, **values)


def _logit(share: float) -> float:
    share = min(max(share, 0.01), 0.99)
    return math.log(share / (1 - share))


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value))


_SCALES: Sequence[tuple[str, Callable[[float], float], Callable[[float], float]]] = (
    ("size", math.log, math.exp),
    ("fresh_sticky", _logit, _expit),
    ("told_sticky", _logit, _expit),
    ("lift", math.log, math.exp),
)


def _half_of(task: str) -> int:
    return hashlib.sha256(f"half {task}".encode()).digest()[0] % 2


def judge(records: Records) -> Table:
    """Return a row for each model: its measurements, predictions from lines fitted to other models, and the error."""
    by_model = _by_model(records)
    fitted = {model: fit(measure(dialogues)) for model, dialogues in by_model.items()}
    return [
        _judge_model(model, dialogues, AuthorLines([author for name, author in fitted.items() if name != model]))
        for model, dialogues in sorted(by_model.items())
    ]


def _by_model(records: Records) -> Mapping[str, Sequence[RecordedDialogue]]:
    found = defaultdict[str, list[RecordedDialogue]](list)
    for dialogue in records.dialogues:
        found[dialogue.model].append(dialogue)
    return found


def _judge_model(model: str, dialogues: Sequence[RecordedDialogue], lines: AuthorLines) -> Row:
    errors, row = list[float](), defaultdict[str, float](float)
    for half in (0, 1):
        known = measure([item for item in dialogues if _half_of(item.task) != half])
        measured = measure([item for item in dialogues if _half_of(item.task) == half])
        predicted = lines.at(known.first).predict()
        for name in MEASURES:
            row[name] += getattr(measured, name) / 2
            row[f"{name}_predicted"] += predicted[name] / 2
            errors.append(abs(predicted[name] - getattr(measured, name)))
    means = {name: round_value(value) for name, value in row.items()}
    return {"model": model, **means, "error": round_value(fmean(errors))}


def authors_of(records: Records) -> Mapping[str, FittedAuthor]:
    """Return a `weak`, a `middle` and a `strong` author.

    The models are sorted by their share of accepted first attempts, and divided into thirds. Each author has the mean
    share of one third. Lines that are fitted to all models predict its other parameters.
    """
    fitted = sorted(
        (fit(measure(dialogues)) for dialogues in _by_model(records).values()), key=lambda author: author.mean
    )
    lines, third = AuthorLines(fitted), len(fitted) // 3
    thirds = {"weak": fitted[:third], "middle": fitted[third:-third], "strong": fitted[-third:]}
    return {name: lines.at(fmean(author.mean for author in group)) for name, group in thirds.items()}


CAUSES: Mapping[str, tuple[str, str]] = {
    "equal": (
        "lie at every step equally often",
        "{plan: 0.225, strategy: 0.225, recon: 0.225, analysis: 0.225, unsolvable: 0.1}",
    ),
    "plan": ("lie mostly at the plan", "{plan: 0.6, strategy: 0.1, recon: 0.1, analysis: 0.1, unsolvable: 0.1}"),
    "above": (
        "lie mostly one step above",
        "{plan: 0.1, strategy: 0.6, recon: 0.1, analysis: 0.1, unsolvable: 0.1}",
    ),
}
"""For each name, the steps at which problems are hard for the fitted authors. They are described in words, and as the
`causes` of a profile."""


def profile_files(authors: Mapping[str, FittedAuthor], source: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of a profile for each combination of an author and an entry of `CAUSES`."""
    for strength, author in authors.items():
        odds = f"alpha: {author.mean * author.size:.3f}, beta: {(1 - author.mean) * author.size:.3f}"
        for place, (words, causes) in CAUSES.items():
            name = f"recorded_{strength}_{place}"
            lines = (
                "# yaml-language-server: $schema=../../../../packages/lab/configs/schemas/profile.schema.json",
                f"# The numbers of the author are fitted to {source} by benchmarks/bench_records.py.",
                f"name: {name}",
                "based_on: base",
                f"description: A {strength} author of the records; causes {words}.",
                f"causes: {causes}",
                f"odds: {{{odds}, first: {author.lift:.3f}}}",
                "heeds: {other: 1.0}",
                f"sticky: {{other: {author.told_sticky:.3f}}}",
                f"sticky_afresh: {author.fresh_sticky:.3f}",
                "",
            )
            yield name, "\n".join(lines)
