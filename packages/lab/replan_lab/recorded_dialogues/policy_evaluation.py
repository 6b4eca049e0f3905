"""Evaluates policies on recorded dialogues, and compares them with a baseline.

All policies decide about the same cases, so differences are paired. Intervals come from a bootstrap over tasks, or over
models. A dialogue with a rejected first proposal may be a case even if no other proposal follows.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from replan_lab.experiments.plots import Point, curves, groups, point_in, points
from replan_lab.experiments.tables import Row, Table, round_value
from replan_lab.recorded_dialogues.policies import ARMS, BASELINE, ModelRecord, Policy, RejectedAttempt, Seen
from replan_lab.recorded_dialogues.records import Move, RecordedAttempt, RecordedDialogue, Records

FOLDS = 20
"""The number of parts into which tasks are divided. For a case, the shares of its model are counted only on the parts
without the case's task.
"""
WEIGHT = 10.0
"""The weight of the mean of all models. The mean counts as much as this number of a model's own rejections."""
RESAMPLES = 4000
SEED = 49


@dataclass(frozen=True, slots=True)
class Played:
    """The results of a policy in a case: means over the possible orders of the other dialogues."""

    solved_by: tuple[float, ...]
    """The probability that one of the first attempts was accepted: of the first one, the first two, and so on."""
    calls: float
    late: float


LATE = 5


def fold_of(task: str) -> int:
    """Return the number of the fold to which a task belongs. The folds divide all tasks into `FOLDS` parts."""
    return int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big") % FOLDS


class KnownModels:
    """The shares of each model, counted without the tasks of one fold."""

    def __init__(self, records: Records) -> None:
        self._sums: dict[tuple[str, int], NDArray[np.float64]] = {}
        for dialogue in records.dialogues:
            key = dialogue.model, fold_of(dialogue.task)
            self._sums[key] = self._sums.get(key, np.zeros((2, 4))) + _counts(records, dialogue)
        self._models = sorted({model for model, _ in self._sums})
        self._made: dict[tuple[str, int | None], ModelRecord] = {}

    def of(self, model: str, without: int | None = None) -> ModelRecord:
        """Return the shares of a model without the tasks of the fold `without`.

        An unknown model gets the mean of all models.
        """
        if (model, without) not in self._made:
            middle = sum((self._sum(name, without) for name in self._models), np.zeros((2, 4)))
            shares = middle[0] / np.maximum(middle[1], 1.0)
            own = self._sum(model, without)
            moved = (own[0] + WEIGHT * shares) / (own[1] + WEIGHT)
            first, retry, afresh, repeats = map(float, moved)
            self._made[model, without] = ModelRecord(first, retry, afresh, repeats, int(own[1][1]))
        return self._made[model, without]

    def _sum(self, model: str, without: int | None) -> NDArray[np.float64]:
        zero = np.zeros((2, 4))
        return sum((self._sums.get((model, fold), zero) for fold in range(FOLDS) if fold != without), zero)


def _counts(records: Records, dialogue: RecordedDialogue) -> NDArray[np.float64]:
    first, second = dialogue.at(0), dialogue.at(1)
    retried = _is_rejected_with_a_turn_left(dialogue)
    fresh = [other.at(0).accepted for other in records.others(dialogue)] if retried else []
    again = bool(second.text) and first.text == second.text
    hits = (first.accepted, retried and second.accepted, fmean(fresh) if fresh else 0.0, again)
    cases = (1, retried, bool(fresh), bool(second.text))
    return np.array([[float(hit) for hit in hits], [float(case) for case in cases]])


def _is_rejected_with_a_turn_left(dialogue: RecordedDialogue) -> bool:
    first = dialogue.at(0)
    return bool(first.text) and not first.accepted and (len(dialogue.attempts) > 1 or dialogue.has_turn_left)


