"""A run asks at a limit if somebody can answer, and goes on as far as the answer says."""

from dataclasses import replace

import pytest

import replan
from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.limits import RunLimits
from replan.runs.home import open_home
from replan.runs.prepare import RunOrder, prepare
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from runtime.core.errors import UsageProblem

PROBLEM = "The export leaves out the last order whenever the list is longer than one page."
TASK = PlanningInput(PROBLEM, RunOptions(limits=RunLimits(max_calls=2)))


def test_a_function_that_answers_raises_the_limit_of_a_run():
    asked = []

    def answer(question):
        asked.append(question)
        return question["choices"][0]["value"]

    result = replan.solve(PROBLEM, model="template:bug", max_calls=2, home=replan.MEMORY, ask=answer)
    assert result.outcome == "success"
    assert [question["why"] for question in asked] == ["limit: calls"] * 2
    assert "has used 2 of its 2 calls" in asked[0]["text"]
    assert result.calls == 4


@pytest.mark.parametrize("more", [{}, {"ask": lambda question: question["choices"][0]["value"], "at_limit": "stop"}])
def test_a_run_ends_at_a_limit_if_nobody_can_answer_or_it_is_told_to_stop(more):
    result = replan.solve(PROBLEM, model="template:bug", max_calls=2, home=replan.MEMORY, **more)
    assert (result.outcome, result.why, result.calls) == ("budget_exhausted", "no calls left", 2)


async def _waiting(engine, environment):
    """Return the id of the question of a new run that has reached its limit."""
    prepared = prepare(RunOrder(TASK, "template:bug"), registry=registry(), environment=environment)
    result = await engine.begin(prepared.request)
    assert result.status == "waiting"
    return result.question["id"]


async def test_a_client_raises_a_limit_only_up_to_the_ceiling_and_the_command_line_beyond_it(tmp_path):
    environment = {"REPLAN_HOME": str(tmp_path)}
    config = UserConfig.model_validate({"clients": {"max_calls": 3, "models": {"small": "template:bug"}}})
    async with open_home(environment=environment, config=config) as home:
        engine = replace(home, asks=True)
        question = await _waiting(engine, environment)
        for via in ("api", "mcp", "web"):
            with pytest.raises(UsageProblem, match="clients may not set more than 3") as refused:
                await engine.answer(question, "5 more calls", via=via)
            assert "clients.max_calls" in refused.value.hint
            with pytest.raises(UsageProblem, match="clients may not use the model 'gpt-5'"):
                await engine.answer(question, "model: gpt-5", via=via)
        with pytest.raises(UsageProblem, match="no model is named"):
            await engine.answer(question, "model: NAME", via="cli")
        assert (await engine.answer(question, "5 more calls", via="cli")).result == "accepted"
        assert (await engine.resume(question.partition("/")[0])).outcome == "success"


async def test_a_client_names_another_model_that_the_settings_offer(tmp_path):
    environment = {"REPLAN_HOME": str(tmp_path)}
    config = UserConfig.model_validate({"clients": {"models": {"small": "template:feature"}}})
    async with open_home(environment=environment, config=config) as home:
        engine = replace(home, asks=True)
        question = await _waiting(engine, environment)
        for result in ("accepted", "duplicate"):
            assert (await engine.answer(question, "model: small", via="api")).result == result
        run = question.partition("/")[0]
        result = await engine.resume(run)
        assert (await engine.read(run)).state.config.model == "template:feature"
        assert result.status == "waiting", "it asks again after one more call"
        assert result.calls == 3
