"""A model that answers as a recorded run was answered."""

from collections.abc import Mapping

import trio

from runtime.models.port import Fault, FaultKind, ModelRequest, Reply


class ReplayModel:
    """Answers the request ids of a recorded run with what they were answered then.

    `answers` maps request ids (without the run) to replies or faults, as the caller read them from the journal. An id
    that the recording lacks gets `NOT_FOUND`, which is final: the run asks for something else than it did then.
    """

    def __init__(self, answers: Mapping[str, Reply | Fault], *, name: str = "replay") -> None:
        self._answers, self._name = dict(answers), name

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return what was recorded under the request's id."""
        await trio.lowlevel.checkpoint()
        found = self._answers.get(request.request_id)
        if found is None:
            text = f"the recording has no reply for {request.request_id!r}: the run took another way"
            return Fault(kind=FaultKind.NOT_FOUND, message=text)
        return found

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""
