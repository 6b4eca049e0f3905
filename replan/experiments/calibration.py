"""The calibration: compares curves of the simulated author with published measurements, each with a tolerance."""

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
from actors.simulated.curves import DIFFICULTIES, Tree, best_of, dialogue, difficulties
from actors.simulated.profile import Critic, Odds
from replan.experiments.intervals import mean_interval, wilson_interval
from runtime.core.errors import UsageProblem

COUNTS_TOLERANCE = 0.005
"""Of best-of-k computed from published counts, against the published table; covers rounding."""
GENERATOR_TOLERANCE = 0.02
"""Of the simulated best-of-k, against that of the published counts."""


class BestOf(Config):
    """A row: success by the number of independent samples."""

    name: str
    """The row's name."""
    key: str
    """The key of the counts in the recorded file."""
    odds: Odds
    """How likely a simulated attempt is right; chosen so that the simulated curve fits the recorded one."""
    recorded: tuple[tuple[int, float], ...]
    """The published curve: (samples, share of problems solved)."""


class Dialogue(Config):
    """A row: success by the number of calls, each with the verifier's feedback on those before it."""

    name: str
    """The row's name."""
    file: str
    """The name of the recorded file in the folder of curves, with one line of JSON per call or per problem."""
    domain: str
    """The domain of the file's lines that are used."""
    engine: str = "gpt-4_chat"
    """The model of the file's lines that are used."""
    odds: Odds
    """How likely a simulated attempt is right; chosen so that the simulated curve fits the recorded one."""


class Trials(Config):
    """A row: success by the number of an agent's trials in the same environments."""

    name: str
    """The row's name."""
    key: str
    """The key of the log in the recorded file."""
    odds: Odds
    """How likely a simulated attempt is right; chosen so that the simulated curve fits the recorded one."""


class Pruning(Config):
    """A row: a depth-first search with and without a critic; the parameters are those of `curves.Tree`."""

    name: str
    """The row's name."""
    odds: Odds
    """The odds that a candidate is right."""
    width: int = Field(ge=1)
    """Candidates per word."""
    depth: int = Field(ge=1)
    """Words to fill in."""
    nodes: int = Field(ge=1)
    """Limit of the candidates visited."""
    critic: Critic
    """The critic's accuracy."""


class Calibration(Config):
    """What is compared with published measurements: rows of four forms."""

    instances: int = Field(ge=1, le=10**6)
    """Problems simulated for each row."""
    best_of: tuple[BestOf, ...]
    """Rows with independent samples."""
    dialogues: tuple[Dialogue, ...]
    """Rows with feedback."""
    trials: tuple[Trials, ...]
    """Rows with an agent's trials."""
    pruning: tuple[Pruning, ...]
    """Rows with a tree search."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of a row, as published and as simulated."""

    row: str
    """The row's name."""
    what: str
    """What the number is, such as `best of 5, generated`."""
    recorded: float
    """The published value, a share from 0 to 1."""
    simulated: float
    """The value that the simulation gives."""
    low: float
    """The lower bound of the tolerance."""
    high: float
    """The upper bound of the tolerance."""

    @property
    def holds(self) -> bool:
        """Whether the simulated value is within the tolerance."""
        return self.low <= self.simulated <= self.high


