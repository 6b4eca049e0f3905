"""Every sentence that the author writes is grammatical whatever the words are that a text puts into it.

By construction: the loader refuses a template in which words of the user are a part of a clause, or names a subject.
Here all templates are written for subjects of many forms.
"""

import re

import pytest

from actors.rules.slots import fill
from actors.rules.tables import FILLED_SLOTS, OPTIONAL_SLOTS, TEXT_SLOTS, misplaced
from actors.values.lines import line
from tests.rules.author import RULES, pipeline

SUBJECTS = (
    "export_csv() drops the last row",
    "Orders are lost",
    "The orders in `shop/export.py` and `shop/pages.py` are lost",
    "Exporting orders to CSV is broken",
    "Add `export_csv()`",
    "Caching",
    "Users cannot log in!",
    "Why does `export_csv()` return nothing, and what should it return?",
    "Searching takes 5 s; it should take 0.5 s.",
    "2.0 breaks `Client.get()` since version 1.9.3",
    "[shop] export.py: KeyError: 'id'",
    'The button "Export" does nothing...',
    "Rename BillingManager.charge, Bill.pay and Bill.cancel",
    "println! and sort! panic",
)
KINDS = {
    "bug_fix": "It fails with KeyError: 'id' in shop/export.py.",
    "feature": "Add a new feature for it. It should support PDF.",
    "refactoring": "Refactor the code in shop/export.py without changing behaviour; extract a class.",
    "performance": "It is slow: p95 latency is 4 s. It must take less than 1 s.",
    "decision": "Compare SQLite, DuckDB and Postgres, and recommend one. No code yet.",
}
VALUES = ("x", "rows are lost.", "Is it so?", "a.py, b.py", "(1) It must work; (2) No retries", "go!", "cut off …")


def sentences():
    """Return every sentence of all templates and strategies, with the list that its step is repeated for."""
    for template in RULES.templates.values():
        yield template.goal, None
        for step in template.steps:
            yield step.name, step.for_each
            for part in step.description:
                yield from ((text, step.for_each) for text in ([part] if isinstance(part, str) else part))
    for strategy in RULES.strategies.values():
        yield from ((text, None) for text in (*(step.text for step in strategy.key_steps), *strategy.risk_factors))


def faults(text):
    """Return what is wrong with a written text, as far as its form shows."""
    wrong = re.findall(r"\{[a-z]+\}|[?!…]\.(?!\w)|(?<!\.)\.\.(?!\.)|[:;,] ?\.(?!\w)|: *$|\(\)\w| {2}|: :", text)
    return wrong if text[:1] == text[:1].strip() != "" else [*wrong, "empty"]


def test_no_sentence_has_words_of_the_user_within_a_clause():
    assert [(text, name) for text, each in sentences() if (name := misplaced(text, each))] == []


@pytest.mark.parametrize("value", VALUES)
def test_every_sentence_takes_a_value_of_any_form(value):
    """One full stop ends it, or the mark with which the value ends."""
    slots = dict.fromkeys((*FILLED_SLOTS, *OPTIONAL_SLOTS, "item", "brief", "n"), "a name")
    slots |= dict.fromkeys(TEXT_SLOTS, value)
    assert [filled for text, _ in sentences() if faults(filled := fill(text, slots))] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_template_reads_well_for_every_subject(kind, subject):
    written = pipeline(f"# {subject}\n\n{KINDS[kind]}\n", clarifications=told(kind))
    plan, strategy = written["plan"], written["strategy"]
    texts = [plan["goal"], plan["basis"], strategy["rationale"], *strategy["risk_factors"]]
    texts += [step["text"] for step in strategy["key_steps"]]
    texts += [text for step in plan["steps"] for text in (step["name"], step["description"])]
    assert [text for text in texts if faults(text) or line(text).plain != text] == []
    assert plan["plan_id"].startswith(kind)


def told(kind):
    """Return the answer that names a kind, so that the template is that of the kind."""
    phrases = RULES.phrases
    return [{"question": phrases.kind_question, "answer": phrases.kind_answers[kind]}]
