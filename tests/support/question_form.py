"""What breaks the form of a question, whoever asks it: for the catalogue, the histories, the examples and the pages."""

import re

import trio

from actors.run.questions import ClarificationRequested
from actors.values.answers import answer_form, options_of
from actors.values.findings import Code
from actors.values.question_form import IF_DECLINED, AskedForm
from replan.api.options import run_at_home
from replan.runs.reader import ALL

_CODES = re.compile(r"(?<![\w.])(" + "|".join(re.escape(code) for code in Code) + r")(?![\w.])")
_NODE = re.compile(r"\b\w+/(r\d+\.)?v\d+\.a\d+\b")
_SENTENCE_END = re.compile(r"[.!?] +[A-Z]")
_ABOUT = re.compile(r"^(The (model|template|agent|profile|guard '[^']*') asks about [^:]*: )")


def one_question(text):
    """Return whether a text is one sentence on one line that asks, without the names of codes and nodes."""
    own = _ABOUT.sub("", text)
    whole = bool(own) and text.endswith("?") and "\n" not in text and not _SENTENCE_END.search(own)
    return whole and not _CODES.search(text) and not _NODE.search(text)


def breaches(form):
    """Return what a question breaks of its form, as texts; none where it keeps it."""
    finite = {"choice": options_of, "yes_no": lambda _: ["yes", "no"]}.get(answer_form(form.answer_schema))
    wrong = {
        "it is no single sentence that asks": not one_question(form.text),
        "it does not say what it is about": not form.about.endswith(".") or len(form.about) < 10,
        "it does not say what happens if it is declined": not _says_without(form.otherwise),
        "its choices are not those of its schema": finite is not None
        and [choice.value for choice in form.choices] != finite(form.answer_schema),
        "a choice does not say what it does": any(
            not each.value or not each.does.endswith(".") for each in form.choices
        ),
        "it speaks of what is below, and nothing is": "below" in f"{form.text} {form.about}" and not _shows(form),
    }
    return [f"{form.text!r}: {what}" for what, is_so in wrong.items() if is_so]


def breaches_in(events):
    """Return the breaches of all questions among events, and how many questions there are."""
    events = list(events)
    asked = [event for event in events if isinstance(event, ClarificationRequested)]
    asked += [event.question for event in events if isinstance(getattr(event, "question", None), AskedForm)]
    return [breach for event in asked for breach in breaches(event)], len(asked)


def breaches_below(folder):
    """Return the breaches of all questions of all runs in homes below a folder, and how many questions there are."""
    found = [_breaches_at(journal.parent) for journal in sorted(folder.rglob("journal.sqlite3"))]
    return [breach for breaches, _ in found for breach in breaches], sum(count for _, count in found)


def _breaches_at(home):
    async def read(engine):
        rows = await engine.journal.runs(ALL)
        records = [record for row in rows for record in await engine.journal.read(row.run)]
        return breaches_in(record.event for record in records)

    return trio.run(run_at_home, home, read)


def _says_without(text):
    return text.startswith(IF_DECLINED) and text.endswith(".") and len(text) > len(IF_DECLINED) + 5


def _shows(form):
    """Return whether something stands below: a passage, or the artifact of a review, which is shown from the run."""
    return bool(form.shown) or getattr(form, "review", False) or form.text.startswith("Do you approve")