def cases_of(records: Records) -> tuple[RecordedDialogue, ...]:
    """Return the dialogues on which policies are evaluated.

    The records have an attempt for each move that a policy may make after the first attempt of such a dialogue.
    """
    found = []
    for dialogue in records.dialogues:
        if not records.begins_rejected:
            playable = dialogue.has_turn_left
        elif Move.RETRY in records.moves:
            playable = _is_rejected_with_a_turn_left(dialogue)
        else:
            playable = not dialogue.at(0).accepted
        if playable and (records.others(dialogue) or not records.has_other_dialogues):
            found.append(dialogue)
    return tuple(found)


def play(records: Records, dialogue: RecordedDialogue, policy: Policy, known: ModelRecord) -> Played:
    """Return the results of a policy in a case.

    The results are means: the case is played once for each dialogue that may be the next fresh attempt.
    """
    others = records.others(dialogue)
    orders = [others[at:] + others[:at] for at in range(len(others))] if Move.RETRY in records.moves else [others]
    plays = [_play(records, dialogue, order, policy, known) for order in orders or [()]]
    solved = np.mean([item.solved_by for item in plays], axis=0)
    return Played(tuple(map(float, solved)), fmean(item.calls for item in plays), fmean(item.late for item in plays))


def _play(
    records: Records, start: RecordedDialogue, others: Sequence[RecordedDialogue], policy: Policy, known: ModelRecord
) -> Played:
    opened, fresh, calls, late = [_Opened(start)], 0, 0, 0
    attempts, solved = [RejectedAttempt(None, opened[0].next())], [float(start.at(0).accepted)]
    while len(solved) < records.attempts_max and not attempts[-1].attempt.accepted:
        moves = {Move.STOP, Move.RETRY} & set(records.moves)
        if fresh < len(others):
            moves |= {Move.AFRESH, Move.REPHRASE} & set(records.moves)
        left = records.attempts_max - len(solved)
        move = policy(Seen(tuple(attempts), frozenset(moves), left, start.model, known))
        if move is Move.STOP:
            break
        if move is not Move.RETRY:
            opened.append(_Opened(others[fresh]))
            fresh += 1
        source = next((item for item in reversed(opened) if not item.is_cut_off), opened[-1])
        attempt = (source if move is Move.RETRY else opened[-1]).next()
        attempts.append(RejectedAttempt(move, attempt))
        solved.append(float(attempt.accepted))
        spent = attempt.calls if attempt.text or records.begins_rejected else 0
        calls += spent
        late += spent if len(solved) - 1 > LATE else 0
    solved += [solved[-1]] * (records.attempts_max - len(solved))
    return Played(tuple(solved), calls, late)


