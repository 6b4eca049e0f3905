"""`advance`: the next decision that follows from the state alone. Pure; a list of rules, the first that fires wins.

The order matters in one way only: what is known is digested (judged, decided, revised, asked) before new work is asked
for, so that no request is made that a decision at hand would withdraw.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from actors.planning.branches import focus
from actors.planning.decision_event import Decided
from actors.planning.events import (
    ClassificationRequested,
    GenerationRequested,
    JudgementRequested,
    Outcome,
    PlanningEvent,
    RequestReissued,
    Revised,
    RunFinished,
    WaitRequested,
)
from actors.planning.ids import branch_of, classification_id, node_id, step_of
from actors.planning.question_rules import ask, expire, look, replan, withdraw
from actors.planning.requests import classification_of, next_try, request_for
from actors.planning.state import Node, State, Tries
from actors.planning.strategy_view import change_of, chosen, ended, tree_of, won
from actors.policy.classification import worth_classifying
from actors.policy.decide import Failure, Situation, decide, summary
from actors.search.progress import GOAL, Phase, cleared, first, next_attempt, phases_of, ready
from actors.search.strategies.tree import Strategy, Tree
from runtime.core.ledger import Limit
from runtime.models.port import Fault

TRIES_MAX = 5
"""Transport tries of one attempt (docs/explanation/budgets.md)."""
BACKOFF_TOTAL_MAX = 600.0
"""Seconds of back-off per attempt, a server's Retry-After included (docs/explanation/budgets.md)."""
BACKOFF_FIRST = 1.0
"""Seconds before the second try; doubles with each, times 0.5 to 1.5 by a hash of the request's id."""
DEADLINE = "deadline"
"""The request id of the wait that ends a run at its deadline."""

Rule = Callable[[State], PlanningEvent | None]
"""A decision that may follow from a state."""


def advance(state: State) -> PlanningEvent | None:
    """Return the next decision, or None when there is none to take."""
    if state.config is None or state.finished is not None:
        return None
    strategy = state.config.strategy
    if strategy is not None:
        return _among_branches(state, strategy)
    for rule in _RULES:
        event = rule(state)
        if event is not None:
            return event
    return None


def _among_branches(state: State, strategy: Strategy) -> PlanningEvent | None:
    """Do the same for a search with branches: its rules for each live branch, and between them the strategy's.

    A branch comes into focus only where a glance at it shows that a rule has something to look at.
    """
    event = _judge(state)
    if event is not None:
        return event
    branches = state.every_branch
    wishing = [number for number, one in enumerate(branches) if one.to_revise is not None]
    # A new round is one of all branches: also when the branch that asked for it has been pruned.
    event = _first(_begin_round, state, wishing)
    if event is not None:
        return event
    tree = tree_of(state, strategy, branches)
    event = change_of(state, strategy, tree)
    if event is not None:
        return event
    event = (
        _first(_revise, state, [number for number in wishing if tree.branches[number].live])
        or replan(state)
        or _first(withdraw, state, range(len(branches)) if state.questions else ())
        or _first(ask, state, [one.branch for one in tree.live if branches[one.branch].to_ask])
        or expire(state)
        or look(state)
        or _first(_settle_failure, state, [one.branch for one in tree.live if one.failed])
        or _ending(state, strategy, tree)
        or _after_fault(state)
        or _keep_deadline(state)
        or _reissue(state)
        or _rest(state)
        or _request_of_any(state, strategy, tree)
    )
    return ended(tree, event) if isinstance(event, RunFinished) else event


def _first(rule: Rule, state: State, branches: Iterable[int]) -> PlanningEvent | None:
    """Return the first decision that a rule takes about one of the branches."""
    for number in branches:
        event = rule(focus(state, number))
        if event is not None:
            return event
    return None


def _begin_round(state: State) -> PlanningEvent | None:
    return _revise(state) if state.to_revise is not None and state.to_revise.new_round else None


def _ending(state: State, strategy: Strategy, tree: Tree) -> RunFinished | None:
    """End the run with the best plan, or for the branches that are stuck, unless an answer may free them."""
    best = chosen(strategy, tree)
    if best is not None:
        return won(best)
    for one in tree.live:
        if not one.stuck:
            return None
    return _give_up(focus(state, max(tree.live, key=lambda one: one.rank).branch))


