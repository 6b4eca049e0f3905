"""Ways in which a wrong number got into a result, on a fleet of vans: each sentence must hold (`van_fleet.yaml`)."""

import json
from pathlib import Path

import pytest

from replan_acquire.quantities.quantity import format_rounded

DATA = Path(__file__).parents[1] / "van_fleet"
GOAL = "Cost of an electric delivery van fleet in Hamburg"
KNOWN = ["--set", "core.city=Hamburg", "--set", "core.currency=EUR", "--set", "fleet.vans=24"]
REST = ["--set", "van.mileage=28500", "--set", "insurance.cost=1180"]


def acquired(replan, tmp_path, *more, model="quoting:", documents=(), profile=DATA / "van_fleet.yaml", exit_code=0):
    """Return the result on some of the documents, all of them where none is named."""
    folder = tmp_path / "docs"
    folder.mkdir(exist_ok=True)
    for path in (DATA / "docs").iterdir():
        if not documents or path.name in documents:
            (folder / path.name).write_bytes(path.read_bytes())
    done = replan("acquire", profile, GOAL, "--docs", folder, *KNOWN, *more, "-m", model, "--no-input", "--json")
    assert done.exit_code == exit_code, done.stderr
    return json.loads(done.stdout)


def fields(result):
    return {field["path"]: field for field in result["fields"]}


def scripted(tmp_path, *values, field="van.price"):
    """Return a model that searches once and then states some values."""
    keys = ("field", "value", "unit", "quote", "source", "confidence")
    observed = {"values": [dict(zip(keys, (*value, 1.0), strict=True)) for value in values]}
    script = {
        "plan": [{"action": "search", "target_field": field, "query": "purchase price van"}] * 40,
        "observe": [observed] * 40,
        "reflect": [{"assessment": "", "next_field": "", "finish": True, "caveats": []}] * 9,
    }
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    return f"scripted:{path}"


def test_a1_a_denominator_with_a_number_is_taken_into_account(replan, tmp_path):
    result = acquired(replan, tmp_path, *REST)
    found = fields(result)
    assert found["energy.consumption"]["value"] == pytest.approx(0.275)
    assert found["service.cost"]["value"] == pytest.approx(0.042)
    steps = {step["name"]: step["value"] for step in result["calculation"]["steps"]}
    assert steps["energy"] == pytest.approx(24 * 28_500 * 0.275 * 0.29)
    assert steps["per_km"] < 1


def test_a1_a_price_per_tb_month_is_no_price_per_gb(replan, tmp_path):
    (tmp_path / "prices.md").write_text("# Prices\n\nThe storage price is $23 per TB-month, says the list.\n")
    given = ["--set", "core.provider_region=x", "--set", "storage.volume=2 TB", "--set", "traffic.requests.users=5"]
    done = replan("acquire", "cloud_cost", "Cost", "--docs", tmp_path, *given, "-m", "quoting:", "--no-input", "--json")
    assert fields(json.loads(done.stdout))["storage.price"]["value"] == pytest.approx(0.023)


CUT = {
    "inside a number": ("van.price", "2400", "EUR/van", "2,400 per van", "dealer_offer_2026.md"),
    "before its unit": ("service.cost", "4.2", "EUR/km", "4.2", "workshop.md"),
    "behind its currency": ("van.price", "55000", "EUR/van", "55,000", "us_press.md"),
    "to the year of a row": ("energy.price", "2026", "EUR/kWh", "2026", "tariffs.csv"),
    "from another unit": ("energy.consumption", "265", "kWh/km", "city cycle is 265", "wltp.md"),
}


@pytest.mark.parametrize("value", CUT.values(), ids=CUT)
def test_a2_a_quote_that_is_cut_gives_no_value(replan, tmp_path, value):
    model = scripted(tmp_path, value, field=value[0])
    result = acquired(replan, tmp_path, model=model, documents=(value[-1],), exit_code=6)
    field = fields(result)[value[0]]
    assert field["value"] is None


def test_a4_each_required_field_is_searched_for_and_all_sources_are_kept(replan, tmp_path):
    found = fields(acquired(replan, tmp_path, *REST))
    for path in ("van.price", "van.life", "van.residual", "energy.consumption", "energy.price", "service.cost"):
        assert found[path]["attempts"]["searches"] >= 1, path
    consumption = found["energy.consumption"]
    sources = {consumption["source"], *(each["source"] for each in consumption["other_values"])}
    assert sources == {"angebot.html", "wltp.md"}
    assert consumption["spread"]["low"] == pytest.approx(0.265)


