"""The rules for troubles. A trouble stops the plan until the policy or a person decides how to continue. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from actors.execution import faults, undo_rules
from actors.execution.events import GOALS_FAILED, StepOutcome, StepSettled, TroubleCause, TroubleDecided, UndoDecided
from actors.execution.execution_questions import BY_HAND, LEVELS, UNDO_ALL, question_of
from actors.execution.forbidden import forbidden_uses, read_constraints
from actors.execution.ids import trouble_node
from actors.execution.state import SettledFailure, State, Trouble, covers_another_visit
from actors.execution.workspace_rules import request_last_snapshot
from actors.guards import review
from actors.plans.constraints import requirements_json
from actors.plans.plan import UNDO
from actors.plans.semantics import Configuration, goal_holds, is_ready
from actors.policy.table import BACKOFF_MAX, REPLANS, BacktrackLevel, Policy, Row
from actors.run.ending import Outcome, RunFinished
from actors.run.questions import ClarificationRequested, new_id
from actors.run.tools import ToolRequested
from actors.tools.agent_work import list_paths
from actors.values.findings import Code, Finding


class TroubleChoice(NamedTuple):
    """The row of the policy that decides about the findings of a failure."""

    row: Row
    finding: Finding
    """The finding that the row matched, or else the first finding."""
    known: bool
    """Whether the row names the finding, one of its tags, or a repetition. False if the row matches everything."""

    @property
    def level(self) -> BacktrackLevel:
        """The level of the row's decision."""
        return self.row.level

    def delay_seconds(self, earlier: int) -> float:
        """Return the back-off before a retry, in seconds. The back-off doubles with each of the `earlier` retries."""
        if self.row.level is not BacktrackLevel.LOCAL_RETRY:
            return 0.0
        return float(min(BACKOFF_MAX, self.row.backoff_seconds * 2 ** min(earlier, 10)))


def choose(policy: Policy, findings: Sequence[Finding], *, repeated: bool = False) -> TroubleChoice:
    """Return the first row of a policy that matches one of the findings. `findings` must not be empty.

    `repeated` says that the same failure has occurred several times in a row.
    """
    for row in policy.rows:
        finding = next((finding for finding in findings if row.matches(finding)), None)
        if finding is not None or (row.repeated and repeated) or row.always:
            return TroubleChoice(row, finding or findings[0], not row.always)
    raise AssertionError("the policy has no last row that matches every finding")


def signature_of(findings: Sequence[Finding]) -> frozenset[tuple[str, str]]:
    """Return the codes and places of findings. Failures with equal codes and places count as the same failure."""
    return frozenset((finding.code, finding.where) for finding in findings)


def _streak(history: Sequence[SettledFailure], step: str, findings: Sequence[Finding]) -> int:
    """Return how many failures of a step in a row have the codes and places of `findings`, with the current failure."""
    current = signature_of(findings)
    count = 1
    for past in reversed(history):
        if past.step != step:
            continue
        if past.signature != current:
            break
        count += 1
    return count


USER = "user"
NOTHING_LEFT = "budget"
"""The rule that a decision names if the budgets allow no other decision."""
ONLY_A_PERSON = "only_a_person"
PLANS_AGAIN = "plans_again"
"""The rule that a decision names if the last replan failed, and another replan follows. The last replan found no plan,
or its plan was rejected."""
_GOES_ON = frozenset({TroubleCause.PLAN_REJECTED, TroubleCause.REPLAN_FAILED})
"""The troubles that lead to another replan without a question, at the level stored in the trouble."""
_ASKS_AT_ONCE = frozenset(
    {TroubleCause.PLANNER_ASKS, TroubleCause.PLAN_REJECTED, TroubleCause.REPLAN_FAILED, TroubleCause.UNKNOWN_OUTCOME}
)
"""The causes of troubles about which a person is asked at once, unless `_GOES_ON` leads to another replan. The policy
does not decide about these troubles."""


