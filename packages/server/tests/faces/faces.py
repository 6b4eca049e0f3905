"""The faces of a home as the same operations. What a face says of one is `accepted`, `duplicate`, `refused`, `missing`.

`house(...)` serves a home in this process to one of the faces.
"""

import html
import json
import re
from contextlib import asynccontextmanager
from dataclasses import astuple
from typing import ClassVar

import trio
from click.testing import CliRunner

import replan
from packages.server.tests.mcp.world import served as served_mcp
from packages.server.tests.web.world import served
from replan.cli.app import app
from replan.cli.exits import Exit
from replan.runs.reader import ALL
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from replan_server.service.orders import Order, ServerOffer
from tests.cli.samples import PROBLEM

REFUSED, MISSING = "refused", "missing"


class CommandLine:
    """`replan` in this process."""

    OPERATIONS: ClassVar = {
        "answer": lambda run, text: ("answer", f"{run}/q1", text),
        "decline": lambda run: ("answer", f"{run}/q1", "--decline"),
        "tell": lambda run, text, kind="note": ("tell", run, text, "--as", kind),
        "cancel": lambda run: ("cancel", run),
        "limit": lambda run, name, value: ("resume", run, f"--{name.replace('_', '-')}", str(value)),
    }

    async def call(self, *words):
        done = await trio.to_thread.run_sync(CliRunner().invoke, app, [*words, "--json"])
        if done.exit_code == Exit.OK:
            return json.loads(done.stdout).get("result", "accepted"), done.stdout
        return MISSING if done.exit_code == Exit.NOT_FOUND else REFUSED, done.stderr

    async def questions(self):
        return json.loads((await self.call("questions"))[1])["questions"]


class Python:
    OPERATIONS: ClassVar = {
        "answer": lambda run, text: (replan.aanswer, f"{run}/q1", text),
        "decline": lambda run: (replan.adecline, f"{run}/q1"),
        "tell": lambda run, text, kind="note": (replan.atell, run, text, {"kind": kind}),
        "cancel": lambda run: (replan.acancel, run),
        "limit": lambda run, name, value: (replan.alimits, run, {name: value}),
    }

    async def call(self, function, run, *arguments):
        options = [each for each in arguments if isinstance(each, dict)]
        try:
            done = await function(run, *arguments[: len(arguments) - len(options)], **dict(*options))
        except replan.RunNotFound as error:
            return MISSING, str(error)
        except replan.UsageProblem as error:
            return REFUSED, str(error)
        if not isinstance(done, replan.AnswerReceipt):
            return "accepted", ""
        result, counts, *_ = astuple(done)
        return (REFUSED, f"another answer was given before: {counts}") if result == "conflict" else (result, "")


class Http:
    """A program with a token for everything."""

    OPERATIONS: ClassVar = {
        "answer": lambda run, text: (f"questions/{run}/q1", {"answer": text}),
        "decline": lambda run: (f"questions/{run}/q1", {"decline": True}),
        "tell": lambda run, text, kind="note": (f"runs/{run}/messages", {"text": text, "kind": kind}),
        "cancel": lambda run: (f"runs/{run}/cancel", {}),
        "resume": lambda run: (f"runs/{run}/resume", {}),
        "fork": lambda run, more: (f"runs/{run}/fork", more),
        "limit": lambda run, name, value: (f"runs/{run}/limits", {name: value}),
    }

    def __init__(self, web, name="control"):
        self.web, self.headers, self.count = web, web.token("control", name), 0

    async def start(self, *, key="", **order):
        return await self.call("runs", {"problem": PROBLEM, **order}, key)

    async def call(self, path, body, key=""):
        self.count += 1
        headers = {**self.headers, "idempotency-key": key or f"k{self.count}"}
        done = await self.web.client.post(f"/api/{path}", json=body, headers=headers)
        if done.is_success:
            return done.json().get("result", "accepted"), done.json().get("run_id", "")
        return MISSING if done.status_code == 404 else REFUSED, done.json()["error"]["message"]

    async def questions(self):
        return (await self.web.client.get("/api/questions", headers=self.headers)).json()["questions"]


