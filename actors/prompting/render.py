"""Renders what a model sees: a pure function of a prompt entry, the shared sections and a context.

Order: role, constraints and the note on data make the system part; the workflow's constraints, the requirements told
since, the problem, accepted results, answers, notes, escalation history, retry history and the task make the user part
(S99). A section with nothing in it is left out. Text from users and models stands between delimiters that cannot occur
in it, so that it cannot pass for an instruction; slots are replaced once, literally, and what was put in is never
scanned again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from actors.prompting.book import PromptBook, PromptEntry, Sections
from actors.values.artifacts import Context, Feedback
from runtime.core.events import text_hash

SPECIFICATION_BYTES_MAX = 200_000
"""About 50,000 tokens: half the window of the smaller models in use, the longest problem text met has 60 kB."""
DEPENDENCY_BYTES_MAX = 32_000
"""A plan of 100 steps has about 30 kB."""
ANSWER_BYTES_MAX = 8_000
"""A person's answer; longer material belongs into the problem."""
TOLD_BYTES_MAX = 40_000
"""A note or requirement is never cut: it has at most 10,000 characters."""
FEEDBACK_BYTES_MAX = 4_000
"""Thirty findings of a guard; the first ones matter most, and ten such texts must not crowd out the problem."""
REF_LENGTH = 32
"""Hexadecimal digits that name a prompt."""
MARK_LENGTH = 8
"""Hexadecimal digits of a delimiter, more when these should stand in the text."""


class Rendered(NamedTuple):
    """The two parts of a prompt; `cut` names the sections that did not fit, in order."""

    system: str
    user: str
    cut: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The first 128 bits of the SHA-256 of both parts, in hex: enough to tell any two prompts apart."""
        begun = _begun(self.system)[0].copy()
        begun.update(self.user.encode())
        return begun.hexdigest()[:REF_LENGTH]

    @property
    def byte_count(self) -> int:
        """The UTF-8 bytes of both parts."""
        return _begun(self.system)[1] + len(self.user.encode())


def render(entry: PromptEntry, book: PromptBook, context: Context, *, headed: bool = True) -> Rendered:
    """Return the prompt for one call. Without `headed` each rejection has its wrapper around it, but no heading.

    Dependencies are rendered in the order of the mapping, which the caller keeps in workflow order. The setting
    `guard_catalog` is the guard names that the workflow adds to those in the entry; no other setting is shown.
    """
    page = _Page(book.sections)
    sections = (*page.sections(context), *page.rejections(entry, context, headed=headed))
    user = "\n\n".join((*sections, f"{book.sections.task}\n\n{entry.task}"))
    return Rendered(_system(entry.role, entry.constraints, book.sections.data_note), user, tuple(page.cut))


@lru_cache(maxsize=128)  # One for each step of the workflows at work, for all of their runs.
def _system(*texts: str) -> str:
    return "\n\n".join(texts)


@lru_cache(maxsize=128)
def _begun(system: str) -> "tuple[hashlib._Hash, int]":
    """Return the hash of a system part and the zero byte after it, for others to go on from, and the part's bytes."""
    raw = system.encode()
    return hashlib.sha256(raw + b"\0"), len(raw)


