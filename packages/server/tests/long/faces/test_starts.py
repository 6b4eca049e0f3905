"""What clients may start over HTTP, on the pages and over MCP: what the settings offer, within their ceilings."""

import html
import json

import pytest

from packages.server.tests.faces.faces import REFUSED, Http, house

STARTING, PROGRAMS = ("HTTP", "page", "MCP"), ("HTTP", "MCP")
NAMES = [
    "/etc/passwd",
    "../../config.yaml",
    "file:///etc/passwd",
    "http://127.0.0.1:1/x",
    "scripted:/etc/passwd",
    "scripted:x.yaml",
    "replay:abcdefgh",
    "recorded:/etc/passwd",
    "recorded:x.yaml?record=gpt-5",
    "simulated:default",
    "gpt-5",
    "search.yaml",
    "./search",
    "x" * 101,
    "default\x00",
]
"""Names that no settings offer: paths, addresses, and models that would cost money or read files."""
CEILINGS = {"max_calls": 20, "max_tokens": 1_000, "max_cost": 1.0, "active_time": 60.0}
MORE = {"max_calls": 21, "max_tokens": 1_001, "max_cost": 2.0, "active_time": "2m"}


@pytest.fixture(autouse=True)
def _many_writes(monkeypatch):
    monkeypatch.setattr("replan_server.service.service.WRITES_MAX", 10_000)


@pytest.mark.parametrize("face", STARTING)
async def test_paths_addresses_and_unknown_names_start_nothing(face, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    async with house(face, tmp_path, monkeypatch) as home:
        for name in [*NAMES, *([] if face == "page" else [""])]:  # An empty field of a form is the default.
            for key in ("workflow", "model"):
                if name or key == "model":
                    assert (await home.face.start(**{"model": "plans", key: name}))[0] == REFUSED, (key, name)
        assert await home.rows() == []


@pytest.mark.parametrize("face", STARTING)
async def test_no_client_gets_more_than_the_servers_ceilings(face, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, **CEILINGS) as home:
        for name, more in MORE.items():
            result, text = await home.face.start(model="plans", **{name: more})
            assert (result, f"{name}: clients may not set more than" in text) == (REFUSED, True), text
        _, run = await home.face.start(model="plans")
        limits = (await home.engine.common_with_inbox(run)).ledger.limits
        assert (limits.calls, limits.tokens, limits.micro_usd, limits.active_seconds) == (20, 1_000, 1_000_000, 60.0)
        for name, more in MORE.items():
            assert (await home.do("limit", run, name, more))[0] == REFUSED
        assert (await home.engine.common_with_inbox(run)).ledger.limits == limits


@pytest.mark.parametrize("face", STARTING)
async def test_settings_of_calls_are_pinned_and_clients_set_no_extra_fields(face, tmp_path, monkeypatch):
    given = {"temperature": 0.5, "stop": ["a b"]}
    form = "temperature=0.5 'stop=[\"a b\"]'"
    async with house(face, tmp_path, monkeypatch) as home:
        _, run = await home.face.start(model="plans", model_settings=form if face == "page" else given)
        loaded = await home.engine.read(run)
        assert {each.settings.model_dump_json() for each in loaded.state.config.steps.values()} == {
            '{"temperature":0.5,"stop":["a b"]}'
        }
        changed = await home.do("limit", run, "model_settings", "seed=4" if face == "page" else {"seed": 4})
        assert changed[0] != REFUSED, changed
        state = await home.engine.with_inbox(run, await home.engine.read(run))
        assert {each.settings.seed for each in state.config.steps.values()} == {4}
        assert (await home.do("limit", run, "model_settings", "n=4" if face == "page" else {"n": 4}))[0] == REFUSED
        for wrong, message in (
            ({"temprature": 1}, "model_settings: unknown setting 'temprature'"),
            ({"extra_body": {"top_k": 4}}, "model_settings: clients may not set extra_body"),
            ({"extra_headers": {"X-Title": "a"}}, "model_settings: clients may not set extra_headers"),
        ):
            [(name, value)] = wrong.items()
            typed = f"'{name}={json.dumps(value)}'" if face == "page" else wrong
            result, text = await home.face.start(model="plans", model_settings=typed)
            assert result == REFUSED
            assert message in html.unescape(text)


@pytest.mark.parametrize("face", PROGRAMS)
async def test_a_client_has_only_so_many_runs_at_once_and_in_a_day(face, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, runs_at_once=2, runs_per_day=3) as home:
        done = [await home.face.start(model="plans") for _ in range(3)]
        assert [result for result, _ in done] == ["accepted", "accepted", REFUSED]
        assert "under way" in done[2][1]
        if face == "HTTP":
            assert (await Http(home.face.web, "other").start(model="plans"))[0] == "accepted"
        for row in await home.rows():
            await home.engine.resume(row.run)
        done = [await home.face.start(model="plans") for _ in range(2)]
        assert [result for result, _ in done] == ["accepted", REFUSED]
        assert "within 24 hours" in done[1][1]


@pytest.mark.parametrize("face", PROGRAMS)
async def test_the_settings_name_the_tenant_and_no_client_chooses_it(face, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, tenant="research") as home:
        for key, value in (("tenant", "sales"), ("priority", 100)):
            assert (await home.face.start(model="plans", **{key: value}))[0] == REFUSED
        _, run = await home.face.start(model="plans")
        placement = (await home.engine.journal.row(run)).placement
        assert (placement.tenant, placement.priority) == ("research", 0)
        await home.engine.resume(run)
        assert (await home.engine.journal.spent_today("research")).calls > 0


@pytest.mark.parametrize("face", PROGRAMS)
async def test_a_repeated_key_starts_one_run_and_another_order_with_it_is_refused(face, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch) as home:
        first, again = [await home.face.start(model="plans", key="first") for _ in range(2)]
        assert (first[0], again) == ("accepted", ("duplicate", first[1]))
        assert (await home.face.start(model="asks", key="first"))[0] == REFUSED
        assert len(await home.rows()) == 1
