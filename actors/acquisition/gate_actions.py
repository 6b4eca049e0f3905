"""The gates of the nodes that act: search, observe, ask_user, observe_user, calculate, reflect. Pure.

Each reads what its action has brought. It returns None until that is there.
"""

from actors.acquisition.answers import answer_value
from actors.acquisition.calculation import calculate as calculated
from actors.acquisition.calculation import inputs_hash
from actors.acquisition.call_events import OBSERVE, REFLECT
from actors.acquisition.graph import Hop
from actors.acquisition.observation import read_observation
from actors.acquisition.planner_state import Reflection, SearchMade
from actors.acquisition.replies import ATTEMPTS, Unusable, read_reflection, replies_for
from actors.acquisition.schema import schema_of
from actors.acquisition.search_output import read_output
from actors.acquisition.state import State
from actors.acquisition.values import FieldValue
from actors.acquisition.writes import Writes
from actors.run.questions import Status
from actors.run.tools import ToolOutcome
from actors.values.format import counted


def search(state: State) -> Hop | None:
    """Go on with the passages that were found; else note that the search brought nothing (S49, S50)."""
    ended, decision = state.tool, state.planner.decision
    if ended is None or decision is None:
        return None
    problem = "" if ended.outcome is ToolOutcome.SUCCEEDED else ended.reason or str(ended.outcome)
    if not problem and read_output(ended.output) is None:
        problem = "the search returned something else than passages"
    found = state.planner.last_observation
    made = SearchMade(path=decision.target_field, query=decision.query, found=len(found), problem=problem[:500])
    writes = Writes(searches=(made,))
    if found:
        return Hop("observed", f"{counted(len(found), 'passage')} for {decision.query!r}", writes)
    if problem:
        return Hop("backend_failure", f"the search failed: {problem}", writes)
    return Hop("no_hits", f"nothing for {decision.query!r}", writes)


def observe(state: State) -> Hop | None:
    """Take the values that the model reads in the passages and that their quotes bear out."""
    given = replies_for(state, OBSERVE)
    if not given:
        return None
    seen = read_observation(given[-1], state)
    if isinstance(seen, Unusable):
        if len(given) < ATTEMPTS:
            return None
        return Hop("unreadable", f"no reply of the model could be used: {seen.message}")
    values: dict[str, tuple[FieldValue, ...]] = {}
    for path, value in seen.values:
        values[path] = (*values.get(path, ()), value)
    writes = Writes(values=values, rejections=seen.rejections)
    not_taken = f"; {counted(len(seen.rejections), 'value')} not taken" if seen.rejections else ""
    if values:
        return Hop("found", f"found {', '.join(values)}{not_taken}", writes)
    return Hop("nothing_found", f"the passages state no value{not_taken}", writes)


def ask_user(state: State) -> Hop | None:
    """Go on once the question is answered, declined or expired: the only node at which a person is asked (S51)."""
    question, decision = state.run.questions.get(state.question), state.planner.decision
    if question is None or question.open or decision is None:
        return None
    outcome = {Status.ANSWERED: "answered", Status.DECLINED: "declined"}.get(question.status, "expired")
    return Hop(outcome, f"{decision.target_field}: {outcome}", Writes(asked=(decision.target_field,)))


def observe_user(state: State) -> Hop:
    """Take the user's answer into the schema, or note that there is none."""
    question, decision = state.run.questions[state.question], state.planner.decision
    assert decision is not None, "a decision comes before this node"
    path = decision.target_field
    if question.status is not Status.ANSWERED:
        refused = (path,) if question.status is Status.DECLINED else ()
        return Hop("unanswered", f"no answer about {path}", Writes(refused=refused))
    value = answer_value(schema_of(state), path, question.answer, source=state.question)
    if not isinstance(value, FieldValue):
        return Hop("unanswered", f"the answer about {path} cannot be used: {value}")
    return Hop("taken", f"the user answers {path}", Writes(values={path: (value,)}))


def calculate(state: State) -> Hop:
    """Calculate all results from the values as they are, count the calculation, and keep the hash of its inputs."""
    calculation = calculated(schema_of(state), state.planner.calculation.count + 1)
    writes = Writes(calculation=calculation)
    if calculation.status == "succeeded":
        return Hop("succeeded", f"calculated {', '.join(step.name for step in calculation.steps)}", writes)
    return Hop("blocked", "; ".join(error.message for error in calculation.errors[:3]), writes)


def reflect(state: State) -> Hop | None:
    """Take the model's review: the field that it proposes next, or its proposal to finish, and its caveats."""
    given = replies_for(state, REFLECT)
    if not given:
        return None
    schema = schema_of(state)
    inputs = inputs_hash(schema)
    review = read_reflection(given[-1], schema, inputs)
    if isinstance(review, Reflection):
        proposal = "to finish" if review.finish else review.next_field or "nothing"
        return Hop("reviewed", f"the review proposes {proposal}", Writes(reflections=(review,)))
    if len(given) < ATTEMPTS:
        return None
    why = f"no reply of the model could be used: {review.message}"
    return Hop("unreadable", why, Writes(reflections=(Reflection(inputs_hash=inputs),)))
