"""The form of every question to a person: its sentence, what depends on it, what is shown, its choices. Pure.

There is one form, and it is checked where a question is made and where it is read. Its text is a sentence with a
question mark, each choice says what it does, and the question says what happens without an answer. `in_words_of` brings
the words of a model, a plan or a plug-in into the form, and never fails.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

from pydantic import Field, model_validator

from actors.values.answers import TEXT, answer_form, options_of
from actors.values.format import shorten
from runtime.core.events import Value

SENTENCE_MAX = 600
"""The most characters of the question's sentence."""
SHOWN_MAX = 20_000
"""The most characters of what is shown below it."""


Priority = Literal["high", "normal", "low"]
"""How soon a question wants an answer. High: a person approves or rejects, or says what became of a tool's call. Low: a
default is assumed without an answer. Agents choose it for their own questions."""
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
"""All of them, in the order in which questions are listed."""


class Choice(Value):
    """One answer that a person may choose."""

    value: str
    """The answer, or how it begins where more is to be written."""
    does: str
    """What the run does after it, as a sentence."""


class Inquiry(Value):
    """What is asked, without what depends on it: a guard's finding has one if a person can answer it."""

    text: str
    """The question: one sentence that ends in a question mark."""
    shown: str = ""
    """What is shown below the question: a passage, a finding, or the words of a model."""
    choices: tuple[Choice, ...] = ()
    """The answers that are offered, and what each does."""
    answer_schema: Mapping[str, Any] = Field(default_factory=lambda: dict(TEXT))
    """A JSON Schema for the answer."""

    @model_validator(mode="after")
    def _check_inquiry(self) -> Self:
        if not _is_question(self.text):
            raise ValueError(f"a question is one sentence on one line that ends in '?', not {self.text[:100]!r}")
        if len(self.shown) > SHOWN_MAX:
            raise ValueError(f"what is shown below a question has at most {SHOWN_MAX:,} characters")
        if any(not choice.value or not _is_sentence(choice.does) for choice in self.choices):
            raise ValueError("each choice has a value and says in a sentence what it does")
        values = _finite(self.answer_schema)
        if values is not None and [choice.value for choice in self.choices] != values:
            raise ValueError("the choices are those of the answer's schema, in their order")
        return self

    @property
    def whole(self) -> str:
        """The sentence with what is shown below it, as prompts have it."""
        return f"{self.text}\n{self.shown}" if self.shown else self.text


class AskedForm(Inquiry):
    """A question as people see it, with what depends on it and what happens without an answer."""

    about: str
    """What the question is about and what waits for it, in sentences."""
    otherwise: str
    """What happens without an answer: a sentence that begins so."""
    priority: Priority = "normal"
    """How soon it wants an answer; lists begin with the questions of high priority."""

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if not _is_sentence(self.about):
            raise ValueError("a question says in sentences what it is about and what depends on it")
        if not (_is_sentence(self.otherwise) and self.otherwise.startswith(WITHOUT)):
            raise ValueError(f"a question says what happens without an answer: {WITHOUT!r} and the rest")
        return self

    @property
    def inquiry(self) -> Inquiry:
        """What is asked, without what depends on it."""
        return Inquiry(**fields_of(Inquiry, self))

    @property
    def form(self) -> dict[str, Any]:
        """The fields of the form by name, to make an event or another value with the same question."""
        return fields_of(AskedForm, self)

    @property
    def plain(self) -> dict[str, Any]:
        """The fields of the form as plain data, as every face shows them."""
        return self.model_dump(mode="json", include={*AskedForm.model_fields})


def fields_of(form: type[Inquiry], question: Inquiry) -> dict[str, Any]:
    """Return the fields that a form has, by name, from a value that has them."""
    return {name: getattr(question, name) for name in form.model_fields}


WITHOUT = "Without an answer, "
"""How the sentence about no answer begins."""


def make_form(
    text: str,
    *,
    about: str,
    otherwise: str,
    shown: str = "",
    choices: Mapping[str, str] | None = None,
    schema: Mapping[str, Any] | None = None,
    priority: Priority = "normal",
) -> AskedForm:
    """Return a question in its form.

    Args:
        text: the question of the program, as one sentence; words of others in it are put on one line.
        about: what it is about and what depends on it, in sentences.
        otherwise: what happens without an answer, as it goes on after "Without an answer, ".
        shown: what stands below the question, of any text.
        choices: what each possible answer does; without `schema` these are all possible answers.
        schema: the JSON Schema of the answer, where it is no choice among texts.
        priority: how soon it wants an answer.

    Raises:
        ValueError: the form is not kept; only a mistake in the program's own words leads to that.
    """
    question = inquiry(text, shown=shown, choices=choices, schema=schema)
    return with_frame(question, about=about, otherwise=otherwise, priority=priority)


def inquiry(
    text: str, *, shown: str = "", choices: Mapping[str, str] | None = None, schema: Mapping[str, Any] | None = None
) -> Inquiry:
    """Return what is asked in its form, for a finding; the arguments are those of `make_form`."""
    listed = tuple(Choice(value=value, does=does) for value, does in (choices or {}).items())
    if schema is None:
        schema = TEXT if choices is None else {"type": "string", "enum": list(choices)}
    return Inquiry(text=one_line(text), shown=block(shown), choices=listed, answer_schema=dict(schema))


