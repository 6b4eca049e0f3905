"""The generator of plans for problems in PDDL: it turns accepted actions into a plan, without a model."""

import orjson
import trio

from actors.config.workflow import PDDL_PLANS
from actors.handlers.briefs import GenerationBrief
from actors.pddl.action_list import actions_in
from actors.pddl.domain_reader import task_in
from actors.pddl.translation import translate
from actors.plans.plan import plan_to_json
from actors.values.artifacts import Context
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.port import Fault, Reply

ROLE = "actions"
"""The role of the required step whose artifact has the actions."""


class PddlPlanGenerator:
    """Returns the plan that the accepted actions stand for: deterministic, so never tried twice.

    It returns an empty object, which the guard of the plan rejects, in three cases: the run was given no problem in
    PDDL, the workflow has no step for actions, or the accepted answer holds no plan of valid actions.
    """

    async def generate(self, brief: GenerationBrief) -> Reply | Fault:
        """Return the plan as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        text = orjson.dumps(plan_of(brief.context), option=orjson.OPT_INDENT_2).decode()
        return Reply(text=text, usage=Usage(), model=PDDL_PLANS)


def plan_of(context: Context) -> dict[str, object]:
    """Return the plan of the accepted actions as a JSON object; an empty one where there is none.

    Each action is checked again, since a workflow may accept actions by another guard than `pddl_actions`.
    """
    roles = context.settings.get("roles", {})
    answers = [artifact.parsed for step, artifact in context.dependencies.items() if roles.get(step) == ROLE]
    texts = None if context.given is None else context.given.pddl
    if texts is None or not answers:
        return {}
    domain, problem = task_in(texts)
    actions, errors = actions_in(answers[0])
    if errors:
        return {}
    try:
        translation = translate(domain, problem, actions)
    except UsageProblem:  # Too many outcomes or states: there is no plan to judge, as for an invalid action.
        return {}
    if translation.invalid_action or translation.plan is None:
        return {}
    return plan_to_json(translation.plan)
