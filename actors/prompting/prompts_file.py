"""Reads a prompts file.

It maps an entry's id to its five texts (the seeds' `prompts.json` has the same shape). Its optional key `sections` has
the headings and delimiters; a file without it uses the shipped ones.
"""

import re
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from actors.files.validation_errors import ParsedFile, usage_problem
from actors.files.yaml_document import read_document
from actors.prompting.book import PromptBook, PromptEntry, Sections
from runtime.core.errors import UsageProblem
from runtime.core.events import Value

_FOREIGN_SLOT = re.compile(r"\{(?:specification|constraints|feedback|ap_\w+)\}")
"""Slots of AtomicGuard's templates, which are not replaced here."""


class PromptsFile(Value):
    """A prompts file: `sections`, and entries by id under all other keys."""

    model_config = ConfigDict(extra="allow", title="Replan prompts")
    __pydantic_extra__: dict[str, PromptEntry] = Field(init=False)

    sections: Sections | None = None


def load_prompts(path: Path, shared: Path) -> tuple[PromptBook, tuple[str, ...]]:
    """Return the prompts of a file, and notices. A file without `sections` uses those of the file `shared`.

    AtomicGuard's older `prompts.json` files have no `escalation_feedback_wrapper`. An entry of a JSON file that lacks
    only this key uses the one of `shared`, with a notice (S100). An entry of a JSON file that is a single text is
    ignored, with a notice: its role and task cannot be told apart.

    Raises `UsageProblem` if a file cannot be read, a text is missing, empty or too long, or a slot is missing or
    repeated.
    """
    document, ignored = _without_plain_texts(read_document(path))
    document, completed = _with_escalation_wrapper(document, shared)
    file = _parse(document)
    sections = file.sections or _parse(read_document(shared)).sections
    if sections is None:
        raise UsageProblem("missing key 'sections'", place=str(shared))
    entries = file.__pydantic_extra__
    if not entries and not ignored:
        raise document.problem("there is no prompt entry in this file")
    literal = tuple(
        f"{document.place((name, key))}: {slot} stays as it stands: slots are in the wrappers only"
        for name, entry in entries.items()
        for key in ("role", "constraints", "task")
        for slot in _FOREIGN_SLOT.findall(getattr(entry, key))
    )
    return PromptBook(entries=entries, sections=sections), (*ignored, *completed, *literal)


def _without_plain_texts(document: ParsedFile) -> tuple[ParsedFile, tuple[str, ...]]:
    """Return a JSON document without the entries that are a single text, and notices."""
    texts = [name for name, entry in document.value.items() if isinstance(entry, str) and name != "$schema"]
    if not texts or not document.source.endswith(".json"):
        return document, ()
    value = {name: entry for name, entry in document.value.items() if name not in texts}
    notices = tuple(f"{document.place((name,))}: ignored; an entry has a role, constraints, a task" for name in texts)
    return replace(document, value=value), notices


def _with_escalation_wrapper(document: ParsedFile, shared: Path) -> tuple[ParsedFile, tuple[str, ...]]:
    """Return a JSON document with the escalation wrapper of `shared` in the entries without one, and notices."""
    wrapper = "escalation_feedback_wrapper"
    older = [
        name
        for name, entry in document.value.items()
        if isinstance(entry, dict) and "feedback_wrapper" in entry and wrapper not in entry
    ]
    if not older or not document.source.endswith(".json"):
        return document, ()
    default = next(iter(_parse(read_document(shared)).__pydantic_extra__.values())).escalation_feedback_wrapper
    value = {**document.value, **{name: {**document.value[name], wrapper: default} for name in older}}
    notices = tuple(f"{document.place((name,))}: no {wrapper}: the shipped one is used" for name in older)
    return replace(document, value=value), notices


def _parse(document: ParsedFile) -> PromptsFile:
    # Only editors use the `$schema` key of the seeds' files.
    value = {key: item for key, item in document.value.items() if key != "$schema"}
    try:
        return PromptsFile.model_validate(value)
    except ValidationError as error:
        raise usage_problem(error, document) from None