def decide(state: State) -> TroubleDecided | StepSettled | UndoDecided | None:
    """Decide how to continue after a trouble. The plan, the policy or a person's answer makes the decision."""
    if state.undoing is not None:
        return None
    if state.trouble is not None and _plan_undoes(state, state.trouble):
        return UndoDecided(by="plan", why=state.trouble.why, step=state.trouble.step, findings=state.trouble.findings)
    requirements = state.run.texts_of("requirement")
    new_requirements = requirements[state.requirements_used :]
    if new_requirements:  # A new requirement overrides earlier decisions and questions.
        finding = faults.changed_requirements(new_requirements, None if state.replan is None else state.replan.edit)
        constraints = read_constraints(new_requirements, state.config.tools.names)
        event = _apply_policy(state, Trouble(TroubleCause.REQUIREMENTS_CHANGED, "", (finding,)))
        return event.model_copy(update={"constraints": requirements_json(constraints)}) if constraints else event
    if state.replan is not None or state.ending is not None:
        return None
    trouble = state.trouble or _find_forbidden_step(state) or _find_dead_end(state)
    if trouble is None:
        return None
    if trouble.number:
        return None if trouble.answer is None else _apply_answer(trouble, trouble.answer)
    return _apply_policy(state, trouble)


def _plan_undoes(state: State, trouble: Trouble) -> bool:
    if trouble.cause is not TroubleCause.ESCALATED or trouble.number:
        return False
    return state.plan.by_id[trouble.step].on_failure == UNDO


def _find_forbidden_step(state: State) -> Trouble | None:
    barred = [index for index in state.ready if index in state.barred]
    if not barred or state.active or len(barred) < len(state.ready):
        return None
    step = state.plan.program.steps[barred[0]]
    findings = forbidden_uses(state.constraints.requirements, step, state.config.tools)
    return Trouble(TroubleCause.STEP_FORBIDDEN, step.step_id, findings)


def _find_dead_end(state: State) -> Trouble | None:
    if state.active or state.ready or goal_holds(state.plan.program, state.now):
        return None
    program = state.plan.program
    missing = program.names(program.goal & ~state.now.tokens)
    return Trouble(TroubleCause.DEAD_END, "", (faults.dead_end(missing),))


def _apply_policy(state: State, trouble: Trouble) -> TroubleDecided:
    """Return the policy's decision about a trouble.

    If the budgets forbid this decision, return a decision that goes farther back and that the budgets allow.
    """
    by_requirement = trouble.cause is TroubleCause.REQUIREMENTS_CHANGED
    in_a_row = _streak(state.history, trouble.step, trouble.findings)
    repeated = not by_requirement and in_a_row >= state.config.r_patience
    choice = choose(state.config.policy, trouble.findings, repeated=repeated)
    level = choice.level
    rule = choice.row.id
    is_refused = any(finding.code == Code.NOT_APPROVED for finding in trouble.findings)
    if trouble.cause in _GOES_ON and trouble.level in REPLANS:
        level = trouble.level
        rule = PLANS_AGAIN
    elif is_refused or trouble.cause in _ASKS_AT_ONCE:
        level = BacktrackLevel.CLARIFY
        rule = ONLY_A_PERSON
    if level is BacktrackLevel.LOCAL_RETRY and not _may_try_again(state, trouble):
        level = BacktrackLevel.PARTIAL_REPLAN
    if level in REPLANS and not _may_replan(state, trouble):
        level = BacktrackLevel.CLARIFY
    is_agreed = trouble.cause is TroubleCause.REQUIREMENTS_CHANGED or trouble.cause in _GOES_ON
    asks_consent = level is BacktrackLevel.FULL_REPLAN and not is_agreed
    asks = asks_consent or level is BacktrackLevel.CLARIFY
    if asks and questions_left(state, trouble) < 1:
        asks = False
        rule = NOTHING_LEFT
        level = BacktrackLevel.PARTIAL_REPLAN if asks_consent else BacktrackLevel.GIVE_UP
    delay = choice.delay_seconds(in_a_row - 1) if level is BacktrackLevel.LOCAL_RETRY else 0.0
    return _decide_trouble(trouble, level, rule, choice.finding.code, asks=asks, delay_seconds=delay)


