"""What a person does with documents on the pages, in both browsers: sources are opened, a proposed profile is kept."""

import json
import os

import pytest

from packages.acquire.tests.acquisition.test_profile_guard import GOOD
from packages.acquire.tests.documents.written_documents import as_docx, as_eml, as_html, as_pdf, as_xlsx, as_zip
from packages.server.tests.long.web import chromium
from packages.server.tests.long.web.browsing import AXE, RULES
from packages.server.tests.long.web.test_journeys import person_of
from packages.server.tests.web.world import served
from replan.setup.home_folder import locate_home
from replan_acquire.acquiring import prepare_to_acquire
from replan_acquire.acquisition.prepare import AcquisitionInput
from tests.tidy.source import ROOT


@pytest.fixture(params=["browser_process", "second_browser_process"], ids=["chromium", "firefox"])
def process(request):
    return request.getfixturevalue(request.param)


async def check_with_axe(person, process):
    """Check that axe-core finds nothing on the page that is shown. It judges the page, so one browser is enough."""
    if not isinstance(process, chromium.Process):
        return
    await person.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    code = AXE.read_text(encoding="utf-8")
    found = await person.evaluate(
        f"(() => {{ {code}; return axe.run(document, {json.dumps(RULES)}).then(found => found.violations) }})()"
    )
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []


def sheet(item, value):
    return [["Item", "Cost (EUR/year)"], ["Something", 1], [item, value]]


FILES = {
    "a.pdf": as_pdf(["Costs of the fleet.", None, sheet("Insurance", "1,250.50")]),
    "b.docx": as_docx(["Costs of the fleet.", sheet("Tax", "310")]),
    "c.xlsx": as_xlsx([sheet("Leasing", 4668)]),
    "d.html": as_html(["Costs of the fleet.", "The washing is 95 EUR per year."]),
    "e.eml": as_eml(
        ["Good morning.", "The parking is 720 EUR per year."], "Offer", [("f.pdf", as_pdf(["Thank you."]))]
    ),
    "g.zip": as_zip([("inner/h.docx", as_docx(["Costs.", "The training is 1,400 EUR per year."]))]),
}
PLACES = {
    "insurance": ("a.pdf, page 2, box ", "Item: Insurance | Cost (EUR/year): 1,250.50"),
    "tax": ("b.docx, table 1, row 3, column 2", "Item: Tax | Cost (EUR/year): 310"),
    "leasing": ("c.xlsx, Table1!B3", "Item: Leasing | Cost (EUR/year): 4668"),
    "washing": ("d.html, line 3", "The washing is 95 EUR per year."),
    "parking": ("e.eml, body, line 3", "The parking is 720 EUR per year."),
    "training": ("g.zip/inner/h.docx, paragraph 2", "The training is 1,400 EUR per year."),
}
"""The place that the page of a run names for each field, and the words that are marked there."""


