"""The results of experiments: the metrics of each trial, and a file with one line of JSON per trial, in order.

The file of an interrupted experiment is a prefix of the complete file. The experiment continues after the last complete
line, and its final file has the same bytes as without an interruption. `experiment.json` beside the file identifies the
experiment.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, ValidationError

from actors.planning.events import ArtifactProduced, PlanningEvent, PlanningOutcome
from actors.planning.state import PlanningState, State
from actors.policy.table import REPLANS, BacktrackLevel
from actors.run.ids import step_of
from replan_lab.experiments.definition import ExperimentProblem
from replan_lab.simulated.world import World, strategy_for
from runtime.core.errors import UsageProblem
from runtime.core.events import Value
from runtime.models.replies import Parsed

RESULTS = "results.jsonl"
HEADER = "experiment.json"
SCHEMA_VERSION: Literal[1] = 1
CUT_SHORT = "cut_short"
"""The outcome of a trial that ended at an exact budget before it reached its own limits."""
WAITING = "waiting"
"""The outcome of a trial whose run asked a question. Nobody answers questions in an experiment."""


class StepUse(Value):
    """The metrics of one step in a trial."""

    attempts: int = 0
    """The number of attempts of the step, over all its visits."""
    accepted: int = 0
    """The number of attempts that the guard accepted."""
    calls: int = 0
    """The number of model calls of the step, over all its visits."""
    seconds: float = 0.0
    """Seconds of generation."""


class Trial(Value):
    """The result of one trial: a line of the file of results."""

    arm: str
    """The arm's name."""
    problem: str
    """The problem's name."""
    seed: int
    """The seed, or the number of the repetition with a real model."""
    category: str = ""
    """The problem's category."""
    cause: str = ""
    """The level at which a simulated problem is hard; empty with a real model."""
    outcome: str
    """The outcome of the run; `waiting` if it asked a question; `cut_short` if the rest of an exact budget ended it."""
    passed: bool
    """Whether every guard passed."""
    solved: bool | None = None
    """Whether the plan is right; None with a real model, because it is unknown."""
    calls: int
    """Model calls."""
    help_calls: float = 0.0
    """The price of the simulated person's answers, in model calls. This price is not part of `calls`."""
    price_calls: float = 0.0
    """The price of all calls minus the number of calls; negative if calls cost less than 1. It is 0 if the profile has
    no `call_prices`.
    """
    tokens: int
    """The number of input and output tokens of the run."""
    micro_usd: int | None
    """The cost in millionths of a dollar; None if the price is unknown."""
    seconds: float
    """Active time in seconds."""
    depths: tuple[int, ...] = ()
    """For each time that the search goes back: the number of steps from the rejected step up to the farthest redone
    step, along `requires`."""
    retries: int = 0
    """The number of rejections after which the step was tried again in the same visit. Tables count these rejections at
    depth 0.
    """
    rules: Mapping[str, int] = Field(default_factory=dict)
    """The number of decisions by each row of the policy."""
    aligned: bool | None = None
    """Whether the accepted strategy fits the accepted problem type; None if either is missing."""
    steps: Mapping[str, StepUse] = Field(default_factory=dict)
    """The metrics of each step of the workflow, by the step's id."""

    @property
    def key(self) -> tuple[str, str, int]:
        """The identity of the trial: arm, problem, seed."""
        return self.arm, self.problem, self.seed


class ExecutionTrial(Value):
    """The result of one trial: a line of the file of results."""

    policy: str
    """The policy's name."""
    world: str
    """The world's name."""
    seed: int
    """The seed."""
    outcome: str
    """The outcome of the run."""
    goals: int
    """The number of goals of the task."""
    achieved: int
    """The number of goals that are really reached at the end."""
    reported: int
    """The number of goals that the execution believes to be reached at the end: the goals whose tokens hold."""
    tool_calls: int
    """The number of calls of tools and checks."""
    replans: int
    """The replans."""
    questions: int
    """The number of questions to a person, including questions about interrupted calls."""
    seconds: float
    """The simulated time, including waiting for people."""
    rules: Mapping[str, int] = Field(default_factory=dict)
    """The number of decisions, by row of the policy."""


