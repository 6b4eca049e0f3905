"""The template selector: a generator without a model, which returns the plan template of the problem's type (S123)."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import trio

from actors.config.plan_files import PLAN, TEMPLATES, read_settings
from actors.config.workflow import TEMPLATE_SELECTOR
from actors.handlers.briefs import GenerationBrief
from actors.handlers.generators import material
from actors.rules.parsed_request import ParsedRequest, parse_request, template_kind
from actors.rules.plan import template_plan
from actors.rules.tables import RulesTables
from actors.rules.template_files import build_rules, load_templates
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Reply

__all__ = ["TemplateSelectorGenerator"]


class TemplateSelectorGenerator:
    """Generates the plan of a template: deterministic, without a model call, so never tried twice.

    The problem type is what the accepted analysis says. The workflow's own plan for that type (`config["templates"]`),
    or for any other (`config["plan"]`), is returned as it is; otherwise the shipped template in `folder` is filled
    from the problem's text and the accepted recon. An unknown type, or no analysis at all, falls back to the
    type that the rules read from the text (S132), which is always one of the shipped ones.

    Raises:
        UsageProblem: a setting, a plan file or a shipped template cannot be used.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self._rules = _rules(folder)
        settings = read_settings(config, Path(), _problem)
        self._own: Mapping[str, Mapping[str, Any]] = settings.get(TEMPLATES, {})
        self._rest: Mapping[str, Any] | None = settings.get(PLAN)

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        return self.reply(brief)

    def reply(self, brief: GenerationBrief) -> Reply:
        """Return the plan as a reply, without waiting."""
        plan = self.plan(parse_request(material(brief.context), self._rules))
        text = orjson.dumps(plan, option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=TEMPLATE_SELECTOR)

    def plan(self, request: ParsedRequest) -> Mapping[str, Any]:
        """Return the plan for a parsed request."""
        kind = request.dependency("analysis").get("problem_type")
        if not isinstance(kind, str) or (kind not in self._own and self._rest is None):
            kind = template_kind(request, self._rules)
        own = self._own.get(kind, self._rest)
        return own if own is not None else template_plan(self._rules.templates[kind], request, self._rules)


@cache
def _rules(folder: Path) -> RulesTables:
    """Return the shipped rules; they do not change under a running process, and one process may drive many runs."""
    return build_rules(load_templates(folder))


def _problem(cause: str, keys: tuple[str | int, ...], hint: str) -> UsageProblem:
    return UsageProblem(cause, place=".".join(("generator_config", *map(str, keys))), hint=hint)
