"""A model that invents names in every recon, on the command line: it costs at most one call, and asks nobody."""

import json

import pytest

from tests.cli.samples import ANALYSIS, STRATEGY
from tests.demands.test_authors import RECON, plan_of, stated

TEXT = "# Workers leak database sessions\n\nThe workers must release their sessions after each task.\n"
RELEASE = stated("goal", "The workers must release their sessions after each task")
INVENTED = {"mentioned_files": ["/app/ingest/tasks.py"], "apis_involved": ["session.execute"]}
EMPTY = {**RECON, "requirements": []}
AGAIN = 8


@pytest.fixture
def told(replan, scripted, tmp_path):
    """Plan with one recon in every call, and return the result and the nodes of the run."""
    path = tmp_path / "problem.md"
    path.write_text(TEXT, encoding="utf-8")

    def call(recon):
        plan = plan_of([RELEASE], [RELEASE])
        replies = {"g_analysis": ANALYSIS, "g_recon": recon, "g_strategy": STRATEGY, "g_plan": plan}
        model = scripted({step: [reply] * AGAIN for step, reply in replies.items()})
        result = replan("run", path, "-m", model)
        return result, json.loads(replan("show", "--last", "--tree", "--json").stdout)["nodes"]

    return call


def asked(replan):
    """Return the questions that the last run has asked, open or not."""
    events = json.loads(replan("show", "--last", "--events", "--json").stdout)["events"]
    return [each for each in events if each["kind"] == "clarification_requested"]


def test_a_model_that_invents_two_names_in_every_recon_costs_one_more_call_and_no_question(told, replan):
    result, nodes = told({**EMPTY, **INVENTED})
    assert result.exit_code == 0
    recons = [node for node in nodes if node["step"] == "g_recon"]
    assert [node["status"] for node in recons] == ["rejected", "accepted"]
    assert {each["code"] for each in recons[1]["findings"]} == {"recon.not_in_text"}
    assert len([node for node in nodes if node["step"] == "g_plan"]) == 1
    assert asked(replan) == []


def test_invented_names_beside_real_ones_cost_nothing(told):
    result, nodes = told({**EMPTY, **INVENTED, "requirements": [RELEASE]})
    assert result.exit_code == 0
    assert [node["status"] for node in nodes if node["step"] == "g_recon"] == ["accepted"]


def test_invented_requirements_that_contradict_each_other_are_no_question(told, replan):
    one, other = stated("goal", "Log everything"), stated("must_avoid", "Log nothing")
    invented = [{**one, "tokens": ["log"], "conflicts_with": ["Log nothing"]}, {**other, "tokens": ["log"]}]
    result, nodes = told({**EMPTY, "requirements": invented})
    assert result.exit_code == 0
    assert len([node for node in nodes if node["step"] == "g_recon"]) == 2
    assert asked(replan) == []
