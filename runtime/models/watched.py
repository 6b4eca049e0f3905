"""A model whose streamed replies are watched while they come."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from runtime.models.port import Fault, Model, ModelRequest, Reply


class WatchedModel:
    """Another model, with every request's progress told to a callback: its id, and the characters so far."""

    def __init__(self, model: Model, heard: Callable[[str, int], None]) -> None:
        self._model, self._heard = model, heard

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def model(self) -> Model:
        """The other model."""
        return self._model

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the model's reply or fault."""
        return await self._model.complete(replace(request, heard=partial(self._heard, request.request_id)))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
