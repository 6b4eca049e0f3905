"""What the built-in author's plans for a problem need that a run has not: names of tools, and tokens. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from actors.rules.continued import unbound
from actors.rules.parsed_request import ParsedRequest, parse_request, template_kind
from actors.rules.strategy import ranked, select_strategy
from actors.rules.tables import Rules, Template, TemplateStep


def lacking(problem: str, given: Mapping[str, Any], rules: Rules) -> tuple[str, ...]:
    """Return the generators and guards of needed steps that no tool implements, sorted; none where it asks first.

    `given` has the names that tools implement, as in `actors.values.given`. Steps that not every plan of the template
    has, and those that are left out where no tool does them, do not count.
    """
    request = _request(problem, given, rules)
    if request.doubts():
        return ()
    template = _template(request, select_strategy(request, rules), rules)
    return tuple(sorted({name for step in _always(template) for name in unbound(step, given)}))


def lacking_tokens(problem: str, given: Mapping[str, Any], known: Collection[str], rules: Rules) -> tuple[str, ...]:
    """Return the tokens, sorted, that needed steps of its plans need and nothing makes; none where it asks first.

    `known` are the tokens that may hold when the plan begins. There are none if one template of those that it may
    choose can do without them.
    """
    request = _request(problem, given, rules)
    if request.doubts():
        return ()
    found = [_unmade(_template(request, strategy, rules), known) for strategy in ranked(request, rules)]
    return found[0] if found and all(found) else ()


def _request(problem: str, given: Mapping[str, Any], rules: Rules) -> ParsedRequest:
    return parse_request({"role": "plan", "specification": problem, "given": dict(given)}, rules)


def _template(request: ParsedRequest, strategy: str, rules: Rules) -> Template:
    return rules.templates[rules.strategies[strategy].template or template_kind(request, rules)]


def _always(template: Template) -> Iterator[TemplateStep]:
    """Yield the steps that every plan of the template has, whatever the tools."""
    yield from (step for step in template.steps if step.needed and not (step.only_if or step.unless or step.for_each))


def _unmade(template: Template, known: Collection[str]) -> tuple[str, ...]:
    made = {token for step in template.steps for token in (*step.effects, *step.failure_effects)}
    needed = {token for step in _always(template) for token in step.preconditions}
    return tuple(sorted(needed - made - set(known)))
