"""A model that passes each request on to the one of several models that the request names."""

from collections.abc import Mapping

from runtime.models.port import Fault, Model, ModelRequest, Reply
from runtime.models.probe import Askable


class RoutedModel:
    """A run's own model, and the models that its steps name."""

    def __init__(self, own: Model, others: Mapping[str, Model]) -> None:
        self._own, self._others = own, others

    @property
    def name(self) -> str:
        """The name of the run's own model."""
        return self._own.name

    @property
    def asked(self) -> Model:
        """The model whose provider is asked whether it is up: the first that has one; the run's own where none has."""
        models = (self._own, *self._others.values())
        return next((each for each in models if isinstance(each, Askable)), self._own)

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply or the fault of the model that the request names."""
        model = self._others[request.model] if request.model else self._own
        return await model.complete(request)

    async def aclose(self) -> None:
        """Close the run's own model and the others."""
        for model in (self._own, *self._others.values()):
            await model.aclose()
