"""What a prompt is made of: entries, one per step or role, and the sections that all prompts share.

A prompts file maps an entry's id to its five texts (the seeds' `prompts.json` has the same shape), and may hold one
more key, `sections`: the headings and delimiters. A file without it takes the shipped ones. No default of any text
lives in code, and none is borrowed from another entry: an entry that lacks a wrapper is refused, also in a file of the
seeds (S100, S101), because a run that backtracks would have nothing to say at the moment when it matters.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, ValidationError

from actors.config.explain import Config, complaint, explain, nearest
from actors.config.workflow import Workflow
from actors.config.yamlfile import Document, read_document
from runtime.errors import UsageProblem
from runtime.events import Value

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
Wrapper = Annotated[Text, _slot("feedback")]
Numbered = Annotated[Text, _slot("number")]
Marked = Annotated[Text, _slot("mark")]


class PromptEntry(Config):
    """The texts of one prompt. Both wrappers have one `{feedback}` slot; every other brace is just text."""

    role: Text
    constraints: Text
    task: Text
    feedback_wrapper: Wrapper
    escalation_feedback_wrapper: Wrapper


class Sections(Config):
    """The texts that all prompts share: `data_note` ends the system part, the others head or delimit the user part.

    `{number}` counts from 1, `{step}` is a step's id, `{mark}` a delimiter that cannot stand in the data it delimits,
    `{node}` the earlier attempt that an attempt repeats, `{bytes}` the length that was cut out.
    """

    data_note: Text
    constraints: Text
    guard_catalog: Text
    specification: Text
    dependencies: Text
    dependency: Annotated[Text, _slot("step")]
    clarifications: Text
    question: Numbered
    answer: Text
    escalations: Text
    escalation: Numbered
    retries: Text
    retry: Numbered
    repeats: Annotated[Text, _slot("node")]
    task: Text
    data_open: Marked
    data_close: Marked
    cut: Annotated[Text, _slot("bytes")]


class PromptsFile(Value):
    """A prompts file: `sections`, and any other key is an entry's id. Used for the JSON Schema and the loader."""

    model_config = ConfigDict(extra="allow", title="Replan prompts")
    __pydantic_extra__: dict[str, PromptEntry] = Field(init=False)

    sections: Sections | None = None


class PromptBook(Value):
    """Entries by id, and the sections; both complete."""

    entries: Mapping[str, PromptEntry]
    sections: Sections

    def entry_for(self, workflow: Workflow, step: str) -> PromptEntry:
        """Return a step's entry: the one it names; where it names none, the one of its id, else the one of its role.

        Raises:
            UsageProblem: there is none. `load_workflow` has asked for every step that calls a model.
        """
        named = workflow.action_pairs[step].prompt
        names = (named,) if named else tuple(filter(None, (step, workflow.role(step))))
        for name in names:
            if name in self.entries:
                return self.entries[name]
        wanted = " or ".join(repr(name) for name in names)
        hint = nearest(names[0], self.entries, kind="entries")
        raise UsageProblem(f"no prompt entry {wanted}", place=f"action_pairs.{step}", hint=hint)


def load_prompts(path: Path, shared: Path) -> tuple[PromptBook, tuple[str, ...]]:
    """Return a prompts file's book and notices; `shared` is the prompts file whose sections it takes if it has none.

    Raises:
        UsageProblem: a file cannot be read, a text is missing, empty or too long, or a slot is missing or doubled.
    """
    document = read_document(path)
    file = _parse(document)
    sections = file.sections or _parse(read_document(shared)).sections
    if sections is None:
        raise UsageProblem("missing key 'sections'", place=str(shared))
    entries = file.__pydantic_extra__
    if not entries:
        raise document.problem("there is no prompt entry in this file")
    notices = tuple(
        f"{document.place((name, key))}: {slot} stays as it stands: slots are in the wrappers only"
        for name, entry in entries.items()
        for key in ("role", "constraints", "task")
        for slot in _FOREIGN_SLOT.findall(getattr(entry, key))
    )
    return PromptBook(entries=entries, sections=sections), notices


def _parse(document: Document) -> PromptsFile:
    # The seeds' files may name their schema; editors read it, nobody else.
    value = {key: item for key, item in document.value.items() if key != "$schema"}
    try:
        return PromptsFile.model_validate(value)
    except ValidationError as error:
        raise explain(error, document) from None