def trial_from(
    arm: str,
    problem: ExperimentProblem,
    seed: int,
    run: tuple[PlanningState, Iterable[PlanningEvent]],
    world: World | None,
) -> Trial:
    """Return the metrics of a planning run. `run` contains the run's last state and its events.

    `world` is None with a real model.
    """
    state, events = run
    assert isinstance(state, State), "the run of a trial has not begun"
    passed = state.end is not None and state.end.outcome is PlanningOutcome.SUCCESS
    plan = _accepted_value(state, "plan")
    decided = [(node.step, node.decision) for node in state.nodes.values() if node.decision is not None]
    distance, used = state.config.graph.distance, state.run.ledger.committed
    person = None if world is None else world.profile.person
    steps = _steps(state, events)
    return Trial(
        arm=arm,
        problem=problem.name,
        seed=seed,
        category=problem.category,
        cause="" if world is None else str(world.cause),
        outcome=WAITING if state.run.finished is None else str(state.run.finished.outcome),
        passed=passed,
        solved=None if world is None else passed and plan is not None and world.solved_by(plan),
        calls=used.calls,
        help_calls=(person.calls if person else 0.0)
        * sum(1 for question in state.run.questions.values() if question.answer),
        price_calls=0.0 if world is None else _surcharge(state, steps, world.profile.call_prices),
        tokens=used.tokens,
        micro_usd=None if state.config.price is None else used.micro_usd,
        seconds=round(state.run.ledger.active, 3),
        depths=tuple(
            max((distance(target, step) for target in decision.targets), default=0)
            for step, decision in decided
            if decision.level in REPLANS
        ),
        retries=sum(decision.level is BacktrackLevel.LOCAL_RETRY for _, decision in decided),
        rules=dict(sorted(Counter(decision.rule for _, decision in decided).items())),
        aligned=_is_aligned(state),
        steps=steps,
    )


def _surcharge(state: State, steps: Mapping[str, StepUse], prices: Mapping[str, float]) -> float:
    return sum((prices.get(state.config.roles[step], 1.0) - 1.0) * use.calls for step, use in steps.items())


def _steps(state: State, events: Iterable[PlanningEvent]) -> dict[str, StepUse]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for event in events:
        if isinstance(event, ArtifactProduced):
            seconds[step_of(event.node)] += event.elapsed
    uses = {}
    for step in state.config.graph.steps:
        nodes = [node for node in state.nodes.values() if node.step == step]
        uses[step] = StepUse(
            attempts=len(nodes),
            accepted=sum(1 for node in nodes if node.verdict is not None and node.verdict.passed),
            calls=sum(node.used.calls for node in nodes),
            seconds=round(seconds[step], 3),
        )
    return uses


def _accepted_value(state: State, role: str) -> Any:
    for step in reversed(state.config.graph.steps):
        node = state.nodes.get(state.latest.progress[step].accepted or "")
        if state.config.roles[step] == role and node is not None and node.artifact is not None:
            value = node.artifact.value
            return value.value if isinstance(value, Parsed) else None
    return None


def _is_aligned(state: State) -> bool | None:
    analysis, strategy = _accepted_value(state, "analysis"), _accepted_value(state, "strategy")
    if not isinstance(analysis, dict) or not isinstance(strategy, dict):
        return None
    return bool(strategy.get("strategy_id") == strategy_for(analysis.get("problem_type")))