class Page:
    """The forms of the pages, as a browser without scripts sends them."""

    OPERATIONS: ClassVar = {
        "answer": lambda run, text: (f"/questions/{run}/q1", {"do": "answer", "typed": text, "picked": text}),
        "decline": lambda run: (f"/questions/{run}/q1", {"do": "decline", "typed": ""}),
        "tell": lambda run, text, kind="note": (f"/runs/{run}/tell", {"text": text, "as": kind}),
        "cancel": lambda run: (f"/runs/{run}/cancel", {"sure": "yes"}),
        "resume": lambda run: (f"/runs/{run}/resume", {}),
        "fork": lambda run, more: (f"/runs/{run}/fork", more),
        "limit": lambda run, name, value: (f"/runs/{run}/limits", {name: str(value)}),
    }

    def __init__(self, web):
        self.web = web

    async def start(self, **order):
        return await self.call("/runs", {"problem": PROBLEM, **{name: str(value) for name, value in order.items()}})

    async def call(self, path, fields):
        shown = await self.web.browser.get(path) if "do" in fields else None
        version = re.search(r'name="version" value="(\w+)"', shown.text) if shown else None
        done = await self.web.post(path, {**fields, "version": version[1] if version else ""})
        if done.status_code == 303:
            to = done.headers["location"]
            return "duplicate" if to.endswith("duplicate") else "accepted", to.removeprefix("/runs/").partition("?")[0]
        return MISSING if done.status_code == 404 else REFUSED, html.unescape(done.text)

    async def questions(self):
        page = (await self.web.browser.get("/")).text
        runs = re.findall(r'id="question-(\w+)-q1"', page)
        return [
            {"run_id": run, "priority": ("normal", "high")["high priority" in part]}
            for run, part in zip(runs, re.split(r'id="question-\w+-q1"', page)[1:], strict=True)
        ]


class Mcp:
    """A client of MCP without forms."""

    OPERATIONS: ClassVar = {
        "answer": lambda run, text: ("answer", {"question": f"{run}/q1", "answer": text}),
        "decline": lambda run: ("answer", {"question": f"{run}/q1", "decline": True}),
        "tell": lambda run, text, kind="note": ("tell", {"id": run, "text": text, "kind": kind}),
        "cancel": lambda run: ("cancel", {"id": run}),
        "resume": lambda run: ("resume", {"id": run}),
        "fork": lambda run, more: ("fork", {"id": run, **more}),
        "limit": lambda run, name, value: ("limits", {"id": run, name: value}),
    }

    def __init__(self, client):
        self.client = client

    async def start(self, *, key="", **order):
        result, text = await self.call("plan", {"problem": PROBLEM, "idempotency_key": key or None, **order})
        return result, text if result == REFUSED else json.loads(text)["run_id"]

    async def call(self, tool, arguments):
        arguments = {name: value for name, value in arguments.items() if value is not None}
        done = await self.client.call_tool(tool, arguments)
        text = done.content[0].text
        if done.is_error:
            return MISSING if text.startswith("no run") else REFUSED, text
        return done.structured_content.get("result", "accepted"), text

    async def questions(self):
        return json.loads((await self.call("questions", {}))[1])["questions"]


FACES = ("command line", "Python", "HTTP", "page", "MCP")


class House:
    """A served home whose runs are driven when a test says so."""

    def __init__(self, face, engine):
        self.face, self.engine = face, engine

    async def run(self, options=None, **order):
        """Start a run, and return its id when it waits, is parked or has ended."""
        home = locate_home()
        offer = ServerOffer(read_user_config(home.config), home.folder, self.engine.root)
        request = offer.prepare(Order(PROBLEM, **order), self.engine.registry).request
        return (await self.engine.begin(request, *([options] if options else []))).run_id

    async def settled(self, run, outcome):
        with trio.fail_after(300):
            while (await self.engine.result(run)).outcome != outcome:  # noqa: ASYNC110 - polled
                await trio.sleep(0.02)

    async def waits(self, run):
        with trio.fail_after(300):
            while (await self.engine.result(run)).status != "waiting":  # noqa: ASYNC110 - polled
                await trio.sleep(0.02)

    async def rows(self):
        return [row for row, _ in await self.engine.rows(ALL)]

    async def do(self, operation, run, *values):
        """Do something with a run; return what has become of it, and the text."""
        result, text = await self.face.call(*self.face.OPERATIONS[operation](run, *values))
        return result, " ".join(text.split())


@asynccontextmanager
async def house(face, folder, monkeypatch, *, hosts=False, **settings):
    """Serve a home for the length of a block, to one of the faces."""
    if face == "MCP":
        async with served_mcp(folder, monkeypatch, hosts=hosts, **settings) as home, home.client() as client:
            yield House(Mcp(client), home.engine)
        return
    monkeypatch.setenv("REPLAN_HOME", str(folder / "home"))
    async with served(folder, hosts=hosts, **settings) as web:
        (folder / "home" / "config.yaml").write_text(web.config.model_dump_json(include={"clients"}))
        make = {"command line": lambda _: CommandLine(), "Python": lambda _: Python(), "HTTP": Http, "page": Page}[face]
        yield House(make(web), web.engine)
