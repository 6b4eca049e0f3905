"""SQL in every input of a live server, over both journals: it is text, and every statement has parameters."""

import re
from urllib.parse import quote

import pytest

from packages.server.tests.web.world import served
from replan.runs.kind_interface import installed_interfaces
from replan_server.web.api_routes import addressed_operations

SQL = (
    "'; DROP TABLE runs; --",
    "' OR '1'='1",
    '" OR ""="',
    "1); DELETE FROM records; --",
    "x' UNION SELECT body FROM inbox --",
    "%' OR title LIKE '%",
    "\\'; SELECT pg_sleep(9); --",
    "$$; SELECT 1; $$",
    "0x27",
    "%s %(run)s ? :run $1 {run}",
    "NULL",
    "1e999",
    "\x00'",
)
"""Texts that change a statement that is put together from them."""


@pytest.fixture(scope="module")
def postgres(database_server):
    with database_server.new("attacked"):
        return database_server.url("attacked")


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request, monkeypatch, tmp_path):
    if request.param == "postgres":
        monkeypatch.setenv("REPLAN_JOURNAL", request.getfixturevalue("postgres"))
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    return request.param


async def rows(web):
    """Return the journal's rows and the records of each, as text."""
    found = sorted((row for row, _ in await web.reader_rows()), key=lambda row: row.run)
    return [(row.run, row.title, row.last_seq) for row in found]


def named(path, text):
    """Return an address whose every part is a text."""
    return re.sub(r"\{[^}]+\}", lambda _: text, path)


STARTS = {"/api/runs", "/api/executions", *(f"/api/{interface.plural}" for interface in installed_interfaces())}
"""Where runs are started."""


async def test_no_input_of_a_live_server_is_read_as_sql(journal, tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.WRITES_MAX", 100_000)
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0.0)
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        before, headers, sent = await rows(web), web.token(), 0
        for text in SQL:
            queries = [
                web.browser.get("/runs", params={key: text})
                for key in ("q", "status", "kind", "before", "after", "page")
            ]
            queries += [
                web.browser.get(f"/runs/{run}/records", params={"before": text, "after": text, "page": text}),
                web.browser.get(f"/live?run={run}x", params={"run": text}),
                web.client.get(
                    "/api/runs", params={"cursor": text, "status": text, "q": text, "limit": text}, headers=headers
                ),
                web.client.get(f"/api/runs/{run}/records", params={"after": text, "limit": text}, headers=headers),
                web.client.get(
                    "/api/runs",
                    headers={"authorization": f"Bearer {text.encode('ascii', 'replace').decode()}".replace("\x00", "")},
                ),
                web.client.get("/api/runs", headers={**headers, "last-event-id": text.replace("\x00", "")}),
                web.client.post("/sign-in", data={"token": text}),
            ]
            for _, operation in addressed_operations():
                path = named(operation.path, run)
                body = {} if operation.body is None else dict.fromkeys(operation.body.model_fields, text)
                own = {**headers, "idempotency-key": text.replace("\x00", "") or "k"}
                if operation.method == "POST" and operation.path not in STARTS:
                    queries.append(web.client.post(path, json=body, headers=own))
                if "{run}" in operation.path:
                    address = named(operation.path, quote(text, safe=""))
                    queries.append(web.client.request(operation.method, address, json=body or None, headers=own))
            for query in queries:
                answer = await query
                assert answer.status_code < 500, (text, answer.request.url, answer.text)
                sent += 1
        assert sent > 200
        after = await rows(web)
        assert [row[:2] for row in after] == [row[:2] for row in before]
        assert [row[2] for row in after] >= [row[2] for row in before]


async def test_texts_with_sql_are_stored_and_found_again_as_they_are(journal, tmp_path):
    async with served(tmp_path, hosts=False) as web:
        names = {}
        for text in SQL[:11]:
            names[await web.start("plans", f"# {text}\n\nThe login fails.")] = text
        titles = {row.run: row.title for row, _ in await web.reader_rows()}
        assert all(titles[run].startswith(names[run].removesuffix(" --")) for run in names)
        for run, text in names.items():
            assert f"/runs/{run}" in (await web.browser.get("/runs", params={"q": titles[run]})).text, text
