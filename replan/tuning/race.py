"""The race: rungs of an experiment, each with the better half of the entrants of the rung before, within one limit.

Each rung is an experiment like that of `replan experiment`: its definition and its results are files, so that an
interrupted race goes on where it was and pays for no trial twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from actors.config.model_spec import Simulated, parse_model_spec
from replan.experiments.equal_calls import Curve, curves_of
from replan.experiments.preparation import Installation, PreparedExperiment, prepare
from replan.experiments.results import CUT_SHORT, Store, Trial
from replan.tuning.entrants import Entrant
from replan.tuning.halving import Standing, rungs_left, standings, survivors
from runtime.core.cost import MICRO, micro_limit
from runtime.core.errors import UsageProblem

FILES = "entrants"
"""The subfolder with the workflow files of the entrants."""
REPETITIONS_MAX = 1000
"""The most repetitions of all problems in one rung."""
REPETITIONS_MAX_BY_MONEY = 20
"""The same where only money is limited, since a free model would never spend it."""

RunTrials = Callable[[PreparedExperiment, Store], list[Trial]]
"""Runs the trials of a rung that have no result yet, and returns all."""
Notice = Callable[[str], None]
"""Shows a line to the user."""


@dataclass(frozen=True, slots=True)
class RaceOrder:
    """What the user asks for."""

    problems: tuple[str, ...]
    """Files with one problem each, `.jsonl` files, or folders; relative to the current folder."""
    model: str
    """The model, as after `--model`."""
    calls: int | None
    """The most model calls of the whole race."""
    usd: float | None
    """The most dollars of the whole race."""
    caps: tuple[int, ...]
    """The limits of the calls of one run that are compared."""
    folder: Path
    """The folder of the rungs' definitions and results."""
    concurrency: int = 4
    """Concurrent trials with a real model and a limit of calls."""


