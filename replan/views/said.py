"""Who has started a run, and what people have said to it, in order: messages, answers, and declined questions. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.run.questions import WAYS, Status, Via
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
    who: str = "you"
    """Who answered or declined: a named person, a program, or whoever uses the page."""
    way: str = ""
    """The way of an answer or a decline, in words with a blank before them; empty where it is not known."""


_SAID_BY: Mapping[Via, str] = {"api": "a program", "mcp": "a program", "python": "a program"}


def said(recorded: RunState[Any], with_inbox: RunState[Any]) -> list[Said]:
    """Return what was said to a run, the oldest first: its state as recorded, and with what its inbox has besides."""
    found = [(each.place, Said(each.kind, each.text, seen=each.seen)) for each in with_inbox.messages]
    for name, question in with_inbox.questions.items():
        seen = name in recorded.questions and recorded.questions[name].status is question.status
        text = question_in_words(question.request.text)
        who, way = question.person or _SAID_BY.get(question.via, "you"), WAYS[question.via]
        if question.status is Status.ANSWERED:
            found.append((question.place, Said("answer", question.answer, text, seen=seen, who=who, way=way)))
        elif question.status is Status.DECLINED:
            found.append((question.place, Said("declined", "", text, seen=seen, who=who, way=way)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def starter(by: str) -> str:
    """Return who has started a run in words, from what its first event says; empty where that says nobody."""
    kind, _, name = by.partition(":")
    match kind:
        case "cli":
            return "the command line"
        case "python":
            return "a Python program"
        case "browser":
            return "the web page"
        case "mcp":
            return "an MCP client"
        case "token":
            return f"the program with the token {name}"
        case _:
            return name or by
