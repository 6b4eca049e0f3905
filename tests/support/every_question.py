"""Every question that the core can ask, drawn from the functions that ask it: for its test and its page."""

from collections.abc import Iterator
from dataclasses import dataclass

from actors.execution.events import TroubleCause
from actors.execution.execution_questions import question_of
from actors.execution.state import Trouble
from actors.guards.requirements_agree import disagreements
from actors.planning.planning_questions import questions_of_verdict, review
from actors.planning.state import State
from actors.run.agent import Ask
from actors.run.questions import USER, outcome_question
from actors.templates.plan import QUESTIONS
from actors.values.answers import NUMBER, YES_NO, choice
from actors.values.artifacts import Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.open_questions import questions_of
from actors.values.question_form import AskedForm, inquiry
from actors.values.requirements import Requirement, requirements_in
from runtime.core.copies import changed
from tests.execution.stage import Stage, person, plan, step, tool, tools_for
from tests.support.worlds import SEEDS, World, passed, pinned

STEP = "g_recon"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One question with the part that asks it, and when it does."""

    part: str
    when: str
    form: AskedForm


def every_question() -> Iterator[Drawn]:
    """Yield each question of the core: of planning, of an execution and of an agent."""
    yield from _planning()
    yield from _templates()
    yield from _steps()
    yield from _troubles()
    yield from _agents()


def _planning() -> Iterator[Drawn]:
    state = _begun()
    step_id = next(iter(state.config.steps))

    def drawn(when: str, *findings: Finding, left: int = 9, **keys: bool) -> Iterator[Drawn]:
        verdict = Verdict(guard="a_guard", findings=findings, **keys)
        for form in questions_of_verdict(state, step_id, verdict, left):
            yield Drawn("Planning", when, form)

    opened = tuple(questions_of(["Which version is it?"]))
    yield from drawn("the model has a question", *opened)
    yield from drawn("the model's words are no question", *questions_of(["Please say which one.\nThere are two."]))
    yield from drawn(
        "the model has a question with choices", *questions_of([{"question": "Which?", "choices": ["a", "b"]}])
    )
    yield from drawn("the model asks for a number", *questions_of([{"question": "How many?", "type": "number"}]))
    yield from drawn("more is asked than the run may ask", *opened, *questions_of(["Which system is it?"]), left=1)
    yield from drawn("`e_max` of a step is reached", Finding(code=Code.GOAL_UNREACHABLE, message="no step makes it"))
    yield from drawn("no retry can help", *opened, fatal=True)
    yield from drawn(
        "the author does not understand",
        *opened,
        Finding(code=Code.NOT_UNDERSTOOD, message="Of what?", severity="warning"),
    )
    for code in (Code.CONFLICT, Code.AMBIGUOUS, Code.REQUIREMENT_MISSING):
        words = "The text gives two dates.\nPlease say which of them holds."
        yield from drawn(f"a guard of a plug-in finds `{code}`", Finding(code=code, message=words))
    yield Drawn("Planning", "a step has `review`", review(step_id, (step_id,)))
    limit = {"name": "time", "value": "2"}
    stated = {
        "recon declares a conflict": [_stated("fast"), _stated("small", conflicts_with=["fast"])],
        "the same is wanted and forbidden": [_stated("a cache"), _stated("no cache", "must_avoid", text="a cache")],
        "one limit has two values": [
            _stated("two days", "deadline", limit=limit),
            _stated("three days", "deadline", limit={**limit, "value": "3"}),
        ],
    }
    for when, listed in stated.items():
        yield from drawn(when, *disagreements(listed, Context("Mend the login.")))
    yield from drawn(
        "a sentence leaves a value open", *disagreements([], Context("The search must answer within TBD ms."))
    )
    doubtful = _stated("It must be fast", readings=["less than 1 s", "no slower than today"])
    yield from drawn("recon states several readings", *disagreements([doubtful], Context("It must be fast.")))
    yield from drawn("the problem states no goal", *disagreements([], Context("--- 17 !!")))


def _begun() -> State:
    """Return the state of a planning run that has begun."""
    world = World(pinned(SEEDS), judge=lambda *_: passed())
    world.begin()
    return world.state


def _stated(quote: str, kind: str = "goal", **keys: object) -> Requirement:
    fields = {"kind": kind, "text": quote, "quote": quote, "source": "problem"} | keys
    [requirement] = requirements_in([fields])
    return requirement


def _templates() -> Iterator[Drawn]:
    begun = _begun()
    state = changed(begun, config=changed(begun.config, model="template:bug"))
    for number, text in enumerate(QUESTIONS, 1):
        doubt = Finding(code=Code.NOT_UNDERSTOOD, message="why it does not plan", severity="warning")
        findings = (*questions_of([{"question": text, "type": "text", "choices": []}]), doubt)
        [form] = questions_of_verdict(
            state, next(iter(state.config.steps)), Verdict(guard="analysis_valid", findings=findings), 9
        )
        yield Drawn("A template", f"the text is too short, question {number}", form)


def _steps() -> Iterator[Drawn]:
    value = plan(step("a", "start", "goal"))
    asked = {
        "a step wants an approval": Stage(value, tools_for(value, do_a=tool("a", risky=True)), approval="risky"),
        "a person does a step": Stage(value, tools_for(value, do_a=person())),
        "a person checks a step": Stage(value, tools_for(value, check=person())),
    }
    asked["a person checks a step"].tool("do_a")
    for when, stage in asked.items():
        [work] = [each for each in stage.work.values() if each.address == USER]
        yield Drawn("Execution", when, with_frame_of(work.request))
    for lives in (False, True):
        when = f"a call broke off{', and may still be running' if lives else ''}"
        yield Drawn("Execution", when, outcome_question("deploy", "the step 'a'", lives=lives))


def with_frame_of(request: AskedForm) -> AskedForm:
    """Return the form of a recorded question, without the fields of its event."""
    return AskedForm(**request.form)


def _troubles() -> Iterator[Drawn]:
    stage = Stage(plan(step("a", "start", "goal")))
    found = (Finding(code=Code.CHECK_FAILED, message="the check 'tests' failed: exit code 1", where="a"),)
    for cause in TroubleCause:
        trouble = Trouble(cause, step="a" if cause in _AT_STEPS else "", findings=found)
        for again, replans in ((True, True), (False, False)):
            when = f"{cause.replace('_', ' ')}{'' if again else ', with no visit and no replan left'}"
            yield Drawn("Execution", when, question_of(stage.state, trouble, again=again, plan=replans))
    asks = inquiry("Which version is it?")
    passed_on = (Finding(code=Code.OPEN_QUESTION, message=asks.text, asks=asks), *found)
    trouble = Trouble(TroubleCause.PLANNER_ASKS, findings=passed_on)
    yield Drawn("Execution", "the planner asks", question_of(stage.state, trouble, again=True, plan=True))


_AT_STEPS = {
    TroubleCause.ESCALATED,
    TroubleCause.UNKNOWN_OUTCOME,
    TroubleCause.ASSUMPTION_BROKEN,
    TroubleCause.STEP_FORBIDDEN,
}


def _agents() -> Iterator[Drawn]:
    for when, schema in (("an answer of any text", {"type": "string"}), ("yes or no", YES_NO), ("a number", NUMBER)):
        yield Drawn("An agent", f"it wants {when}", Ask("sale", "Is the price right?", schema).form)
    chosen = Ask("sale", "Please choose", choice(["red", "blue"]), does={"red": "It is painted red."})
    yield Drawn("An agent", "its words are no question", chosen.form)
