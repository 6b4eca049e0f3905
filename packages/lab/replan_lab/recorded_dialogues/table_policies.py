"""Makes a policy for recorded dialogues from a policy file (`configs/policies`).

The policy decides as in a run of a workflow with one step.
"""

from actors.policy.author import Author
from actors.policy.belief import BeliefModel, Past
from actors.policy.decision import Escalation, Failure, Situation, decide, remember_failure
from actors.policy.table import BacktrackLevel, Policy
from actors.search.graph import Graph, StepBudget
from actors.search.progress import BranchProgress, Phase, Search, Slot
from actors.values.findings import Code, Finding, Verdict
from replan_lab.recorded_dialogues.policies import Policy as RecordedPolicy
from replan_lab.recorded_dialogues.policies import Seen
from replan_lab.recorded_dialogues.records import Move, RecordedAttempt

STEP = "plan"
ATTEMPTS = 20
"""The largest number of attempts at the workflow's only step. Each recorded dialogue has fewer attempts, so this limit
is never reached."""
_GRAPH = Graph({STEP: ()}, {STEP: StepBudget(rmax=ATTEMPTS)})
_LEAST = 0.001


def decide_by(policy: Policy) -> RecordedPolicy:
    """Return the policy for recorded dialogues that decides by a rule table.

    The shares counted on the model's other tasks replace the values of `author` in the policy file. A workflow with one
    step has no earlier step. So a decision to go back becomes a new attempt without the rejected attempt. The rules
    that end a run (`stuck`, `not_worth_it`) are not part of a policy, and are ignored.
    """

    def choose(seen: Seen) -> Move:
        own = _with_author(policy, seen)
        belief = None if own.belief is None else BeliefModel(own.belief, _GRAPH, {STEP: STEP})
        history, texts, decision = list[Past](), list[str](), None
        for number, made in enumerate(seen.made, 1):
            again = bool(made.attempt.text) and made.attempt.text in texts
            texts.append(made.attempt.text)
            verdict = _verdict_on(made.attempt)
            situation = Situation(
                _GRAPH,
                BranchProgress({STEP: Slot(phase=Phase.FAILED, visits=1, attempt=number)}),
                {STEP: STEP},
                own,
                Search.DEPTH_FIRST,
                tuple(history),
                Escalation(),
                0,
                belief,
                weighs_questions=False,
            )
            decision = decide(Failure(STEP, f"{STEP}/v1.a{number}", verdict, repeats=again, again=again), situation)
            history.append(remember_failure(verdict, decision, _GRAPH, own, repeats=again))
        assert decision is not None, "a policy decides only after a rejection"
        if decision.level in (BacktrackLevel.GIVE_UP, BacktrackLevel.CLARIFY):
            return Move.STOP
        wanted = (Move.AFRESH, Move.RETRY) if decision.afresh else (Move.RETRY, Move.REPHRASE, Move.AFRESH)
        return next((move for move in wanted if move in seen.moves), Move.STOP)

    return choose


def _with_author(policy: Policy, seen: Seen) -> Policy:
    if policy.belief is None or policy.belief.author is None:
        return policy
    known = {name: min(max(share, _LEAST), 1 - _LEAST) for name, share in seen.known.shares.items()}
    author = Author.model_validate(known)
    return policy.model_copy(update={"belief": policy.belief.model_copy(update={"author": author})})


def _verdict_on(attempt: RecordedAttempt) -> Verdict:
    """Return the rejection of an attempt.

    The finding's place (`where`) is the hash of the reply, so only equal replies count as equal failures.
    """
    code = Code.PRECONDITION_UNSATISFIED
    finding = Finding(code=code, message="is wrong", where=attempt.text, informative=attempt.informative)
    return Verdict(guard="record", passed=False, score=attempt.reward or 0.0, findings=(finding,))
