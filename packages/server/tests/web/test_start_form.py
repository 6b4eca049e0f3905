"""The form that starts a run: what each workflow does, the model, and the worst case in calls and money, before it."""

import re

import pytest

from packages.server.tests.web.world import served
from replan.runs.worst_case import cost_of_run, cost_texts
from replan.setup.home_folder import locate_home
from replan_server.service.limits import WRITES_MAX
from replan_server.service.orders import Order, ServerOffer
from tests.cli.samples import PROBLEM


@pytest.fixture
async def web(tmp_path, monkeypatch):
    """Serve a home without a host, whose model `small` is a server's, of a known price."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("REPLAN_MODEL", "llama3:8b")
    async with served(tmp_path, hosts=False) as world:
        world.config.clients.models["small"] = "gpt-5-mini"
        yield world


async def cost(web, **fields):
    answer = await web.browser.get("/new/cost", params={"kind": "planning", **fields})
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_the_form_draws_each_workflow_with_a_sentence_and_names_the_model_behind_each_name(web):
    page = (await web.browser.get("/new")).text
    assert '<option value="default" selected>default (llama3:8b)</option>' in page
    assert '<option value="small">small (gpt-5-mini)</option>' in page
    offered = list(ServerOffer(web.config, locate_home().folder, web.engine.root).workflows)
    below = page.partition('id="workflows"')[2]
    assert re.findall(r"<h2>(\w+)</h2>\n<p>[A-Z][^<]+\.</p>\n<div class=\"graph\"", below) == offered
    assert len(set(re.findall(r'<marker id="([^"]+)"', page))) == len(offered) + 1, (
        "each drawing has an arrow of its own"
    )


async def test_the_worst_case_is_what_a_dry_run_says_and_follows_the_fields(web):
    order = Order(problem=PROBLEM, model="small", workflow="option_b")
    offer = ServerOffer(web.config, locate_home().folder, web.engine.root)
    texts = cost_texts(cost_of_run(offer.prepare(order, web.engine.registry).request, 10**9))
    shown = await cost(web, workflow="option_b", model="small")
    assert "gpt-5-mini" in shown
    assert all(text in shown for text in texts.values())
    assert "$0.00" not in shown
    assert "3 calls, the limit" in await cost(web, workflow="option_b", model="small", max_calls="3")
    assert "at most $0.01" in await cost(web, workflow="option_b", model="small", max_cost="0.01")
    assert "the price of this model is not known" in await cost(web)
    assert "9 calls, the limit" in await cost(web, kind="execution", max_calls="9")


async def test_without_a_model_each_form_says_so_in_words_of_a_page_and_offers_templates(tmp_path):
    async with served(tmp_path, hosts=False, allow_execute=True, settings={"model": None}) as web:
        page = (await web.browser.get("/new")).text
        assert "No model is set. Name a model in config.yaml, or choose a template." in page
        assert '<select id="model" name="model" required><option value="">choose one</option>' in page
        assert '<option value="template:bug">' in page
        assert 'value="default"' not in page
        assert "At best" in page
        assert "<dt>Money</dt><dd>depends on the model</dd>" in page
        execution = (await web.browser.get("/new/execution")).text
        assert "none; after a failure, the run makes no new plan" in execution
        above = await cost(web, kind="execution", max_calls="100000")
        assert "clients may not set more than" in above, "the ceilings hold without a model too"
        refused = await web.post("/runs", {"problem": PROBLEM})
        assert refused.status_code == 422
        assert "model: no model is set" in refused.text
        for shown in (page, execution, refused.text):
            assert "replan doctor" not in shown
            assert "-m NAME" not in shown
        told = await web.client.post(
            "/api/runs", json={"problem": PROBLEM}, headers={**web.token(), "idempotency-key": "1"}
        )
        assert "name a model in the server" in told.text, told.text


async def test_what_no_run_can_be_started_with_is_said_in_place_of_the_cost(web):
    for fields, said in (
        ({"max_calls": "many"}, "max_calls: &#39;many&#39; is not a number"),
        ({"workflow": "serch"}, "did you mean &#39;search&#39;?"),
        ({"model": "nobody"}, "this server offers no model &#39;nobody&#39;"),
        ({"max_calls": "100000"}, "clients may not set more than"),
    ):
        shown = await cost(web, **fields)
        assert said in shown, shown
        assert "At worst" not in shown


async def test_questions_about_the_cost_are_no_writes(web):
    for _ in range(WRITES_MAX + 5):
        await cost(web, model="template:bug", workflow="single")
    for _ in range(WRITES_MAX + 5):
        asked = await web.post(
            "/new/cost", {"kind": "planning", "problem": "Mend it.", "model": "template:bug", "max_calls": "7"}
        )
        assert asked.status_code == 200, asked.text
    assert "Mend it.</textarea>" in asked.text, "without scripts the form is shown again as it was filled"
    assert "7 calls, the limit" in asked.text
    assert (await web.browser.post("/new/cost", data={"kind": "planning"})).status_code == 403
    assert await web.reader_rows() == [], "a question about the cost starts nothing"
    assert (await web.post("/runs", {"problem": PROBLEM, "model": "template:bug"})).status_code == 303


async def test_a_run_is_started_again_with_its_text_and_limits_filled_in(web):
    run = await web.start(
        "template:bug",
        workflow="option_b",
        limits={"max_calls": 12, "max_tokens": 1_234_567, "active_time": "90s", "deadline": "1h"},
    )
    page = (await web.browser.get(f"/runs/{run}")).text
    assert f'<a class="button" href="/new?like={run}#more" id="again">' in page
    form = (await web.browser.get(f"/new?like={run}")).text
    assert PROBLEM.strip() in form
    assert '<option value="option_b" selected>' in form
    assert '<option value="template:bug" selected>template:bug</option>' in form
    values = dict(re.findall(r'<input id="(\w+)" name="\w+" inputmode="\w+" value="(\w+)"', form))
    assert values == {"max_calls": "12", "max_tokens": "1234567", "active_time": "90s"}
    assert '<details id="more" open>' in form
    assert (await web.browser.get("/new?like=nothing1")).status_code == 404
