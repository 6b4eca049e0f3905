"""Acquisitions on the pages and over HTTP: the form, the path through the gates, sources, and the report."""

import json
import re

from packages.acquire.tests.documents.written_documents import as_xlsx
from packages.server.tests.long.web.test_kinds_on_pages import GOAL, check_prompts, replan, until  # noqa: F401
from packages.server.tests.web.test_api import Program
from packages.server.tests.web.world import served
from tests.tidy.source import ROOT

MARKET = {"acquisitions": {"documents": {"market": str(ROOT / "docs" / "examples" / "market")}}}
"""The settings that name a folder of documents."""


async def test_the_path_of_an_acquisition_is_drawn_and_grows(tmp_path, replan):  # noqa: F811
    async with served(tmp_path) as web:
        docs = ROOT / "docs" / "examples" / "market"
        asked = await replan(
            "acquire", "market_size", GOAL, "--docs", docs, "-m", "quoting:", "--no-input", exit_codes=(6,)
        )
        run = asked["run_id"]
        page = (await web.browser.get(f"/runs/{run}?tab=graph")).text
        before = page.count('class="done"') + page.count('class="waiting"')
        assert 'class="waiting"><title>ask user, waiting' in page
        assert page.count('class="taken"') >= 3
        page = (await web.browser.get(f"/runs/{run}")).text
        found = page.partition("Found so far</h2>")[2].partition("</section>")[0]
        assert "core.region: no value" in found
        await web.engine.answer(f"{run}/q1", "Portugal", via="cli")

        async def second_pass():
            text = (await web.browser.get(f"/runs/{run}?tab=graph")).text
            return text if "2 times" in text else None

        after = await until(second_pass)
        assert after.count('class="done"') + after.count('class="waiting"') > before
        assert "`core.region`" in (await web.browser.get(f"/runs/{run}/export/markdown")).text
        assert (await web.browser.get(f"/runs/{run}/export/csv")).text.startswith("field,label,")
        assert (await web.browser.get(f"/runs/{run}/export/xlsx")).content.startswith(b"PK")
        assert "visited" in (await web.browser.get(f"/runs/{run}/export/mermaid")).text


async def test_the_place_of_a_value_opens_at_its_passage(tmp_path, replan):  # noqa: F811
    docs = tmp_path / "docs"
    docs.mkdir()
    table = [["Item", "Cost (EUR/year)"], ["<b>Insurance</b>", 1250.5], ["Tax", 310]]
    (docs / "costs.xlsx").write_bytes(as_xlsx([table]))
    profile = tmp_path / "fleet.yaml"
    profile.write_text(
        "name: fleet\nabout: x\nfields:\n  cost.tax: {label: tax, unit: EUR/year}\n"
        "  cost.insurance: {label: insurance, unit: EUR/year}\n"
    )
    async with served(tmp_path, hosts=False) as web:
        run = (await replan("acquire", profile, "x", "--docs", docs, "-m", "quoting:"))["run_id"]
        page = (await web.browser.get(f"/runs/{run}")).text
        address = f"/runs/{run}/passages/cost.insurance"
        assert f'href="{address}#quote">cost.insurance</a> <span class="dim">costs.xlsx, Table1!B2' in page
        shown = (await web.browser.get(address)).text
        assert "costs.xlsx, Table1!B2" in shown
        [quote] = re.findall(r'<mark id="quote">(.*?)</mark>', shown, re.DOTALL)
        assert quote == "Item: &lt;b&gt;Insurance&lt;/b&gt; | Cost (EUR/year): 1250.5"
        assert "Item: Tax | Cost (EUR/year): 310" in shown.partition("</mark>")[2]
        assert (await web.browser.get(f"/runs/{run}/passages/cost.none")).status_code == 404


async def test_an_acquisition_is_started_on_the_page_with_names_and_known_values(tmp_path):
    async with served(tmp_path, settings=MARKET) as web:
        page = (await web.browser.get("/new/acquisition")).text
        assert '<option value="market">market</option>' in page
        assert '<option value="market_size">market_size</option>' in page
        fields = {"profile": "market_size", "goal": GOAL, "documents": "market", "model": "exact"}
        given = "core.region = Portugal\n\ncore.currency=EUR\nsegment.win_rate = 4 %"
        started = await web.post("/new/acquisition", {**fields, "given": given})
        run = started.headers["location"].split("/")[2].partition("?")[0]
        assert (await web.settled(run, "finished")).outcome == "success"
        for wrong in ("no value", "= 3", "core.region = A\ncore.region = B"):
            refused = await web.post("/new/acquisition", {**fields, "given": wrong})
            assert refused.status_code == 422
            assert "has no value" in refused.text
            assert GOAL in refused.text
        for name, value in (("profile", "/etc/passwd"), ("documents", "/etc"), ("documents", "../docs")):
            assert (await web.post("/new/acquisition", {**fields, name: value})).status_code == 422
        assert len(await web.reader_rows()) == 1


async def test_a_program_starts_acquisitions_by_names_and_each_once(tmp_path):
    async with served(tmp_path, hosts=False, settings=MARKET) as web:
        program = Program(web)
        offer = (await program.get("/api/offer")).json()
        assert offer["documents"] == ["market"]
        assert str(ROOT / "docs") not in json.dumps(offer)
        order = {"profile": "market_size", "goal": GOAL, "documents": "market", "model": "exact"}
        answers = [await program.post("/api/acquisitions", order) for _ in range(2)]
        assert [each.status_code for each in answers] == [201, 200]
        assert len({each.json()["run_id"] for each in answers}) == 1
        for name, value in (("profile", "x.yaml"), ("documents", "/etc"), ("given", {"nonesuch": "1"}), ("path", "x")):
            assert (await program.post("/api/acquisitions", {**order, name: value}, key=name)).status_code == 422
        assert (await program.post("/api/acquisitions", {"goal": "x"}, key="needed")).json()["error"]["message"] == (
            "profile: the key is missing (needed: goal, profile)"
        )
        assert len(await web.reader_rows()) == 1


async def test_the_prompt_and_reply_of_each_model_call_are_shown(tmp_path, replan):  # noqa: F811
    async with served(tmp_path, hosts=False) as web:
        docs = ROOT / "docs" / "examples" / "market"
        known = [text for each in ("core.region=Portugal", "core.currency=EUR") for text in ("--set", each)]
        words = ["--docs", docs, *known, "-m", "quoting:", "--no-input"]
        filled = await replan("acquire", "market_size", GOAL, *words, exit_codes=(0, 6))
        await check_prompts(web, filled["run_id"], GOAL)
        assert (await replan("show", filled["run_id"], "--prompt", "plan/v1.a1"))["verified"]
