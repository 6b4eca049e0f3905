"""The pages about runs: the list, one run, its attempts, records and documents, and what is posted on them."""

import json
import re
from html import unescape
from urllib.parse import unquote

import trio

from actors.run.questions import NAMED, VIAS
from packages.server.tests.web.world import PLANS, served
from runtime.core.errors import RunNotFound
from runtime.journal.port import RunFilter
from tests.cli.samples import BACKTRACKS, PLAN, PROBLEM


async def test_a_run_page_shows_the_search_the_plan_and_the_budget(tmp_path):
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        page = await web.run_page(run)
        asked = page.partition('<h2 id="h-asked">')[2].partition("</section>")[0]
        assert "The login fails with a timeout when the session store is slow" in asked
        assert "limits" in asked
        header = page.partition('<p class="meta">')[2].partition("</p>")[0]
        for fact in ("model scripted", "workflow search", "took ", "9 model calls"):
            assert fact in header
        for text in (
            "back to analysis, recon because of",
            "cost of the lost work: 5 calls",
            "9 spent of 30 calls",
            "Find the cause",
            "The mistake is most likely in the ",
        ):
            assert text in page
        assert page.count("<rect x=") == len(PLAN["steps"])
        assert 'class="open contingent"' in page
        assert "Go on with this run" not in page
        assert "Cancel the run" not in page
        linked = re.findall(rf'href="(/runs/{run}/attempts/[^"]+)"', page)
        assert f"/runs/{run}/attempts/g_plan/v1.a1" in linked
        for path in linked:
            assert (await web.browser.get(path)).status_code == 200


async def test_each_tab_has_an_address_and_the_top_of_the_page_stays(tmp_path):
    """Of a run that waits; the steps of the plan of one that has finished unfold."""
    async with served(tmp_path) as web:
        asking, run = await web.start("asks"), await web.start("plans")
        await web.settled(asking, "waiting")
        await web.settled(run, "finished")
        for tab, part in {"plan": "Nothing has been", "graph": "There is no graph", "timeline": 'class="lane"'}.items():
            page = (await web.browser.get(f"/runs/{asking}?tab={tab}")).text
            assert part in page
            assert f'href="/runs/{asking}?tab={tab}#tabs" aria-current="page"' in page
            assert "Next: " not in page, "the form itself follows"
            assert page.index("Which version is it?") < page.index(" spent of ") < page.index(part)
        refused = await web.browser.get(f"/runs/{asking}?tab=nonesuch")
        assert (refused.status_code, "tab: must be one of plan, graph, timeline, search" in refused.text) == (422, True)
        page = (await web.browser.get(f"/runs/{run}")).text
        for step in PLAN["steps"]:
            (details,) = re.findall(rf'<details id="step-{step["step_id"]}">.*?</details>', page, re.DOTALL)
            assert "fails" in details
        assert "every guard passed" in page.partition('id="tabs"')[0]
        assert f'href="/runs/{run}?tab=plan">' in (await web.browser.get(f"/runs/{run}/records")).text


async def test_the_steps_of_a_long_plan_are_folded(tmp_path, monkeypatch):
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        fold = f"<summary>All {len(PLAN['steps'])} steps</summary>"
        assert fold not in (await web.browser.get(f"/runs/{run}")).text
        monkeypatch.setattr("replan_server.web.run_page.STEPS_OPEN", 2)
        assert fold in (await web.browser.get(f"/runs/{run}")).text


async def test_an_attempt_shows_its_prompt_and_reply(tmp_path):
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        page = (await web.browser.get(f"/runs/{run}/attempts/g_plan/v2.a1")).text
        assert "Find the cause" in page
        assert "The login fails with a timeout" in page
        assert "not the exact messages" not in page
        assert (await web.browser.get(f"/runs/{run}/attempts/g_none/v1.a1")).status_code == 404


