"""The calibration: the simulated author held against published measurements.

Best-of-k and a tree search are compared point by point, each with a tolerance. Dialogues with feedback are judged by
likelihood, on instances, of which half are held out.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from actors.files.config_model import Config
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from actors.simulated.curves import DIFFICULTIES, Tree, best_of, difficulties
from actors.simulated.profile import Critic, Odds
from replan.experiments.intervals import mean_interval
from replan.experiments.scorecard import Cell, Table
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.experiments.likelihood import Record

COUNTS_TOLERANCE = 0.005
"""Of best-of-k computed from published counts, against the published table; covers rounding."""
GENERATOR_TOLERANCE = 0.02
"""Of the simulated best-of-k, against that of the published counts."""
REJECTED_BELOW = 0.01
"""The p value of the held-out half below which a curve rejects the model."""
EXCLUDED_BELOW = 0.05
"""The p value of a hypothesis below which a curve excludes it."""
MODE_TOLERANCE = 0.05
"""Of the logarithm of a parameter in the file, against the most probable one."""
DRAWS = 60
"""Posterior draws with which the held-out half is judged."""


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
    """How likely a simulated attempt is right; the most probable after all records."""


class Trials(Config):
    """A row: success by the number of an agent's trials in the same environments."""

    name: str
    """The row's name."""
    key: str
    """The key of the log in the recorded file."""
    odds: Odds
    """How likely a simulated attempt is right; the most probable after all records."""


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


@dataclass(frozen=True, slots=True)
class CurveFit:
    """A curve of dialogues or trials with its fit by likelihood."""

    row: str
    """The row's name."""
    instances: int
    """The recorded instances."""
    shipped: Odds
    """The parameters in the file."""
    mode: Odds
    """The most probable parameters after all records."""
    log_likelihood: float
    """The logarithm of the probability of the records with them, natural."""
    held_out_p: float
    """The p value of the half that was held out from a fit to the other half."""

    @property
    def holds(self) -> bool:
        """Whether the held-out half does not reject the model, and the file has the most probable parameters."""
        pairs = zip(self.shipped.model_dump().values(), self.mode.model_dump().values(), strict=True)
        return self.held_out_p >= REJECTED_BELOW and all(abs(math.log(a / b)) < MODE_TOLERANCE for a, b in pairs)


@dataclass(frozen=True, slots=True)
class CurveTest:
    """What a curve says about a hypothesis."""

    row: str
    """The row's name."""
    hypothesis: str
    """The hypothesis, a key of `likelihood.HYPOTHESES`."""
    p: float
    """The p value of its likelihood ratio; below 0.05 the curve excludes it."""
    power: float
    """How probable it is that such a curve excludes it, if the most probable parameters are true."""


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


def judge_curves(calibration: Calibration, folder: Path) -> Iterator[tuple[CurveFit, list[CurveTest]]]:
    """Yield each curve of dialogues and trials with its fit, and with what it can say about hypotheses.

    Raises:
        UsageProblem: the recorded curves cannot be read, or numpy and scipy are not installed.
    """
    try:
        from replan.experiments import likelihood  # noqa: PLC0415 - optional
    except ImportError:
        hint = "pip install 'replan[experiments]'"
        raise UsageProblem("numpy and scipy are not installed", place="--calibrate", hint=hint) from None
    rows: tuple[Dialogue | Trials, ...] = (*calibration.dialogues, *calibration.trials)
    for row in rows:
        records = recorded(row, folder)
        fitted, held_out = likelihood.halves(records)
        draws = likelihood.posterior_draws(fitted, DRAWS, seed=1)
        mode = likelihood.posterior_mode(records)
        fit = CurveFit(
            row=row.name,
            instances=len(records),
            shipped=row.odds,
            mode=likelihood.odds_of(mode),
            log_likelihood=likelihood.log_likelihood(mode, records),
            held_out_p=likelihood.held_out_p(draws, held_out, seed=2),
        )
        tests = [
            CurveTest(row.name, name, likelihood.excluded_p(records, hypothesis), likelihood.power(records, hypothesis))
            for name, hypothesis in likelihood.HYPOTHESES.items()
        ]
        yield fit, tests


def curve_tables(calibration: Calibration, folder: Path) -> tuple[Table, Table]:
    """Return the fits of the curves and their tests of hypotheses as tables; raises as `judge_curves`."""
    fits, tests = list[dict[str, Cell]](), list[dict[str, Cell]]()
    for fit, of_curve in judge_curves(calibration, folder):
        mode = {name: float(value) for name, value in fit.mode.model_dump().items()}
        fits.append(
            {
                "row": fit.row,
                "instances": fit.instances,
                **mode,
                "log_likelihood": round(fit.log_likelihood, 2),
                "held_out_p": round(fit.held_out_p, 3),
                "holds": "yes" if fit.holds else "NO",
            }
        )
        tests += [
            {
                "row": test.row,
                "hypothesis": test.hypothesis,
                "p": round(test.p, 3),
                "power": round(test.power, 2),
                "excluded": "yes" if test.p < EXCLUDED_BELOW else "no",
            }
            for test in of_curve
        ]
    return fits, tests


def recorded(row: Dialogue | Trials, folder: Path) -> "list[Record]":
    """Return the records of a curve. Raises `UsageProblem` if they cannot be read."""
    from replan.experiments.likelihood import Record  # noqa: PLC0415 - optional

    if isinstance(row, Trials):
        log = _read_json(folder / "reflexion_alfworld.json")[row.key]
        firsts = log["first_success_trial"]
        return [Record(log["n_trials"] if first is None else first + 1, first is not None) for first in firsts]
    lines = [
        line for line in _read_lines(folder / row.file) if line["domain"] == row.domain and line["engine"] == row.engine
    ]
    if lines and "solved" in lines[0]:
        return [Record(line["llm_calls"], bool(line["solved"])) for line in lines]
    calls: dict[Any, tuple[int, bool]] = {}
    for line in sorted(lines, key=lambda line: int(line["call"])):
        number, solved = calls.get(line["instance_id"], (0, False))
        if not solved:
            calls[line["instance_id"]] = max(number, line["call"]), bool(line["valid"])
    return [Record(number, solved) for number, solved in calls.values()]


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