@dataclass(slots=True)
class _Opened:
    dialogue: RecordedDialogue
    position: int = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the limit of turns ended the recorded dialogue.

        A retry then continues the dialogue that was opened before it.
        """
        return self.position >= len(self.dialogue.attempts) and not self.dialogue.has_turn_left

    def next(self) -> RecordedAttempt:
        """Return the next attempt."""
        self.position += 1
        return self.dialogue.at(self.position - 1)


@dataclass(frozen=True)
class PlayedRecords:
    """All cases of some records, with the results of each policy."""

    records: Records
    cases: Sequence[RecordedDialogue]
    known: KnownModels
    played: Mapping[str, Sequence[Played]]

    def success(self, arm: str) -> NDArray[np.float64]:
        """Return the success of an arm in each case after all allowed attempts."""
        return np.array([item.solved_by[-1] for item in self.played[arm]])


def compare(records: Records, arms: Mapping[str, Policy]) -> PlayedRecords:
    """Evaluate each policy on all cases."""
    cases, known = cases_of(records), KnownModels(records)
    played = {
        name: [play(records, case, policy, known.of(case.model, fold_of(case.task))) for case in cases]
        for name, policy in arms.items()
    }
    return PlayedRecords(records, cases, known, played)


def arms_for(records: Records) -> Mapping[str, Policy]:
    """Return the shipped policies that can be evaluated, because the records have attempts for their moves."""
    simple = {str(move) for move in Move} - {str(move) for move in records.moves}
    left_out = simple if Move.AFRESH in records.moves else simple | {"repeat_rule", "better_chance", "clearly_better"}
    return {name: policy for name, policy in ARMS.items() if name not in left_out}


def baseline_of(arms: Mapping[str, object]) -> str:
    """Return the arm with which the other arms are compared."""
    return BASELINE if BASELINE in arms else "stop"


class Bootstrap:
    """The bootstrap of means over cases.

    It resamples labels: tasks or models. Each drawn label brings all its cases.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        names, self._positions = np.unique(np.array(labels), return_inverse=True)
        self._count = len(names)
        chance = np.random.default_rng(SEED)
        drawn = chance.multinomial(self._count, np.full(self._count, 1 / self._count), RESAMPLES)
        cases = drawn @ np.bincount(self._positions, minlength=self._count)
        self._weights = drawn / np.maximum(cases, 1)[:, None]

    def interval(self, values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the mean of `values`. It has one value for each case."""
        means = self._weights @ np.bincount(self._positions, values, self._count)
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def tables_of(comparison: PlayedRecords) -> dict[str, Table]:
    """Return the tables `arms`, `budgets` and `models`.

    If any dialogue continues after two rejections, also return the tables `repeats` and `stops`.
    """
    tasks, models = (Bootstrap([getattr(case, name) for case in comparison.cases]) for name in ("task", "model"))
    tables = {
        "arms": list(_arms(comparison, tasks, models)),
        "budgets": list(_budgets(comparison, tasks)),
        "models": list(_models(comparison)),
        "repeats": list(_repeats(comparison)),
        "stops": list(_stops(comparison.records.dialogues)),
    }
    return {name: table for name, table in tables.items() if table}


def _arms(comparison: PlayedRecords, tasks: Bootstrap, models: Bootstrap) -> Iterator[Row]:
    """Yield the success of each arm, and its difference to the baseline.

    The interval `together` holds for all arms at once (Bonferroni). The interval `models` is a bootstrap over models.
    """
    baseline = baseline_of(comparison.played)
    base = comparison.success(baseline)
    level = 1 - 0.05 / max(1, len(comparison.played) - 1)
    for name, played in comparison.played.items():
        success = comparison.success(name)
        delta = success - base
        row: Row = {"arm": name, "cases": len(success), "success": round_value(float(success.mean()))}
        row |= _interval("success", tasks.interval(success))
        row |= {"calls_mean": round_value(fmean(item.calls for item in played)),
                "late_calls": round(sum(item.late for item in played), 1),
                "delta": round_value(float(delta.mean()))}  # fmt: skip
        row |= _interval("delta", tasks.interval(delta))
        row |= _interval("together", tasks.interval(delta, level))
        row |= _interval("models", models.interval(delta))
        yield row


def _interval(name: str, bounds: tuple[float, float]) -> Row:
    return {f"{name}_low": round_value(bounds[0]), f"{name}_high": round_value(bounds[1])}


def _budgets(comparison: PlayedRecords, tasks: Bootstrap) -> Iterator[Row]:
    for name, played in comparison.played.items():
        for attempts in range(1, comparison.records.attempts_max + 1):
            solved = np.array([item.solved_by[attempts - 1] for item in played])
            yield {"arm": name, "attempts": attempts, "success": round_value(float(solved.mean())),
                   **_interval("success", tasks.interval(solved))}  # fmt: skip


def _models(comparison: PlayedRecords) -> Iterator[Row]:
    """Yield the success of each arm by model, the model's known shares, and the arm's loss.

    The loss is the difference to the arm that always makes one move and has the best success with the model.
    """
    ordered = sorted(range(len(comparison.cases)), key=lambda at: comparison.cases[at].model)
    simple = [name for name in ("retry", "afresh", "rephrase", "stop") if name in comparison.played]
    for model, group in groupby(ordered, key=lambda at: comparison.cases[at].model):
        cases, known = list(group), comparison.known.of(model)
        success = {name: float(comparison.success(name)[cases].mean()) for name in comparison.played}
        best = max(success[name] for name in simple)
        row: Row = {"model": model, "cases": len(cases)}
        if Move.RETRY in comparison.records.moves:
            row |= {name: round_value(share) for name, share in known.shares.items()}
        row |= {name: round_value(share) for name, share in success.items()}
        yield row | {f"loss_{name}": round_value(best - success[name]) for name in success if name not in simple}


def _repeats(comparison: PlayedRecords) -> Iterator[Row]:
    """Yield the share of dialogues solved later, for each model and each number of repeated attempts: 0, 1 or more."""
    found: dict[tuple[str, str], list[bool]] = {}
    for case in comparison.cases:
        texts: list[str] = []
        for at, rejected in enumerate(case.attempts[:-1]):
            texts.append(rejected.text)
            again = len(texts) - len(set(texts))
            kind = ("none", "one", "two or more")[min(again, 2)]
            if at:
                solved = any(attempt.accepted for attempt in case.attempts[at + 1 :])
                found.setdefault((case.model, kind), []).append(solved)
    for (model, kind), later in sorted(found.items()):
        yield {"model": model, "came_again": kind, "cases": len(later), "solved_later": round_value(fmean(later))}


STOPS = {
    "never": (math.inf, math.inf),
    "second_repeat": (2, math.inf),
    "third_repeat": (3, math.inf),
    "six_attempts": (math.inf, 6),
    "second_repeat_or_six_attempts": (2, 6),
}
"""For each rule: the number of repeated attempts that ends a dialogue, and the number of all attempts that ends it. An
attempt is repeated if the dialogue has an equal earlier attempt."""


def _stops(dialogues: Sequence[RecordedDialogue]) -> Iterator[Row]:
    """Yield, for each rule, the number of calls and of solved dialogues if this rule ends the dialogues."""
    if all(len(dialogue.attempts) < 3 for dialogue in dialogues):
        return
    played = {name: [_until(dialogue, *limits) for dialogue in dialogues] for name, limits in STOPS.items()}
    calls = {name: sum(made for made, _ in plays) for name, plays in played.items()}
    solved = {name: sum(accepted for _, accepted in plays) for name, plays in played.items()}
    for name in STOPS:
        saved, lost = 1 - calls[name] / calls["never"], solved["never"] - solved[name]
        share = round_value(lost / max(1, solved["never"]))
        yield {"rule": name, "dialogues": len(dialogues), "calls": calls[name], "share_saved": round_value(saved),
               "solved": solved[name], "lost": lost, "share_lost": share}  # fmt: skip


def _until(dialogue: RecordedDialogue, repeats: float, attempts: float) -> tuple[int, bool]:
    calls, texts = 0, list[str]()
    for attempt in dialogue.attempts:
        if len(texts) - len(set(texts)) >= repeats or len(texts) >= attempts:
            break
        calls += attempt.calls
        texts.append(attempt.text)
        if attempt.accepted:
            return calls, True
    return calls, False


def plots_of(comparison: PlayedRecords, tables: Mapping[str, Table]) -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of each plot."""
    baseline = baseline_of(comparison.played)
    delta = {str(row["arm"]): point_in(row, "delta") for row in tables["arms"] if row["arm"] != baseline}
    yield "delta", points(f"Success minus that of `{baseline}`", delta, "paired, 95 % intervals (bootstrap over tasks)")
    lines: dict[str, list[Point]] = {}
    for row in tables["budgets"]:
        lines.setdefault(str(row["arm"]), []).append(point_in(row, "success", "attempts"))
    yield "budgets", curves("Success within a number of attempts", lines, "attempts", "success")
    moves: dict[str, dict[str, Point]] = {
        str(row["model"]): {
            move: Point(share, share, share)
            for move in ("retry", "afresh", "rephrase")
            if move in row
            for share in [float(str(row[move]))]
        }
        for row in tables["models"]
    }
    yield "models", groups("Success by move and model", moves, "share of cases")
