"""Renders prompts: a pure function of a prompt entry, the shared sections and a context.

The system part consists of the role, the constraints and the note on data. The user part consists of sections in a
fixed order. Empty sections are omitted. Text that differs between attempts of a step comes last, so that a provider can
cache all text before it. Text from users and models is put between delimiters that do not occur in the text. So a model
can distinguish the text from an instruction. If an inserted text contains a slot such as `{step}`, the slot is not
replaced.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from actors.prompting.book import PromptBook, PromptEntry, Sections
from actors.values.artifacts import Clarified, Context, Feedback, format_json
from actors.values.given import ATTACHMENTS_BYTES_MAX, Attachment
from runtime.core.events import text_hash

SPECIFICATION_BYTES_MAX = 200_000
"""The largest number of bytes of the problem that a prompt shows: about 50,000 tokens, half the context window of the
smaller models. The longest known problem has 60 kB.
"""
DEPENDENCY_BYTES_MAX = 32_000
"""The largest number of bytes that a prompt shows of one accepted result. A plan of 100 steps has about 30 kB."""
ANSWER_BYTES_MAX = 8_000
"""The largest number of bytes that a prompt shows of one answer, and also of its question. Longer material belongs in
the problem."""
MESSAGE_BYTES_MAX = 40_000
"""The largest number of bytes that a prompt shows of one note or requirement. Notes and requirements have at most
10,000 characters, so they are never cut."""
GIVEN_BYTES_MAX = 64_000
"""The largest number of bytes that a prompt shows of the facts that a run is given, such as a plan's state."""
FEEDBACK_BYTES_MAX = 4_000
"""The largest number of bytes that a prompt shows of one rejection: about thirty findings. A prompt with ten rejections
still has room for the problem."""
REF_LENGTH = 32
MARK_LENGTH = 8
"""The least number of hexadecimal digits in a delimiter's mark. If the enclosed text contains the mark, the mark gets
more digits."""


class Rendered(NamedTuple):
    """A prompt for a model, in two parts."""

    system: str
    user: str
    cut: tuple[str, ...] = ()
    """The names of the texts that were longer than their limit and were cut, in order."""
    common: int = 0
    """The number of characters at the start of `user` that do not change between attempts with the same material.
    """
    before_results: int = 0
    """The number of characters before the accepted results of other steps; 0 if the prompt has no results."""

    @property
    def repeated(self) -> tuple[int, ...]:
        """The lengths of the beginnings of `user` that later prompts may have too, shortest first."""
        return tuple(filter(None, (self.before_results, self.common)))

    @property
    def ref(self) -> str:
        """The first 128 bits of the SHA-256 of both parts, in hex."""
        prompt_hash = _system_hash(self.system)[0].copy()
        prompt_hash.update(self.user.encode())
        return prompt_hash.hexdigest()[:REF_LENGTH]

    @property
    def byte_count(self) -> int:
        """The length of both parts in UTF-8 bytes."""
        return _system_hash(self.system)[1] + len(self.user.encode())


class PromptTemplate:
    """A prompt entry with its book, from which many prompts are rendered.

    A template equals only itself, because comparing the texts is slow.
    """

    __slots__ = ("book", "entry")

    def __init__(self, entry: PromptEntry, book: PromptBook) -> None:
        self.entry, self.book = entry, book


def render(template: PromptTemplate, context: Context, *, headed: bool = True) -> Rendered:
    """Return the prompt for one call.

    Without `headed`, the prompt shows rejections in their wrappers, without headings.

    Dependencies are rendered in the order of the mapping; the caller passes them in the workflow's order. The only
    setting that the prompt shows is `guard_catalog`, the guard names that the workflow adds to those in the entry.
    """
    facts = context.given
    # The failure of the previous plan comes before the run's own rejections.
    before = (Feedback("", facts.failure_summary),) if facts is not None and facts.failure_summary else ()
    shown = _Shown(
        context.specification,
        context.constraints,
        context.requirements,
        tuple(context.settings.get("guard_catalog", ())),
        tuple([(step, artifact.shown) for step, artifact in context.dependencies.items()]),
        () if context.afresh is None else ("\n".join(context.afresh),),
        context.retry,
        (*before, *context.escalation),
        context.clarifications,
        context.notes,
        context.attachments,
        format_json(facts.shown) if facts is not None and facts.shown else "",
    )
    return _render_parts(template, shown, headed)


