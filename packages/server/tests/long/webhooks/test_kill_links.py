"""Questions are answered once, by somebody allowed, in any order of links, other answers, and kills of the server.

`REPLAN_LINK_QUESTIONS=90` asks that many questions. The server is killed (SIGKILL) once for some of them, while clicks
are on their way, and each click is then repeated at its successor. Questions are reminded of soon after they are asked.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys

import httpx2
import trio

from actors.run.questions import ClarificationAnswered
from packages.server.tests.web.test_inbox import field
from packages.server.tests.web.world import lasting_port, use_home
from packages.server.tests.webhooks.conftest import secret
from replan.runs.home import open_home
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import read_user_config
from replan_server.service.orders import Order, ServerOffer
from replan_server.webhooks.answer_links import AnswerLink, sign_link

QUESTIONS = int(os.environ.get("REPLAN_LINK_QUESTIONS", "6"))
BATCH = 3
"""The questions for which the server is killed once."""
START_SECONDS = 300
"""The longest time until a server listens. It needs a second of processor time for its imports, however many runs wait;
that takes ten seconds where twelve others want two processors, and longer where the machine itself stands still."""
PROBLEM = "Make it better, please."
PEOPLE = {"ana": {"webhooks": ["ops"]}, "bob": {"webhooks": ["ops"], "may": "approve"}}
REMINDED, REMIND_SECONDS = "clarification_reminded", 0.3
HOOK = {"url": "http://127.0.0.1:1/", "secrets": [secret(1)], "page": "http://127.0.0.1:1", "events": ["parked"]}


class Served:
    """A server of the home as a process that can be killed."""

    def __init__(self, port):
        self.port, self.process = port, None

    async def start(self):
        command = [sys.executable, "-m", "replan", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(  # noqa: ASYNC220 -- it returns at once
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with trio.fail_after(START_SECONDS):
            while True:
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                except OSError:
                    assert self.process.poll() is None, "the server has ended"
                    await trio.sleep(0.05)
                else:
                    return

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


class Clicks:
    """What was sent for one question, and what came of it."""

    def __init__(self, engine, answering, run, dice):
        self.engine, self.run, self.sent, self.taken = engine, run, [], []
        until = int(engine.clock.now() + 600)
        self.paths = {
            person: f"/answer/{sign_link(answering, AnswerLink(person, f'{run}/q1', until))}"
            for person in (*PEOPLE, "eve")
        }
        self.paths["forged"] = f"{self.paths['ana'][:-6]}AAAAAA"
        self.who = dice.choices([*self.paths, "cli"], [4, 4, 1, 1, 1], k=dice.randint(2, 6))

    async def open(self, client):
        self.version = field((await client.get(self.paths["ana"])).text, "version")
        assert await self.engine.journal.inbox(self.run) == []

    async def click(self, client, who, number, pause):
        await trio.sleep(pause)
        text = f"The export of {who} in shop/export.py fails for an empty list; click {number}."
        if who == "cli":
            try:
                receipt = await self.engine.answer(f"{self.run}/q1", text, via="cli")
            except Exception as error:  # noqa: BLE001 -- counted as refused, and the journal is looked at below
                self.sent.append((who, type(error).__name__))
                return
            taken = receipt.result == "accepted"
        else:
            data = {"version": self.version, "do": "answer", "typed": text}
            try:
                answer = await client.post(self.paths[who], data=data)
            except httpx2.TransportError:
                self.sent.append((who, "cut"))
                return
            assert answer.status_code in (200, 403, 409), answer.text
            assert (answer.status_code == 403) == (who in ("eve", "forged"))
            taken = answer.status_code == 200
        self.sent.append((who, taken))
        if taken:
            self.taken.append((who, text))

    async def check(self):
        """Check that one answer stands, that of somebody allowed, and the one that was said to be taken."""
        records = await self.engine.journal.read(self.run)
        answers = [each.event for each in records if isinstance(each.event, ClarificationAnswered)]
        assert len(answers) == 1, self.sent
        steps = [each.event.kind for each in records if each.event.kind in (REMINDED, "clarification_answered")]
        assert steps in ([REMINDED, "clarification_answered"], ["clarification_answered"]), steps
        assert len(self.taken) <= 1, self.sent
        [event] = answers
        who = event.person or event.via
        assert who in (*PEOPLE, "cli"), self.sent
        if self.taken:
            assert self.taken == [(who, event.answer)], self.sent
        else:
            assert (who, "cut") in self.sent, self.sent


async def test_each_question_is_answered_once_by_somebody_allowed(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)
    home = locate_home()
    home.folder.mkdir(mode=0o700, parents=True)
    settings = {"webhooks": {"ops": HOOK}, "people": PEOPLE, "answer_links": {"secrets": [secret(2)]}}
    settings["reminders"] = [{"steps": [{"after": REMIND_SECONDS}]}]
    home.config.write_text(json.dumps(settings), encoding="utf-8")
    home.config.chmod(0o600)
    config, server = read_user_config(home.config), Served(lasting_port())
    address = f"http://127.0.0.1:{server.port}"
    options = {"base_url": address, "trust_env": False, "verify": False, "timeout": 60}
    options |= {"headers": {"origin": address}}
    async with open_home(config=config, registry=registry()) as engine:
        for batch in range(0, QUESTIONS, BATCH):
            await _batch(engine, config, server, options, random.Random(batch))


async def _batch(engine, config, server, options, dice):
    await server.start()
    try:
        offer = ServerOffer(config, locate_home().folder, engine.root)
        prepared = [offer.prepare(Order(PROBLEM, model="template:bug"), engine.registry) for _ in range(BATCH)]
        runs = [await engine.admit(each.request) for each in prepared]
        for run in runs:
            await _settled(engine, run, "waiting")
        asked = [Clicks(engine, config.answering, run, dice) for run in runs]
        plan = [(clicks, who, number, dice.random() / 10) for clicks in asked for number, who in enumerate(clicks.who)]
        async with httpx2.AsyncClient(**options) as client:
            for clicks in asked:
                await clicks.open(client)
            async with trio.open_nursery() as nursery:
                for clicks, *what in plan:
                    nursery.start_soon(clicks.click, client, *what)
                await trio.sleep(dice.random() / 5)
                await trio.to_thread.run_sync(server.kill)
        await server.start()
        async with httpx2.AsyncClient(**options) as client:
            for clicks, *what in plan:  # Each once more, and one that certainly may answer.
                await clicks.click(client, *what[:2], 0.0)
            for clicks in asked:
                await clicks.click(client, "bob", 99, 0.0)
                await _settled(engine, clicks.run, "finished")
                await clicks.check()
    finally:
        server.kill()


async def _settled(engine, run, status):
    with trio.fail_after(90):
        while (await engine.result(run)).status != status:  # noqa: ASYNC110 -- another process drives it
            await trio.sleep(0.05)