def with_frame(question: Inquiry, *, about: str, otherwise: str, priority: Priority = "normal") -> AskedForm:
    """Return a question with what depends on it, what happens without an answer, and how soon it wants one."""
    return AskedForm(
        **fields_of(Inquiry, question),
        about=one_line(about, 4 * SENTENCE_MAX),
        otherwise=f"{WITHOUT}{one_line(otherwise)}",
        priority=priority,
    )


def in_words_of(
    who: str,
    subject: str,
    words: str,
    *,
    does: str,
    schema: Mapping[str, Any] | None = None,
    meanings: Mapping[str, str] | None = None,
    above: str = "",
) -> Inquiry:
    """Return the words of another as a question in the program's frame; never fails.

    Where the words end in their only question, it is the sentence, and what they say before it is shown below. Other
    words are shown whole.

    Args:
        who: whose words they are, such as `The model`.
        subject: what they are about, such as `the step 'recon'`.
        words: the text, of any form; control characters are left out, and one that is no question is made one.
        does: what each choice does, as a sentence, where the schema has choices and `meanings` does not name them.
        schema: the JSON Schema of the answer; None for any text.
        meanings: what some choices do.
        above: what the program shows before the words.
    """
    passage, line = last_question(words)
    head = f"{who} asks, about {subject}: "
    if line and len(head) + len(line) <= SENTENCE_MAX:
        text = f"{head}{line}"
    else:
        text, passage = f"What do you answer to the words of {who[:1].lower()}{who[1:]} below, about {subject}?", words
    values = None if schema is None else _finite(schema)
    if values is not None and (not all(values) or len(set(values)) < len(values)):
        schema = values = None  # A person could not give an empty answer, nor tell two equal ones apart.
    choices = None if values is None else {value: (meanings or {}).get(value, does) for value in values}
    shown = "\n".join(filter(None, (above, passage)))
    return inquiry(text, shown=shown, choices=choices, schema=TEXT if schema is None else schema)


def last_question(words: str) -> tuple[str, str]:
    """Return a text without the question that it ends in, and the question; the whole and "" where it asks otherwise.

    Its sentences are cut after a full stop, an exclamation or a question mark and a blank, and at the end of a line.
    """
    *before, line = _SENTENCE_ENDS.split(block(words).strip()) or [""]
    if not line.endswith("?") or any("?" in item for item in before):
        return words, ""
    question = one_line(line, len(line))
    return block(words).strip()[: -len(line)].strip(), question


def together(inquiries: Sequence[Inquiry], subject: str) -> Inquiry:
    """Return several questions as one, whose answer is a text: one where there is only one."""
    if len(inquiries) == 1:
        return inquiries[0]
    shown = "\n".join(f"{number}. {item.whole}{_options_text(item)}" for number, item in enumerate(inquiries, 1))
    return inquiry(f"What do you answer to these {len(inquiries)} questions about {subject}?", shown=shown)


def _options_text(question: Inquiry) -> str:
    return f"\nPossible answers: {'; '.join(choice.value for choice in question.choices)}" if question.choices else ""


def waiting_text(step: str, blocked: Sequence[str]) -> str:
    """Return what depends on a question of a step, as a sentence."""
    others = [item for item in blocked if item != step]
    if not others:
        return f"The step '{step}' waits for the answer."
    names = ", ".join(f"'{other}'" for other in others[:_NAMED_MAX])
    more = f" and {len(others) - _NAMED_MAX} more" if len(others) > _NAMED_MAX else ""
    return f"The step '{step}' waits for the answer, and {names}{more} after it."


def one_line(text: str, limit: int = SENTENCE_MAX) -> str:
    """Return a text on one line, without control and format characters, cut at a limit before its last sign."""
    line = " ".join(_plain(text).split())
    if len(line) <= limit:
        return line
    last = line[-1] if line[-1] in "?." else ""
    return f"{line[: limit - 1 - len(last)]}…{last}"


def block(text: str) -> str:
    """Return a text of several lines without control and format characters, cut at `SHOWN_MAX`."""
    lines = [_plain(line).rstrip() for line in text.splitlines()]
    whole = "\n".join(lines).strip("\n")
    return shorten(whole, SHOWN_MAX)


_NAMED_MAX = 5
_SENTENCE_ENDS = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)"
    r"\s+(?=[^\W\d_a-z]|[\"'(\[\u00bf\u00ab\u201c\u2018])|\n\s*"
)
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def _plain(text: str) -> str:
    """Return a line without what a person cannot see: control, format and private characters, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    spaced = " ".join(text.replace("\t", " ").split("\n"))
    return "".join(sign for sign in spaced if unicodedata.category(sign) not in _HIDDEN)


def _is_question(text: str) -> bool:
    return len(text) > 1 and len(text) <= SENTENCE_MAX and text.endswith("?") and text == one_line(text)


def _is_sentence(text: str) -> bool:
    return len(text) > 1 and text.endswith(".")


def _finite(schema: Mapping[str, Any]) -> list[str] | None:
    """Return the answers that a schema allows, where they are finite."""
    form = answer_form(schema)
    if form == "choice":
        return options_of(schema)
    return ["yes", "no"] if form == "yes_no" else None
