"""Generators of artifacts. The built-in ones call a model; a plug-in is any function from a context to text.

A plug-in is written for anyio, so its author need not know the event loop. It is `async def make(context: Context) ->
str`, or a plain function if it does not wait. Its text is judged like that of a model.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from actors.config.step_guards import PlugInFailed, attribute_errors
from actors.handlers.briefs import GenerationBrief
from actors.prompting.book import schema_of
from actors.run.ids import visit_of
from actors.values.artifacts import Context
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Model, ModelRequest, Reply
from runtime.models.replies import Parsed

TextMaker = Callable[[Context], Awaitable[str] | str]
"""The function of a plug-in generator, from a context to the text of the artifact; async or not."""


class Generator(Protocol):
    """Generates one artifact for one request."""

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the reply, or the fault if there was none."""
        ...


class ModelGenerator:
    """Calls the model with the rendered prompt and the schema of the step's role."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the model's reply."""
        return await self._model.complete(_model_request(brief))


class FunctionGenerator:
    """A plug-in: a function from a context to text, async or not. A try counts as one call and no tokens."""

    def __init__(self, function: TextMaker, name: str) -> None:
        self._function = function
        self._name = name

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the function's text as a reply.

        Raises `PlugInFailed`, which parks the run, if the function raises or returns no text.
        """
        with attribute_errors(f"generator {self._name}"):
            answer = self._function(brief.context)
            text: object = await answer if isinstance(answer, Awaitable) else answer
        if not isinstance(text, str):
            raise PlugInFailed(f"generator {self._name!r} returned {type(text).__name__}, not text")
        return Reply(text=text, usage=Usage(), model=self._name)


def _model_request(brief: GenerationBrief) -> ModelRequest:
    """Return the request to a model for a brief."""
    request, role = brief.request, str(brief.context.settings.get("role", ""))
    return ModelRequest(
        run=brief.run,
        request_id=request.request_id,
        purpose=request.purpose,
        system=brief.prompt.system,
        user=brief.prompt.user,
        repeated=brief.prompt.repeated,
        visit=visit_of(request.request_id),
        fields={} if request.settings is None else request.settings.body,
        headers={} if request.settings is None else request.settings.extra_headers,
        context_window=None if request.settings is None else request.settings.context_window,
        model=request.model,
        timeout_seconds=request.timeout_seconds,
        output_tokens_max=request.output_tokens_max,
        schema=schema_of(role),
        schema_name=role or "reply",
        material=material(brief.context),
    )


def material(context: Context) -> dict[str, Any]:
    """Return a context as plain data, for the models that run in this process."""
    roles: Mapping[str, str] = context.settings.get("roles", {})
    values = {
        step: artifact.value.value
        for step, artifact in context.dependencies.items()
        if isinstance(artifact.value, Parsed)
    }
    return {
        "role": context.settings.get("role", ""),
        "specification": context.specification,
        "requirements": list(context.requirements),
        "notes": list(context.notes),
        "dependencies": {roles.get(step, step): value for step, value in values.items()},
        "dependencies_by_step": values,
        "retry": [feedback.text for feedback in context.retry],
        "escalation": [feedback.text for feedback in context.escalation],
        **({} if context.afresh is None else {"afresh": list(context.afresh)}),
        "clarifications": [
            {"question": clarification.question, "answer": clarification.answer, "unanswered": clarification.unanswered}
            for clarification in context.clarifications
        ],
        "settings": dict(context.settings),
        **({} if context.given is None else {"given": context.given.model_dump(mode="json")}),
    }
