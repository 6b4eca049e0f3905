"""The form of every question to a person. Pure.

The question is one sentence with a question mark. Each choice states its effect. A last sentence says what happens if
the person declines the question. This form is checked when a question is made and when it is read from a record.
`quote_question` puts the words of a model, a plan or a plug-in into this form, and never fails.
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
SHOWN_MAX = 20_000
"""The largest number of characters in the text that is shown below the sentence of a question."""


Priority = Literal["high", "normal", "low"]
"""How urgent a question is. `high`: a person approves or rejects something, or says how a tool's call has ended. `low`:
a default is assumed if the question is declined. Agents choose the priority of their own questions."""
PRIORITIES: tuple[Priority, ...] = get_args(Priority)


class Choice(Value):
    """One answer that a person may choose."""

    value: str
    """The answer, or its beginning if a person adds text to it."""
    does: str
    """The effect of the choice on the run, as a sentence."""


class Inquiry(Value):
    """A question and its choices, without the sentences of `AskedForm`.

    A finding of a guard has an inquiry if a person's answer can settle the finding.
    """

    text: str
    """The question: one sentence that ends in a question mark."""
    shown: str = ""
    """The text that is shown below the question: a passage, a finding, or the words of a model."""
    choices: tuple[Choice, ...] = ()
    """The offered answers with their effects."""
    answer_schema: Mapping[str, Any] = Field(default_factory=lambda: dict(TEXT))
    """A JSON Schema for the answer."""

    @model_validator(mode="after")
    def _check_inquiry(self) -> Self:
        if not _is_question(self.text):
            raise ValueError(f"a question must be one sentence on one line that ends in '?', not {self.text[:100]!r}")
        if len(self.shown) > SHOWN_MAX:
            raise ValueError(f"the text below a question must have at most {SHOWN_MAX:,} characters")
        if any(not choice.value or not _is_sentence(choice.does) for choice in self.choices):
            raise ValueError("each choice must have a value, and its effect as a sentence")
        values = _list_answers(self.answer_schema)
        if values is not None and [choice.value for choice in self.choices] != values:
            raise ValueError("the choices must be those of the answer's schema, in the same order")
        return self

    @property
    def whole(self) -> str:
        """The question with the text below it, for prompts."""
        return f"{self.text}\n{self.shown}" if self.shown else self.text


class AskedForm(Inquiry):
    """A complete question: an inquiry, what it is about, and what happens without an answer."""

    about: str
    """The subject of the question and the steps that wait for it, in sentences."""
    otherwise: str
    """A sentence that says what happens if the question is declined or expires. The sentence begins with `IF_DECLINED`.
    """
    priority: Priority = "normal"
    """The urgency of the question. Lists begin with the questions of high priority."""

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if not _is_sentence(self.about):
            raise ValueError("a question must say in sentences what it is about and what depends on it")
        if not (_is_sentence(self.otherwise) and self.otherwise.startswith(IF_DECLINED)):
            raise ValueError(f"a question must say what happens if it is declined, beginning with {IF_DECLINED!r}")
        return self

    @property
    def inquiry(self) -> Inquiry:
        """The question without its consequences."""
        return Inquiry(**_fields_of(Inquiry, self))

    @property
    def form(self) -> dict[str, Any]:
        """A mapping from the names of the form's fields to their values, for another object with the same question."""
        return _fields_of(AskedForm, self)

    @property
    def plain(self) -> dict[str, Any]:
        """The fields of the form as plain data, which is the same in all interfaces."""
        return self.model_dump(mode="json", include={*AskedForm.model_fields})


def _fields_of(form: type[Inquiry], question: Inquiry) -> dict[str, Any]:
    return {name: getattr(question, name) for name in form.model_fields}


IF_DECLINED = "If you decline, "
"""The beginning of the sentence that says what happens if a question is declined or expires."""


def consequence_of(otherwise: str) -> str:
    """Return a sentence that says what happens because a question was declined or has expired.

    `otherwise` is the field of the question's `AskedForm`. Its first words, `IF_DECLINED`, are removed.
    """
    rest = otherwise.removeprefix(IF_DECLINED)
    return f"{rest[:1].upper()}{rest[1:]}"


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
    """Return a question that the program asks, in the form for people.

    Args:
        text: the question, as one sentence. The sentence is put on one line.
        about: the question's subject and the steps that wait for the answer, in sentences.
        otherwise: the words after "If you decline, ", which say what happens without an answer.
        shown: a text that is shown below the question.
        choices: a mapping from answers to their effects. Without `schema`, no other answers are possible.
        schema: the JSON Schema of the answer, if the answer need not be one of `choices`.
        priority: the urgency of the question.

    Raises:
        ValueError: the texts do not have the required form. This is a bug of the caller.
    """
    question = inquiry(text, shown=shown, choices=choices, schema=schema)
    return add_consequences(question, about=about, otherwise=otherwise, priority=priority)


def inquiry(
    text: str, *, shown: str = "", choices: Mapping[str, str] | None = None, schema: Mapping[str, Any] | None = None
) -> Inquiry:
    """Return an `Inquiry`. The arguments are the same as those of `make_form`."""
    listed = tuple(Choice(value=value, does=does) for value, does in (choices or {}).items())
    if schema is None:
        schema = TEXT if choices is None else {"type": "string", "enum": list(choices)}
    return Inquiry(text=one_line(text), shown=block(shown), choices=listed, answer_schema=dict(schema))


