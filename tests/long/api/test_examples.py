"""The programs in `docs/examples` that use the API: a script, and a web service with several runs at once."""

import asyncio
import importlib.util
import json
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

import replan
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, RECON, STRATEGY, delayed_reply

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs" / "examples"
SECONDS = 30.0
VAGUE = "Make it better, please."


def run_script(tmp_path, problem, typed, model):
    path = tmp_path / "problem.md"
    path.write_text(problem)
    environment = {"REPLAN_HOME": str(tmp_path / "home"), "REPLAN_MODEL": model, "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, EXAMPLES / "script" / "plan.py", path],
        cwd=tmp_path,
        env=environment,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_script_prints_its_progress_and_the_plan(tmp_path):
    done = run_script(tmp_path, PROBLEM, "", "template:bug")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Login fails")
    assert done.stderr.splitlines()[0] == "1 run_started"


def test_the_script_asks_and_goes_on(scripted, tmp_path):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]})
    done = run_script(tmp_path, PROBLEM, "3.12\n", model)
    assert done.returncode == 0, done.stderr
    assert "Which version is it?" in done.stderr
    assert "`find`" in done.stdout


class Service:
    """The web service, in this event loop."""

    def __init__(self, client):
        self.client = client

    async def post(self, path, body, status=200):
        response = await self.client.post(path, json=body)
        assert response.status_code == status, response.text
        return response.json()

    async def get(self, path, status=200):
        response = await self.client.get(path)
        assert response.status_code == status, response.text
        return response.json()

    async def until(self, run, status):
        deadline = time.monotonic() + SECONDS
        while (shown := await self.get(f"/plans/{run}"))["status"] != status:
            assert time.monotonic() < deadline, shown
            await asyncio.sleep(0.05)
        return shown


@asynccontextmanager
async def serving(model, monkeypatch):
    """Start the service as its server does, and yield a client of it; stop it at the end of the block."""
    spec = importlib.util.spec_from_file_location("web_service_example", EXAMPLES / "web_service" / "service.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    module.MODEL = model
    transport = httpx2.ASGITransport(app=module.app)
    async with (
        module.app.router.lifespan_context(module.app),
        httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        yield Service(client)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))


def test_a_web_service_serves_two_runs_at_once_with_a_question_answered_over_http(scripted, monkeypatch):
    script = {"g_analysis": [ASKING, ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY]}
    model = scripted({**script, "g_plan": [delayed_reply(PLAN, seconds=0.5)]})

    async def main():
        async with serving(model, monkeypatch) as service:
            first, second = await asyncio.gather(*(service.post("/plans", {"problem": PROBLEM}, 202) for _ in range(2)))
            first, second = first["run_id"], second["run_id"]
            waiting = await service.until(first, "waiting")
            assert waiting["question"]["text"].endswith(": Which version is it?")
            await service.until(second, "waiting")
            path = f"/plans/{waiting['question']['id'].replace('/', '/answers/')}"
            assert await service.post(path, {"text": "3.12"}) == {"result": "accepted", "stands": "3.12"}
            assert await service.post(path, {"text": "3.12"}) == {"result": "duplicate", "stands": "3.12"}
            assert (await service.post(path, {"text": "3.11"}))["result"] == "conflict"
            finished = await service.until(first, "finished")
            assert (finished["outcome"], finished["plan"]) == ("success", json.loads(json.dumps(PLAN)))
            assert (await service.get(f"/plans/{second}"))["status"] == "waiting", "the other run is not touched"
            assert {row["run_id"] for row in await service.get("/plans")} == {first, second}
            assert (await service.client.delete(f"/plans/{second}")).json()["outcome"] == "cancelled"

    asyncio.run(main())


def test_a_web_service_parks_its_runs_and_goes_on_with_them_when_it_starts_again(scripted, monkeypatch):
    script = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY]}
    model = scripted({**script, "g_plan": [delayed_reply(PLAN, seconds=60)]})

    async def first_process():
        async with serving(model, monkeypatch) as service:
            run = (await service.post("/plans", {"problem": PROBLEM}, 202))["run_id"]
            stopped = time.monotonic()
        assert time.monotonic() - stopped < 2 + 3
        return run

    async def second_process():
        async with serving(model, monkeypatch) as service:
            return await service.until(run, "finished")

    run = asyncio.run(first_process())
    assert replan.show(run).status == "parked"
    scripted({**script, "g_plan": [PLAN]})
    assert asyncio.run(second_process())["outcome"] == "success"


def test_a_web_service_reports_wrong_requests(monkeypatch):
    async def main():
        async with serving("template:bug", monkeypatch) as service:
            assert "empty" in (await service.post("/plans", {"problem": " "}, 422))["detail"]
            await service.get("/plans/zzzzzzzz", 404)
            await service.post("/plans/zzzzzzzz/answers/q1", {"text": "x"}, 404)
            run = (await service.post("/plans", {"problem": VAGUE}, 202))["run_id"]
            await service.until(run, "waiting")
            await service.post(f"/plans/{run}/answers/q9", {"text": "x"}, 422)

    asyncio.run(main())


def test_the_page_shows_the_script_as_it_is_and_links_the_service():
    page = (ROOT / "docs" / "how-to" / "use-asyncio.md").read_text(encoding="utf-8")
    text = (EXAMPLES / "script" / "plan.py").read_text(encoding="utf-8")
    assert f"cat > plan.py <<'EOF'\n{text}EOF\n" in page
    assert "(../examples/web_service/service.py)" in page
