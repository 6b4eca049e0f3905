"""The calibration: compares the simulated author with published measurements.

Best-of-k and a tree search are compared point by point, with a tolerance for each point. Dialogues with feedback are
judged by likelihood over instances. Half of the instances are held out.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from actors.files.validation_errors import Config
from actors.files.yaml_document import read_document
from replan.setup.installation import data_root
from replan_lab.experiments.tables import Interval, Row, Table, mean_interval, round_value
from replan_lab.simulated.profile import AuthorOdds, Critic
from replan_lab.simulated.seeded import DIFFICULTIES, difficulties, draw
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan_lab.experiments.likelihood import InstanceResult

COUNTS_TOLERANCE = 0.005
"""The tolerance between best-of-k computed from published counts and the published table. It covers rounding."""
GENERATOR_TOLERANCE = 0.02
"""The tolerance between the simulated best-of-k and the published counts."""
REJECTED_BELOW = 0.01
"""A curve rejects the model if the p value of the held-out half is below this."""
EXCLUDED_BELOW = 0.05
"""A curve excludes a hypothesis if its p value is below this."""
MODE_TOLERANCE = 0.05
"""The tolerance between the logarithms of a parameter in the file and the most probable parameter."""
DRAWS = 60
"""The number of posterior draws for judging the held-out half."""


class BestOfRow(Config):
    """A row with success by the number of independent samples."""

    name: str
    """The row's name."""
    key: str
    """The key of the counts in the recorded file."""
    odds: AuthorOdds
    """The odds of a right simulated attempt, chosen so that the simulated curve fits the recorded curve."""
    recorded: tuple[tuple[int, float], ...]
    """The published curve: (samples, share of problems solved)."""


class Dialogue(Config):
    """A row with the success by number of calls. Each call gets the verifier's feedback on those before."""

    name: str
    """The row's name."""
    file: str
    """The name of the recorded file in the folder of curves, with one line of JSON per call or per problem."""
    domain: str
    """The domain of the file's lines that are used."""
    engine: str = "gpt-4_chat"
    """The model of the file's lines that are used."""
    odds: AuthorOdds
    """The odds that a simulated attempt is right: the most probable ones after all records."""


class Trials(Config):
    """A row with success by the number of an agent's trials in the same environments."""

    name: str
    """The row's name."""
    key: str
    """The key of the log in the recorded file."""
    odds: AuthorOdds
    """The odds that a simulated attempt is right: the most probable ones after all records."""


class Pruning(Config):
    """A row with a depth-first search with and without a critic. The parameters are the same as for `CrosswordTree`."""

    name: str
    """The row's name."""
    odds: AuthorOdds
    """The odds that a candidate is right."""
    width: int = Field(ge=1)
    """The number of candidates per word."""
    depth: int = Field(ge=1)
    """The number of words to fill in."""
    nodes: int = Field(ge=1)
    """The largest number of visited candidates."""
    critic: Critic
    """The critic's accuracy."""


class Calibration(Config):
    """The comparisons with published measurements: rows of four forms."""

    instances: int = Field(ge=1, le=10**6)
    """The number of simulated problems for each row."""
    best_of: tuple[BestOfRow, ...]
    """Rows with independent samples."""
    dialogues: tuple[Dialogue, ...]
    """Rows with feedback."""
    trials: tuple[Trials, ...]
    """Rows with an agent's trials."""
    pruning: tuple[Pruning, ...]
    """Rows with a tree search."""


def best_of(odds: AuthorOdds, samples: Sequence[int]) -> dict[int, float]:
    """Return the share of problems that at least one of k independent samples solves, for each k."""
    chances = difficulties(odds.alpha, odds.beta)
    return {count: fmean(1 - (1 - chance) ** count for chance in chances) for count in samples}