def load_calibration(root: Path) -> Calibration:
    """Return the shipped calibration. Raises `UsageProblem` if it is invalid."""
    document = read_document(root / "configs" / "calibration.yaml")
    try:
        return Calibration.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def calibrate(calibration: Calibration, folder: Path) -> Iterator[Comparison]:
    """Yield the comparisons with the recorded curves in a folder. Raises `UsageProblem` if they cannot be read."""
    instances = calibration.instances
    counts = _read_json(folder / "tot_game24_counts.json")
    for row in calibration.best_of:
        yield from _compare_best_of(row, counts[row.key]["per_puzzle"])
    for dialogue_row in calibration.dialogues:
        solved = _read_dialogues(dialogue_row, folder)
        yield from _compare_cumulative(dialogue_row.name, dialogue_row.odds, solved)
    logs = _read_json(folder / "reflexion_alfworld.json")
    for trials in calibration.trials:
        log = logs[trials.key]
        calls = [None if first is None else first + 1 for first in log["first_success_trial"]]
        yield from _compare_cumulative(trials.name, trials.odds, (calls, log["n_trials"]))
    crosswords = _read_json(folder / "tot_crosswords.json")
    for pruning in calibration.pruning:
        yield from _compare_pruning(pruning, crosswords, instances // 10)


def _compare_best_of(row: BestOf, puzzles: Sequence[Mapping[str, int]]) -> Iterator[Comparison]:
    simulated = best_of(row.odds, [count for count, _ in row.recorded])
    for count, published in row.recorded:
        share = fmean(
            1 - math.comb(puzzle["n"] - puzzle["correct"], count) / math.comb(puzzle["n"], count) for puzzle in puzzles
        )
        low, high = published - COUNTS_TOLERANCE, published + COUNTS_TOLERANCE
        yield Comparison(row.name, f"best of {count}, from counts", published, share, low, high)
        low, high = share - GENERATOR_TOLERANCE, share + GENERATOR_TOLERANCE
        yield Comparison(row.name, f"best of {count}, generated", share, simulated[count], low, high)


SolvedBy = tuple[Sequence[int | None], int]
"""The number of the call that solved each problem (None: unsolved), and the largest number of calls of a problem."""


def _read_dialogues(row: Dialogue, folder: Path) -> SolvedBy:
    lines = [
        line for line in _read_lines(folder / row.file) if line["domain"] == row.domain and line["engine"] == row.engine
    ]
    if lines and "solved" in lines[0]:
        calls = [line["llm_calls"] if line["solved"] else None for line in lines]
        return calls, max(line["llm_calls"] for line in lines)
    solved_by: dict[int, int | None] = {}
    for line in lines:
        solved_by.setdefault(line["instance_id"], None)
        if line["valid"] and solved_by[line["instance_id"]] is None:
            solved_by[line["instance_id"]] = line["call"]
    return list(solved_by.values()), max(line["call"] for line in lines)


def _compare_cumulative(name: str, odds: Odds, recorded: SolvedBy) -> Iterator[Comparison]:
    """Compare the shares of problems solved by each call; the tolerance is the 95 % interval of the recorded share."""
    solved_by, most = recorded
    simulated, count = dialogue(odds, most), len(solved_by)
    for call in range(1, most + 1):
        hits = sum(1 for solved in solved_by if solved is not None and solved <= call)
        interval = wilson_interval(hits, count)
        yield Comparison(name, f"solved by {call}", hits / count, simulated[call - 1], *interval)


def _compare_pruning(row: Pruning, recorded: Mapping[str, Any], instances: int) -> Iterator[Comparison]:
    for key, critic in (("dfs_prune", row.critic), ("dfs_no_prune", None)):
        trees = [_searched_tree(row, critic, number) for number in range(instances)]
        for what, simulated in (
            ("deepest_first_word", fmean(tree.deepest / row.depth for tree in trees)),
            ("best_word", fmean(tree.best / row.depth for tree in trees)),
        ):
            values = [float(puzzle[what]) for puzzle in recorded[key]]
            yield Comparison(row.name, f"{key} {what}", fmean(values), simulated, *mean_interval(values))


def _searched_tree(row: Pruning, critic: Critic | None, number: int) -> Tree:
    words, chance = ("pruning", number), difficulties(row.odds.alpha, row.odds.beta)[number * 197 % DIFFICULTIES]
    tree = Tree(chance, row.width, row.depth, row.nodes, critic, words)
    tree.search()
    return tree


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot be read: {error}", place=str(path), hint="name the folder of the curves") from None


def _read_lines(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot be read: {error}", place=str(path), hint="name the folder of the curves") from None
