"""A question is answered through a signed link: once, by its person, and by nobody who only opens the link."""

import random

import httpx2
import pytest
import trio

from actors.run.questions import ClarificationAnswered
from packages.server.tests.web.test_hostile_texts import REVIEWED
from packages.server.tests.web.test_inbox import field
from packages.server.tests.web.world import served
from packages.server.tests.webhooks.conftest import secret
from replan_server.settings import ServerSettings
from replan_server.webhooks.answer_links import AnswerLink, sign_link
from tests.cli.samples import PLAN, PROBLEM
from tests.support.receiver import free_port, receiving

CROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
HOOK = {"url": "http://127.0.0.1:1/", "secrets": [secret(1)], "page": "http://127.0.0.1:8430", "events": ["parked"]}
PEOPLE = {"ana": {"webhooks": ["ops"]}, "bob": {"webhooks": ["ops"], "may": "approve"}}
SETTINGS = {"people": PEOPLE, "answer_links": {"secrets": [secret(2)]}}
ANSWERING = ServerSettings.model_validate({**SETTINGS, "webhooks": {"ops": HOOK}}).answering


def serving(folder, **more):
    return served(folder, webhooks={"ops": HOOK}, settings=SETTINGS, **more)


def path_of(web, run, person="ana", *, name="q1", hours=1.0):
    until = int(web.engine.clock.now() + hours * 3600)
    return f"/answer/{sign_link(ANSWERING, AnswerLink(person, f'{run}/{name}', until))}"


async def send(web, path, page, **fields):
    data = {"version": field(page.text, "version"), "do": "answer", **fields}
    return await web.client.post(path, data=data, headers={"origin": web.address})


async def answers_of(web, run):
    return [each.event for each in await web.engine.journal.read(run) if isinstance(each.event, ClarificationAnswered)]