@dataclass
class CrosswordTree:
    """A depth-first search that fills in one word after another, like a crossword. It cannot check a word."""

    chance: float
    """The probability that a candidate is right."""
    width: int
    """The number of candidates per word."""
    depth: int
    """The number of words to fill in."""
    nodes: int
    """The largest number of visited candidates."""
    critic: Critic | None
    """The critic. Candidates that it rejects are pruned; None prunes nothing."""
    words: tuple[object, ...]
    """The words that name the random draws."""
    visited: int = 0
    """The number of candidates visited so far."""
    reached: int = 0
    """The depth of the deepest state so far."""
    deepest: int = 0
    """The number of right words in the first state of that depth."""
    best: int = 0
    """The largest number of right words in any state."""

    def search(self, level: int = 0, right: int = 0, wrong: int = 0) -> None:
        """Visit the candidates for one word, and search below each that is not pruned."""
        for _ in range(self.width):
            if self.visited >= self.nodes or level == self.depth:
                return
            self.visited += 1
            fits = draw(*self.words, self.visited) < self.chance
            now_right, now_wrong = right + fits, wrong + (not fits)
            self.best = max(self.best, now_right)
            if level + 1 > self.reached:
                self.reached, self.deepest = level + 1, now_right
            if not self._is_pruned(now_wrong):
                self.search(level + 1, now_right, now_wrong)

    def _is_pruned(self, wrong: int) -> bool:
        if self.critic is None:
            return False
        share = self.critic.detects if wrong else self.critic.objects
        return draw(*self.words, self.visited, "critic") < share


def load_calibration() -> Calibration:
    """Return the shipped calibration. Raises `UsageProblem` if it is invalid."""
    return read_document(data_root("replan_lab") / "configs" / "calibration.yaml").read_as(Calibration)