class _Shown(NamedTuple):
    """The part of a context that a prompt shows, as values that a cache can compare."""

    specification: str
    constraints: str
    requirements: tuple[str, ...]
    guard_catalog: tuple[str, ...]
    dependencies: tuple[tuple[str, str], ...]
    afresh: tuple[str, ...]
    """Empty if the attempt is not fresh. For a fresh attempt, one text with the findings that the prompt shows."""
    retry: tuple[Feedback, ...]
    escalation: tuple[Feedback, ...]
    clarifications: tuple[Clarified, ...]
    notes: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    given: str


@lru_cache(maxsize=64)  # Rendered when a call is requested, and again when it is made: after those of other runs.
def _render_parts(template: PromptTemplate, shown: _Shown, headed: bool) -> Rendered:
    entry, book = template.entry, template.book
    writer = _SectionWriter(book.sections)
    before, results = "\n\n".join(writer.sections(shown)), [*writer.results(shown)]
    common = "\n\n".join((before, *results, f"{book.sections.task}\n\n{entry.task}"))
    user = "\n\n".join((common, *writer.rejections(entry, shown, headed=headed)))
    system = _system(entry.role, entry.constraints, book.sections.data_note)
    return Rendered(system, user, tuple(writer.cut), len(common), len(before) if results else 0)


@lru_cache(maxsize=128)  # One entry for each step of the workflows in use. All runs of a workflow share its entries.
def _system(*texts: str) -> str:
    return "\n\n".join(texts)


@lru_cache(maxsize=128)
def _system_hash(system: str) -> "tuple[hashlib._Hash, int]":
    """Return the hash object of the system part and a zero byte, and the size of the part in bytes.

    Callers copy the hash.
    """
    raw = system.encode()
    return hashlib.sha256(raw + b"\0"), len(raw)