def add_consequences(question: Inquiry, *, about: str, otherwise: str, priority: Priority = "normal") -> AskedForm:
    """Return the `AskedForm` of an inquiry. The arguments are the same as those of `make_form`."""
    return AskedForm(
        **_fields_of(Inquiry, question),
        about=one_line(about, 4 * SENTENCE_MAX),
        otherwise=f"{IF_DECLINED}{one_line(otherwise)}",
        priority=priority,
    )


def quote_question(
    who: str,
    subject: str,
    words: str,
    *,
    does: str,
    schema: Mapping[str, Any] | None = None,
    meanings: Mapping[str, str] | None = None,
    above: str = "",
) -> Inquiry:
    """Return a question to a person, made from the words of a model, a plan or a plug-in. Never raises.

    If the only question in `words` is the last sentence, this sentence becomes the text of the inquiry. The words
    before it are shown below. Otherwise the text asks the person for an answer, and all words are shown below.

    Args:
        who: the author of the words, such as `The model`.
        subject: the subject of the words, such as `the step 'recon'`.
        words: any text. Its control characters are removed.
        does: a sentence about the effect of each choice that is not in `meanings`.
        schema: the JSON Schema of the answer; None for any text.
        meanings: a mapping from choices to sentences about their effects.
        above: a text of the program, which is shown before the words.
    """
    passage, line = split_last_question(words)
    head = f"{who} asks about {subject}: "
    if line and len(head) + len(line) <= SENTENCE_MAX:
        text = f"{head}{line}"
    else:
        text, passage = f"{who} wrote the text below about {subject}; what is your answer?", words
    values = None if schema is None else _list_answers(schema)
    if values is not None and (not all(values) or len(set(values)) < len(values)):
        schema = values = None  # A person could not give an empty answer, nor distinguish two equal answers.
    choices = None if values is None else {value: (meanings or {}).get(value, does) for value in values}
    shown = "\n".join(filter(None, (above, passage)))
    return inquiry(text, shown=shown, choices=choices, schema=TEXT if schema is None else schema)


def split_last_question(words: str) -> tuple[str, str]:
    """Split a text before its last sentence, if this sentence is the only question in the text.

    Return the text before the question, and the question. If the last sentence is not the only question, return the
    whole text and an empty text. A sentence ends at the end of a line, or at a full stop, exclamation mark or question
    mark that is followed by a space.
    """
    *before, line = _SENTENCE_ENDS.split(block(words).strip()) or [""]
    if not line.endswith("?") or any("?" in item for item in before):
        return words, ""
    question = one_line(line, len(line))
    return block(words).strip()[: -len(line)].strip(), question


def join_questions(inquiries: Sequence[Inquiry], subject: str) -> Inquiry:
    """Join several questions into one question, whose answer is a text.

    A single question is returned unchanged.
    """
    if len(inquiries) == 1:
        return inquiries[0]
    shown = "\n".join(f"{number}. {item.whole}{_options_text(item)}" for number, item in enumerate(inquiries, 1))
    return inquiry(f"What do you answer to these {len(inquiries)} questions about {subject}?", shown=shown)


def _options_text(question: Inquiry) -> str:
    return f"\nPossible answers: {'; '.join(choice.value for choice in question.choices)}" if question.choices else ""


def waiting_text(step: str, blocked: Sequence[str]) -> str:
    """Return a sentence that names the steps that wait for the answer to a question of the step `step`."""
    others = [item for item in blocked if item != step]
    if not others:
        return f"The step '{step}' waits for the answer."
    names = ", ".join(f"'{other}'" for other in others[:_NAMED_MAX])
    more = f" and {len(others) - _NAMED_MAX} more" if len(others) > _NAMED_MAX else ""
    return f"The step '{step}' waits for the answer, and these steps wait for '{step}': {names}{more}."


def one_line(text: str, limit: int = SENTENCE_MAX) -> str:
    """Return a text on one line, without control and format characters.

    If the text is cut, its final `?` or `.` is kept.
    """
    line = " ".join(_remove_invisible(text).split())
    if len(line) <= limit:
        return line
    last = line[-1] if line[-1] in "?." else ""
    return f"{line[: limit - 1 - len(last)]}…{last}"


def block(text: str) -> str:
    """Return a text without control and format characters, cut at `SHOWN_MAX`. The text keeps its lines."""
    lines = [_remove_invisible(line).rstrip() for line in text.splitlines()]
    whole = "\n".join(lines).strip("\n")
    return shorten(whole, SHOWN_MAX)


_NAMED_MAX = 5
_SENTENCE_ENDS = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)"
    r"\s+(?=[^\W\d_a-z]|[\"'(\[\u00bf\u00ab\u201c\u2018])|\n\s*"
)
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def _remove_invisible(text: str) -> str:
    """Return a line without invisible characters: control, format and private-use characters, and lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    spaced = " ".join(text.replace("\t", " ").split("\n"))
    return "".join(sign for sign in spaced if unicodedata.category(sign) not in _HIDDEN)


def _is_question(text: str) -> bool:
    return len(text) > 1 and len(text) <= SENTENCE_MAX and text.endswith("?") and text == one_line(text)


def _is_sentence(text: str) -> bool:
    return len(text) > 1 and text.endswith(".")


def _list_answers(schema: Mapping[str, Any]) -> list[str] | None:
    """Return all answers that a schema allows; None unless the schema allows only a choice, or only yes and no."""
    form = answer_form(schema)
    if form == "choice":
        return options_of(schema)
    return ["yes", "no"] if form == "yes_no" else None