async def test_the_documents_of_a_plan_are_saved_as_files(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        page = (await web.browser.get(f"/runs/{run}")).text
        for form in ("json", "markdown", "github-checklist", "mermaid"):
            assert f"/runs/{run}/export/{form}" in page
            saved = await web.browser.get(f"/runs/{run}/export/{form}")
            assert saved.headers["content-disposition"].startswith(f'attachment; filename="{run}.')
        plan = json.loads((await web.browser.get(f"/runs/{run}/export/json")).text)
        assert plan["plan_id"] == PLAN["plan_id"]
        assert (await web.browser.get(f"/runs/{run}/export/..%2fweb.json")).status_code == 404


async def test_the_plan_of_a_template_says_above_its_steps_that_no_model_has_thought_about_the_problem(tmp_path):
    """Also where another model, such as a script, answers with such a plan: it is not called proved."""
    copied = {
        **PLANS,
        "g_plan": [{**plan, "basis": "This plan has the shipped steps of a template."} for plan in [PLAN] * 2],
    }
    async with served(tmp_path, scripts={"copied": copied}) as web:
        for model in ("template:bug", "copied"):
            run = await web.start(model)
            await web.settled(run, "finished")
            page = (await web.browser.get(f"/runs/{run}")).text
            said = page.index('<p class="notice warn">This plan has the shipped steps of')
            assert said < page.index('<ol class="checklist">')
            assert "Proved at level" not in page
            assert "Consistent, but the steps come from a template" in page


async def test_records_are_shown_in_pages_from_any_place(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        page = (await web.browser.get(f"/runs/{run}/records")).text
        assert 'id="record-1"' in page
        assert re.search(r'<h1>[^<]+</h1>\s*<p><span class="chip chip-success">success</span></p>', page)
        assert re.search(r'title="[\dTZ:.-]+">\d+ ms</time>', page), "the time is that since the beginning"
        assert "finished: success" in page
        later = (await web.browser.get(f"/runs/{run}/records?after=5")).text
        assert 'id="record-5"' not in later
        assert 'id="record-6"' in later
        assert "No records here." in (await web.browser.get(f"/runs/{run}/records?after=999999999")).text
        assert (await web.browser.get(f"/runs/{run}/records?after=-1")).status_code == 422


async def test_runs_are_filtered_searched_and_listed_in_pages(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.web.runs_page.ROWS_MAX", 2)
    async with served(tmp_path) as web:
        first = await web.start("plans", "# Alpha breaks\n\nThe login fails.\n")
        asking = await web.start("asks", "# Beta breaks\n\nThe login fails.\n")
        third = await web.start("plans", "# Gamma breaks\n\nThe login fails.\n")
        for run in (first, asking, third):
            await web.settled(run)
        page = (await web.browser.get("/runs")).text
        assert "3 runs" in page
        assert "Alpha breaks" not in page
        assert "Alpha breaks" in (await web.browser.get(re.search(r'href="(/runs\?page=1)"', page)[1])).text
        found = (await web.browser.get("/runs?q=ALPHA")).text
        assert "Alpha breaks" in found
        assert "Gamma breaks" not in found
        waiting = (await web.browser.get("/runs?status=waiting")).text
        assert "Beta breaks" in waiting
        assert "Gamma breaks" not in waiting
        assert "No runs match." in (await web.browser.get("/runs?q=nothing&page=77")).text
        assert "3 runs, planning" in (await web.browser.get("/runs?kind=planning")).text
        assert "No runs match." in (await web.browser.get("/runs?kind=execution")).text
        assert "No runs match." in (await web.browser.get("/runs?cost=0.5")).text
        for nonsense in ("kind=none&sort=none&cost=none", "cost=-1", "cost=nan", "cost=inf"):
            assert "3 runs<" in (await web.browser.get(f"/runs?{nonsense}")).text


async def test_runs_are_sorted_by_what_a_column_shows(tmp_path, monkeypatch):
    """Issue 29: also over several pages, whose addresses keep the order."""
    monkeypatch.setattr("replan_server.web.runs_page.ROWS_MAX", 2)
    async with served(tmp_path) as web:
        for name in ("Alpha", "Beta", "Gamma"):
            await web.settled(await web.start("plans", f"# {name} breaks\n\nThe login fails.\n"))
        rows = await web.engine.journal.runs(RunFilter())
        page = (await web.browser.get("/runs?sort=changed")).text
        titles = [row.title for row in sorted(rows, key=lambda row: row.updated, reverse=True)]
        assert re.findall(r'<a href="/runs/\w+">([^<]+)</a>', page) == titles[:2]
        assert 'aria-sort="descending">Changed' in page
        assert 'href="/runs?sort=changed&amp;page=1"' in page
        assert 'href="/runs?sort=cost"' in page


async def test_a_run_is_started_with_files_and_a_lower_limit(tmp_path):
    async with served(tmp_path) as web:
        fields = {"problem": "# Login fails\n\nSee notes.md.", "workflow": "search", "model": "plans", "max_calls": "9"}
        files = {"files": ("notes.md", b"The session store is slow. api_key=sk-1234567890abcdefghij", "text/markdown")}
        answer = await web.post("/runs", fields, files=files)
        assert answer.status_code == 303, answer.text
        run = re.fullmatch(r"/runs/(\w+)\?done=started", answer.headers["location"])[1]
        assert (await web.settled(run, "finished")).outcome == "success"
        page = (await web.browser.get(f"/runs/{run}")).text
        assert "of 9 calls" in page
        prompt = (await web.browser.get(f"/runs/{run}/attempts/g_analysis/v1.a1")).text
        assert "The session store is slow." in prompt
        assert "sk-1234567890abcdefghij" not in prompt


async def test_a_form_that_is_sent_twice_starts_one_run_and_a_changed_one_another(tmp_path):
    """As a double click does, and a changed form after the browser's way back."""
    async with served(tmp_path) as web:
        page = (await web.browser.get("/new")).text
        fields = {"problem": "The login fails.", "model": "plans", "idempotency_key": key_in(page)}
        places, files = [], {"files": ("notes.md", b"Slow.", "text/markdown")}

        async def send():
            places.append((await web.post("/runs", fields, files=files)).headers["location"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
        assert places[0] == places[1]
        await send()
        assert len({*places}) == len(await web.engine.journal.runs(RunFilter())) == 1
        files["files"] = ("notes.md", b"Fast.", "text/markdown")
        await send()
        fields["idempotency_key"] = key_in((await web.browser.get("/new")).text)
        await send()
        assert len({*places}) == len(await web.engine.journal.runs(RunFilter())) == 3
        refused = await web.post("/runs", {**fields, "idempotency_key": ""})
        assert refused.status_code == 422
        assert key_in(refused.text) != fields["idempotency_key"]


async def test_a_form_that_forks_starts_one_fork_when_sent_twice_and_a_changed_one_another(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        attempt, places = f"/runs/{run}/attempts/g_plan/v1.a1", []
        key = key_in((await web.browser.get(attempt)).text)
        fields = {"at": "before:g_plan/v1.a1", "model": "default", "idempotency_key": key}

        async def send():
            places.append((await web.post(f"/runs/{run}/fork", fields)).headers["location"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
        await send()
        assert len({*places}) == 1
        assert len(await web.engine.journal.runs(RunFilter())) == 2
        fields["max_calls"] = "9"
        await send()
        fields["idempotency_key"] = key_in((await web.browser.get(attempt)).text)
        await send()
        assert len({*places}) == 3
        assert len(await web.engine.journal.runs(RunFilter())) == 4
        refused = await web.post(f"/runs/{run}/fork", {**fields, "idempotency_key": ""})
        assert refused.status_code == 422
        assert len(await web.engine.journal.runs(RunFilter())) == 4


def key_in(page):
    return re.search(r'name="idempotency_key" value="([\w-]{20,})"', page)[1]


async def test_a_form_that_cannot_be_used_keeps_what_was_typed(tmp_path):
    async with served(tmp_path) as web:
        fields = {"problem": "The login fails.", "workflow": "search", "model": "plans", "max_calls": "many"}
        answer = await web.post("/runs", fields)
        assert answer.status_code == 422
        assert "is not a number" in answer.text
        assert "The login fails." in answer.text
        assert '<option value="plans" selected>plans (scripted)</option>' in answer.text
        assert (await web.post("/runs", {"problem": " ", "model": "plans"})).status_code == 422


async def test_a_page_of_a_run_without_calls_names_the_form_that_raises_the_limit_and_that_brings_it_on(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans", limits={"max_calls": 2})
        assert (await web.settled(run, "finished")).outcome == "budget_exhausted"
        page = (await web.browser.get(f"/runs/{run}")).text
        following = page.partition("Next: ")[2]
        assert f"resume {run} --max-calls N" in following.partition("</p>")[0].replace("&#39;", "'")
        assert '<a href="#limits">Limits</a>' in following
        assert '<details id="limits" class="card" open>' in page
        answer = await web.post(f"/runs/{run}/limits", {"max_calls": "12"})
        assert answer.headers["location"] == f"/runs/{run}?done=limits"
        while (await web.settled(run)).outcome != "success":
            assert (await web.engine.result(run)).outcome in ("", "budget_exhausted", "success")
        page = (await web.browser.get(f"/runs/{run}")).text
        assert 'href="#limits"' not in page
        assert '<details id="limits" class="card" open>' not in page


async def test_a_run_is_told_and_cancelled_once_the_box_is_ticked(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        told = await web.post(f"/runs/{run}/tell", {"text": "Python 3.12 only.", "as": "note"})
        assert told.headers["location"] == f"/runs/{run}?done=told"
        assert "Python 3.12 only." in (await web.browser.get(f"/runs/{run}")).text
        assert (await web.post(f"/runs/{run}/cancel")).status_code == 422
        assert (await web.engine.result(run)).status != "finished"
        assert "done=cancel" in unquote((await web.post(f"/runs/{run}/cancel", {"sure": "yes"})).headers["location"])
        assert (await web.settled(run, "finished")).outcome == "cancelled"
        assert (await web.post(f"/runs/{run}/cancel", {"sure": "yes"})).status_code == 422
        assert "Act" not in (await web.browser.get(f"/runs/{run}")).text.partition("Search")[2]


async def test_without_a_host_the_page_says_that_nobody_drives_the_run(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        assert "parked" in (await web.browser.get(f"/runs/{run}")).text
        assert (await web.post(f"/runs/{run}/resume")).status_code == 409


async def test_unknown_runs_and_questions_are_not_found(tmp_path):
    async with served(tmp_path) as web:
        for path in ("/runs/nonesuch", "/runs/nonesuch/records", "/questions/nonesuch/q1", "/live?run=nonesuch"):
            assert (await web.browser.get(path)).status_code == 404, path
        assert (await web.post("/runs/nonesuch/tell", {"text": "x"})).status_code == 404
        try:
            await web.engine.result("nonesuch")
        except RunNotFound:
            return
        raise AssertionError


async def test_the_page_begins_with_what_was_asked_said_and_answered_in_order_and_with_the_limits(tmp_path):
    """Also before the run has read it; a declined question is said, too."""
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("asks", limits={"max_calls": 12, "max_tokens": 90_000, "active_time": "1h"})
        await web.engine.resume(run)
        await web.engine.tell(run, "It is urgent")
        await web.engine.answer(f"{run}/q1", "3.12", via="web")
        await web.engine.tell(run, "It must run on Linux", "requirement")
        asked = "then, asked “The model asks about the step 'analysis': Which version is it?”"
        wanted = [
            "then you said (note): It is urgent",
            f"{asked}, you answered on the web page: 3.12",
            "then you said (requirement): It must run on Linux",
        ]
        assert await _said(web, run) == [f"{text} (not yet seen)" for text in wanted]
        await web.engine.resume(run)
        assert await _said(web, run) == wanted
        page = (await web.browser.get(f"/runs/{run}")).text
        assert "12 calls, 90,000 tokens, 1h of work" in page
        assert re.search(r"took [\d.]+ m?s", page)

        declined = await web.start("asks")
        await web.engine.resume(declined)
        await web.engine.decline(f"{declined}/q1", via="web")
        assert (await _said(web, declined))[0].endswith("you declined to answer on the web page (not yet seen)")


GIVEN = {
    "": ("you answered", "answered"),
    "cli": ("you answered on the command line", "answered on the command line"),
    "web": ("you answered on the web page", "answered on the web page"),
    "api": ("a program answered over HTTP", "answered by a program, over HTTP"),
    "mcp": ("a program answered over MCP", "answered by a program, over MCP"),
    "python": ("a program answered from Python", "answered from Python"),
    "ask": ("you answered in a Python program", "answered in a Python program"),
    "link": ("ana answered through a link", "answered by ana through a link"),
}
"""For each way of an answer: what the page of the run says, and its trace."""


async def test_the_page_and_the_trace_say_who_answered_on_which_way(tmp_path):
    assert set(GIVEN) == set(VIAS)
    async with served(tmp_path, hosts=False) as web:
        for via, (said, traced) in GIVEN.items():
            run = await web.start("asks")
            await web.engine.resume(run)
            await web.engine.answer(f"{run}/q1", "3.12", via=via, person="ana" if via in NAMED else "")
            await web.engine.resume(run)
            assert (await _said(web, run))[0].endswith(f"”, {said}: 3.12")
            records = unescape((await web.browser.get(f"/runs/{run}/records")).text)
            assert f"question q1 {traced}<" in records, via


async def _said(web, run):
    page = unescape((await web.browser.get(f"/runs/{run}")).text)
    said = page.partition('id="said">')[2].partition("</ol>")[0]
    return [re.sub(r"<[^>]+>", "", each) for each in re.findall(r"<li>(.*?)</li>", said)]


async def test_the_page_says_who_started_the_run(tmp_path):
    """The page itself, a program by its token; of a run of which nobody has said so, nothing."""
    async with served(tmp_path) as web:
        posted = await web.post("/runs", {"problem": PROBLEM, "model": "plans", "workflow": "search"})
        assert (
            'started by <span class="mono">the web page</span>'
            in (await web.browser.get(posted.headers["location"])).text
        )
        order = {"problem": PROBLEM, "model": "plans"}
        answer = await web.client.post(
            "/api/runs", json=order, headers={**web.token(name="ci"), "idempotency-key": "k"}
        )
        page = (await web.browser.get(f"/runs/{answer.json()['run_id']}")).text
        assert 'started by <span class="mono">the program with the token ci</span>' in page
        assert "started by" not in (await web.browser.get(f"/runs/{await web.start('plans')}")).text