async def test_opening_a_link_changes_nothing_and_its_form_answers_once(tmp_path):
    async with serving(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        path = path_of(web, run)
        before = await web.engine.journal.read(run)
        for headers in ({}, CROSS):
            page = await web.client.get(path, headers=headers)
            assert page.status_code == 200
            assert "Question for ana" in page.text
        assert (await web.client.head(path)).status_code == 200
        assert await web.engine.journal.read(run) == before
        assert await web.engine.journal.inbox(run) == []

        done = await send(web, path, page, typed="3.12")
        assert done.status_code == 200
        assert "Answered by ana through a link" in done.text
        await web.settled(run, "finished")
        for answer in ("3.12", "4.0"):
            again = await send(web, path, page, typed=answer)
            assert again.status_code == 409
            assert "This question was answered by ana through a link." in again.text
        assert "answered by ana" in (await web.client.get(path_of(web, run, "bob"))).text
        [event] = await answers_of(web, run)
        assert (event.answer, event.via, event.person) == ("3.12", "link", "ana")
        assert "ana answered through a link: 3.12" in (await web.browser.get(f"/runs/{run}")).text
        assert "answered by ana through a link" in (await web.browser.get(f"/runs/{run}/records")).text


async def test_what_is_forged_late_or_of_somebody_else_changes_nothing(tmp_path):
    async with serving(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        good = path_of(web, run)
        page = await web.client.get(good)
        forged = [f"{good}A", f"{good[:-1]}{'A' if good[-1] != 'A' else 'B'}", "/answer/x"]
        refused = {
            **dict.fromkeys(forged, 403),
            path_of(web, run, hours=-1): 403,
            path_of(web, run, "eve"): 403,
            path_of(web, run, name="q9"): 409,
            path_of(web, "abcd2345"): 410,
        }
        for path, status in refused.items():
            opened = 404 if path in forged else status
            assert (await web.client.get(path)).status_code == opened, path
            assert (await send(web, path, page, typed="3.12")).status_code == status, path
        assert (await web.client.post(good, data={"version": "0", "typed": "3.12"})).status_code == 409
        for headers in ({"origin": "https://evil.example"}, CROSS):
            assert (await web.client.post(good, data={"typed": "3.12"}, headers=headers)).status_code == 403
        blank = await send(web, good, page, typed=" ")
        assert blank.status_code == 422
        assert await web.engine.journal.inbox(run) == []
        assert (await send(web, good, page, do="decline")).status_code == 200
        assert "declined by ana through a link" in (await web.client.get(good)).text


async def test_a_server_without_people_takes_no_link(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        assert (await web.client.get(path_of(web, run))).status_code == 404


async def test_an_approval_is_confirmed_on_a_second_page_and_is_not_for_everybody(tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    workflows = {"reviewed": str(workflow)}
    async with serving(tmp_path, scripts={"one": {"g_plan": [PLAN]}}, workflows=workflows) as web:
        run = await web.start("one", problem=PROBLEM, workflow="reviewed")
        await web.settled(run, "waiting")
        assert (await web.client.get(path_of(web, run))).status_code == 403
        path = path_of(web, run, "bob")
        page = await web.client.get(path)
        first = await send(web, path, page, picked="approve")
        assert "Confirm as bob" in first.text
        confirm = field(first.text, "confirm")
        for wrong in ({"picked": "approve", "confirm": "1.x"}, {"picked": "reject", "typed": "no", "confirm": confirm}):
            assert "Confirm as bob" in (await send(web, path, page, **wrong)).text
        assert await web.engine.journal.inbox(run) == []
        done = await send(web, path, page, picked="approve", confirm=confirm)
        assert "Answered by bob through a link" in done.text
        assert (await web.settled(run, "finished")).outcome == "success"
        assert (await send(web, path, page, picked="approve", confirm=confirm)).status_code == 409


async def test_a_message_has_the_links_of_those_who_own_its_channel(tmp_path):
    with receiving() as receiver:
        port = free_port()
        hook = {"url": receiver.url, "secrets": [secret(1)], "page": f"http://127.0.0.1:{port}"}
        other = {**HOOK, "url": receiver.url}
        settings = {**SETTINGS, "people": {**PEOPLE, "eve": {"webhooks": ["other"]}}}
        hooks = {"ops": hook, "other": other}
        async with served(tmp_path, webhooks=hooks, settings=settings, port=port) as web:
            run = await web.start("asks")
            with trio.fail_after(300):
                while not receiver.taken:  # noqa: ASYNC110 - the receiver is in another thread
                    await trio.sleep(0.02)
            links = receiver.taken[0].data["answer_links"]
            assert sorted(links) == ["ana", "bob"]
            async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
                page = await client.get(links["ana"])
                fields = {"version": field(page.text, "version"), "do": "answer", "typed": "3.12"}
                done = await client.post(links["ana"], data=fields, headers={"origin": web.loopback})
            assert "Answered by ana" in done.text
            await web.settled(run, "finished")


@pytest.mark.parametrize("seed", range(3))
async def test_of_many_clicks_in_any_order_one_answers(tmp_path, seed):
    """Links of two people, doubled and forged ones, the page, an answer elsewhere, and restarts of the server."""
    dice = random.Random(seed)
    async with serving(tmp_path, hosts=True) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
    results = []
    for _ in range(3):
        async with serving(tmp_path, hosts=False) as web:
            links = {person: path_of(web, run, person) for person in PEOPLE}
            pages = {person: await web.client.get(path) for person, path in links.items()}

            async def click(person, web=web, links=links, pages=pages):
                await trio.sleep(dice.random() / 50)
                if 'name="version"' not in pages[person].text:
                    results.append((person, pages[person].status_code))
                    return
                answer = await send(web, links[person], pages[person], typed=f"{person}'s")
                results.append((person, answer.status_code))

            async def elsewhere(web=web):
                await trio.sleep(dice.random() / 50)
                try:
                    receipt = await web.engine.answer(f"{run}/q1", "mine", via="cli")
                except Exception as error:  # noqa: BLE001
                    results.append(("cli", type(error).__name__))
                else:
                    results.append(("cli", 200 if receipt.result == "accepted" else receipt.result))

            async with trio.open_nursery() as nursery:
                for person in dice.choices(["ana", "bob", "ana", "cli"], k=8):
                    nursery.start_soon(*((elsewhere,) if person == "cli" else (click, person)))
    assert [status for _, status in results].count(200) == 1
    assert {status for _, status in results} <= {200, 409, "conflict", "duplicate"}
    async with serving(tmp_path) as web:
        await web.settled(run, "finished")
        [event] = await answers_of(web, run)
    [winner] = [who for who, status in results if status == 200]
    assert (event.via, event.person) == (("cli", "") if winner == "cli" else ("link", winner))
