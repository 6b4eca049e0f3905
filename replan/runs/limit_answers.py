"""Checks answers to the questions that runs ask when they reach a limit.

The answers of clients may only use the models and the ceilings that the settings offer them.
"""

from collections.abc import Mapping
from typing import Any

from actors.run.at_limit import addition_of, raise_limit
from actors.run.limits import LIMITS
from actors.run.questions import GO_ON, MODEL_CHOICE, OTHER_MODEL, LimitReached, Question, Via
from actors.run.state import RunState
from replan.runs.prepare import model_change
from replan.setup.settings import ClientsEntry, UserConfig
from runtime.core.errors import HomeBudgetSpent, UsageProblem
from runtime.core.ledger import ZERO
from runtime.journal.port import Journal

OF_CLIENTS: tuple[Via, ...] = ("api", "mcp", "web", "link")
"""The interfaces through which clients answer. An answer from a client cannot exceed the ceilings that the settings
have for clients. An answer from the command line or from Python can exceed them."""


def change_of_answer(
    run: RunState[Any],
    question: Question,
    answer: str,
    *,
    via: Via,
    config: UserConfig,
    environment: Mapping[str, str],
    now: float,
) -> Mapping[str, Any]:
    """Return the settings of the model that an answer at a limit names; empty for an answer that names no model.

    Raises `UsageProblem` for a model that cannot be used, and if a client exceeds the ceilings of the settings.
    """
    reached, of_client = question.request.reached, via in OF_CLIENTS
    if reached is None:
        return {}
    if of_client:
        _check_raised(run, reached, answer, config.clients, now)
    if not answer.startswith(OTHER_MODEL):
        return {}
    name = answer.removeprefix(OTHER_MODEL).strip()
    if answer == MODEL_CHOICE:
        raise UsageProblem("no model is named", hint=f"write its name after {OTHER_MODEL!r}")
    offered = config.clients.offered_models
    if of_client and name not in offered:
        raise UsageProblem(f"clients may not use the model {name!r}", hint=f"they may use {', '.join(offered)}")
    return model_change(offered[name] if of_client else name, environment, config, now)


def _check_raised(run: RunState[Any], reached: LimitReached, answer: str, clients: ClientsEntry, now: float) -> None:
    added = addition_of(reached, answer)
    if added is None or reached.limit is None:
        return
    raised = raise_limit(run.ledger.limits, reached.limit, added, now)
    values = {
        name: spec.value(getattr(raised, spec.key))
        for name, spec in LIMITS.items()
        if spec.ceiling and getattr(raised, spec.key) != getattr(run.ledger.limits, spec.key)
    }
    clients.check_ceilings(values)


async def check_budget_allows(journal: Journal[Any], run: str, question: Question, answer: str | None) -> None:
    """Raise `UsageProblem` if an answer lets a run continue, but a daily budget does not allow its next request."""
    reached = question.request.reached
    if reached is None or reached.limit is not None or answer is None or answer.strip() != GO_ON:
        return
    needs = reached.needs or ZERO
    for budget, spent in await journal.budgets_today(run):
        if limit := budget.shortfall(spent + needs, needs):
            spent_out = HomeBudgetSpent(limit, None, budget)
            hint = "the owner of the home can raise the budget; otherwise the run continues when the next day begins"
            raise UsageProblem(spent_out.why, place=f"{run}/{question.request.question_id}", hint=hint)
