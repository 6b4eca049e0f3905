"""The calibration: the simulated author beside what others have recorded, row by row, each with its tolerance."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field, ValidationError

from actors.files.config_model import Config
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from actors.simulated.curves import Tree, best_of, dialogue
from actors.simulated.profile import Critic, Odds
from actors.simulated.world import attempt
from replan.experiments.intervals import of_mean, wilson
from runtime.core.errors import UsageProblem

COUNTS_TOLERANCE = 0.005
"""Best-of-k out of recorded counts, against the published table: rounding."""
GENERATOR_TOLERANCE = 0.02
"""The beta generator, against the recorded curve."""


class BestOf(Config):
    """Independent samples of the same problems."""

    name: str
    key: str
    odds: Odds
    recorded: tuple[tuple[int, float], ...]


class Dialogue(Config):
    """Calls that are each told what the verifier said of those before."""

    name: str
    file: str
    domain: str
    engine: str = "gpt-4_chat"
    odds: Odds


class Trials(Config):
    """Trials of an agent over the same environments."""

    name: str
    key: str
    odds: Odds


class Pruning(Config):
    """A depth-first search with and without a critic."""

    name: str
    odds: Odds
    width: int = Field(ge=1)
    depth: int = Field(ge=1)
    nodes: int = Field(ge=1)
    critic: Critic


class Calibration(Config):
    """The rows, and how many problems are simulated for each."""

    instances: int = Field(ge=1, le=10**6)
    best_of: tuple[BestOf, ...]
    dialogues: tuple[Dialogue, ...]
    trials: tuple[Trials, ...]
    pruning: tuple[Pruning, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison: it holds if `simulated` lies from `low` to `high`."""

    row: str
    what: str
    recorded: float
    simulated: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the simulated value is within the tolerance."""
        return self.low <= self.simulated <= self.high


def load_calibration(root: Path) -> Calibration:
    """Return the shipped calibration. Raises `UsageProblem` if it is not sound."""
    document = read_document(root / "configs" / "calibration.yaml")
    try:
        return Calibration.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def calibrate(given: Calibration, folder: Path) -> Iterator[Line]:
    """Yield the comparisons with the recorded curves in a folder. Raises `UsageProblem` if they cannot be read."""
    counts = _read(folder / "tot_game24_counts.json")
    for row in given.best_of:
        yield from _best_of(row, counts[row.key]["per_puzzle"], given.instances)
    for asked in given.dialogues:
        solved = _dialogues(asked, folder)
        yield from _cumulative(asked.name, asked.odds, solved, given.instances)
    logs = _read(folder / "reflexion_alfworld.json")
    for trials in given.trials:
        log = logs[trials.key]
        firsts = [None if first is None else first + 1 for first in log["first_success_trial"]]
        yield from _cumulative(trials.name, trials.odds, (firsts, log["n_trials"]), given.instances)
    words = _read(folder / "tot_crosswords.json")
    for pruning in given.pruning:
        yield from _pruning(pruning, words, given.instances // 10)


def _best_of(row: BestOf, puzzles: Sequence[Mapping[str, int]], instances: int) -> Iterator[Line]:
    drawn = best_of(row.odds, [count for count, _ in row.recorded], instances)
    for count, published in row.recorded:
        found = fmean(1 - math.comb(one["n"] - one["correct"], count) / math.comb(one["n"], count) for one in puzzles)
        near = COUNTS_TOLERANCE
        yield Line(row.name, f"best of {count}, from counts", published, found, published - near, published + near)
        near = GENERATOR_TOLERANCE
        yield Line(row.name, f"best of {count}, generated", found, drawn[count], found - near, found + near)


Firsts = tuple[Sequence[int | None], int]
"""The call that solved each problem, and the most calls that any had."""


def _dialogues(row: Dialogue, folder: Path) -> Firsts:
    lines = [one for one in _lines(folder / row.file) if one["domain"] == row.domain and one["engine"] == row.engine]
    if lines and "solved" in lines[0]:
        return [one["llm_calls"] if one["solved"] else None for one in lines], max(one["llm_calls"] for one in lines)
    firsts: dict[int, int | None] = {}
    for one in lines:
        firsts.setdefault(one["instance_id"], None)
        if one["valid"] and firsts[one["instance_id"]] is None:
            firsts[one["instance_id"]] = one["call"]
    return list(firsts.values()), max(one["call"] for one in lines)


def _cumulative(name: str, odds: Odds, recorded: Firsts, instances: int) -> Iterator[Line]:
    """Compare the shares solved by each call; sampling error is the recorded count's 95 % interval."""
    firsts, most = recorded
    drawn = dialogue(odds, most, instances)
    for call in range(1, most + 1):
        hits = sum(1 for first in firsts if first is not None and first <= call)
        yield Line(name, f"solved by {call}", hits / len(firsts), drawn[call - 1], *wilson(hits, len(firsts)))


def _pruning(row: Pruning, recorded: Mapping[str, Any], instances: int) -> Iterator[Line]:
    for key, critic in (("dfs_prune", row.critic), ("dfs_no_prune", None)):
        trees = [_tree(row, critic, number) for number in range(instances)]
        for what, drawn in (
            ("deepest_first_word", fmean(tree.deepest / row.depth for tree in trees)),
            ("best_word", fmean(tree.best / row.depth for tree in trees)),
        ):
            values = [float(one[what]) for one in recorded[key]]
            yield Line(row.name, f"{key} {what}", fmean(values), drawn, *of_mean(values))


def _tree(row: Pruning, critic: Critic | None, number: int) -> Tree:
    words = ("pruning", number)
    tree = Tree(attempt(row.odds, 0, words), row.width, row.depth, row.nodes, critic, words)
    tree.search()
    return tree


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot be read: {error}", place=str(path), hint="name the folder of the curves") from None


def _lines(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot be read: {error}", place=str(path), hint="name the folder of the curves") from None
