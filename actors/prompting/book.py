"""The texts from which prompts are rendered: one entry per step or role, and the sections that all prompts share.

The code contains no default texts. So an entry without a feedback wrapper is an error (S100, S101), because the prompt
after a rejection needs the wrapper. A prompts file maps an entry's id to its five texts, in the format of AtomicGuard's
`prompts.json`. The optional key `sections` of the file has the headings and delimiters. A file without this key uses
the shipped sections.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from actors.files.validation_errors import Config, ParsedFile, config_error
from runtime.core.errors import UsageProblem
from runtime.core.events import Value

TEXT_MAX = 100_000
"""The largest number of characters in one text of a prompt entry. This limit leaves room for the problem in a model's
context window.
"""


def _require_text(text: str) -> str:
    if not text.strip():
        raise config_error("this text is empty")
    return text


def _slot(*names: str) -> AfterValidator:

    def check(text: str) -> str:
        for name in names:
            count = text.count(f"{{{name}}}")
            if count != 1:
                raise config_error(f"the text must contain {{{name}}} once, but contains it {count} times")
        return text

    return AfterValidator(check)


Text = Annotated[str, StringConstraints(max_length=TEXT_MAX), AfterValidator(_require_text)]
Wrapper = Annotated[Text, _slot("feedback"), Field(json_schema_extra={"pattern": r"\{feedback\}"})]
Numbered = Annotated[Text, _slot("number")]
Marked = Annotated[Text, _slot("mark")]


class ShorterTexts(Config):
    """Shorter texts of an entry, for a model with a small context window."""

    role: Text | None = None
    """The start of the system part; null uses the entry's start."""
    constraints: Text | None = None
    """The rules for an answer; null uses the entry's rules."""
    task: Text | None = None
    """The task; null uses the entry's task."""


class PromptEntry(Config):
    """The texts of one prompt. Each wrapper has one slot; all other braces are literal."""

    role: Text
    """The start of the system part: the model's role."""
    constraints: Text
    """The rules for an answer: its fields, their values, an example."""
    task: Text
    """The task. In the user part, only the feedback follows it."""
    feedback_wrapper: Wrapper
    """The text around one rejection (`{feedback}`) of this step's own artifact."""
    escalation_feedback_wrapper: Wrapper
    """The text around one failure of a later step (`{feedback}`) that this step caused."""
    compact: ShorterTexts | None = Field(default=None, exclude_if=lambda texts: texts is None)
    """The shorter texts for the setting `compact`; null if the entry is short enough."""

    def shown(self, *, compact: bool) -> "PromptEntry":
        """Return the texts to render: the entry's own texts, or its shorter texts with `compact`."""
        if not compact or self.compact is None:
            return self
        return self.model_copy(update=self.compact.model_dump(exclude_none=True))


class Sections(Config):
    """The texts that all prompts share: headings and delimiters, with their slots."""

    data_note: Text
    """The end of the system part: a note that text between delimiters is data, not instructions."""
    constraints: Text
    """The heading of the workflow's constraints."""
    guard_catalog: Text
    """The heading of the guard names that the workflow adds."""
    specification: Text
    """The heading of the problem."""
    attachments: Text | None = None
    """The heading of the user's attached files; null uses the heading of the problem."""
    attachment: Numbered | None = None
    """The heading of one attached file. `{number}` counts from 1. Null shows the file without a heading."""
    listing: Text | None = None
    """The heading of the list of a repository's files; null shows the list without a heading."""
    dependencies: Text
    """The heading of the accepted results of earlier steps."""
    dependency: Annotated[Text, _slot("step")]
    """The heading of one accepted result. `{step}` is the step's id."""
    clarifications: Text
    """The heading of the user's answers."""
    question: Numbered
    """The heading of one question. `{number}` counts from 1."""
    answer: Text
    """The heading of the answer, after its question."""
    declined: Text | None = None
    """The text after a question that the user declined to answer; null shows only the question."""
    expired: Text | None = None
    """The text after a question whose time limit passed without an answer; null shows only the question."""
    requirements: Text | None = None
    """The heading of the requirements added since the run began; null uses the heading of the constraints."""
    given: Text | None = None
    """The heading of the facts that a planning run is given; null uses the heading of the constraints."""
    notes: Text | None = None
    """The heading of the user's notes; null uses the heading of the answers."""
    afresh: Text | None = None
    """The heading of a fresh attempt, whose prompt leaves out earlier answers; null uses the task's heading."""
    afresh_findings: Text | None = None
    """The text before the findings about the earlier answers; null shows the findings without such a text."""
    escalations: Text
    """The heading of the escalation history."""
    escalation: Numbered
    """The heading of one escalation. `{number}` counts from 1."""
    retries: Text
    """The heading of the retry history."""
    retry: Numbered
    """The heading of one attempt. `{number}` counts from 1."""
    repeats: Annotated[Text, _slot("node")]
    """The note that an attempt was identical to an earlier attempt, `{node}`."""
    task: Text
    """The heading of the task."""
    data_open: Marked
    """The delimiter before a text from users or models. `{mark}` does not occur in that text."""
    data_close: Marked
    """The delimiter after a text from users or models, with the same `{mark}`."""
    cut: Annotated[Text, _slot("bytes")]
    """The note at the end of a text that was cut. `{bytes}` is the size of the missing part."""