class Header(Value):
    """The identity of the experiment whose results a folder contains."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """The version of the format of header and lines. Results of another version are refused."""
    release: str
    """The release of the program that began the experiment. Another release does not continue the experiment."""
    name: str
    definition: str
    """A hash of everything that the trials depend on."""
    trials: int


def lines_of(trials: Iterable[Trial | ExecutionTrial]) -> bytes:
    """Return trials as lines of the file of results."""
    dumped = (trial.model_dump(mode="json") for trial in trials)
    return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in dumped)


def read_results(folder: Path) -> list[Trial]:
    """Return the trials in a folder. An incomplete last line is ignored.

    Raises:
        UsageProblem: the file cannot be read, or a line is not a trial of this format.
    """
    path = folder / RESULTS
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path)) from None
    trials = []
    for number, line in enumerate(_complete_lines(data), 1):
        try:
            trials.append(Trial.model_validate_json(line))
        except ValidationError:
            hint = "delete the folder, or name another with --out"
            raise UsageProblem("this release cannot read the result", place=f"{path}:{number}", hint=hint) from None
    return trials


def read_frame(folder: Path) -> Any:
    """Return the trials as a pandas DataFrame with one row each; a step's columns are named `STEP.attempts` and so on.

    Raises the errors of `read_results`.
    """
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 -- slow to load

    return pd.DataFrame([dict(_columns(trial)) for trial in read_results(folder)])


def _columns(trial: Trial) -> Iterator[tuple[str, Any]]:
    yield from trial.model_dump(mode="json", exclude={"steps", "rules"}).items()
    for step, use in trial.steps.items():
        yield from ((f"{step}.{name}", value) for name, value in use.model_dump().items())
    yield from ((f"rule.{rule}", count) for rule, count in trial.rules.items())


def _complete_lines(data: bytes) -> list[bytes]:
    return data[: data.rfind(b"\n") + 1].splitlines()


class ResultsFolder:
    """The folder for the results of an experiment."""

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self._header = header

    def begin(self, keys: Iterable[tuple[str, str, int]]) -> list[Trial]:
        """Create the folder, or read the results of the same experiment from it. Return the finished trials.

        `keys` are the keys of all trials, in their order.

        Raises:
            UsageProblem: the folder contains other results than a prefix of these trials, or cannot be written.
        """
        header, results = self.folder / HEADER, self.folder / RESULTS
        with self._write_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            if not header.exists():
                if results.exists():
                    cause = f"the folder has results, but no {HEADER}"
                    raise UsageProblem(cause, place=str(self.folder), hint="name another folder with --out")
                options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                temporary = header.with_suffix(".part")
                temporary.write_bytes(orjson.dumps(self._header.model_dump(mode="json"), option=options))
                temporary.replace(header)
                results.touch()
                return []
            self._compare(header)
            results.touch()
            trials = read_results(self.folder)
            if any(trial.key != key for trial, key in zip(trials, keys, strict=False)):
                raise UsageProblem(
                    "the trials are not in the order of the experiment",
                    place=str(results),
                    hint="name another folder with --out",
                )
            with results.open("r+b") as file:  # Remove an incomplete last line. Its trial runs again.
                file.truncate(sum(len(line) + 1 for line in _complete_lines(results.read_bytes())))
            return trials

    def append(self, trial: Trial) -> None:
        """Append a trial.

        When this method returns, the operating system has the trial, so it survives the end of this process.
        """
        with self._write_errors(), (self.folder / RESULTS).open("ab") as file:
            file.write(lines_of([trial]))

    @contextmanager
    def _write_errors(self) -> Iterator[None]:
        """Turn an `OSError` that the `with` block raises into a `UsageProblem`. Earlier results remain valid."""
        try:
            yield
        except OSError as error:
            hint = "make the folder writable, and repeat the command to continue"
            cause = f"cannot be written: {error.strerror}"
            raise UsageProblem(cause, place=str(self.folder), hint=hint) from None

    def _compare(self, path: Path) -> None:
        try:
            header = Header.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            hint = "name another folder with --out"
            raise UsageProblem("this release cannot read the results", place=str(path), hint=hint) from None
        if header != self._header:
            same = header.definition == self._header.definition and header.name == self._header.name
            cause = (
                f"release {header.release} made these results"
                if same
                else "the folder has the results of another experiment or definition"
            )
            raise UsageProblem(cause, place=str(path), hint="name another folder with --out, or delete this one")
