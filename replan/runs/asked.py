"""The open questions of the home's runs, for a list of them, and what a face says about a posted answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from actors.run.ids import is_child
from actors.run.open_question import decoded, in_order
from replan.runs.run_ids import ALL
from runtime.core.errors import JournalDamaged, KindUnknown, ReplanError, RunNotFound, UsageProblem
from runtime.journal.head import check_here, place_moved_to
from runtime.journal.port import RunRow

if TYPE_CHECKING:
    from replan.runs.inbox import Heard
    from replan.runs.reader import Reading

SHOWN_MAX = 200
"""Characters that are shown of an answer that was given before."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The open questions of several runs."""

    questions: tuple[dict[str, Any], ...]
    """The questions as plain data."""
    problems: tuple[tuple[str, ReplanError], ...]
    """The runs that cannot be read, each with the error."""
    titles: Mapping[str, str]
    """The titles of the runs whose rows have questions."""
    more: bool
    """Whether there are more questions than were asked for."""


async def questions_of(reader: "Reading", run: str) -> list[dict[str, Any]]:
    """Return the open questions of a run as plain data, in the order of `in_order`.

    Raises as `Reading.read` does, and `RunMoved`.
    """
    row = await reader.journal.row(run)
    check_here(run, row.owner)
    return await _questions_at(reader, row)


async def all_questions(reader: "Reading", *, begin: int = 0, limit: int | None = None) -> Asked:
    """Return the open questions of all runs that have not finished, at most `limit`, without the first `begin`.

    They come in the order of `in_order`. A run whose questions cannot be read does not hide those of the others.
    """
    questions: list[dict[str, Any]] = []
    problems: list[tuple[str, ReplanError]] = []
    rows = await reader.journal.runs(replace(ALL, asks=True))
    for row in reversed(rows):  # Of questions of the same second, too, the oldest come first.
        if is_child(row.run) or place_moved_to(row.owner) is not None:
            continue
        try:
            questions += await _questions_at(reader, row)
        except RunNotFound:
            continue  # It was deleted since the rows were read.
        except (JournalDamaged, KindUnknown, UsageProblem) as error:
            problems.append((row.run, error))
    questions = in_order(questions)
    end = len(questions) if limit is None else begin + limit
    titles = {row.run: row.title for row in rows}
    return Asked(tuple(questions[begin:end]), tuple(problems), titles, more=end < len(questions))


async def _questions_at(reader: "Reading", row: RunRow) -> list[dict[str, Any]]:
    """Return the open questions that the row of a run has; where a message lies in its inbox, the run is read."""
    asks = row.asks
    if row.unread:
        loaded = await reader.read(row.run)
        asks = loaded.kind.machine.summary(await reader.with_inbox(row.run, loaded)).asks
    try:
        return decoded(asks)
    except ValueError:
        raise JournalDamaged(f"run {row.run!r}", "the questions of its status row cannot be read") from None


def check_heard(receipt: "Heard", question: str) -> None:
    """Raise `UsageProblem` where another answer stands."""
    if receipt.result == "conflict":
        first = "it was declined" if receipt.stands is None else repr(receipt.stands[:SHOWN_MAX])
        cause = f"another answer was given before: {first}"
        raise UsageProblem(cause, place=question, hint="the first answer counts")
