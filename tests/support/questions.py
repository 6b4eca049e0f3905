"""Questions for tests, in the form that every question has."""

from actors.run.questions import ClarificationRequested
from actors.values.question_form import make_form

FORM = make_form("Which one is meant?", about="The step waits for it.", otherwise="the step is done again.")


def question_asked(**fields):
    """Return the event of a question; fields of its form may be given too."""
    place = {"question_id": "q1", "node": "a/v1.a1", "why": "", "blocks": ()}
    return ClarificationRequested(**{**FORM.form, **place, **fields})
