"""Posting messages to the runs of a journal: answers, notes, requirements, changes, and cancels and undos of runs."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from actors.run.questions import Via
from replan.runs import inbox
from replan.runs.families import check_own
from replan.runs.inbox import AnswerReceipt
from replan.runs.reader import RunReader
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.host.wakeup import WakeUp
from runtime.journal.port import Journal, Posted

P = TypeVar("P")


class RunPoster(RunReader):
    """Reads the runs of a journal and posts messages to them; it wakes the hosts, and drives nothing itself."""

    journal: Journal[Any]
    wakeup: WakeUp

    async def answer(self, question: str, text: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Post an answer to the question `RUN/ID`; it is in the journal when this returns.

        `via` is the way that it came, and `person` the name of who used a link or an account for it, else empty.

        The same answer again is a `duplicate`, another one a `conflict` that says which counts. Raises `RunNotFound`,
        `KindUnknown`, and `UsageProblem` for an unknown or closed question or an answer that does not fit. Raises
        `ForPeopleOnly` for a question that a program may not answer.
        """
        return await self._post(question, partial(inbox.post_answer, text=text, via=via, person=person))

    async def decline(self, question: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Post that a question will not be answered; the receipt says what happens then.

        Raises the errors of `answer`.
        """
        return await self._post(question, partial(inbox.post_decline, via=via, person=person))

    async def _post(self, question: str, post: Callable[..., Awaitable[AnswerReceipt]]) -> AnswerReceipt:
        run, name = inbox.split_question_id(question)
        await check_own(self, run, "questions RUN")
        return await self._and_wake(post(self.journal, await self.common_with_inbox(run), run, name))

    async def tell(self, run: str, text: str, kind: str = "note", *, key: str = "") -> Posted:
        """Post a note, which later prompts show, or a requirement, which changes what is asked for.

        A note that is a correction, as its kind of run says, is posted as one: in an acquisition `FIELD=VALUE`, also
        after a success. A message with a `key` is posted once: again it is a `duplicate`, another text a `conflict`.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for an empty or too long text and for a run that has
        finished or is a step of another.
        """
        await check_own(self, run, "tell RUN TEXT")
        loaded = await self.read(run)
        state = await self.with_inbox(run, loaded)
        correction = loaded.kind.correction(state, text) if kind == "note" else None
        if correction is not None:
            return await self._and_wake(inbox.post_correction(self.journal, run, correction, key=key))
        common = loaded.kind.run_state(state)
        return await self._and_wake(inbox.post_message(self.journal, common, run, text, kind, key=key))

    async def change(self, run: str, changes: Mapping[str, Any], *, key: str = "") -> Posted:
        """Post a change of the limits, the model, or the limits of calls and replies (`actors.run.settings`).

        `key` is as for `tell`.

        Raises `RunNotFound`, `KindUnknown`. Raises `UsageProblem`, whose place is the key, for a change that is not
        valid, a run whose end is final, and a step of another run.
        """
        await check_own(self, run, "resume RUN")
        common = await self.common_with_inbox(run)
        return await self._and_wake(inbox.post_change(self.journal, common, run, changes, key=key))

    async def cancel(self, run: str) -> Posted:
        """Post the message that cancels a run. A run that nobody drives is cancelled when it is driven next.

        Raises `RunNotFound`, and `UsageProblem` for a run that is a step of another, or that never began.
        """
        await check_own(self, run, "cancel RUN")
        if (await self.journal.row(run)).last_seq == 0:
            raise inbox.not_started(run)
        return await self.post_cancel(run)

    async def undo(self, run: str) -> Posted:
        """Post the message that makes an execution undo what it did, also after its end, when it is driven next.

        Raises `RunNotFound`, `KindUnknown`. Raises `UsageProblem` for a run of another kind, a step of another run, and
        a run that never began, has nothing to undo, or is undone.
        """
        await check_own(self, run, "undo RUN")
        loaded = await self.read(run)
        if not loaded.started:
            raise inbox.not_started(run)
        problem = loaded.kind.undo_problem(await self.with_inbox(run, loaded))
        if problem:
            raise UsageProblem(problem, place=run, hint=f"`{program()} show {run}` shows what it did")
        return await self._and_wake(inbox.post_undo(self.journal, run))

    async def post_cancel(self, run: str) -> Posted:
        """Post the message that cancels a run, also one that is a step of another."""
        await self.journal.row(run)
        return await self._and_wake(inbox.post_cancel(self.journal, run))

    async def _and_wake(self, posting: Awaitable[P]) -> P:
        """Wait for a message to be posted, and wake the hosts: a run that waits for it goes on at once."""
        posted = await posting
        self.wakeup.wake()
        return posted
