"""What people have said to a run, in order: messages, answers, and questions that they have declined. Pure."""

from dataclasses import dataclass
from typing import Any

from actors.run.questions import Status
from actors.run.state import RunState
from actors.run.words import question_in_words


@dataclass(frozen=True, slots=True)
class Said:
    """One message or answer."""

    kind: str
    """`note`, `requirement`, `answer` or `declined`."""
    text: str
    """What was said; empty for a declined question."""
    question: str = ""
    """The question, in words; empty for a message that nobody has asked for."""
    seen: bool = True
    """Whether a prompt with the message has gone out, or a record has the answer."""


def said(recorded: RunState[Any], with_inbox: RunState[Any]) -> list[Said]:
    """Return what was said to a run, the oldest first: its state as recorded, and with what its inbox has besides."""
    found = [(each.at, Said(each.kind, each.text, seen=each.seen)) for each in with_inbox.messages]
    for name, question in with_inbox.questions.items():
        seen = name in recorded.questions and recorded.questions[name].status is question.status
        text = question_in_words(question.request.text)
        if question.status is Status.ANSWERED:
            found.append((question.told_at, Said("answer", question.answer, text, seen=seen)))
        elif question.status is Status.DECLINED:
            found.append((question.told_at, Said("declined", "", text, seen=seen)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]
