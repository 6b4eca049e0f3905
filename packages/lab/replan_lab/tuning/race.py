"""Races entrants within one limit of calls or money.

A race consists of rungs. Each rung tries the better half of the previous rung's entrants.

An entrant is a workflow with a policy. It is tried with the largest cap, that is, limit of calls for one trial. These
trials also show the result with each smaller cap (`equal_calls.py`). Each rung is an experiment of `replan lab
experiment`. Its definition and results are files, so an interrupted race continues where it stopped, and no trial is
paid for twice.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from actors.config.loader import find_named, load_policy, read_workflow
from actors.config.model_spec import parse_model_spec, pin_model
from replan_lab.experiments.definition import DIVIDES_CALLS
from replan_lab.experiments.equal_calls import Curve, curves_of
from replan_lab.experiments.preparation import Installation, PreparedExperiment, prepare
from replan_lab.experiments.results import CUT_SHORT, ResultsFolder, Trial
from replan_lab.experiments.tables import Interval, mean_interval, wilson_interval
from replan_lab.simulated.author import profile_of
from replan_lab.tuning.model_profile import write_file
from runtime.core.errors import UsageProblem
from runtime.core.ledger import MICRO, micro_limit

FILES = "entrants"
REPETITIONS_MAX = 1000
"""The largest number of repetitions in one rung. Each repetition runs all problems."""
REPETITIONS_MAX_BY_MONEY = 20
"""The largest number of repetitions in one rung if a race limits only its money. Without this number, a race of free
models would not end."""

WORKFLOWS = ("single", "option_ad", "search")
"""The workflows that race if the user names no workflow."""
POLICIES = ("default", "belief")
"""The policies that race if the user names no policy."""
CAPS = (10, 20, 30)
"""The limits of calls per run that the race compares if the user names no limit."""

RunTrials = Callable[[PreparedExperiment, ResultsFolder], list[Trial]]
Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A workflow with a policy."""

    name: str
    search: str | None
    """The search, if it divides its calls among branches; otherwise None. An entrant with such a search must be tried
    with each cap.
    """
    keys: Mapping[str, Any]

    def text(self, cap: int) -> str:
        """Return the text of the entrant's workflow file, with a limit of calls."""
        keys = {**self.keys, "max_total_calls": cap}
        return yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=100)

    def arm(self, cap: int) -> str:
        """Return the name that the entrant with this cap has as an arm of an experiment."""
        return self.name if self.search is None else f"{self.name}:{cap}_calls"

    def pipeline(self, folder: str) -> dict[str, Any]:
        """Return the entrant as a pipeline in the definition of an experiment. Its workflow file is in `folder`."""
        own = {"name": self.name, "workflow": f"{folder}/{self.name}.yaml", "policy": self.keys["policy"]}
        return own if self.search is None else {**own, "search": self.search}


def entrants(workflows: Sequence[str], policies: Sequence[str], root: Path) -> list[Entrant]:
    """Return an entrant for each combination of a workflow and a policy.

    Raises:
        UsageProblem: a workflow or policy cannot be read, or two entrants would have the same name.
    """
    found: dict[str, Entrant] = {}
    for workflow in dict.fromkeys(workflows):
        loaded, document, _ = read_workflow(workflow, root)
        keys, shipped = dict(document.value), root / "prompts"
        if "prompts" in keys and not (shipped / f"{loaded.prompts}.yaml").exists():
            keys["prompts"] = str(find_named(loaded.prompts, shipped, "prompts", document).absolute())
        search = loaded.search if loaded.search.partition(":")[0] in DIVIDES_CALLS else None
        for policy in dict.fromkeys(policies):
            load_policy(policy, root)
            path = "/" in policy or Path(policy).suffix  # The raced file is in another folder.
            keys |= {"policy": str(Path(policy).expanduser().absolute()) if path else policy}
            name = f"{_plain(workflow)}-{_plain(policy)}"
            if name in found:
                raise UsageProblem(f"two entrants are named {name!r}", hint="give each file a different name")
            found[name] = Entrant(name, search, dict(keys))
    return list(found.values())


def _plain(name: str) -> str:
    """Return the part of an entrant's name for a workflow or policy.

    It is the stem of the file's name, without unusual characters.
    """
    return re.sub(r"[^a-z0-9_]+", "_", Path(name).stem.lower()).strip("_")[:24] or "file"