@dataclass
class Race:
    """A race and what it has come to."""

    order: RaceOrder
    """What the user asks for."""
    entrants: Sequence[Entrant]
    """Those who still run, in the order in which the user named them."""
    curves: dict[str, Curve] = field(default_factory=dict)
    """The trials of every entrant, by its name."""
    dropped: list[Standing] = field(default_factory=list)
    """The standings of those who were dropped, the last ones first."""
    rows: list[Standing] = field(default_factory=list)
    """The standings of the last rung, best first."""
    rungs: int = 0
    """The rungs that have brought trials."""
    calls: int = 0
    """The calls that the trials have used."""
    micro_usd: int = 0
    """The money that they have used, in millionths of a dollar."""
    stopped: str = ""
    """Why the race ended before one entrant was left; empty if it did not."""

    def run(self, installation: Installation, run_trials: RunTrials, notice: Notice) -> None:
        """Run all rungs.

        Raises:
            UsageProblem: something cannot be prepared, or the limit does not allow one trial of each entrant.
        """
        _check_limit(self.order)
        self.entrants, need = _able(self.order, self.entrants, installation, notice)
        left = rungs_left(len(self.entrants))
        if self.order.calls is not None and self.order.calls // left < need:
            cause = f"one trial of each of {len(self.entrants)} entrants may need {need} calls in each rung"
            hint = f"allow at least {need * left}, or name fewer or smaller caps"
            raise UsageProblem(cause, place="--max-calls", hint=hint)
        first = 0
        while True:
            left = rungs_left(len(self.entrants))
            prepared = self._prepared(first, left, installation)
            share, need = prepared.experiment.budget.calls, sum(arm.calls_max for arm in prepared.arms)
            if share is not None and share < need:
                self.stopped = "the limit of calls allows no further rung"
                break
            store = Store(self.order.folder / f"rung_{self.rungs + 1}", prepared.header())
            self._take(prepared, run_trials(prepared, store))
            first += prepared.experiment.seeds.count
            names = survivors(self.rows)
            if not names:
                self.stopped = "the limit allowed no trial of each entrant"
                break
            if len(self.entrants) == 1 or len(names) == 1:
                break
            self.dropped[:0] = [row for row in self.rows if row.entrant not in names]
            self.entrants = [entrant for entrant in self.entrants if entrant.name in names]

    @property
    def winner(self) -> Standing | None:
        """The best entrant with its best cap; None if there was not one trial of each."""
        return self.rows[0] if self.rows else None

    @property
    def runner_up(self) -> Standing | None:
        """The best of the other entrants of the last rung with its best cap; None if there is no other."""
        return next((row for row in self.rows if row.entrant != self.rows[0].entrant), None)

    def _prepared(self, first: int, left: int, installation: Installation) -> PreparedExperiment:
        """Write the definition of the next rung, and prepare it with its share of what is left of the limit."""
        budget: dict[str, Any] = {}
        if self.order.calls is not None:
            budget["calls"] = max(1, (self.order.calls - self.calls) // left)
        if self.order.usd is not None:
            budget |= {"usd": max(1, (micro_limit(self.order.usd) - self.micro_usd) // left) / MICRO, "exact": True}
        most = REPETITIONS_MAX if "calls" in budget else REPETITIONS_MAX_BY_MONEY
        count = min(most, max(1, budget.get("calls", 10**9) // len(self.entrants)))
        path = self.order.folder / f"rung_{self.rungs + 1}.yaml"
        _write(path, self.order, self.entrants, {"first": first, "count": count}, budget)
        return prepare(path, installation)

    def _take(self, prepared: PreparedExperiment, trials: list[Trial]) -> None:
        self.rungs += 1
        self.calls += sum(trial.calls for trial in trials)
        if not prepared.simulated:  # A profile's prices are those of the model that it imitates.
            self.micro_usd += sum(trial.micro_usd or 0 for trial in trials)
        complete = [trial for trial in trials if trial.outcome != CUT_SHORT]
        for curve in curves_of(prepared.experiment, complete):
            earlier = self.curves[curve.label].by_cap if curve.label in self.curves else {}
            merged = {cap: {**earlier.get(cap, {}), **pairs} for cap, pairs in curve.by_cap.items()}
            self.curves[curve.label] = Curve(curve.label, curve.model, merged)
        running = [self.curves[each.name] for each in self.entrants if each.name in self.curves]
        if len(running) == len(self.entrants):
            self.rows = standings(running, self.order.caps)


def _able(
    order: RaceOrder, entrants: Sequence[Entrant], installation: Installation, notice: Notice
) -> tuple[Sequence[Entrant], int]:
    """Return the entrants that can run, and the calls that one trial of each may need; the others are named.

    Raises the first one's `UsageProblem` if there is none.
    """
    able, problems, need = list[Entrant](), list[UsageProblem](), 0
    with TemporaryDirectory(prefix="replan-") as folder:
        path = Path(folder) / "check.yaml"
        for entrant in entrants:
            _write(path, order, [entrant], {"first": 0, "count": 1}, {})
            try:
                prepared = prepare(path, installation)
            except UsageProblem as problem:
                problems.append(UsageProblem(problem.cause.replace(f"{folder}/{FILES}/", ""), hint=problem.hint))
                continue
            able.append(entrant)
            need += sum(arm.calls_max for arm in prepared.arms)
            if order.usd is not None and prepared.arms[0].request.pinned.price is None:
                hint = "name its price in config.yaml, or limit --max-calls"
                raise UsageProblem(f"the price of {order.model!r} is not known", place="--max-cost", hint=hint)
    if not able:
        raise problems[0]
    for left_out in problems:
        notice(f"left out: {left_out.cause}")
    return able, need


def _check_limit(order: RaceOrder) -> None:
    if order.calls is None and order.usd is None:
        hint = "--max-calls N or --max-cost USD bounds the whole race"
        raise UsageProblem("a race has no limit", place="tune race", hint=hint)
    if order.calls is None and isinstance(parse_model_spec(order.model), Simulated):
        raise UsageProblem("a simulated model costs nothing", place="--max-cost", hint="limit --max-calls")


def _write(
    path: Path, order: RaceOrder, entrants: Sequence[Entrant], seeds: dict[str, int], budget: dict[str, Any]
) -> None:
    """Write the definition of an experiment with these entrants, and their files beside it."""
    files = path.parent / FILES
    value = {
        "name": path.stem,
        "description": "A rung of a race of workflows, policies and budgets.",
        "problems": [str(Path(problem).absolute()) for problem in order.problems],
        "models": [order.model],
        "pipelines": [each.pipeline(FILES) for each in entrants],
        "caps": sorted(order.caps),
        "seeds": seeds,
        "baseline": entrants[0].arm(max(order.caps)),
        "budget": budget,
        "concurrency": order.concurrency,
    }
    try:
        files.mkdir(parents=True, exist_ok=True)
        for entrant in entrants:
            (files / f"{entrant.name}.yaml").write_text(entrant.text(max(order.caps)), encoding="utf-8")
        path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), encoding="utf-8")
    except OSError as error:
        raise UsageProblem(f"cannot be written: {error.strerror}", place=str(path.parent)) from None