def _apply_answer(trouble: Trouble, answer: str) -> TroubleDecided | StepSettled | UndoDecided:
    if answer == UNDO_ALL:
        return UndoDecided(
            by="person",
            why=trouble.why,
            step=trouble.step,
            findings=trouble.findings,
            question_id=trouble.question,
        )
    if answer == BY_HAND and trouble.cause is not TroubleCause.PLANNER_ASKS:
        return StepSettled(step=trouble.step, node="", outcome=StepOutcome.OK)
    if trouble.cause is TroubleCause.PLANNER_ASKS:
        level = BacktrackLevel.PARTIAL_REPLAN if trouble.level not in REPLANS else trouble.level
    else:
        level = LEVELS.get(answer, BacktrackLevel.GIVE_UP)
    code = trouble.findings[0].code
    return _decide_trouble(trouble, level, USER, code, question_id=trouble.question)


def _decide_trouble(
    trouble: Trouble,
    level: BacktrackLevel,
    rule: str,
    code: str,
    *,
    asks: bool = False,
    question_id: str | None = None,
    delay_seconds: float = 0.0,
) -> TroubleDecided:
    return TroubleDecided(
        cause=trouble.cause,
        step=trouble.step,
        level=level,
        rule=rule,
        code=code,
        findings=trouble.findings,
        asks=asks,
        question_id=question_id,
        delay_seconds=delay_seconds,
    )


def _may_try_again(state: State, trouble: Trouble) -> bool:
    return _is_ready_again(state, trouble) and covers_another_visit(state, state.plan.index[trouble.step])


def _is_ready_again(state: State, trouble: Trouble) -> bool:
    if not trouble.step or trouble.cause is TroubleCause.STEP_FORBIDDEN:
        return False
    index = state.plan.index[trouble.step]
    now = state.now
    return is_ready(state.plan.program, Configuration(now.pending | 1 << index, now.tokens), index)


def _may_replan(state: State, trouble: Trouble) -> bool:
    replans_left = (
        state.config.replans_max if trouble.cause is TroubleCause.REQUIREMENTS_CHANGED else state.replans_left
    )
    return state.config.planning is not None and not state.config.author_lacks and replans_left > 0


def questions_left(state: State, trouble: Trouble) -> int:
    """Return how many questions about troubles may still be asked. A changed requirement restores the full number."""
    return state.config.questions_max if trouble.cause is TroubleCause.REQUIREMENTS_CHANGED else state.questions_left


def ask(state: State) -> ClarificationRequested | None:
    """Ask a person how to continue after a trouble, if the decision was to ask."""
    trouble = state.trouble
    if trouble is None or not trouble.number or trouble.question or state.run.parked:
        return None
    form = question_of(state, trouble, again=_is_ready_again(state, trouble), plan=_may_replan(state, trouble))
    return ClarificationRequested(
        **form.form,
        question_id=new_id(state.run.questions),
        node=trouble_node(trouble.number, planner_asks=trouble.cause is TroubleCause.PLANNER_ASKS),
        why=f"{trouble.step or 'the plan'}: {trouble.cause}",
        blocks=(trouble.step,) if trouble.step else (),
        for_people=trouble.cause is not TroubleCause.PLANNER_ASKS or form.answer_schema == review.SCHEMA,
    )


def finish(state: State) -> RunFinished | ToolRequested | None:
    """End the run if its end is decided, or if no step is ready and the goal is reached.

    Before a success, the workspace is compared with its first snapshot if paths are protected. If a protected path
    differs, the run fails.
    """
    if state.undoing is not None:
        return undo_rules.finish(state)
    if state.active or state.run.tools:
        return None
    if state.ending is not None:
        return RunFinished(outcome=state.ending.outcome, why=state.ending.why)
    if state.draining or state.ready or not goal_holds(state.plan.program, state.now):
        return None
    if state.run.parked or state.run.renewing:
        return None
    comparison = request_last_snapshot(state)
    if comparison is not None:
        return comparison
    if state.damaged:
        why = f"the goal is reached, but protected paths have changed: {list_paths(state.damaged)}"
        return RunFinished(outcome=GOALS_FAILED, why=why)
    return RunFinished(outcome=Outcome.SUCCESS, why="the goal is reached, and no step is left to do")


def reason(findings: tuple[Finding, ...]) -> str:
    """Return the first line of the first finding's message, cut at 300 characters."""
    first = findings[0].message.splitlines()[0] if findings else ""
    return first[:300]