@dataclass(frozen=True, slots=True)
class EntrantStanding:
    """The result of an entrant within a cap."""

    entrant: str
    cap: int
    trials: int
    """The number of pairs of problem and seed on which all entrants of this entrant's last rung were tried."""
    successes: int
    """The number of trials that succeeded within the cap."""
    calls_mean: float

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the share of successes."""
        return wilson_interval(self.successes, self.trials)


def standings(curves: Sequence[Curve], caps: Sequence[int]) -> list[EntrantStanding]:
    """Return every entrant with every cap, best first: most successes, then fewest calls, then the smaller cap.

    A pair of problem and seed counts only if all entrants were tried on it. If there is no such pair, the result is
    empty.
    """
    pairs = common_pairs(curves)
    if not pairs:
        return []
    rows = [_standing(curve, cap, pairs) for curve in curves for cap in sorted(caps)]
    return sorted(rows, key=lambda row: (-row.successes, row.calls_mean, row.cap))


def common_pairs(curves: Sequence[Curve]) -> list[tuple[str, int]]:
    """Return the pairs of problem and seed on which all entrants were tried, in the order of the first entrant."""
    tried = [trials for curve in curves for trials in curve.by_cap.values()]
    return [pair for pair in tried[0] if all(pair in item for item in tried[1:])] if tried else []


def survivors(rows: Sequence[EntrantStanding]) -> list[str]:
    """Return the names of the better half of the entrants, rounded up. Only the best cap of each entrant counts."""
    names = list(dict.fromkeys(row.entrant for row in rows))
    return names[: math.ceil(len(names) / 2)]


def rungs_left(entrants: int) -> int:
    """Return the number of rungs after which only one of so many entrants is left, but at least 1."""
    return max(1, math.ceil(math.log2(entrants)))


def difference(own: Curve, own_cap: int, other: Curve, other_cap: int) -> tuple[float, Interval]:
    """Return the difference of two success rates over the trials that both curves have, with its 95 % interval.

    The curves must have at least one trial in common.
    """
    mine, theirs = own.at(own_cap), other.at(other_cap)
    values = [mine[pair][0] - theirs[pair][0] for pair in common_pairs((own, other))]
    return fmean(values), mean_interval(values)


def _standing(curve: Curve, cap: int, pairs: Sequence[tuple[str, int]]) -> EntrantStanding:
    within = curve.at(cap)
    hits = sum(within[pair][0] for pair in pairs)
    return EntrantStanding(curve.label, cap, len(pairs), int(hits), fmean(within[pair][1] for pair in pairs))


@dataclass(frozen=True, slots=True)
class RaceOrder:
    """The user's request for a race."""

    problems: tuple[str, ...]
    """Files with one problem each, `.jsonl` files, or folders; relative to the current folder."""
    model: str
    """The model in the form of `--model`."""
    calls: int | None
    usd: float | None
    caps: tuple[int, ...]
    folder: Path
    concurrency: int = 4


