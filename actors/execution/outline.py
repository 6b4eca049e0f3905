"""Outlines an execution before it runs: the steps in order, their tools and checks, and what follows failures. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from actors.demands.table import table_lines
from actors.execution.config import ExecutionConfig, ReadyPlan, ready_plan
from actors.execution.result import conclusion_of, demands_of
from actors.plans.graph import contingent_steps
from actors.plans.plan import CONTINUE, ESCALATE, NEVER, UNDO, Step
from actors.plans.plan_text import GO_BACK, failure_text, field_line, one_of, plan_title, step_title
from actors.plans.semantics import after_success, may_overlap, ready_steps
from actors.tools.uses import use_text
from actors.values.format import format_count, shorten
from actors.values.lines import BLANK, Line, StyledSpan, indent_line, line

TEXT_MAX = 100
"""The largest number of characters that the outline shows of each command or instruction."""
_ON_FAILURE = {
    UNDO: "then the run undoes everything and ends",
    ESCALATE: "then the policy decides",
    NEVER: "it cannot fail",
    CONTINUE: "if it fails, the plan goes on",
    GO_BACK: "if it fails, back to ",
}


@dataclass(frozen=True, slots=True)
class OutlinedStep:
    """A step, as a dry run shows it."""

    step: Step
    turn: int
    """The number of the step's turn if nothing fails, from 1; 0 for a contingent step, which runs only after a failure.

    Steps with the same number may run at the same time. In a plan with outcomes, no two steps have the same number.
    """
    executes: str
    checks: str
    """The tool or person that checks the step, in words; empty if the step has no guard."""
    approved: bool

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {
            "step": self.step.step_id,
            "name": self.step.name,
            "turn": self.turn or None,
            "contingent": not self.turn,
            "executes": self.executes,
            "checks": self.checks or None,
            "approval": self.approved,
            "attempts": self.step.retry_budget,
            "on_failure": self.step.on_failure,
            **({"outcomes": [outcome.name for outcome in self.step.outcomes]} if self.step.outcomes else {}),
        }


@dataclass(frozen=True, slots=True)
class Outline:
    """The steps and the configuration of an execution that has not run."""

    config: ExecutionConfig
    steps: tuple[OutlinedStep, ...]
    """The steps that run if nothing fails, in order; then the steps that run only after a failure."""

    def to_json(self) -> dict[str, Any]:
        """Return the outline as the plain data of `execute --dry-run --json`."""
        table = demands_of(self.config, self.plan.plan)
        return {
            "plan_id": self.plan.plan.plan_id,
            "assurance": self.config.assurance,
            "workspace": self.config.workspace,
            "tools": self.config.tools.source or None,
            "approve": self.config.approval,
            "model": self.config.model,
            **({} if table is None else table.to_json()),
            "proved": conclusion_of(self.config, self.plan.plan, self.config.assurance, table).proved,
            "steps": [step.to_json() for step in self.steps],
        }

    @property
    def plan(self) -> ReadyPlan:
        """The plan that would be executed."""
        return ready_plan(self.config.plan)


def outline_of(config: ExecutionConfig) -> Outline:
    """Return the outline of the execution that a configuration describes."""
    plan = ready_plan(config.plan)
    later = contingent_steps(plan.plan)
    turns = _turns(plan)
    # A step without a turn is listed last. Policies may have steps that run only after a failure.
    ordered = sorted(plan.program.steps, key=lambda step: (step.step_id in later, turns.get(step.step_id, 10**9)))
    return Outline(config, tuple(_outline_step(config, plan, step, turns.get(step.step_id, 0)) for step in ordered))


def _outline_step(config: ExecutionConfig, plan: ReadyPlan, step: Step, turn: int) -> OutlinedStep:
    check = config.tools.guard_use(step)
    return OutlinedStep(
        step=step,
        turn=turn,
        executes=shorten(use_text(config.tools.generator_use(step), config.tools), TEXT_MAX),
        checks="" if check is None else shorten(use_text(check, config.tools), TEXT_MAX),
        approved=config.needs_approval(step.step_id, plan),
    )


def _turns(plan: ReadyPlan) -> dict[str, int]:
    program = plan.program
    later = contingent_steps(plan.plan)
    if plan.plan.has_outcomes:
        return _turns_with_outcomes(plan, later)
    now = program.initial
    turns = dict[str, int]()
    for turn in range(1, len(program.steps) + 1):
        free = [index for index in ready_steps(program, now) if program.steps[index].step_id not in {*later, *turns}]
        wave: list[int] = []
        for index in free:
            if all(may_overlap(program, index, other) for other in wave):
                wave.append(index)
        for index in wave:
            turns[program.steps[index].step_id] = turn
            now = after_success(program, now, index, next(iter(program.successes[index])))
        if not wave:
            break
    return turns


def _turns_with_outcomes(plan: ReadyPlan, later: Collection[str]) -> dict[str, int]:
    """Return the turn of each step of a plan with outcomes.

    The turns follow the order in which each step could first begin.

    No two steps have the same number, because outcomes decide which steps run.
    """
    program = plan.program
    numbers = dict[str, int]()
    tokens = program.initial.tokens
    settled = 0
    while True:
        free = [
            index
            for index, step in enumerate(program.steps)
            if step.step_id not in {*later, *numbers}
            and program.needs[index] & ~tokens == 0
            and program.dependencies[index] & ~settled == 0
        ]
        if not free:
            return numbers
        for index in free:
            numbers[program.steps[index].step_id] = len(numbers) + 1
            tokens = tokens | program.adds[index]
            settled = settled | 1 << index


def outline_lines(outline: Outline) -> Iterator[Line]:
    """Yield the outline as lines for people."""
    config = outline.config
    plan = outline.plan.plan
    yield plan_title(plan)
    table = demands_of(config, plan)
    yield indent_line(conclusion_of(config, plan, config.assurance, table).text)
    yield indent_line(f"workspace {config.workspace}, tools {config.tools.source or 'none'}, model {config.model}")
    later = False
    for step in outline.steps:
        if not step.turn and not later:
            later = True
            yield BLANK
            yield line("Only after a failure", "bold")
        yield from _step_lines(step, outline)
    if table is not None:
        yield BLANK
        yield from table_lines(table)


def _step_lines(entry: OutlinedStep, outline: Outline) -> Iterator[Line]:
    step = entry.step
    title = step_title(f"{entry.turn}. " if entry.turn else "-  ", step)
    beside = [other.step.step_id for other in outline.steps if other.turn == entry.turn and other is not entry]
    if entry.turn and beside:
        title += Line((StyledSpan("  "), *line(f"(beside {', '.join(beside)})", "dim").spans))
    if entry.approved:
        title += Line((StyledSpan("  "), StyledSpan("needs your approval", "yellow")))
    yield title
    yield field_line("runs", entry.executes, 6)
    if entry.checks:
        yield field_line("check", entry.checks, 6)
    if step.outcomes:
        yield field_line("tells", one_of(step), 6)
    if not entry.turn or outline.plan.plan.has_outcomes:
        yield field_line("when", ", ".join(sorted(step.preconditions)), 6)
    failure_effects = f", with {', '.join(sorted(step.failure_effects))}" if step.failure_effects else ""
    tries = f"{format_count(step.retry_budget, 'attempt')}; {failure_text(step, _ON_FAILURE)}{failure_effects}"
    yield field_line("tries", tries, 6)
