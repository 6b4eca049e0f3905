"""Generators of artifacts, and the registry of guards and generators by name.

The built-in generators call a model. A plug-in is any function from a context to text: `async def make(context:
Context) -> str`, or a plain function if it does not wait. An async plug-in uses anyio, so it runs in any event loop
that anyio supports. The step's guard judges the text of a plug-in like the text of a model.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from actors.config.action_pair import CHILD
from actors.config.step_guards import BUILT_IN, PlugInFailed, attribute_errors, guards_of
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS, Workflow
from actors.guards.port import GuardFactory
from actors.handlers.briefs import GenerationBrief
from actors.prompting.book import schema_of
from actors.run.ids import visit_of
from actors.values.artifacts import Context
from actors.values.plugin_marks import PlugInFile
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Model, ModelRequest, Reply
from runtime.models.replies import Parsed

TextMaker = Callable[[Context], Awaitable[str] | str]
"""The function of a plug-in generator, sync or async. It takes a context, and returns the text of the artifact."""


class Generator(Protocol):
    """Generates one artifact for one request."""

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the reply, or the fault if there was no reply."""
        ...


class ModelGenerator:
    """Calls the model with the rendered prompt and the schema of the step's role."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the model's reply."""
        return await self._model.complete(_model_request(brief))


class FunctionGenerator:
    """A generator that calls a plug-in: a function from a context to text, async or not.

    Each try counts as one call without tokens.
    """

    def __init__(self, function: TextMaker, name: str) -> None:
        self._function = function
        self._name = name

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the function's text as a reply.

        Raises `PlugInFailed` if the function raises or does not return a text.
        """
        with attribute_errors(f"generator {self._name}"):
            answer = self._function(brief.context)
            text: object = await answer if isinstance(answer, Awaitable) else answer
        if not isinstance(text, str):
            raise PlugInFailed(f"generator {self._name!r} returned {type(text).__name__}, not text")
        return Reply(text=text, usage=Usage(), model=self._name)


def _model_request(brief: GenerationBrief) -> ModelRequest:
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
    """Return a context as plain data, for templates and simulated models, which run in this process."""
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


@dataclass(frozen=True, slots=True)
class Registry:
    """The guards and generators that workflows may name."""

    guards: Mapping[str, GuardFactory] = field(default_factory=lambda: dict(BUILT_IN))
    generators: Mapping[str, Generator] = field(default_factory=dict)
    """The generators from plug-ins, by name. Built-in generators are not included."""
    templates: Path | None = None
    """The folder of the plan templates; None if the generators without a model are not available."""

    sources: Mapping[str, PlugInFile] = field(default_factory=dict)
    """The files of plug-ins, by kind and name, such as `guard 'small'`. A plug-in of an installed package is not
    included.
    """

    @property
    def generator_names(self) -> frozenset[str]:
        """The names of all generators that a workflow may use."""
        built_in = MODEL_GENERATORS if self.templates is None else MODEL_GENERATORS | FREE_GENERATORS
        return built_in | frozenset(self.generators)

    def find_missing(self, workflow: Workflow) -> tuple[str, ...]:
        """Return the generators and guards of a workflow that the registry does not have, such as `guard 'mine'`."""
        by_kind = {"generator": self.generator_names, "guard": self.guards}
        return tuple(f"{kind} {name!r}" for kind, name in _names_needed(workflow) if name not in by_kind[kind])

    def files_of(self, workflow: Workflow) -> tuple[PlugInFile, ...]:
        """Return the plug-in files of the guards and generators that a workflow names."""
        keys = (f"{kind} {name!r}" for kind, name in _names_needed(workflow))
        return tuple(self.sources[key] for key in keys if key in self.sources)


def _names_needed(workflow: Workflow) -> dict[tuple[str, str], None]:
    """Return the kind and name of every generator and guard in a workflow, in file order, without repetition."""
    return dict.fromkeys(
        (kind, name)
        for step, pair in workflow.action_pairs.items()
        for kind, names in (("generator", (pair.generator,)), ("guard", guards_of(workflow, step)))
        for name in names
        if not name.startswith(CHILD)
    )
