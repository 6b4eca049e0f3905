"""The rules of a planning run. A rule is a decision that may follow from a state. Pure.

The order in `rules_with` counts: the first rule that returns an event wins. Some rules look at every branch, or at the
tree of all branches.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from actors.demands.user_texts import problem_demands
from actors.guards import review
from actors.planning import early_ends, planning_questions
from actors.planning.attempt_counts import count_attempts
from actors.planning.briefs import classification_of, next_try, request_for
from actors.planning.early_ends import is_held, park_for_cut, reject_cut, retry_in_resumed_visit
from actors.planning.events import (
    ONLY_FORWARD,
    ClassificationRequested,
    Decided,
    JudgementRequested,
    PlanningCall,
    PlanningEvent,
    PlanningOutcome,
    Revised,
    RunFinished,
    VerdictReached,
    branch_of,
    classification_id,
    node_id,
)
from actors.planning.given_plans import ask_or_end
from actors.planning.meaning import compare_redone_steps, is_repeat
from actors.planning.planning_questions import blocks
from actors.planning.state import Branch, Node, State
from actors.planning.strategy_view import change_of, choose_branch, end_with_best, end_with_win, tree_of
from actors.policy.decision import Failure, Situation, after_change, decide, is_worth_classifying, summary
from actors.policy.table import BacktrackLevel
from actors.run import ending, questions
from actors.run.ending import end_exhausted_run
from actors.run.ids import rest_id, step_of
from actors.run.questions import (
    ClarificationRequested,
    ClarificationWithdrawn,
    Question,
    Status,
)
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, REMIND, Rule, Scope
from actors.run.waits import WaitRequested
from actors.search.progress import GOAL, Phase, Search, cleared_steps, first, next_attempt
from actors.search.tree import BranchView, SearchTree
from actors.values.findings import Code, Verdict
from runtime.core.ledger import Limit

_FAILED, _STUCK = Phase.FAILED, Phase.STUCK  # Before Python 3.12, looking up a member of an enum is slow.


def judge(state: State) -> JudgementRequested | VerdictReached | None:
    """Ask a guard to judge the oldest unjudged artifact. If the end of the reply is missing, reject the artifact."""
    if not state.unjudged:
        return None
    node = state.nodes[state.unjudged[0]]
    return reject_cut(state, node.node) or JudgementRequested(node=node.node, guard=state.config.steps[node.step].guard)


def _begin_round(state: State, branch: Branch) -> Revised | None:
    """Begin a new round in all branches after an answer, even if the branch that asked was pruned."""
    return _revise(state, branch) if branch.to_revise is not None and branch.to_revise.new_round else None


def _revise(state: State, branch: Branch) -> Revised | None:
    revision = branch.to_revise
    if revision is None:
        return None
    return Revised(
        revision=state.revision + 1,
        level=revision.level,
        targets=revision.targets,
        cleared=cleared_steps(state.config.graph, revision.targets),
        tags=revision.tags,
        new_round=revision.new_round,
        branch=branch.number,
    )


def _settle_failure(state: State, branch: Branch) -> Decided | ClassificationRequested | ending.RunFinished | None:
    if branch.pruned or _FAILED not in branch.progress.phases:
        return None
    for step, slot in branch.progress.items():
        if slot.phase is _FAILED:
            node = state.newest(branch, step)
            assert node is not None
            event = None if is_held(state, branch, node) else _settle(state, branch, node)
            if event is not None:
                return event
    return None


def _settle(state: State, branch: Branch, node: Node) -> Decided | ClassificationRequested | ending.RunFinished | None:
    assert node.verdict is not None
    config, run, call = state.config, state.run, classification_id(node.node)
    if call in run.calls.tries or any(open_call.request.call == call for open_call in run.calls.open.values()):
        return None  # The search decides after the classifier's answer.
    failure = Failure(
        node.step,
        node.node,
        node.verdict,
        repeats=any(is_repeat(state, branch, state.nodes[name]) for name in (node.node, *node.parents)),
        again=is_repeat(state, branch, node),
        came=compare_redone_steps(state, branch, node, config.policy),
    )
    classification = node.classification
    situation = _situation_of(state, branch, node.step)
    decision = retry_in_resumed_visit(
        state, branch, node, decide(failure, situation, None if classification is None else classification.cause)
    )
    if decision.not_worth_it:
        return early_ends.end_early(state, node, decision, early_ends.why_worthless(state, decision))
    if why := early_ends.why_stuck(state, branch, node, decision):
        return early_ends.end_early(state, node, decision, why)
    if decision.level is BacktrackLevel.GIVE_UP and situation.graph is not config.graph:
        with_all_moves = decide(failure, replace(situation, graph=config.graph))
        if with_all_moves.level is not BacktrackLevel.GIVE_UP:
            return early_ends.end_early(state, node, decision, early_ends.why_used_up(state))
    classifications_left = config.workflow.classifications_max - state.classifications
    if classification is None and classifications_left > 0 and is_worth_classifying(failure, situation, decision):
        if run.saving:
            return None  # The classifier is asked in a later drive or on the next day.
        request = classification_of(state, branch, node.node, decision.rule, 1)
        if run.ledger.shortfall(request.reserve, run.now) is None:
            return request
    return Decided.of(decision)


def _situation_of(state: State, branch: Branch, step: str) -> Situation:
    config = state.config
    return Situation(
        graph=early_ends.disable_steps(config.graph, early_ends.find_repeating_steps(state, branch)),
        progress=branch.progress,
        roles=config.roles,
        policy=config.policy,
        search=config.search,
        history=branch.history,
        escalation=config.escalation(step),
        questions_left=state.questions_left(step),
        belief=config.belief,
        weighs_questions=not config.no_input,
        weighs_afresh=not config.deterministic,
        stop_below=state.run.ledger.limits.stop_below or 0.0,
    )


def end(state: State, tree: SearchTree | None) -> RunFinished | None:
    """End the run with the best plan, or because all branches are stuck.

    If all branches are stuck, the run does not end while a question is open, because an answer may begin a new round.
    """
    phases = [branch.progress.phases for branch in state.branches if not branch.pruned]
    if GOAL not in phases and not all(_STUCK in present for present in phases):
        return None
    strategy = state.config.strategy
    tree = tree or tree_of(state, strategy)
    best = choose_branch(strategy, tree)
    if best is not None:
        return end_with_win(best)
    for view in tree.live:
        if not view.stuck:
            return None
    best = max(tree.live, key=lambda view: view.rank)
    return _give_up(state, state.branches[best.branch])


def _give_up(state: State, branch: Branch) -> RunFinished | None:
    """End the run because a step is stuck; None while a question is open, because an answer may begin a new round."""
    step = first(branch.progress, Phase.STUCK)
    if step is None or state.run.open_questions:
        return None
    node = state.newest(branch, step)
    assert node is not None
    assert node.decision is not None
    assert node.verdict is not None
    why = f"{step}: {summary(node.decision, node.verdict)}"
    if any(finding.code == Code.NOT_UNDERSTOOD for finding in node.verdict.findings):
        return RunFinished(outcome=PlanningOutcome.NOT_UNDERSTOOD, why=why)
    if not state.config.graph.requires[step]:
        return RunFinished(outcome=PlanningOutcome.ALL_PRUNED, why=why)
    if state.config.search is Search.LINEAR:  # A linear search has no budget of visits to use up.
        return RunFinished(outcome=PlanningOutcome.ALL_PRUNED, why=f"{why}; {ONLY_FORWARD}")
    return RunFinished(outcome=PlanningOutcome.BACKTRACK_CEILING, why=why)


def rest(state: State) -> WaitRequested | None:
    """Wait before a retry that the policy delays."""
    if not state.resting:
        return None
    run = state.run
    for node, seconds in state.resting.items():
        if not run.parked and not any(wait.node == node for wait in run.waits.values()):
            return WaitRequested(request_id=rest_id(node), until=run.wall + seconds, why="back-off", node=node)
    return None


def request(state: State, tree: SearchTree | None) -> PlanningCall | ending.RunFinished | None:
    """Request an artifact of a ready step. If a limit forbids every request and no other work is open, end the run."""
    run = state.run
    if run.saving:
        return None
    graph, tries, short = state.config.graph, run.calls.tries, None
    for branch in state.branches:
        progress = branch.progress
        if branch.pruned or _STUCK in progress.phases:
            continue  # A stuck branch that waits for an answer gets no calls.
        ready = progress.ready(graph)
        if not (ready or tries):
            continue
        steps = _drop_resting_steps(state, branch, ready)
        if tree is not None:
            steps, limit = _allowed_steps(state, tree, tree.branches[branch.number], steps)
            short = short or limit
        result = _choose_request(state, branch, steps)
        if isinstance(result, Limit):
            short = result
        elif result is not None:
            return result
    return None if short is None or state.working else end_exhausted_run(short)


def _allowed_steps(
    state: State, tree: SearchTree, view: BranchView, steps: Sequence[str]
) -> tuple[Sequence[str], Limit | None]:
    """Return the steps that the strategy lets a branch request, and the limit that was reached.

    The limit is `Limit.CALLS` if the branch has used up its share of the calls; None if no limit was reached.
    """
    strategy, graph, short = state.config.strategy, state.config.graph, None
    if view.spent and steps:  # Steps without calls need no share.
        free = [step for step in steps if graph.budgets[step].deterministic]
        if len(free) < len(steps) and not state.run.open_questions:
            short = Limit.CALLS
        steps = free
    return [step for step in steps if strategy.may_ask(tree, view, graph.layer_of[step])], short


def _drop_resting_steps(state: State, branch: Branch, steps: Sequence[str]) -> Sequence[str]:
    if not state.resting:
        return steps
    resting = {step_of(node) for node in state.resting if branch_of(node) == branch.number}
    return [step for step in steps if step not in resting]


def _choose_request(state: State, branch: Branch, steps: Iterable[str]) -> PlanningCall | Limit | None:
    """Return the first affordable request of a branch.

    If no request is affordable, return the limit that the last request exceeds.

    Further tries of a call come first, because their attempt was already allowed. First tries at each of `steps`
    follow.
    """
    graph, ledger, now = state.config.graph, state.run.ledger, state.run.now
    short: Limit | None = None
    for tries in state.run.calls.tries.values():
        if tries.phase == "rested" and branch_of(tries.request.node) == branch.number:
            further_try = next_try(state, tries.request)
            short = ledger.shortfall(further_try.reserve, now)
            if short is None:
                return further_try
    for step in steps:
        if ledger.calls_left < 1 and not graph.budgets[step].deterministic:
            short = Limit.CALLS  # Checked first, because rendering the prompt is slow.
            continue
        slot = next_attempt(graph, branch.progress, step)
        first_try = request_for(state, branch, node_id(step, slot.number, slot.attempt, branch.number), 1)
        short = ledger.shortfall(first_try.reserve, now)
        if short is None:
            return first_try
    return short


def ask(state: State, branch: Branch) -> ClarificationRequested | RunFinished | None:
    """Ask the next question that was decided. A run that may ask nobody ends, and the question is the reason."""
    if not branch.to_ask:
        return None
    planned = branch.to_ask[0]
    question = ClarificationRequested(
        question_id=questions.new_id(state.run.questions),
        node=planned.node,
        **planned.asked.form,
        why=f"{planned.step}: {planned.rule}",
        blocks=blocks(state, planned.step),
    )
    return ask_or_end(state, question)


def withdraw(state: State, branch: Branch) -> ClarificationWithdrawn | None:
    """Withdraw a question if its step no longer needs the answer."""
    if not state.run.questions:
        return None
    for name, request in state.run.open_questions.items():
        if request.reached is not None or branch_of(request.node) != branch.number:
            continue
        phase, newest = branch.progress[request.step].phase, state.newest(branch, request.step)
        waits = phase is Phase.ASKED and newest is not None and newest.node == request.node
        if branch.pruned or not (request.node in state.reviews if request.review else waits):
            return ClarificationWithdrawn(question_id=name)
    return None


def replan(state: State) -> Revised | None:
    """After a changed requirement, go back as far as the policy says, and begin a new round."""
    if not state.to_replan:
        return None
    config = state.config
    level, targets = after_change(config.graph, config.roles, config.policy)
    return Revised(
        revision=state.revision + 1,
        level=level,
        targets=targets,
        cleared=cleared_steps(config.graph, targets),
        new_round=True,
        branch=None if len(state.branches) > 1 else 0,
    )


def _review_artifact(state: State) -> ClarificationRequested | RunFinished | VerdictReached | None:
    """Ask a person to review an artifact that all other guards accept.

    After the answer, return the person's verdict.
    """
    if not state.reviews:
        return None
    for node, others in state.reviews.items():
        step, question = step_of(node), _review_of(state, node)
        if question is None and (rejection := reject_cut(state, node)) is not None:
            return rejection
        if question is None and step not in state.silenced:
            request = ClarificationRequested(
                question_id=questions.new_id(state.run.questions),
                node=node,
                **planning_questions.review(step, blocks(state, step)).form,
                why=f"{step}: {review.NAME}",
                blocks=blocks(state, step),
                review=True,
            )
            return ask_or_end(state, request)
        if question is None or not question.open:
            guard = state.config.workflow.effective_guard(step)
            verdict = review.combine_with_review(guard, others, _person_verdict(question))
            return VerdictReached(node=node, at=state.run.now, elapsed=0.0, verdict=verdict)
    return None


def _person_verdict(question: Question | None) -> Verdict:
    if question is not None and question.status is Status.ANSWERED:
        return review.verdict_of(question.answer)
    status = "skipped, because nobody answered an earlier review" if question is None else question.status
    return review.verdict_without_answer(f"the review was {status}")


def _review_of(state: State, node: str) -> Question | None:
    for question in state.run.questions.values():
        if question.request.review and question.request.node == node:
            return question
    return None


_COMMON, _RUN, _BRANCH = Scope.COMMON, Scope.RUN, Scope.BRANCH  # Before Python 3.12, looking up a member is slow.


def rules_with(reissue: Callable[[State], Any]) -> tuple[Rule, ...]:
    """Return all rules in their order. `reissue` is the rule that repeats the open requests of an earlier driver."""
    return (
        Rule("judge", Scope.RUN, judge),
        Rule("begin a round", Scope.BRANCH, _begin_round),
        Rule("open or prune", Scope.SEARCH, change_of),
        Rule("go back", Scope.BRANCH, _revise),
        Rule("change the requirements", Scope.RUN, replan),
        Rule("withdraw a question", Scope.BRANCH, withdraw),
        Rule("ask", Scope.BRANCH, ask),
        EXPIRE,
        Rule("have it reviewed", Scope.RUN, _review_artifact),
        Rule("decide about a failure", Scope.BRANCH, _settle_failure),
        Rule("end", Scope.SEARCH, end),
        AFTER_FAULT,
        KEEP_DEADLINE,
        REMIND,
        Rule("reissue", Scope.RUN, reissue),
        Rule("rest", Scope.RUN, rest),
        Rule("request", Scope.SEARCH, request),
        Rule("park for cut replies", Scope.BRANCH, park_for_cut),
    )


def next_event(table: tuple[tuple[Scope, Any], ...], state: State) -> PlanningEvent | None:
    """Return the event of the first rule that returns an event; None if no rule does."""
    run, branches, strategy = state.run, state.branches, state.config.strategy
    event = tree = None
    for scope, function in table:
        if scope is _RUN:
            event = function(state)
        elif scope is _BRANCH:
            for branch in branches:
                event = function(state, branch)
                if event is not None:
                    break
        elif scope is _COMMON:
            event = function(run)
        else:
            if tree is None and strategy.compares:
                tree = tree_of(state, strategy)
            event = function(state, tree)
        if event is not None:
            return _finish_run(state, event, tree) if isinstance(event, ending.RunFinished) else event
    return None


def _finish_run(state: State, event: ending.RunFinished, tree: SearchTree | None) -> RunFinished:
    """Return the run's end with its counts. If the search compares branches, the end names the best branch."""
    end = RunFinished.of(event)
    end = end if tree is None else end_with_best(tree, end)
    succeeded = end.outcome is PlanningOutcome.SUCCESS
    if (counted := count_attempts(state, succeeded=succeeded)) is not None:
        end = end.model_copy(update={"counted": counted})
    if succeeded and not state.run.child:
        end = end.model_copy(update={"demands": problem_demands(state.specification)})
    return end
