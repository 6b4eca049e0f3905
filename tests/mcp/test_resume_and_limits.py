"""Going on with a run over MCP: with higher limits, and where somebody has parked it."""

import trio

from replan.runs.options import DriveOptions
from replan.runs.orders import Offer, Order
from replan.setup.settings import read_user_config
from runtime.drive.options import Stop
from tests.cli.samples import PROBLEM
from tests.mcp.world import at_rest, called, refused, served


async def test_a_run_that_its_limits_have_ended_goes_on_with_higher_ones(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans", max_calls=2))["run_id"]
        assert (await at_rest(client, run))["outcome"] == "budget_exhausted"
        assert "no limit is given" in await refused(client, "limits", id=run)
        changed = {"id": run, "max_calls": "20", "idempotency_key": "more"}
        assert await called(client, "limits", **changed) == {"run_id": run, "result": "accepted"}
        with trio.fail_after(60):
            while True:
                if (await home.engine.result(run)).outcome == "success":
                    break
                await trio.sleep(0.02)


async def test_a_run_that_somebody_parked_goes_on_when_a_client_says_so(tmp_path, monkeypatch):
    stop = Stop()
    stop.requested.set()
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        offer = Offer(read_user_config(home.house.home / "config.yaml"), home.house.home, home.engine.root)
        order = offer.prepare(Order(PROBLEM, model="plans"), home.engine.registry)
        run = (await home.engine.begin(order.request, DriveOptions(stop))).run_id
        assert (await called(client, "status", id=run))["next"].endswith("else call `resume`, then `wait`")
        assert await called(client, "resume", id=run) == {"run_id": run, "result": "accepted"}
        assert (await home.settled(run, "finished")).outcome == "success"
