"""The people of a simulated home: some answer by links, late, twice or never; others forge them.

All random choices are drawn from the world's generator, so that the same seed gives the same events.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

import trio

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from replan.runs.inbox import questions_of
from replan_server.service.run_data import version_of
from replan_server.webhooks.answer_links import AnswerLink, sign_link
from runtime.core.errors import ReplanError

PAGE = "http://127.0.0.1:8430"
PEOPLE = {
    "ana": {"webhooks": ["ops", "room"]},
    "bob": {"webhooks": ["ops", "boss"], "may": "approve"},
    "cy": {"webhooks": ["boss", "room"], "may": "approve"},
}
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
    """The people with links, and the others; `nursery` has their tasks."""

    def __init__(self, world):
        self.world, self.nursery = world, None

    async def read(self, message):
        """Have each person of a channel use a link of a message, or not."""
        if not message.data["question"].endswith("/q1"):
            return
        for person, link in message.data.get("answer_links", {}).items():
            if self.world.dice.random() < self.world.patience:
                self.nursery.start_soon(self._use, message.data["run_id"], person, link.removeprefix(PAGE), "link")

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
            token = sign_link(answering, AnswerLink(person, f"{run}/q1", until))
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