class PromptBook(Value):
    """All texts from which the prompts of a workflow are rendered."""

    entries: Mapping[str, PromptEntry]
    """The prompts by id: for steps, for roles and for the classifier."""
    sections: Sections
    """The headings and delimiters that all prompts share."""


@lru_cache(maxsize=64)
def schema_of(role: str) -> Mapping[str, Any] | None:
    """Return the JSON Schema of the replies for a role; None for a role that is not built in."""
    # Only a process that calls models needs the modules of all replies.
    from actors.guards import fields  # noqa: PLC0415
    from actors.plans.reader import plan_schema  # noqa: PLC0415
    from actors.policy.table import CAUSE_SCHEMA, CLASSIFIER  # noqa: PLC0415

    schemas: Mapping[str, Mapping[str, Any]] = {
        "analysis": fields.ANALYSIS_SCHEMA,
        "critique": fields.CRITIQUE_SCHEMA,
        CLASSIFIER: CAUSE_SCHEMA,
        "plan": plan_schema(),
        "recon": fields.RECON_SCHEMA,
        "strategy": fields.STRATEGY_SCHEMA,
    }
    return schemas.get(role)


@lru_cache(maxsize=64)
def schema_bytes(role: str) -> int:
    """Return the number of bytes that a role's schema has as JSON in a call; 0 if the role has no schema."""
    schema = schema_of(role)
    return 0 if schema is None else len(orjson.dumps(schema))


_FOREIGN_SLOT = re.compile(r"\{(?:specification|constraints|feedback|ap_\w+)\}")
"""The slots that AtomicGuard's templates have, but that Replan does not fill in."""


class PromptsFile(Value):
    """A prompts file: `sections`, and under every other key an entry, whose id is the key."""

    model_config = ConfigDict(extra="allow", title="Replan prompts")
    __pydantic_extra__: dict[str, PromptEntry] = Field(init=False)

    sections: Sections | None = None


def load_prompts(path: Path, shared: Path) -> tuple[PromptBook, tuple[str, ...]]:
    """Return the prompts of a file, and notices for the user.

    A file without `sections` uses those of the file `shared`.

    AtomicGuard's older `prompts.json` files have no `escalation_feedback_wrapper`. If an entry of a JSON file lacks
    only this key, it uses the wrapper of `shared`, with a notice (S100). An entry of a JSON file that is a single text
    is ignored with a notice, because its role cannot be separated from its task.

    Raises `UsageProblem` if a file cannot be read, if a text is missing, empty or too long, or if a slot is missing or
    repeated.
    """
    from actors.files.yaml_document import read_document  # noqa: PLC0415 -- yaml is slow to load, and `show` needs none

    document, ignored = _without_plain_texts(read_document(path))
    shipped = _parse(read_document(shared))
    document, completed = _with_escalation_wrapper(document, shipped)
    file = _parse(document)
    sections = file.sections or shipped.sections
    if sections is None:
        raise UsageProblem("missing key 'sections'", place=str(shared))
    entries = file.__pydantic_extra__
    if not entries and not ignored:
        raise document.problem("there is no prompt entry in this file")
    literal = tuple(
        f"{document.place((name, key))}: {slot} is left unchanged, because only the wrappers have slots"
        for name, entry in entries.items()
        for key in ("role", "constraints", "task")
        for slot in _FOREIGN_SLOT.findall(getattr(entry, key))
    )
    return PromptBook(entries=entries, sections=sections), (*ignored, *completed, *literal)


def _without_plain_texts(document: ParsedFile) -> tuple[ParsedFile, tuple[str, ...]]:
    texts = [name for name, entry in document.value.items() if isinstance(entry, str) and name != "$schema"]
    if not texts or not document.source.endswith(".json"):
        return document, ()
    value = {name: entry for name, entry in document.value.items() if name not in texts}
    notices = tuple(
        f"{document.place((name,))}: ignored, because an entry must have a role, constraints and a task"
        for name in texts
    )
    return replace(document, value=value), notices


def _with_escalation_wrapper(document: ParsedFile, shipped: PromptsFile) -> tuple[ParsedFile, tuple[str, ...]]:
    """Return the document, with the shipped escalation wrapper in each JSON entry that has none, and notices."""
    wrapper = "escalation_feedback_wrapper"
    older = [
        name
        for name, entry in document.value.items()
        if isinstance(entry, dict) and "feedback_wrapper" in entry and wrapper not in entry
    ]
    if not older or not document.source.endswith(".json"):
        return document, ()
    default = next(iter(shipped.__pydantic_extra__.values())).escalation_feedback_wrapper
    value = {**document.value, **{name: {**document.value[name], wrapper: default} for name in older}}
    notices = tuple(f"{document.place((name,))}: it has no {wrapper}, so the shipped one is used" for name in older)
    return replace(document, value=value), notices


def _parse(document: ParsedFile) -> PromptsFile:
    # Only editors use the `$schema` key of the seeds' files.
    value = {key: item for key, item in document.value.items() if key != "$schema"}
    return document.read_as(PromptsFile, value)
