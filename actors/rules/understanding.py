"""Decides whether the author plans, asks or gives up, and says what it took the problem for.

The author never guesses: a text in another language, one that is not clearly about software, one that is too short and
one whose kind is unclear are asked about; if the question does not help, the author does not understand the problem.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.guards.fields import folded
from actors.rules.classification import Classification
from actors.rules.decision import DECISION
from actors.rules.requirements import StatedDemands
from actors.rules.subject import ENGLISH, Subject
from actors.rules.tables import Phrases, RulesTables

NONE_OF_THESE = "none"
"""The key of the answer that no kind fits."""
SYMPTOM_SCORE = 3
"""The score of the best kind from which on it counts as a clear sign."""
SIGNALS_SHOWN = 3
"""Words that are quoted for a kind."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to the questions that were asked so far."""

    asked: tuple[str, ...]
    """The questions that were answered, declined or expired, folded."""
    given: tuple[tuple[str, str], ...]
    """The questions that were answered, folded, with their answers."""

    def closed(self, question: str) -> bool:
        """Return whether this question was asked before."""
        sought = folded(question)
        return any(sought in closed for closed in self.asked)

    def answer_to(self, question: str) -> str | None:
        """Return the newest answer to this question, or None."""
        sought = folded(question)
        return next((answer for closed, answer in reversed(self.given) if sought in closed), None)


@dataclass(frozen=True, slots=True)
class Understanding:
    """What the author makes of a text."""

    kind: str
    """The kind of problem; of no meaning where a question is open or the problem is not understood."""
    doubt: str = ""
    """Why the author does not plan; empty where it does."""
    question: Mapping[str, Any] | None = None
    """The question whose answer may help; None where there is none left."""
    told: bool = False
    """Whether the user named the kind, in an answer to the question for it."""


def understand(
    subject: Subject,
    classification: Classification,
    answers: Answers,
    rules: RulesTables,
    choice: int,
    *,
    only_asks: bool,
) -> Understanding:
    """Return what to make of a text; `choice` counts the escalations, each of which takes the next best kind.

    `only_asks` says that the text consists of questions alone.
    """
    phrases = rules.phrases
    kind = classification.kind(choice)
    if subject.language != ENGLISH:
        return _doubt(kind, phrases, "language", answers, language=subject.language.title())
    if subject.is_other:
        reason = _fill(phrases.doubts["other"], words=_quoted(subject.other_words) or _quoted(subject.words))
        return Understanding(kind, doubt=reason)
    if classification.thin:
        question = next((question for question in phrases.questions if not answers.closed(question)), None)
        return Understanding(kind, phrases.doubts["thin"], _text_question(question))
    if not subject.is_software:
        return _doubt(kind, phrases, "subject", answers)
    if only_asks and kind != DECISION:
        return _doubt(kind, phrases, "question", answers)
    named = _named_kind(answers, rules)
    if named == NONE_OF_THESE:
        return Understanding(kind, phrases.doubts["kind"])
    if named is not None:
        return Understanding(classification.kind(choice) if choice else named, told=True)
    table = rules.signals.certainty
    if classification.certainty < table.ask_below or classification.scores[classification.kind()] < table.least:
        if answers.closed(phrases.kind_question):
            return Understanding(kind, phrases.doubts["kind"])
        choices = list(phrases.kind_answers.values())
        return Understanding(
            kind,
            phrases.doubts["kind"],
            {"question": f"{phrases.kind_unclear}\n{phrases.kind_question}", "type": "choice", "choices": choices},
        )
    return Understanding(kind)


def basis(
    understanding: Understanding, classification: Classification, rules: RulesTables, kind: str, stated: StatedDemands
) -> str:
    """Return what stands above a plan of this kind: which template it is, and by which words of the text."""
    phrases = rules.phrases
    signals = _quoted(classification.signals[kind][:SIGNALS_SHOWN])
    if kind != understanding.kind:
        name = "analysis"
    elif understanding.told:
        name = "told"
    else:
        name = "words" if signals and kind == classification.kind() else "changed"
    parts = [_fill(phrases.basis[name], kind=phrases.kind(kind), words=signals)]
    if stated.cause:
        parts.append(_fill(phrases.basis["cause"], cause=stated.cause))
    parts.append(phrases.basis["template"])
    return " ".join(parts)


def _doubt(kind: str, phrases: Phrases, name: str, answers: Answers, **slots: str) -> Understanding:
    """Return the doubt of this name, with its question unless that was asked before."""
    question = _fill(phrases.doubt_questions[name], **slots)
    reason = _fill(phrases.doubts[name], **slots)
    return Understanding(kind, reason, _text_question(None if answers.closed(question) else question))


def _text_question(question: str | None) -> Mapping[str, Any] | None:
    return None if question is None else {"question": question, "type": "text", "choices": []}


def _named_kind(answers: Answers, rules: RulesTables) -> str | None:
    """Return the kind that the user named, `none` where none fits, or None where the user was not asked."""
    answer = answers.answer_to(rules.phrases.kind_question)
    if answer is None:
        return None
    sought = folded(answer)
    return next((kind for kind, text in rules.phrases.kind_answers.items() if folded(text) == sought), NONE_OF_THESE)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _fill(text: str, **slots: str) -> str:
    for name, value in slots.items():
        text = text.replace(f"{{{name}}}", value)
    return text