class _Page:
    """Writes the sections before the task, and remembers which were cut."""

    def __init__(self, texts: Sections) -> None:
        self.texts = texts
        self.cut: list[str] = []

    def sections(self, context: Context) -> Iterator[str]:
        """Yield what the answer has to start from."""
        texts = self.texts
        if context.constraints.strip():
            yield f"{texts.constraints}\n\n{context.constraints}"
        if context.requirements:
            yield from self.told("requirement", texts.requirements or texts.constraints, context.requirements)
        catalog = context.settings.get("guard_catalog", ())
        if catalog:
            yield f"{texts.guard_catalog}\n\n{', '.join(catalog)}"
        yield f"{texts.specification}\n\n{self.data('specification', context.specification, SPECIFICATION_BYTES_MAX)}"
        if context.dependencies:
            yield texts.dependencies
        for step, artifact in context.dependencies.items():
            result = self.data(step, artifact.shown, DEPENDENCY_BYTES_MAX)
            yield f"{_fill(texts.dependency, 'step', step)}\n\n{result}"
        if context.clarifications:
            yield texts.clarifications
        for number, clarified in enumerate(context.clarifications, 1):
            question = self.data(f"question {number}", clarified.question, ANSWER_BYTES_MAX)
            asked = f"{_fill(texts.question, 'number', str(number))}\n\n{question}"
            if clarified.unanswered:
                said = (texts.declined if clarified.unanswered == "declined" else texts.expired) or ""
                yield f"{asked}\n\n{said}".rstrip()
            else:
                answer = self.data(f"answer {number}", clarified.answer, ANSWER_BYTES_MAX)
                yield f"{asked}\n\n{texts.answer}\n\n{answer}"
        if context.notes:
            yield from self.told("note", texts.notes or texts.clarifications, context.notes)

    def rejections(self, entry: PromptEntry, context: Context, *, headed: bool) -> Iterator[str]:
        """Yield what failed before: the escalation history, then the retry history."""
        texts = self.texts
        if context.escalation:
            heads = (texts.escalations, texts.escalation) if headed else None
            yield from self.history("escalation", heads, entry.escalation_feedback_wrapper, context.escalation)
        if context.retry:
            heads = (texts.retries, texts.retry) if headed else None
            yield from self.history("retry", heads, entry.feedback_wrapper, context.retry)

    def history(
        self, name: str, heads: tuple[str, str] | None, wrapper: str, rejections: Sequence[Feedback]
    ) -> Iterator[str]:
        """Yield rejections of one kind; `heads` are what stands before all of them, and before each."""
        if heads is not None:
            yield heads[0]
        for number, rejection in enumerate(rejections, 1):
            if heads is not None:
                yield _fill(heads[1], "number", str(number))
            if rejection.repeats is not None:
                yield _fill(self.texts.repeats, "node", rejection.repeats)
            yield _fill(wrapper, "feedback", self.data(f"{name} {number}", rejection.text, FEEDBACK_BYTES_MAX))

    def told(self, name: str, heading: str, told: Sequence[str]) -> Iterator[str]:
        """Yield what the user said of their own accord, under its heading."""
        yield heading
        for number, text in enumerate(told, 1):
            yield self.data(f"{name} {number}", text, TOLD_BYTES_MAX)

    def data(self, name: str, text: str, bytes_max: int) -> str:
        """Return a text between delimiters, cut to a length if need be; what is not Unicode text becomes `?`."""
        texts = self.texts
        shown, cut = _between(text, bytes_max, texts.data_open, texts.data_close, texts.cut)
        if cut:
            self.cut.append(name)
        return shown


@lru_cache(maxsize=256)  # The same problem, results and rejections stand in many prompts.
def _between(text: str, bytes_max: int, data_open: str, data_close: str, cut_note: str) -> tuple[str, bool]:
    """Return a text between its delimiters, and whether it was cut."""
    raw = text.encode(errors="replace")
    text, cut = raw.decode(), len(raw) > bytes_max
    if cut:
        kept = raw[:bytes_max].decode(errors="ignore")
        text = f"{kept}\n{_fill(cut_note, 'bytes', str(len(raw) - len(kept.encode())))}"
    mark = _mark(text)
    return f"{_fill(data_open, 'mark', mark)}\n{text}\n{_fill(data_close, 'mark', mark)}", cut


def _fill(template: str, slot: str, text: str) -> str:
    """Put a text into the one slot that the template has."""
    return template.replace(f"{{{slot}}}", text, 1)


def _mark(text: str) -> str:
    """Return the shortest start of the text's own hash that does not stand in the text.

    Whoever writes the text cannot know the mark beforehand, and the same text always has the same mark.
    """
    digest = text_hash(text)
    return next(digest[:length] for length in range(MARK_LENGTH, len(digest) + 1) if digest[:length] not in text)