def _request_of_any(state: State, strategy: Strategy, tree: Tree) -> PlanningEvent | None:
    """Ask for what the strategy lets a branch ask for, as `_request` does for a single one."""
    assert state.config is not None
    if state.saving:
        return None
    graph, short = state.config.graph, None
    for one in tree.live:
        if one.halted or not (one.ready or state.faulted):
            continue
        steps = _rested(state, one.branch, one.ready)
        if one.spent and steps:  # What costs nothing needs no slice.
            free = [step for step in steps if graph.budgets[step].deterministic]
            if len(free) < len(steps) and not state.questions:
                short = short or Limit.CALLS
            steps = free
        steps = [step for step in steps if strategy.may_ask(tree, one, graph.layer_of[step])]
        found = _affordable(state, one.branch, steps)
        if isinstance(found, Limit):
            short = found
        elif found is not None:
            return found
    return _out_of(short, state)


def _reissue(state: State) -> PlanningEvent | None:
    """Ask again for what an earlier driver had open, or end the run if that cannot be reserved."""
    if state.saving:
        return None
    for request_id, opened in state.generations.items():
        if opened.epoch < state.epoch and not state.is_child(opened.request):
            request = next_try(state, opened.request)
            short = state.ledger.shortfall(request.reserve, state.now)
            if short is not None:
                return _exhausted(short)
            return RequestReissued(replaces=request_id, again=request)
    return None


def _judge(state: State) -> PlanningEvent | None:
    if not state.unjudged:
        return None
    assert state.config is not None
    node = state.nodes[state.unjudged[0]]
    guard = state.config.workflow.effective_guard(node.step)
    name = guard if isinstance(guard, str) else guard.kind
    return JudgementRequested(node=node.node, guard=name)


def _conclude(state: State) -> PlanningEvent | None:
    """Draw what follows from where the steps stand: one is rejected, one is stuck for good, or all are accepted."""
    phases = phases_of(state.progress)
    event = _settle_failure(state) if Phase.FAILED in phases else None
    if event is None and Phase.STUCK in phases:
        return _give_up(state)
    if event is None and phases == GOAL:
        return RunFinished(outcome=Outcome.SUCCESS, why="every guard passed")
    return event


def _settle_failure(state: State) -> PlanningEvent | None:
    """Decide about a rejected node, or ask first what its failure means, or leave it until the answer is here."""
    for step, slot in state.progress.items():
        if slot.phase is Phase.FAILED:
            node = state.newest(step)
            assert node is not None
            event = _settle(state, node)
            if event is not None:
                return event
    return None


def _settle(state: State, node: Node) -> PlanningEvent | None:
    assert state.config is not None
    assert node.verdict is not None
    config, said, call = state.config, node.classification, classification_id(node.node)
    if call in state.faulted or any(opened.request.call == call for opened in state.generations.values()):
        return None
    failure = Failure(node.step, node.node, node.verdict)
    situation = Situation(
        graph=config.graph,
        progress=state.progress,
        roles=config.roles,
        policy=config.policy,
        search=config.search,
        history=state.history,
        escalation=config.escalation(node.step),
        questions_left=0 if node.step in state.silenced else config.workflow.questions_max - state.questions_used,
    )
    decision = decide(failure, situation, None if said is None else said.cause)
    left = config.workflow.classifications_max - state.classifications
    if said is None and left > 0 and worth_classifying(failure, situation, decision):
        if state.saving:
            return None  # It is asked when somebody drives the run again, or the next day has come.
        request = classification_of(state, node.node, decision.rule, 1)
        if state.ledger.shortfall(request.reserve, state.now) is None:
            return request
    return Decided.of(decision)


def _give_up(state: State) -> RunFinished | None:
    """End the run for a step that is stuck, unless an answer may still give everything back in a new round."""
    assert state.config is not None
    step = first(state.progress, Phase.STUCK)
    if step is None or state.questions:
        return None
    node = state.newest(step)
    assert node is not None
    assert node.decision is not None
    assert node.verdict is not None
    outcome = Outcome.BACKTRACK_CEILING if state.config.graph.requires[step] else Outcome.ALL_PRUNED
    return RunFinished(outcome=outcome, why=f"{step}: {summary(node.decision, node.verdict)}")


def _revise(state: State) -> PlanningEvent | None:
    assert state.config is not None
    if state.to_revise is None:
        return None
    wish = state.to_revise
    return Revised(
        revision=state.revision + 1,
        level=wish.level,
        targets=wish.targets,
        cleared=cleared(state.config.graph, wish.targets),
        tags=wish.tags,
        new_round=wish.new_round,
        branch=state.branch,
    )


def _after_fault(state: State) -> PlanningEvent | None:
    """Wait before the next try, or give the attempt up for good."""
    for tries in state.faulted.values():
        if tries.phase != "failed":
            continue
        if hopeless(tries):
            fault = tries.failed.fault
            last = fault.kind.final or tries.failed.used is not None
            which = "" if last else f" (try {tries.count} of {TRIES_MAX})"
            return RunFinished(outcome=Outcome.FAILED, why=f"{fault.kind}: {fault.message}{which}", cause="provider")
        if not state.parked:
            request, until = tries.request, tries.failed.at + _pause(tries)
            return WaitRequested(
                request_id=f"wait:{request.request_id}", until=until, why="back-off", node=request.node
            )
    return None