async def test_the_source_of_a_value_opens_at_its_passage_in_each_format(process, tmp_path):
    """Two formats in Firefox: the pages of all are made alike."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, content in FILES.items():
        (docs / name).write_bytes(content)
    profile = tmp_path / "fleet.yaml"
    fields = {f"cost.{name}": {"label": name, "unit": "EUR/year"} for name in PLACES}
    profile.write_text(json.dumps({"name": "fleet", "about": "x", "fields": fields}))
    async with served(tmp_path) as web, process.connected() as browser:
        person = await person_of(process, browser, web)
        options = {"registry": web.engine.registry, "environment": os.environ}
        wish = AcquisitionInput(goal="Costs", profile=str(profile))
        run = await web.engine.admit(prepare_to_acquire(wish, str(docs), "quoting:", **options).request)
        assert (await web.settled(run, "finished")).outcome == "success"
        shown = [*PLACES.items()] if isinstance(process, chromium.Process) else [*PLACES.items()][:2]
        for name, (place, words) in shown:
            await person.go(f"/runs/{run}")
            await person.click("#sources summary")
            await person.click(f"a[href='/runs/{run}/passages/cost.{name}#quote']")
            await person.until("document.querySelector('#quote')")
            assert place in await person.text()
            assert await person.said("#quote") == words
            seen = "(box => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector('#quote')"
            await person.until(f"{seen}.getBoundingClientRect())")
        await check_with_axe(person, process)


async def test_a_person_has_a_profile_proposed_approves_edits_and_keeps_it_and_uses_it(process, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "fleet.md").write_text("The insurance is 1,250.50 EUR per year. The distance is 28,500 km per year.\n")
    settings = {"acquisitions": {"documents": {"fleet": str(docs)}}}
    async with (
        served(tmp_path, scripts={"proposes": {"g_profile": [GOOD]}}, settings=settings) as web,
        process.connected() as browser,
    ):
        person = await person_of(process, browser, web)
        await person.go("/new/acquisition")
        await person.type("#goal", "cost per km of our van fleet")
        await person.choose("#profile", "*")
        await person.choose("#documents", "fleet")
        await person.choose("#model", "proposes")
        await person.sees("6 calls, the limit")
        await person.click("#new button.main")
        await person.sees("Waits for you")
        assert "cost.insurance / use.distance" in await person.said(".outline")
        run = (await person.evaluate("location.pathname")).rpartition("/")[2]
        await check_with_axe(person, process)
        await person.click(f"#form-{run}-q1 [value=approve]")
        await person.click(f"#form-{run}-q1 button.main")
        await person.sees("Edit and keep this profile")
        await person.click("#edit-profile")
        await person.until("document.querySelector('#profile')")
        await check_with_axe(person, process)
        proposed = await person.value("#profile")
        assert "unit: EUR/km" in proposed
        wrong = json.dumps(proposed.replace("unit: EUR/km", "unit: EUR"))
        await person.evaluate(f"document.querySelector('#profile').value = {wrong}")
        await person.click("#edit [value=check]")
        await person.sees("calculator.results.per_km")
        await check_with_axe(person, process)
        edited = proposed.replace("van_cost", "our_vans").replace("label: per km", "label: cost of a kilometre")
        await person.evaluate(f"document.querySelector('#profile').value = {json.dumps(edited)}")
        await person.click("#edit [value=keep]")
        await person.sees("The profile is kept. From now on, you can choose it in this form.")
        assert "cost of a kilometre" in (locate_home().folder / "profiles" / "our_vans.yaml").read_text()
        assert await person.value("#profile") == "our_vans"
        assert await person.value("#goal") == "cost per km of our van fleet"
        await person.choose("#documents", "fleet")
        await person.choose("#model", "exact")
        await person.click("#new button.main")
        await person.sees("cost of a kilometre: 0.04387")


async def test_an_acquisition_is_started_by_its_form_and_again_with_the_same_fields(process, tmp_path):
    documents = {"market": str(ROOT / "docs" / "examples" / "market")}
    settings = {"acquisitions": {"documents": documents}}
    async with served(tmp_path, settings=settings) as web, process.connected() as browser:
        await fill_by_form(await person_of(process, browser, web))


async def fill_by_form(person):
    await person.go("/new/acquisition")
    await person.type("#goal", "EV charging stations in Portugal")
    await person.choose("#profile", "market_size")
    await person.choose("#documents", "market")
    await person.choose("#model", "exact")
    await person.type("#given", "core.region = Portugal")
    await person.click("#new button.main")
    await person.sees("Waits for you")
    await person.click("#problem summary")
    asked = await person.said("#problem pre")
    assert asked == "EV charging stations in Portugal"
    await person.sees("profile market_size")
    assert await person.count(".lines p") > 0
    assert "Portugal" in await person.said(".lines")
    await person.click("#again")
    await person.until("document.querySelector('#goal') && document.querySelector('#goal').value")
    fields = [await person.value(f"#{name}") for name in ("goal", "profile", "model")]
    assert fields == ["EV charging stations in Portugal", "market_size", "exact"]