def calibrate(calibration: Calibration, folder: Path) -> Table:
    """Return each number of a row, published and simulated. Raises `UsageProblem` if a curve cannot be read.

    `low` and `high` are the limits of the tolerance, and `holds` says whether the simulated value is within.
    """
    counts = _read(folder / "tot_game24_counts.json")
    table = [
        compared for row in calibration.best_of for compared in _compare_best_of(row, counts[row.key]["per_puzzle"])
    ]
    crosswords = _read(folder / "tot_crosswords.json")
    for pruning in calibration.pruning:
        table += _compare_pruning(pruning, crosswords, calibration.instances // 10)
    return table


def _comparison_row(row: str, what: str, recorded: float, simulated: float, tolerance: Interval) -> Row:
    low, high = tolerance
    return {
        "row": row,
        "what": what,
        "recorded": round_value(recorded),
        "simulated": round_value(simulated),
        "low": round_value(low),
        "high": round_value(high),
        "holds": "yes" if low <= simulated <= high else "NO",
    }


def _compare_best_of(row: BestOfRow, puzzles: Sequence[Mapping[str, int]]) -> Iterator[Row]:
    simulated = best_of(row.odds, [count for count, _ in row.recorded])
    for count, published in row.recorded:
        share = fmean(
            1 - math.comb(puzzle["n"] - puzzle["correct"], count) / math.comb(puzzle["n"], count) for puzzle in puzzles
        )
        tolerance = published - COUNTS_TOLERANCE, published + COUNTS_TOLERANCE
        yield _comparison_row(row.name, f"best of {count}, from counts", published, share, tolerance)
        tolerance = share - GENERATOR_TOLERANCE, share + GENERATOR_TOLERANCE
        yield _comparison_row(row.name, f"best of {count}, generated", share, simulated[count], tolerance)


def judge_curves(calibration: Calibration, folder: Path) -> tuple[Table, Table]:
    """Return the fit of each curve of dialogues and trials, and its p values of the hypotheses.

    A fit holds if the file has the most probable parameters. Also, a fit to one half of the records must not be
    rejected by the other half. `power` is how probable it is that such a curve excludes a hypothesis, if the most
    probable parameters are true.

    Raises:
        UsageProblem: the recorded curves cannot be read.
    """
    from replan_lab.experiments import likelihood  # noqa: PLC0415 -- scipy is slow to load

    fits, tests = list[Row](), list[Row]()
    rows: tuple[Dialogue | Trials, ...] = (*calibration.dialogues, *calibration.trials)
    for row in rows:
        records = read_curve(row, folder)
        fitted, held_out = likelihood.halves(records)
        p = likelihood.held_out_p(likelihood.posterior_draws(fitted, DRAWS, seed=1), held_out, seed=2)
        mode = likelihood.posterior_mode(records)
        odds = {name: float(value) for name, value in likelihood.odds_of(mode).model_dump().items()}
        pairs = zip(row.odds.model_dump().values(), odds.values(), strict=True)
        holds = p >= REJECTED_BELOW and all(abs(math.log(a / b)) < MODE_TOLERANCE for a, b in pairs)
        fits.append(
            {
                "row": row.name,
                "instances": len(records),
                **odds,
                "log_likelihood": round(likelihood.log_likelihood(mode, records), 2),
                "held_out_p": round(p, 3),
                "holds": "yes" if holds else "NO",
            }
        )
        for name, hypothesis in likelihood.HYPOTHESES.items():
            p = likelihood.excluded_p(records, hypothesis)
            power = round(likelihood.power(records, hypothesis), 2)
            excluded = "yes" if p < EXCLUDED_BELOW else "no"
            tests.append({"row": row.name, "hypothesis": name, "p": round(p, 3), "power": power, "excluded": excluded})
    return fits, tests


def read_curve(row: Dialogue | Trials, folder: Path) -> "list[InstanceResult]":
    """Return the records of a curve. Raises `UsageProblem` if they cannot be read."""
    from replan_lab.experiments.likelihood import InstanceResult  # noqa: PLC0415 -- scipy is slow to load

    if isinstance(row, Trials):
        log = _read(folder / "reflexion_alfworld.json")[row.key]
        firsts = log["first_success_trial"]
        return [InstanceResult(log["n_trials"] if first is None else first + 1, first is not None) for first in firsts]
    every = _read(folder / row.file, lambda text: [json.loads(line) for line in text.splitlines()])
    lines = [line for line in every if line["domain"] == row.domain and line["engine"] == row.engine]
    if lines and "solved" in lines[0]:
        return [InstanceResult(line["llm_calls"], bool(line["solved"])) for line in lines]
    calls: dict[Any, tuple[int, bool]] = {}
    for line in sorted(lines, key=lambda line: int(line["call"])):
        number, solved = calls.get(line["instance_id"], (0, False))
        if not solved:
            calls[line["instance_id"]] = max(number, line["call"]), bool(line["valid"])
    return [InstanceResult(number, solved) for number, solved in calls.values()]


def _compare_pruning(row: Pruning, recorded: Mapping[str, Any], instances: int) -> Iterator[Row]:
    for key, critic in (("dfs_prune", row.critic), ("dfs_no_prune", None)):
        trees = [_searched_tree(row, critic, number) for number in range(instances)]
        for what, simulated in (
            ("deepest_first_word", fmean(tree.deepest / row.depth for tree in trees)),
            ("best_word", fmean(tree.best / row.depth for tree in trees)),
        ):
            values = [float(puzzle[what]) for puzzle in recorded[key]]
            yield _comparison_row(row.name, f"{key} {what}", fmean(values), simulated, mean_interval(values))


def _searched_tree(row: Pruning, critic: Critic | None, number: int) -> CrosswordTree:
    words, chance = ("pruning", number), difficulties(row.odds.alpha, row.odds.beta)[number * 197 % DIFFICULTIES]
    tree = CrosswordTree(chance, row.width, row.depth, row.nodes, critic, words)
    tree.search()
    return tree


def _read(path: Path, read: Callable[[str], Any] = json.loads) -> Any:
    try:
        return read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot be read: {error}", place=str(path), hint="name the folder of the curves") from None
