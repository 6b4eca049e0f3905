"""The template selector: a generator without a model that returns the plan template for a problem's type (S123)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import trio

from actors.config.plan_files import PLAN, TEMPLATES, read_settings
from actors.config.workflow import TEMPLATE_SELECTOR
from actors.handlers.briefs import GenerationBrief
from actors.handlers.generators import material
from actors.templates.plan import plan_of, read_request
from actors.templates.template_files import load_templates
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Reply

FALLBACK = "feature"
"""The type whose template is used for types without one. Its steps are the demands of the text."""


class TemplateSelectorGenerator:
    """Generates a plan from a template without a model call. It is deterministic, so it is never tried twice.

    The accepted analysis states the problem type. If the workflow has a plan for that type (`config["templates"]`) or
    for all types (`config["plan"]`), that plan is returned unchanged. Otherwise the shipped template in `folder` is
    filled with the title, the files and the demands. The template of `FALLBACK` is used for an unknown type, or without
    an analysis (S132).

    Raises:
        UsageProblem: a setting, a plan file or a shipped template cannot be used.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self._templates = {template.kind: template for template in load_templates(folder).values()}
        settings = read_settings(config, Path(), _problem)
        self._own: Mapping[str, Mapping[str, Any]] = settings.get(TEMPLATES, {})
        self._rest: Mapping[str, Any] | None = settings.get(PLAN)

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        return self.reply(brief)

    def reply(self, brief: GenerationBrief) -> Reply:
        """Return the plan as a reply. Not async: nothing is waited for."""
        text = orjson.dumps(self._plan(material(brief.context)), option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=TEMPLATE_SELECTOR)

    def _plan(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        request = read_request(given)
        kind = request.dependency("analysis").get("problem_type")
        if not isinstance(kind, str) or (kind not in self._own and kind not in self._templates and self._rest is None):
            kind = FALLBACK
        own = self._own.get(kind, self._rest)
        return own if own is not None else plan_of(self._templates[kind], request)


def _problem(cause: str, keys: tuple[str | int, ...], hint: str) -> UsageProblem:
    return UsageProblem(cause, place=".".join(("generator_config", *map(str, keys))), hint=hint)