def hopeless(tries: Tries) -> bool:
    """Tell whether no further try is made: none could help, or all that an attempt may have are used up."""
    over = tries.count >= TRIES_MAX or tries.waited + _pause(tries) > BACKOFF_TOTAL_MAX
    return tries.failed.fault.kind.final or tries.failed.used is not None or over


def given_up(state: State) -> Fault | None:
    """Return the fault that no further try was made after."""
    last = (tries.failed.fault for tries in state.faulted.values() if tries.phase == "failed" and hopeless(tries))
    return next(last, None)


def _pause(tries: Tries) -> float:
    """Return the seconds before the next try: as the server asked, else doubling, with jitter by the request's id."""
    if tries.failed.fault.retry_after is not None:
        return max(0.0, tries.failed.fault.retry_after)
    jitter = hashlib.sha256(tries.request.request_id.encode()).digest()[0] / 255
    return BACKOFF_FIRST * float(2 ** (tries.count - 1)) * (0.5 + jitter)


def _rest(state: State) -> PlanningEvent | None:
    """Wait before a retry that the policy delays."""
    for node, seconds in state.resting.items():
        if not state.parked and not any(wait.node == node for wait in state.waits.values()):
            return WaitRequested(request_id=f"rest:{node}", until=state.wall + seconds, why="back-off", node=node)
    return None


def _keep_deadline(state: State) -> PlanningEvent | None:
    deadline = state.ledger.limits.deadline
    if deadline is None:
        return None
    if state.now >= deadline:  # Also while the wait is open: a driver may come back long after it.
        return _exhausted(Limit.DEADLINE)
    if DEADLINE in state.waits:
        return None
    return WaitRequested(request_id=DEADLINE, until=deadline, why="the run's deadline")


def _request(state: State) -> PlanningEvent | None:
    """Ask for the next artifact that can be asked for and paid; end the run when nothing can, and nothing is open."""
    if state.saving or (state.questions and first(state.progress, Phase.STUCK) is not None):
        return None  # While a stuck run waits for an answer, nothing more is spent.
    assert state.config is not None
    found = _affordable(state, state.branch, _rested(state, state.branch, ready(state.config.graph, state.progress)))
    return _out_of(found, state) if found is None or isinstance(found, Limit) else found


def _rested(state: State, number: int, steps: Sequence[str]) -> Sequence[str]:
    """Return the steps of a branch without those that wait before a retry."""
    if not state.resting:
        return steps
    resting = {step_of(node) for node in state.resting if branch_of(node) == number}
    return [step for step in steps if step not in resting]


def _affordable(
    state: State, number: int, steps: Iterable[str]
) -> GenerationRequested | ClassificationRequested | Limit | None:
    """Return the first request of a branch that can be paid, or else the limit that the last one would pass.

    Further tries come first: they belong to an attempt that was allowed already. Then a first try at each of the steps.
    """
    assert state.config is not None
    graph, ledger = state.config.graph, state.ledger
    request: GenerationRequested | ClassificationRequested
    short: Limit | None = None
    for tries in state.faulted.values():
        if tries.phase == "rested" and branch_of(tries.request.node) == number:
            request = next_try(state, tries.request)
            short = ledger.shortfall(request.reserve, state.now)
            if short is None:
                return request
    for step in steps:
        if ledger.calls_left < 1 and not graph.budgets[step].deterministic:
            short = Limit.CALLS  # Known before the prompt is rendered, which costs more than all the rest.
            continue
        view = focus(state, number)
        slot = next_attempt(graph, view.progress, step)
        request = request_for(view, node_id(step, slot.number, slot.attempt, number), 1)
        short = ledger.shortfall(request.reserve, state.now)
        if short is None:
            return request
    return short


def _out_of(short: Limit | None, state: State) -> RunFinished | None:
    """End the run when nothing can be paid, and nothing is open that may still bring it on."""
    return None if short is None or state.generations or state.judgements else _exhausted(short)


def _exhausted(limit: Limit) -> RunFinished:
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=_RAN_OUT[limit])


_RAN_OUT = {
    Limit.CALLS: "no calls left",
    Limit.TOKENS: "no tokens left",
    Limit.COST: "no money left",
    Limit.ACTIVE_TIME: "no active time left",
    Limit.DEADLINE: "the deadline has passed",
}


_RULES = (
    _judge,
    _revise,
    replan,
    withdraw,
    ask,
    expire,
    look,
    _conclude,
    _after_fault,
    _keep_deadline,
    _reissue,
    _rest,
    _request,
)
