"""Which names of the built-in author's plan for a problem no tool of a run stands for. Pure."""

from collections.abc import Mapping
from typing import Any

from actors.rules.continued import unbound
from actors.rules.parsed_request import parse_request, template_kind
from actors.rules.strategy import select_strategy
from actors.rules.tables import Rules


def lacking(problem: str, given: Mapping[str, Any], rules: Rules) -> tuple[str, ...]:
    """Return the generators and guards of needed steps that no tool implements, sorted; none where it asks first.

    `given` has the names that tools implement, as in `actors.values.given`. Steps that not every plan of the template
    has, and those that are left out where no tool does them, do not count.
    """
    request = parse_request({"role": "plan", "specification": problem, "given": dict(given)}, rules)
    if request.doubts():
        return ()
    strategy = rules.strategies[select_strategy(request, rules)]
    template = rules.templates[strategy.template or template_kind(request, rules)]
    always = (step for step in template.steps if step.needed and not (step.only_if or step.unless or step.for_each))
    return tuple(sorted({name for step in always for name in unbound(step, given)}))
