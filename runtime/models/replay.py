"""A model that repeats the replies of a recorded run."""

from collections.abc import Mapping

import trio

from runtime.models.port import Fault, FaultKind, ModelRequest, Reply


class ReplayModel:
    """Answers each request id of a recorded run with its recorded reply or fault.

    `answers` maps request ids (without the run) to replies or faults, which the caller read from the journal. Any other
    id gets `NOT_FOUND`, which is final: the run asks for something else than the recorded one.
    """

    def __init__(self, answers: Mapping[str, Reply | Fault], *, name: str = "replay") -> None:
        self._answers, self._name = dict(answers), name

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the recorded answer to the request's id."""
        await trio.lowlevel.checkpoint()
        answer = self._answers.get(request.request_id)
        if answer is None:
            text = f"the recording has no reply for {request.request_id!r}: the run took another way"
            return Fault(kind=FaultKind.NOT_FOUND, message=text)
        return answer

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""
