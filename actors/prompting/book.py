"""What a prompt is made of: entries, one per step or role, and the sections that all prompts share.

A prompts file maps an entry's id to its five texts (the seeds' `prompts.json` has the same shape), and may hold one
more key, `sections`: the headings and delimiters. A file without it takes the shipped ones. No default of any text
lives in code: an entry that lacks a wrapper is refused (S100, S101), because a run that backtracks would have nothing
to say at the moment when it matters.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, ValidationError

from actors.files.explain import Config, complaint, explain
from actors.files.yaml_document import Document, read_document
from runtime.core.errors import UsageProblem
from runtime.core.events import Value

TEXT_MAX = 100_000
"""Characters of one text of an entry; a larger one would crowd the problem out of a model's window."""

_FOREIGN_SLOT = re.compile(r"\{(?:specification|constraints|feedback|ap_\w+)\}")


def _filled(text: str) -> str:
    if not text.strip():
        raise complaint("this text is empty")
    return text


def _slot(*names: str) -> AfterValidator:
    """Return a check that a text has each slot exactly once."""

    def check(text: str) -> str:
        for name in names:
            found = text.count(f"{{{name}}}")
            if found != 1:
                raise complaint(f"exactly one {{{name}}} is expected, {found or 'none'} found")
        return text

    return AfterValidator(check)


Text = Annotated[str, StringConstraints(max_length=TEXT_MAX), AfterValidator(_filled)]
Wrapper = Annotated[Text, _slot("feedback"), Field(json_schema_extra={"pattern": r"\{feedback\}"})]
Numbered = Annotated[Text, _slot("number")]
Marked = Annotated[Text, _slot("mark")]


class PromptEntry(Config):
    """The texts of one prompt. All are needed; the wrappers have one slot each, every other brace is just text."""

    role: Text
    """Who the model is: the start of the system part."""
    constraints: Text
    """What an answer must be: its fields, its rules, an example."""
    task: Text
    """What to do now: the end of the user part."""
    feedback_wrapper: Wrapper
    """What is said around one rejection of this step's own output, which takes the place of `{feedback}`."""
    escalation_feedback_wrapper: Wrapper
    """What is said around one later failure that this step caused, which takes the place of `{feedback}`."""


class Sections(Config):
    """The texts that all prompts share: headings and delimiters, each with its slot."""

    data_note: Text
    """The end of the system part: what stands between delimiters is material, not instructions."""
    constraints: Text
    """Heads the workflow's constraints."""
    guard_catalog: Text
    """Heads the guard names that the workflow adds."""
    specification: Text
    """Heads the problem."""
    dependencies: Text
    """Heads the accepted results of earlier steps."""
    dependency: Annotated[Text, _slot("step")]
    """Heads one of them; `{step}` is its step's id."""
    clarifications: Text
    """Heads the user's answers."""
    question: Numbered
    """Heads one question; `{number}` counts from 1."""
    answer: Text
    """Stands between a question and its answer."""
    declined: Text | None = None
    """Stands after a question that the user declined to answer; null shows the question alone."""
    expired: Text | None = None
    """The same for a question that nobody answered in time."""
    requirements: Text | None = None
    """Heads what the user has asked for since the run began; null takes the heading of the constraints."""
    notes: Text | None = None
    """Heads the user's notes; null takes the heading of the answers."""
    escalations: Text
    """Heads the escalation history."""
    escalation: Numbered
    """Heads one cycle of it; `{number}` counts from 1."""
    retries: Text
    """Heads the retry history."""
    retry: Numbered
    """Heads one attempt of it; `{number}` counts from 1."""
    repeats: Annotated[Text, _slot("node")]
    """Says that an attempt was the same as an earlier one, `{node}`."""
    task: Text
    """Heads the task."""
    data_open: Marked
    """Opens a text of users or models; `{mark}` cannot stand in that text."""
    data_close: Marked
    """Closes it, with the same `{mark}`."""
    cut: Annotated[Text, _slot("bytes")]
    """Stands where `{bytes}` of a text were left out."""


class PromptsFile(Value):
    """A prompts file: `sections`, and any other key is an entry's id. Used for the JSON Schema and the loader."""

    model_config = ConfigDict(extra="allow", title="Replan prompts")
    __pydantic_extra__: dict[str, PromptEntry] = Field(init=False)

    sections: Sections | None = None


class PromptBook(Value):
    """Entries by id, and the sections; both complete."""

    entries: Mapping[str, PromptEntry]
    sections: Sections


def load_prompts(path: Path, shared: Path) -> tuple[PromptBook, tuple[str, ...]]:
    """Return a prompts file's book and notices; `shared` is the prompts file whose sections it takes if it has none.

    AtomicGuard's older `prompts.json` files know no `escalation_feedback_wrapper`. They load unchanged: entries of a
    JSON file that lack it, and only it, take the one of `shared`, with a notice. It is still data, never code (S100).
    An entry of a JSON file that is one text is left out, with a notice: there is no telling a role from a task in it.

    Raises:
        UsageProblem: a file cannot be read, a text is missing, empty or too long, or a slot is missing or doubled.
    """
    document, told = _without_texts(read_document(path))
    document, borrowed = _complete(document, shared)
    file = _parse(document)
    sections = file.sections or _parse(read_document(shared)).sections
    if sections is None:
        raise UsageProblem("missing key 'sections'", place=str(shared))
    entries = file.__pydantic_extra__
    if not entries and not told:
        raise document.problem("there is no prompt entry in this file")
    notices = tuple(
        f"{document.place((name, key))}: {slot} stays as it stands: slots are in the wrappers only"
        for name, entry in entries.items()
        for key in ("role", "constraints", "task")
        for slot in _FOREIGN_SLOT.findall(getattr(entry, key))
    )
    return PromptBook(entries=entries, sections=sections), (*told, *borrowed, *notices)


def _without_texts(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Return a JSON document without the entries that are one text."""
    texts = [name for name, entry in document.value.items() if isinstance(entry, str) and name != "$schema"]
    if not texts or not document.source.endswith(".json"):
        return document, ()
    value = {name: entry for name, entry in document.value.items() if name not in texts}
    notices = tuple(f"{document.place((name,))}: ignored; an entry has a role, constraints, a task" for name in texts)
    return replace(document, value=value), notices


def _complete(document: Document, shared: Path) -> tuple[Document, tuple[str, ...]]:
    """Return the document with the escalation wrapper of `shared` where an older JSON file has none."""
    wrapper = "escalation_feedback_wrapper"
    older = [
        name
        for name, entry in document.value.items()
        if isinstance(entry, dict) and "feedback_wrapper" in entry and wrapper not in entry
    ]
    if not older or not document.source.endswith(".json"):
        return document, ()
    lent = next(iter(_parse(read_document(shared)).__pydantic_extra__.values())).escalation_feedback_wrapper
    value = {**document.value, **{name: {**document.value[name], wrapper: lent} for name in older}}
    notices = tuple(f"{document.place((name,))}: no {wrapper}: the shipped one is used" for name in older)
    return replace(document, value=value), notices


def _parse(document: Document) -> PromptsFile:
    # The seeds' files may name their schema; editors read it, nobody else.
    value = {key: item for key, item in document.value.items() if key != "$schema"}
    try:
        return PromptsFile.model_validate(value)
    except ValidationError as error:
        raise explain(error, document) from None
