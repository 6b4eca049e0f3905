"""The question about a field's value: in whose words it is asked, and what depends on the answer. Pure."""

from actors.acquisition.answers import answer_schema
from actors.acquisition.decision import PlannerDecision
from actors.acquisition.field_question import field_question
from actors.acquisition.gate_policy import BLOCKED
from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import Schema
from actors.values.answers import kind_of, options_of
from actors.values.question_form import AskedForm, Inquiry, in_words_of, inquiry, one_line, with_frame


def acquisition_question(schema: Schema, decision: PlannerDecision) -> AskedForm:
    """Return the question that a decision asks, in the form that people see."""
    path = decision.target_field
    return with_frame(_inquiry(schema, decision), about=_about(schema, path), otherwise=_otherwise(schema, path))


def _inquiry(schema: Schema, decision: PlannerDecision) -> Inquiry:
    """Return the program's question, or the words of the model or the profile in the program's frame."""
    path = decision.target_field
    blocked, asked = _parts(decision.question)
    own, wanted = field_question(schema, path), answer_schema(schema, path)
    subject = f"the value '{one_line(schema.fields[path].label, 200)}'"
    meanings = {value: f"The value is {value}." for value in options_of(wanted)} if kind_of(wanted) == "choice" else {}
    of_model = bool(asked) and asked != own
    if of_model or not own.endswith("?"):
        who, words = ("The model", asked) if of_model else ("The profile", own)
        return in_words_of(who, subject, words, does=_TAKEN, schema=wanted, meanings=meanings, above=blocked)
    return inquiry(own, shown=blocked, choices=meanings or None, schema=wanted)


def _parts(question: str) -> tuple[str, str]:
    """Return what blocks the calculation, as far as a decision's question says it, and the question."""
    if not question.startswith(BLOCKED):
        return "", question.strip()
    blocked, _, asked = question.partition("\n")
    return blocked, asked.strip()


_TAKEN = "The value is taken as answered."


def _about(schema: Schema, path: str) -> str:
    """Return which value is asked for, and what depends on it."""
    spec = schema.fields[path]
    label = f"It is about the value '{one_line(spec.label, 200)}' ({path})"
    if path in schema.profile.bootstrap:
        return f"{label}, which all searches need first."
    needs = _results(schema, path)
    if needs:
        more = f" and {len(needs) - 3} more" if len(needs) > 3 else ""
        return f"{label}. The result depends on it: {', '.join(needs[:3])}{more}."
    return f"{label}, which is a part of the result."


def _results(schema: Schema, path: str) -> list[str]:
    calculator = schema.profile.calculator
    if calculator is None:
        return []
    return [one_line(result.label, 100) for result in calculator.results.values() if path in result.formula]


def _otherwise(schema: Schema, path: str) -> str:
    spec: FieldSpec = schema.fields[path]
    if spec.default is not None:
        return f"its default {spec.default} is assumed."
    if path in schema.profile.bootstrap:
        return "the run ends incomplete, since nothing can be searched for."
    if spec.required:
        return "the value stays open, and the run ends incomplete."
    return "the value stays open, and the run goes on."
