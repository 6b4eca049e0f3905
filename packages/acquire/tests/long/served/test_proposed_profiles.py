"""Profiles that a model proposes, on the page: they are seen, approved, edited, checked, kept and used by name."""

import json

import pytest
import yaml

from packages.acquire.tests.acquisition.test_profile_guard import GOOD, changed
from packages.server.tests.web.world import served
from replan.setup.home_folder import locate_home
from replan_acquire import profile_proposals as kept

GOAL = "cost per km of our van fleet"
MORE = yaml.safe_dump(GOOD, sort_keys=False)


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fleet.md").write_text("The insurance is 1,250.50 EUR per year. The distance is 28,500 km per year.\n")
    return str(folder)


async def proposed(web, **fields):
    """Start a run that proposes a profile by its form, and return its id once it waits for the review."""
    order = {"profile": "*", "goal": GOAL, "documents": "fleet", "model": "proposes", **fields}
    started = await web.post("/new/acquisition", order)
    assert started.status_code == 303, started.text
    run = started.headers["location"].split("/")[2].partition("?")[0]
    await web.settled(run, "waiting")
    return run


async def approved(web):
    run = await proposed(web)
    await web.engine.answer(f"{run}/q1", "approve", via="web")
    await web.settled(run, "finished")
    return run


def serving(tmp_path, docs, replies=(GOOD,), **options):
    scripts = {"proposes": {"g_profile": list(replies)}}
    return served(tmp_path, scripts=scripts, settings={"acquisitions": {"documents": {"fleet": docs}}}, **options)


async def test_a_proposal_is_shown_for_review_with_its_fields_and_formulas_and_its_documents_are_material(
    tmp_path, docs
):
    async with serving(tmp_path, docs) as web:
        run = await proposed(web)
        for path in ("/", f"/runs/{run}", f"/questions/{run}/q1"):
            page = (await web.browser.get(path)).text
            assert "cost.insurance: insurance in EUR/year" in page
            assert "cost.insurance / use.distance" in page
        assert (await web.browser.get(f"/runs/{run}/profile")).status_code == 404, "nobody has approved it"
        prompt = (await web.browser.get(f"/runs/{run}/attempts/g_profile/v1.a1")).text
        assert "1,250.50 EUR per year" in prompt


async def test_an_approved_profile_is_edited_kept_and_used_by_its_name(tmp_path, docs):
    async with serving(tmp_path, docs) as web:
        run = await approved(web)
        assert f'href="/runs/{run}/profile"' in (await web.browser.get(f"/runs/{run}")).text
        page = (await web.browser.get(f"/runs/{run}/profile")).text
        assert "label: insurance" in page
        edited = MORE.replace("van_cost", "van_cost_2024") + "# a remark\n"
        sent = await web.post(f"/runs/{run}/profile", {"profile": edited, "do": "keep"})
        assert sent.headers["location"] == f"/new/acquisition?profile=van_cost_2024&like={run}&done=kept"
        assert (locate_home().folder / "profiles" / "van_cost_2024.yaml").read_text() == edited
        form = (await web.browser.get(sent.headers["location"])).text
        assert '<option value="van_cost_2024" selected>' in form
        assert GOAL in form
        assert "The profile is kept." in form
        assert 'name="max_calls" inputmode="numeric" value=""' in form, "the limit of the proposal stays behind"
        order = {"profile": "van_cost_2024", "goal": GOAL, "documents": "fleet", "model": "exact"}
        used = await web.post("/new/acquisition", order)
        filled = used.headers["location"].split("/")[2].partition("?")[0]
        assert (await web.settled(filled, "finished")).outcome == "success"
        assert "per km" in (await web.browser.get(f"/runs/{filled}")).text


async def test_such_a_run_is_started_again_by_the_form_that_started_it(tmp_path, docs):
    async with serving(tmp_path, docs) as web:
        run = await proposed(web)
        assert f'href="/new/acquisition?like={run}"' in (await web.browser.get(f"/runs/{run}")).text
        form = (await web.browser.get(f"/new/acquisition?like={run}")).text
        assert '<option value="*" selected>' in form
        assert GOAL in form
        assert (await web.browser.get(f"/new?like={run}")).status_code == 422


async def test_a_check_shows_what_the_text_says_and_keeps_nothing(tmp_path, docs):
    async with serving(tmp_path, docs) as web:
        run = await approved(web)
        edited = MORE.replace("label: distance", "label: way of a van")
        answer = await web.post(f"/runs/{run}/profile", {"profile": edited, "do": "check"})
        assert answer.status_code == 200
        assert "use.distance: way of a van in km/year" in answer.text
        assert not (locate_home().folder / "profiles").exists()


