"""Compares two orders of work on recorded tasks with a common budget of attempts.

`one_after_the_other` gives a task all its attempts before the next task begins. `in_turn` gives each unsolved task one
attempt, then each a second one, and so on (round robin). A solved task gets no further attempts. The attempts at a task
are those of its dialogues, one dialogue after the other. A dialogue without a proposal counts as one attempt.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replan_lab.experiments.plots import curves, point_in
from replan_lab.experiments.tables import Row, Table, round_value
from replan_lab.recorded_dialogues.policy_evaluation import SEED
from replan_lab.recorded_dialogues.records import Records

BUDGETS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
RESAMPLES = 500

_Task = tuple[int, int]
"""For one task: the number of the attempt that solves it (0 if no attempt does), and the number of its recorded
attempts."""


def queue_table(records: Records) -> Table:
    """Return the share of solved tasks by order and budget. It is a mean over models, with a bootstrap over tasks."""
    names = sorted({task for _, task in records.by_task})
    by_model = [_tasks(records, model, names) for model in sorted({model for model, _ in records.by_task})]
    chance = np.random.default_rng(SEED)
    found = np.array([_solved(by_model, chance.integers(0, len(names), len(names))) for _ in range(RESAMPLES)])
    rows = list[Row]()
    for at, budget in enumerate(BUDGETS):
        one, turn = found[:, 0, at], found[:, 1, at]
        row: Row = {"attempts_per_task": budget}
        for name, values in (("one_after_the_other", one), ("in_turn", turn), ("delta", turn - one)):
            low, high = np.quantile(values, [0.025, 0.975])
            row |= {name: round_value(float(values.mean())), f"{name}_low": round_value(float(low)),
                    f"{name}_high": round_value(float(high))}  # fmt: skip
        rows.append(row)
    return rows


def _tasks(records: Records, model: str, names: Sequence[str]) -> list[_Task]:
    tasks = []
    for name in names:
        dialogues = records.by_task.get((model, name), ())
        verdicts = [
            accepted
            for dialogue in dialogues
            for accepted in [attempt.accepted for attempt in dialogue.attempts] or [False]
        ]
        tasks.append((verdicts.index(True) + 1 if True in verdicts else 0, len(verdicts)))
    return tasks


def _solved(by_model: Sequence[Sequence[_Task]], drawn: NDArray[np.int64]) -> NDArray[np.float64]:
    shares = [[_one_after_the_other(tasks, drawn), _in_turn(tasks, drawn)] for tasks in map(np.array, by_model)]
    found: NDArray[np.float64] = np.mean(shares, axis=0)
    return found


def _one_after_the_other(tasks: NDArray[np.int64], drawn: NDArray[np.int64]) -> list[float]:
    solved_at, most = tasks[drawn, 0], tasks[drawn, 1]
    spent = np.cumsum(np.where(solved_at > 0, solved_at, most))
    return [float(np.mean((solved_at > 0) & (spent <= budget * len(drawn)))) for budget in BUDGETS]


def _in_turn(tasks: NDArray[np.int64], drawn: NDArray[np.int64]) -> list[float]:
    solved_at, most = tasks[drawn, 0], tasks[drawn, 1]
    ends, counts = np.where(solved_at > 0, solved_at, most), list[tuple[NDArray[np.int64], NDArray[np.bool_]]]()
    for nth in range(1, int(most.max(initial=1)) + 1):
        counts.append((np.flatnonzero(ends >= nth), solved_at == nth))
    shares = []
    for budget in BUDGETS:
        left, solved = int(budget * len(drawn)), 0
        for tried, hits in counts:
            solved += int(hits[tried[:left]].sum())
            left = max(0, left - len(tried))
        shares.append(solved / len(drawn))
    return shares


def queue_plot(table: Table) -> str:
    """Return the plot of the shares by budget."""
    lines = {
        name.replace("_", " "): [point_in(row, name, "attempts_per_task") for row in table]
        for name in ("one_after_the_other", "in_turn")
    }
    return curves("Tasks solved with one common budget", lines, "attempts for each task", "share of tasks solved")