@dataclass
class Race:
    """A race and its result so far."""

    order: RaceOrder
    entrants: Sequence[Entrant]
    curves: dict[str, Curve] = field(default_factory=dict)
    dropped: list[EntrantStanding] = field(default_factory=list)
    rows: list[EntrantStanding] = field(default_factory=list)
    rungs: int = 0
    calls: int = 0
    micro_usd: int = 0
    """The cost of the trials, in millionths of a dollar."""
    stopped: str = ""
    """The reason why the race ended while several entrants were left; empty if only one entrant was left."""

    def run(self, installation: Installation, run_trials: RunTrials, notice: Notice) -> None:
        """Run all rungs.

        Raises:
            UsageProblem: no entrant can be prepared, or the limit does not allow one trial of each entrant.
        """
        _check_limit(self.order)
        self.entrants, need = _split_able(self.order, self.entrants, installation, notice)
        left = rungs_left(len(self.entrants))
        if self.order.calls is not None and self.order.calls // left < need:
            cause = f"one trial of each of {len(self.entrants)} entrants may need {need} calls in each rung"
            hint = f"allow at least {need * left} calls, or use fewer or smaller values of --cap"
            raise UsageProblem(cause, place="--max-calls", hint=hint)
        first = 0
        while True:
            left = rungs_left(len(self.entrants))
            prepared = self._prepare_rung(first, left, installation)
            share, need = prepared.experiment.budget.calls, sum(arm.calls_max for arm in prepared.arms)
            if share is not None and share < need:
                self.stopped = "the limit of calls is too small for another rung"
                break
            store = ResultsFolder(self.order.folder / f"rung_{self.rungs + 1}", prepared.header())
            self._take(prepared, run_trials(prepared, store))
            first += prepared.experiment.seeds.count
            names = survivors(self.rows)
            if not names:
                self.stopped = "the limit was too small for one trial of each entrant"
                break
            if len(self.entrants) == 1 or len(names) == 1:
                break
            self.dropped[:0] = [row for row in self.rows if row.entrant not in names]
            self.entrants = [entrant for entrant in self.entrants if entrant.name in names]

    @property
    def winner(self) -> EntrantStanding | None:
        """The best entrant with its best cap; None if the entrants have no common trial."""
        return self.rows[0] if self.rows else None

    @property
    def runner_up(self) -> EntrantStanding | None:
        """The best of the other entrants of the last rung, with its best cap; None if there is no other entrant."""
        return next((row for row in self.rows if row.entrant != self.rows[0].entrant), None)

    def _prepare_rung(self, first_seed: int, rungs: int, installation: Installation) -> PreparedExperiment:
        """Write the definition of the next rung, and prepare the rung.

        Each rung that is left may use an equal share of the remaining calls and money.
        """
        budget: dict[str, Any] = {}
        count = REPETITIONS_MAX_BY_MONEY
        if self.order.calls is not None:
            calls_share = max(1, (self.order.calls - self.calls) // rungs)
            budget["calls"] = calls_share
            count = min(REPETITIONS_MAX, max(1, calls_share // len(self.entrants)))
        if self.order.usd is not None:
            micro_usd_share = max(1, (micro_limit(self.order.usd) - self.micro_usd) // rungs)
            budget |= {"usd": micro_usd_share / MICRO, "exact": True}
        path = self.order.folder / f"rung_{self.rungs + 1}.yaml"
        _write(path, self.order, self.entrants, {"first": first_seed, "count": count}, budget)
        return prepare(path, installation)

    def _take(self, prepared: PreparedExperiment, trials: list[Trial]) -> None:
        self.rungs += 1
        self.calls += sum(trial.calls for trial in trials)
        if not prepared.simulated:  # A profile's prices belong to the model that it imitates.
            self.micro_usd += sum(trial.micro_usd or 0 for trial in trials)
        complete = [trial for trial in trials if trial.outcome != CUT_SHORT]
        for curve in curves_of(prepared.experiment, complete):
            earlier = self.curves[curve.label].by_cap if curve.label in self.curves else {}
            merged = {cap: {**earlier.get(cap, {}), **pairs} for cap, pairs in curve.by_cap.items()}
            self.curves[curve.label] = Curve(curve.label, curve.model, merged)
        running = [self.curves[entrant.name] for entrant in self.entrants if entrant.name in self.curves]
        if len(running) == len(self.entrants):
            self.rows = standings(running, self.order.caps)


def _split_able(
    order: RaceOrder, entrants: Sequence[Entrant], installation: Installation, notice: Notice
) -> tuple[Sequence[Entrant], int]:
    """Return the entrants that can run, and the sum of the limits of calls of their trials (one for each arm).

    A notice names each other entrant. If no entrant can run, raises the `UsageProblem` of the first entrant.
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
                hint = "name its price in config.yaml, or use --max-calls"
                raise UsageProblem(f"the price of {order.model!r} is not known", place="--max-cost", hint=hint)
    if not able:
        raise problems[0]
    for left_out in problems:
        notice(f"left out: {left_out.cause}")
    return able, need


def _check_limit(order: RaceOrder) -> None:
    if order.calls is None and order.usd is None:
        hint = "limit the whole race with --max-calls N or --max-cost USD"
        raise UsageProblem("a race needs a limit", place="lab race", hint=hint)
    if order.calls is None and profile_of(parse_model_spec(pin_model(order.model))) is not None:
        raise UsageProblem("a simulated model costs nothing", place="--max-cost", hint="use --max-calls instead")


def _write(
    path: Path, order: RaceOrder, entrants: Sequence[Entrant], seeds: dict[str, int], budget: dict[str, Any]
) -> None:
    """Write the definition of an experiment with these entrants, and their files beside it."""
    files = path.parent / FILES
    value = {
        "name": path.stem,
        "description": "One round of a race between workflows, policies and budgets.",
        "problems": [str(Path(problem).absolute()) for problem in order.problems],
        "models": [order.model],
        "pipelines": [item.pipeline(FILES) for item in entrants],
        "caps": sorted(order.caps),
        "seeds": seeds,
        "baseline": entrants[0].arm(max(order.caps)),
        "budget": budget,
        "concurrency": order.concurrency,
    }
    for entrant in entrants:
        write_file(files / f"{entrant.name}.yaml", entrant.text(max(order.caps)))
    write_file(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True))