class _SectionWriter:
    """Writes all sections of a user message except the task. `cut` collects the names of texts that were cut."""

    def __init__(self, texts: Sections) -> None:
        self.texts = texts
        self.cut: list[str] = []

    def sections(self, context: _Shown) -> Iterator[str]:
        """Yield the sections before the results of other steps. Sections that change less often in a run come first."""
        texts = self.texts
        if context.constraints.strip():
            yield f"{texts.constraints}\n\n{context.constraints}"
        if context.guard_catalog:
            yield f"{texts.guard_catalog}\n\n{', '.join(context.guard_catalog)}"
        yield f"{texts.specification}\n\n{self.data('specification', context.specification, SPECIFICATION_BYTES_MAX)}"
        yield from self.attachments(context.attachments)
        if context.given:
            yield f"{texts.given or texts.constraints}\n\n{self.data('given', context.given, GIVEN_BYTES_MAX)}"
        if context.requirements:
            heading = texts.requirements or texts.constraints
            yield from self.messages("requirement", heading, context.requirements)
        if context.clarifications:
            yield texts.clarifications
        for number, clarified in enumerate(context.clarifications, 1):
            question = self.data(f"question {number}", clarified.question, ANSWER_BYTES_MAX)
            section = f"{_fill(texts.question, 'number', str(number))}\n\n{question}"
            if clarified.unanswered:
                note = (texts.declined if clarified.unanswered == "declined" else texts.expired) or ""
                yield f"{section}\n\n{note}".rstrip()
            else:
                answer = self.data(f"answer {number}", clarified.answer, ANSWER_BYTES_MAX)
                yield f"{section}\n\n{texts.answer}\n\n{answer}"
        if context.notes:
            yield from self.messages("note", texts.notes or texts.clarifications, context.notes)

    def results(self, context: _Shown) -> Iterator[str]:
        texts = self.texts
        if context.dependencies:
            yield texts.dependencies
        for step, text in context.dependencies:
            result = self.data(step, text, DEPENDENCY_BYTES_MAX)
            yield f"{_fill(texts.dependency, 'step', step)}\n\n{result}"

    def attachments(self, attachments: Sequence[Attachment]) -> Iterator[str]:
        if attachments:
            yield self.texts.attachments or self.texts.specification
        for number, attachment in enumerate(attachments, 1):
            heading = self.texts.listing
            if attachment.kind == "file":
                heading = self.texts.attachment and _fill(self.texts.attachment, "number", str(number))
            data = self.data(f"attachment {number}", attachment.shown, ATTACHMENTS_BYTES_MAX)
            yield f"{heading}\n\n{data}" if heading else data

    def rejections(self, entry: PromptEntry, context: _Shown, *, headed: bool) -> Iterator[str]:
        """Yield the findings of a fresh attempt, then the escalation history, then the retry history."""
        texts = self.texts
        for findings in context.afresh:
            heading = texts.afresh or texts.task
            yield f"{heading}\n\n{texts.afresh_findings or ''}".rstrip() if findings else heading
            if findings:
                yield self.data("findings", findings, FEEDBACK_BYTES_MAX)
        if context.escalation:
            headings = (texts.escalations, texts.escalation) if headed else None
            yield from self.history("escalation", headings, entry.escalation_feedback_wrapper, context.escalation)
        if context.retry:
            headings = (texts.retries, texts.retry) if headed else None
            yield from self.history("retry", headings, entry.feedback_wrapper, context.retry)

    def history(
        self, name: str, headings: tuple[str, str] | None, wrapper: str, rejections: Sequence[Feedback]
    ) -> Iterator[str]:
        """Yield rejections of one kind. `headings` has the heading of the list, and the heading of each rejection."""
        if headings is not None:
            yield headings[0]
        for number, rejection in enumerate(rejections, 1):
            if headings is not None:
                yield _fill(headings[1], "number", str(number))
            if rejection.repeats is not None:
                yield _fill(self.texts.repeats, "node", rejection.repeats)
            yield _fill(wrapper, "feedback", self.data(f"{name} {number}", rejection.text, FEEDBACK_BYTES_MAX))

    def messages(self, name: str, heading: str, texts: Sequence[str]) -> Iterator[str]:
        yield heading
        for number, text in enumerate(texts, 1):
            yield self.data(f"{name} {number}", text, MESSAGE_BYTES_MAX)

    def data(self, name: str, text: str, bytes_max: int) -> str:
        """Return a text between delimiters, cut to `bytes_max`. Lone surrogates become `?`."""
        texts = self.texts
        section, cut = _delimit_text(text, bytes_max, texts.data_open, texts.data_close, texts.cut)
        if cut:
            self.cut.append(name)
        return section


@lru_cache(maxsize=256)  # The same problem, results and rejections are part of many prompts.
def _delimit_text(text: str, bytes_max: int, data_open: str, data_close: str, cut_note: str) -> tuple[str, bool]:
    raw = text.encode(errors="replace")
    text, cut = raw.decode(), len(raw) > bytes_max
    if cut:
        kept = raw[:bytes_max].decode(errors="ignore")
        text = f"{kept}\n{_fill(cut_note, 'bytes', str(len(raw) - len(kept.encode())))}"
    mark = _delimiter_mark(text)
    return f"{_fill(data_open, 'mark', mark)}\n{text}\n{_fill(data_close, 'mark', mark)}", cut


def _fill(template: str, slot: str, text: str) -> str:
    return template.replace(f"{{{slot}}}", text, 1)


def _delimiter_mark(text: str) -> str:
    """Return the shortest prefix of the text's hash that does not occur in the text.

    The author of the text cannot predict the mark, and the same text always has the same mark.
    """
    digest = text_hash(text)
    return next(digest[:length] for length in range(MARK_LENGTH, len(digest) + 1) if digest[:length] not in text)