def test_a5_every_row_of_a_table_is_a_candidate_and_the_latest_year_counts(replan, tmp_path):
    price = fields(acquired(replan, tmp_path, *REST))["energy.price"]
    assert (price["value"], price["period"]) == (0.29, "2026")
    assert {(each["value"], each["period"]) for each in price["other_values"]} >= {(0.38, "2023"), (0.33, "2024")}
    assert price["periods"] == {"stated": ["2023", "2024", "2026"], "rule": "latest"}


def test_people_see_numbers_that_are_rounded_and_programs_see_all_digits(replan, tmp_path):
    result = acquired(replan, tmp_path, *REST)
    [exact] = [step["value"] for step in result["calculation"]["steps"] if step["name"] == "per_km"]
    shown = replan("show", result["run_id"]).stdout
    assert f"{format_rounded(exact)} (" in shown
    assert str(exact) not in shown


LENIENT = {
    "The village has 1,240 inhabitants.": ("person", 1240),
    "Each user makes 1,200 requests per month and user.": ("request/month", 1200),
    "The plant takes 167 400 l/d of water.": ("l/d", 167_400),
    "The tank holds 40 m³ of water.": ("m3", 40),
    "The upkeep is 4,2 Cent je km.": ("EUR/km", 0.042),
}


@pytest.mark.parametrize(("text", "wanted"), LENIENT.items())
def test_what_was_refused_without_need_is_taken(replan, tmp_path, text, wanted):
    unit, value = wanted
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    word = "village" if "village" in text else "user" if "user" in text else "plant" if "plant" in text else "tank"
    word = "upkeep" if "upkeep" in text else word
    label = "requests per user and month" if "user" in text else word
    field = f'{{label: "{label}", unit: "{unit}", words: [{word}]}}'
    profile = f'name: one\nabout: One.\nunits: {{person: "", request: ""}}\nfields:\n  a.b: {field}\n'
    (tmp_path / "one.yaml").write_text(profile)
    found = ("--docs", tmp_path / "docs", "-m", "quoting:", "--no-input", "--json")
    done = replan("acquire", tmp_path / "one.yaml", "One", *found)
    assert fields(json.loads(done.stdout))["a.b"]["value"] == pytest.approx(value), done.stdout


HUGE = "5 quettaparsec^12"
"""A quantity whose unit is well formed, and too large for any number."""
MARKET = ["market_size", "Sheds", "-m", "quoting:", "--set", "core.region=Chile", "--set", "core.currency=EUR"]


def test_a_unit_that_no_number_holds_ends_no_run_whoever_writes_it(replan, tmp_path):
    """From the command line, a document, an answer, and after each of them at a resume."""
    refused = replan("acquire", *MARKET, "--set", f"market.annual_spend={HUGE}", "--no-input")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "quettaparsec^12" in refused.stderr
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(
        f"# Chile\n\nIn Chile the annual spend per customer is {HUGE}. It is 20 yottaparsec^9.\n"
    )
    (docs / "b.csv").write_text("region,annual spend per customer [Yly^9],unit\nChile,12,quettaparsec^12\n")
    waiting = replan("acquire", *MARKET, "--docs", docs, "--set", "market.customers=500", "--no-input", "--json")
    assert waiting.exit_code == 6, waiting.stderr
    run = json.loads(waiting.stdout)["run_id"]
    asked = set()
    for _ in range(3):
        (question,) = json.loads(replan("questions", run, "--json").stdout)["questions"]
        asked.add(question["id"])
        assert replan("answer", question["id"], HUGE).exit_code in (0, 2)
        resumed = replan("resume", run, "--no-input")
        assert resumed.exit_code in (3, 6), resumed.stderr
        assert "internal error" not in resumed.stderr
        assert replan("show", run).exit_code == 0
        if resumed.exit_code == 3:
            break


def test_a_unit_of_a_model_that_no_number_holds_ends_no_run(replan, tmp_path):
    """The unit of the quote counts."""
    value = ("van.price", "52,400", "yottaparsec^9", "EUR 52,400 per van", "dealer_offer_2026.md")
    result = acquired(replan, tmp_path, *REST, model=scripted(tmp_path, value), exit_code=6)
    assert (fields(result)["van.price"]["value"], fields(result)["van.price"]["unit"]) == (52_400, "EUR/van")
    run = result["run_id"]
    resumed = replan("resume", run, "--no-input")
    assert (resumed.exit_code, "internal error" in resumed.stderr) == (6, False)
    assert replan("show", run).exit_code == 0