WRONG = {
    "no YAML": ("a: [", "profile:1: not YAML"),
    "nothing": (" ", "the file is empty"),
    "an unknown field in a formula": (MORE.replace("/ use.distance", "/ use.way"), "calculator.results.per_km.formula"),
    "units that do not fit": (MORE.replace("unit: EUR/km", "unit: EUR"), "profile:14 calculator.results.per_km"),
    "a name of a path": (MORE.replace("van_cost", "../van_cost"), "profile:1 name"),
    "the name of a shipped one": (MORE.replace("van_cost", "market_size"), "this server already has a profile"),
    "too much": (MORE + "# " + "x" * 70_000, "more than 64 KiB"),
    "markup": (MORE.replace("van_cost", "<script>alert(1)</script>"), "profile:1 name"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_profile_is_not_kept_and_its_text_is_shown_again_with_the_line(tmp_path, docs, case):
    text, said = WRONG[case]
    async with serving(tmp_path, docs) as web:
        run = await approved(web)
        answer = await web.post(f"/runs/{run}/profile", {"profile": text, "do": "keep"})
        assert answer.status_code == 422
        assert said in answer.text
        assert "<script>alert" not in answer.text
        assert kept.kept_profiles(locate_home().folder) == {}


async def test_a_kept_profile_is_replaced_only_where_a_person_says_so(tmp_path, docs):
    async with serving(tmp_path, docs) as web:
        run = await approved(web)
        other = MORE.replace("label: distance", "label: way")
        path = locate_home().folder / "profiles" / "van_cost.yaml"
        for text, more, status in (
            (MORE, {}, 303),
            (MORE, {}, 303),  # The same text again, as by a doubled click.
            (other, {}, 422),
            (other, {"replace": "yes"}, 303),
        ):
            sent = await web.post(f"/runs/{run}/profile", {"profile": text, "do": "keep", **more})
            assert sent.status_code == status
        assert path.read_text() == other
        assert [each.name for each in path.parent.iterdir()] == ["van_cost.yaml"]


async def test_a_model_without_proposals_and_unknown_names_are_said_on_the_form(tmp_path, docs):
    async with serving(tmp_path, docs, hosts=False) as web:
        for fields, said in (
            ({"model": "template:bug"}, "cannot propose a profile"),
            ({"documents": "/etc"}, "this server offers no folder of documents"),
            ({"goal": " "}, "goal"),
            ({"profile": "**"}, "this server offers no profile"),
        ):
            order = {"profile": "*", "goal": GOAL, "documents": "fleet", "model": "proposes", **fields}
            answer = await web.post("/new/acquisition", order)
            assert answer.status_code == 422
            assert said in answer.text
        assert await web.reader_rows() == []
        cost = (await web.browser.get("/new/cost", params={"kind": "acquisition", "profile": "*"})).text
        assert "6 calls, the limit" in cost


async def test_a_file_in_the_folder_that_no_profile_could_have_is_not_offered(tmp_path, docs):
    folder = locate_home().folder / "profiles"
    folder.mkdir(parents=True, mode=0o700)
    for name in ("A B.yaml", ".hidden.yaml", "x.yml"):
        (folder / name).write_text(MORE)
    (folder / "market_size.yaml").write_text(json.dumps(changed(["about"], "another")))
    async with serving(tmp_path, docs, hosts=False) as web:
        assert kept.kept_profiles(locate_home().folder).keys() == {"market_size"}
        page = (await web.browser.get("/new/acquisition")).text
        assert "A B" not in page
        assert page.count('value="market_size"') == 1
        order = {"profile": "market_size", "goal": GOAL, "documents": "fleet", "model": "exact"}
        started = await web.post("/new/acquisition", order)
        run = started.headers["location"].split("/")[2].partition("?")[0]
        await web.engine.resume(run)
        assert "market.customers" in (await web.browser.get(f"/runs/{run}")).text, "the shipped profile counts"


async def test_without_a_model_the_form_says_so_and_offers_no_template(tmp_path):
    async with served(tmp_path, hosts=False, settings={"model": None}) as web:
        page = (await web.browser.get("/new/acquisition")).text
        assert "No model is set. Name a model in config.yaml." in page
        assert "template:bug" not in page
        assert "replan doctor" not in page
        assert "-m NAME" not in page
