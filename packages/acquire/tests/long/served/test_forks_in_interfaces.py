"""Clients fork acquisitions with values of their own over HTTP, on the page and over MCP; Python does the same."""

import pytest

import replan
import replan_acquire
from packages.acquire.tests.test_acquire_command import GOAL
from packages.server.tests.faces.faces import REFUSED, house
from replan.runs.reader import ALL
from tests.tidy.source import ROOT

GIVEN = {"core.region": "Portugal", "core.currency": "EUR", "segment.win_rate": "4 %"}
PATH, OTHER = "segment.win_rate", "8 %"


async def acquired(folder):
    options = {
        "docs": ROOT / "docs" / "examples" / "market",
        "model": "quoting:",
        "given": GIVEN,
        "home": folder / "home",
    }
    return (await replan_acquire.aacquire("market_size", GOAL, **options)).run_id


@pytest.mark.parametrize("face", ["HTTP", "page", "MCP"])
async def test_a_client_forks_an_acquisition_with_another_value(face, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, hosts=True) as home:
        run = await acquired(tmp_path)
        last = str(len(await home.engine.journal.read(run)) - 1)
        as_sent = (lambda values: "\n".join(f"{a} = {b}" for a, b in values.items())) if face == "page" else dict
        for wrong in ({"segment.nonesuch": OTHER}, {PATH: "none"}, {PATH: "8\n9"}):
            assert (await home.do("fork", run, {"at": last, "given": as_sent(wrong)}))[0] == REFUSED, wrong
        assert (await home.do("fork", run, {"at": last, "given": as_sent({PATH: OTHER})}))[0] == "accepted"
        (fork,) = {row.run for row in await home.engine.journal.runs(ALL)} - {run}
        await home.settled(fork, "success")
        found = {name: (await home.engine.result(name)).to_json()["fields"] for name in (run, fork)}
        values = {name: {each["path"]: each["value"] for each in fields}[PATH] for name, fields in found.items()}
        assert values == {run: 4, fork: 8}
        if face == "page":
            page = (await home.face.web.browser.get(f"/runs/{run}?tab=search")).text
            node = page.partition(f"/runs/{run}/attempts/")[2].partition('"')[0]
            assert 'id="fork-given"' in (await home.face.web.browser.get(f"/runs/{run}/attempts/{node}")).text


async def test_python_forks_an_acquisition_with_another_value(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    run = await acquired(tmp_path)
    home = tmp_path / "home"
    with pytest.raises(replan.UsageProblem, match="is not a field of the profile market_size"):
        await replan.afork(run, at=1, given={"segment.nonesuch": OTHER}, home=home)
    fork = await replan.afork(run, at=1, given={PATH: OTHER}, home=home)
    fields = {each["path"]: each["value"] for each in (await replan.aresume(fork, home=home)).to_json()["fields"]}
    assert fields[PATH] == 8
