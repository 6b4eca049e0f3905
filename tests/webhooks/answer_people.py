"""The people of a simulated home: some answer by links and buttons, late, twice or never; others forge them.

All random choices are drawn from the world's generator, so that the same seed gives the same events.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode

import trio

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from replan.runs.inbox import questions_of
from replan.views.question_forms import version_of
from replan.webhooks.answer_links import AnswerLink, signed_link
from replan.webhooks.slack_buttons import read_button, slack_signature
from runtime.core.errors import ReplanError

PAGE = "http://127.0.0.1:8430"
PEOPLE = {
    "ana": {"webhooks": ["ops", "room"], "slack": "UANA"},
    "bob": {"webhooks": ["ops", "boss"], "slack": "UBOB", "may": "approve"},
    "cy": {"webhooks": ["boss", "room"], "slack": "UCY", "may": "approve"},
}
ACCOUNTS = {**{name: person["slack"] for name, person in PEOPLE.items()}, "eve": "UEVE"}
TEAM, KEY = "T0HOME", "0123456789abcdef0123456789abcdef"
APPROVERS = ("bob", "cy")
CHOICES = (SUCCEEDED, FAILED, NOT_RUN)
TEXTS = ("red", "green", "blue")


class Cut(Exception):
    """The server did not answer: it is down, or was killed meanwhile."""


@dataclass
class Sent:
    """One try to answer, and its result: `taken`, `refused` or `cut`."""

    run: str
    who: str
    how: str
    answer: str | None
    at: float
    result: str = "cut"
    status: int = 0


class People:
    """The people with links and buttons, and the others; `nursery` has their tasks."""

    def __init__(self, world):
        self.world, self.nursery = world, None
        self._signed = iter(range(1_000_000))

    async def read(self, message):
        """Have each person of a channel use a link of a message, or not."""
        if message.hook == "room":
            self._look_at(message)
            return
        if not message.data["question"].endswith("/q1"):
            return
        for person, link in message.data.get("answer_links", {}).items():
            if self.world.dice.random() < self.world.patience:
                self.nursery.start_soon(self._use, message.data["run_id"], person, link.removeprefix(PAGE), "link")

    def _look_at(self, message):
        """Have people press the buttons of a message in Slack, also people who may not."""
        elements = [each for block in message.data["blocks"] for each in block.get("elements", ())]
        buttons = [each["value"] for each in elements if "value" in each]
        for who in ACCOUNTS:
            if self.world.dice.random() < (self.world.patience if who in ("ana", "cy") else 0.1):
                self.nursery.start_soon(self._press, who, self.world.dice.choice(buttons))

    async def _press(self, who, value):
        dice, answering = self.world.dice, self.world.config.answering
        await trio.sleep(dice.expovariate(1 / 120.0))
        button = read_button(answering, value, self.world.clock.now())
        run, _, name = button.question.partition("/")
        if name != "q1":
            return
        for _ in range(dice.choice((1, 1, 2))):
            sent = Sent(run, who, "slack", button.answer, trio.current_time())
            self.world.sent.append(sent)
            with suppress(Cut):
                await self._send_pressed(sent, value)
            await trio.sleep(dice.choice((0.0, 5.0, 60.0)))

    async def _send_pressed(self, sent, value):
        """Send the request of a pressed button as Slack does, or with a wrong signature."""
        number, forged = str(next(self._signed)), self.world.dice.random() < 0.1
        payload = {
            "type": "block_actions",
            "team": {"id": TEAM},
            "user": {"id": ACCOUNTS[sent.who]},
            "response_url": f"http://127.0.0.1:1/reply/{number}",
            "actions": [{"type": "button", "value": value}],
        }
        body, stamp = urlencode({"payload": json.dumps(payload)}).encode(), str(int(self.world.clock.now()))
        key = b"another key" if forged else KEY.encode()
        headers = {
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": slack_signature(key, stamp, body),
            "content-type": "application/x-www-form-urlencoded",
        }
        done = await self._ask("POST", "/slack/actions", content=body, headers=headers)
        sent.status, reply = done.status_code, self.world.replies.get(number)
        if forged:
            sent.how, sent.result = "forged", "refused"
        if reply is None:
            return
        text, links = reply["text"], [block["elements"][0]["url"] for block in reply["blocks"] if "elements" in block]
        sent.result = "taken" if text.startswith("Your answer is recorded") else "refused"
        for link in links:
            self.nursery.start_soon(self._use, sent.run, sent.who, link.removeprefix(PAGE), "link")

    async def _use(self, run, person, path, how):
        dice = self.world.dice
        await trio.sleep(dice.expovariate(1 / 120.0))
        for _ in range(dice.choice((1, 1, 2, 3))):  # Some click twice, or change their mind.
            sent = Sent(run, person, how, self._answer(run), trio.current_time())
            self.world.sent.append(sent)
            with suppress(Cut):
                await self._click(sent, path)
            await trio.sleep(dice.choice((0.0, 0.0, 5.0, 60.0)))

    def _answer(self, run):
        """Return an answer, or None for a decline."""
        if self.world.dice.random() < 0.15:
            return None
        return self.world.dice.choice(CHOICES if self.world.is_approval(run) else TEXTS)

    async def _click(self, sent, path):
        """Open a link, send its form, and confirm the answer where the page asks for it."""
        page = await self._ask("GET", path)
        if page.status_code == 200:
            version = _field(page.text, "version")
        else:  # Whoever forges links knows the question.
            asked = await questions_of(self.world.outside, sent.run)
            questions = [each for each in asked if each["id"].endswith("/q1")]
            version = version_of(questions[0]) if questions else ""
        form = {"version": version, "do": "decline" if sent.answer is None else "answer"}
        name = "typed" if self.world.task_of(sent.run).startswith("ordinary") else "picked"
        form |= {} if sent.answer is None else {name: sent.answer}
        done = await self._ask("POST", path, form)
        if done.status_code == 200 and 'name="confirm"' in done.text:
            await trio.sleep(self.world.dice.uniform(0.0, 20.0))
            done = await self._ask("POST", path, {**form, "confirm": _field(done.text, "confirm")})
        sent.status, sent.result = done.status_code, "taken" if done.status_code == 200 else "refused"

    async def disturb(self, run):
        """Try forged and late links, links of people who are not asked, the command line and the HTTP API."""
        dice, answering = self.world.dice, self.world.config.answering
        for _ in range(dice.randint(0, 6)):
            await trio.sleep(dice.expovariate(1 / 250.0))
            who = dice.choice(("forged", "late", "eve", "ana", "bob", "cy", "cli", "api"))
            if who in ("cli", "api"):
                if dice.random() < 0.4:
                    await self._elsewhere(Sent(run, who, who, self._answer(run), trio.current_time()))
                continue
            until = int(self.world.clock.now()) + (-5 if who == "late" else 900)
            person = who if who in (*PEOPLE, "eve") else "bob"
            token = signed_link(answering, AnswerLink(person, f"{run}/q1", until, dice.choice(("link", "email"))))
            token = token[:-6] + "AAAAAA" if who == "forged" else token
            self.nursery.start_soon(self._use, run, person, f"/answer/{token}", who)

    async def _elsewhere(self, sent):
        self.world.sent.append(sent)
        name = f"{sent.run}/q1"
        try:
            if sent.answer is None:
                receipt = await self.world.outside.decline(name, via=sent.who)
            else:
                receipt = await self.world.outside.answer(name, sent.answer, via=sent.who)
            sent.result = "taken" if receipt.result == "accepted" else "refused"
        except ReplanError:
            sent.result = "refused"

    async def _ask(self, *request, **more):
        """Send a request to the server that runs now. Raises `Cut`."""
        if self.world.life is None:
            raise Cut
        return await self.world.life.answer(*request, **more)


def _field(text, name):
    return re.search(rf'name="{name}" value="([^"]*)"', text)[1]
