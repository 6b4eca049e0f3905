"""What is pressed in Slack answers once, by the person whose account it was; everything else changes nothing.

The requests are the documented `block_actions` payload with the values of this server, signed as Slack signs.
"""

import json
import time
from urllib.parse import urlencode

import pytest
import trio

from replan.setup.settings import UserConfig, read_user_config
from replan.web import slack_requests
from replan.webhooks.slack_buttons import AnswerButton, button_value, slack_signature
from runtime.core.errors import UsageProblem
from tests.cli.samples import ANALYSIS, PLAN, PROBLEM
from tests.support.receiver import receiving
from tests.web.test_answer_pages import answers_of, send
from tests.web.test_hostile_texts import REVIEWED
from tests.web.test_inbox import field
from tests.web.test_proxy import proxy
from tests.web.world import PLANS, served, use_home
from tests.webhooks.conftest import secret
from tests.webhooks.test_delivery import until
from tests.webhooks.test_slack_buttons import PAYLOAD, SIGNED

KEY = SIGNED["signing_secret"]
PAGE = "https://replan.example.org"
CHOOSES = {
    **PLANS,
    "g_analysis": [
        {**ANALYSIS, "open_questions": [{"question": "Which is it?", "choices": ["SQLite", "Postgres"]}]},
        ANALYSIS,
        ANALYSIS,
    ],
}
PEOPLE = {
    "ana": {"webhooks": ["ops"], "slack": "UA8RXUSPL"},
    "bob": {"webhooks": ["ops"], "slack": "U0BOB", "may": "approve"},
    "eve": {"webhooks": ["other"], "slack": "U0EVE"},
}


SETTINGS = {
    "people": PEOPLE,
    "answer_links": {"secrets": [secret(2)]},
    "slack": {"signing_secrets": [KEY], "team": PAYLOAD["team"]["id"]},
}


def answering():
    """Return the settings by which buttons are signed."""
    hook = {"url": "http://127.0.0.1:1", "format": "slack", "page": PAGE}
    return UserConfig.model_validate({**SETTINGS, "webhooks": {"ops": hook, "other": hook}}).answering


class Slack:
    """Slack as the server sees it: it shows the messages, and sends what is pressed."""

    def __init__(self, web, receiver):
        self.web, self.receiver = web, receiver

    async def buttons(self):
        """Return the values of the buttons of the last message, by their labels."""
        await until(lambda: any("blocks" in json.loads(each.body) for each in self.receiver.deliveries))
        blocks = json.loads(self.receiver.deliveries[0].body)["blocks"]
        return {each["text"]["text"]: each.get("value", "") for each in blocks[-1]["elements"]}

    async def send(self, value, user="UA8RXUSPL", *, key=KEY, at=None, body=None, headers=None, **change):
        """Send a click; return the response and what the person is told, if anything."""
        action = {**PAYLOAD["actions"][0], "value": value}
        reply = f"http://127.0.0.1:{self.receiver.port}/actions/x"
        payload = {**PAYLOAD, "user": {"id": user}, "actions": [action], "response_url": reply, **change}
        body = urlencode({"payload": json.dumps(payload)}).encode() if body is None else body
        stamp = str(int(time.time() if at is None else at))
        own = {"x-slack-request-timestamp": stamp, "x-slack-signature": slack_signature(key.encode(), stamp, body)}
        own |= {"content-type": "application/x-www-form-urlencoded"}
        before = len(self.replies())
        response = await self.web.client.post("/slack/actions", content=body, headers={**own, **(headers or {})})
        with trio.move_on_after(5 if response.status_code == 200 and value and "response_url" not in change else 0.3):
            while len(self.replies()) == before:  # noqa: ASYNC110 -- the receiver is in another thread
                await trio.sleep(0.02)
        found = self.replies()[before:]
        return response.status_code, found[0] if found else None

    def replies(self):
        return [json.loads(each.body) for each, path in zip(
            self.receiver.deliveries, self.receiver.paths, strict=False) if path.startswith("/actions")]  # fmt: skip

    async def told(self, *arguments, **options):
        """Send a click, which is acknowledged; return the text that the person sees."""
        status, reply = await self.send(*arguments, **options)
        assert (status, reply["response_type"]) == (200, "ephemeral")
        return reply["text"]


class Opened:
    """A server with a channel of Slack, for the length of a block."""

    def __init__(self, folder, **more):
        self.folder, self.more = folder, more

    async def __aenter__(self):
        self.receiving = receiving()
        receiver = self.receiving.__enter__()
        hook = {"url": receiver.url, "format": "slack", "page": PAGE, "events": ["waiting"]}
        hooks = {"ops": {**hook, "buttons": True}, "other": {**hook, "events": ["parked"]}}
        scripts = {"chooses": CHOOSES, **self.more.pop("scripts", {})}
        self.serving = served(self.folder, webhooks=hooks, settings=SETTINGS, scripts=scripts, **self.more)
        web = await self.serving.__aenter__()
        return Slack(web, receiver)

    async def __aexit__(self, *error):
        await self.serving.__aexit__(*error)
        self.receiving.__exit__(None, None, None)


async def test_a_button_answers_once_and_the_trace_and_the_page_say_who_it_was(tmp_path):
    async with Opened(tmp_path) as slack:
        web = slack.web
        run = await web.start("chooses")
        buttons = await slack.buttons()
        assert [*buttons] == ["SQLite", "Postgres", "Answer on the page", "Open Replan"]
        begun = trio.current_time()
        assert await slack.told(buttons["Postgres"]) == "Your answer is recorded: Postgres"
        assert trio.current_time() - begun < 3
        await web.settled(run, "finished")
        for value, user in ((buttons["Postgres"], "UA8RXUSPL"), (buttons["SQLite"], "U0BOB")):
            text = await slack.told(value, user)
            assert text == "This question was answered by ana through Slack. Nothing was changed."
        [event] = await answers_of(web, run)
        assert (event.answer, event.via, event.person) == ("Postgres", "slack", "ana")
        assert "ana answered through Slack: Postgres" in (await web.browser.get(f"/runs/{run}")).text
        assert "answered by ana through Slack" in (await web.browser.get(f"/runs/{run}/records")).text


async def test_doubled_clicks_before_the_run_goes_on_are_told_apart(tmp_path):
    async with Opened(tmp_path) as slack:
        run = await slack.web.start("chooses")
        buttons = await slack.buttons()
    async with Opened(tmp_path, hosts=False) as slack:
        assert "recorded: Postgres" in await slack.told(buttons["Postgres"])
        for label, user in (("Postgres", "UA8RXUSPL"), ("SQLite", "U0BOB")):
            text = await slack.told(buttons[label], user)
            assert text == "This question was answered by ana through Slack. Nothing was changed."
        assert len(await slack.web.engine.journal.inbox(run)) == 1


async def test_an_approval_is_never_given_in_slack_but_confirmed_on_the_page(tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    options = {"scripts": {"one": {"g_plan": [PLAN]}}, "workflows": {"reviewed": str(workflow)}}
    async with Opened(tmp_path, **options) as slack:
        web = slack.web
        run = await web.start("one", problem=PROBLEM, workflow="reviewed")
        buttons = await slack.buttons()
        assert [*buttons] == ["Answer on the page", "Open Replan"]
        assert "ana may not answer this question" in (await slack.told(buttons["Answer on the page"])).lower()
        status, reply = await slack.send(buttons["Answer on the page"], "U0BOB")
        assert status == 200
        address = reply["blocks"][1]["elements"][0]["url"]
        assert address.startswith(f"{PAGE}/answer/")
        assert await web.engine.journal.inbox(run) == []
        path = address.removeprefix(PAGE)
        page = await web.client.get(path)
        first = await send(web, path, page, picked="approve")
        assert "Confirm as bob" in first.text
        done = await send(web, path, page, picked="approve", confirm=field(first.text, "confirm"))
        assert "Answered by bob through Slack" in done.text
        assert (await web.settled(run, "finished")).outcome == "success"


async def test_a_click_that_is_forged_late_or_of_somebody_else_changes_nothing(tmp_path):
    async with Opened(tmp_path) as slack:
        web = slack.web
        run = await web.start("chooses")
        await web.settled(run, "waiting")
        good = (await slack.buttons())["Postgres"]
        now = time.time()
        forged = [
            {"key": "another0another0another0"},
            {"at": now - 301},
            {"at": now + 302},
            {"headers": {"x-slack-signature": "v0=" + "0" * 64}},
            {"headers": {"x-slack-request-timestamp": str(int(now) - 1)}},
        ]
        for change in forged:
            assert await slack.send(good, **change) == (403, None), change
        told = {
            "this workspace answers no questions here": {"team": {"id": "T0OTHER"}},
            "nobody with your slack account": {"user": "U0NOBODY"},
            "eve may not answer this question": {"user": "U0EVE"},
        }
        for text, change in told.items():
            reply = await slack.told(good, **change)
            assert text in reply.lower()
            assert "Nothing was changed." in reply
        for value in (good[:-1], "click_me_123"):
            assert "not made by this server" in await slack.told(value)
        payload = {"payload": json.dumps(PAYLOAD)}
        shapes = [b"", b"payload=x", urlencode([*payload.items(), *payload.items()]).encode(), b"payload=%ff",
                  urlencode({"payload": json.dumps({**PAYLOAD, "type": "view_submission"})}).encode(),
                  json.dumps(PAYLOAD).encode(), b"&".join([b"a=1"] * 20)]  # fmt: skip
        for body in shapes:
            assert await slack.send("", body=body) == (400, None), body
        assert (await slack.send("", body=b"x" * (slack_requests.BODY_MAX + 1)))[0] == 413
        assert await slack.send("") == (200, None)  # A button that opens an address.
        late = button_value(answering(), AnswerButton("ops", f"{run}/q1", int(now) - 1, "Postgres"))
        assert await slack.told(late) == "This button has expired. Nothing was changed."
        unknown = button_value(answering(), AnswerButton("ops", f"{run}/q9", int(now) + 60, "Postgres"))
        assert "Nobody needs an answer to this question any more." in await slack.told(unknown)
        wrong = button_value(answering(), AnswerButton("ops", f"{run}/q1", int(now) + 60, "Oracle"))
        assert "Nothing was changed." in await slack.told(wrong)
        assert await web.engine.journal.inbox(run) == []


async def test_a_reply_goes_to_slack_alone_and_its_failure_takes_no_answer_back(tmp_path, caplog):
    async with Opened(tmp_path) as slack:
        run = await slack.web.start("chooses")
        good = (await slack.buttons())["Postgres"]
        with receiving() as other:
            assert await slack.send(good, response_url=f"http://127.0.0.1:{other.port}/x") == (200, None)
            assert other.deliveries == []
        assert "slack.not_told" in caplog.text
        for address in ("", "http://127.0.0.1:1@evil.example/", "http://[", "file:///etc/passwd"):
            assert (await slack.send(good, response_url=address))[0] == 200
        await slack.web.settled(run, "finished")
        slack.receiver.behave = lambda _: 500
        assert (await slack.send(good))[0] == 200
        await until(lambda: "status 500" in caplog.text)


async def test_a_slow_journal_is_said_to_slack_before_it_stops_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(slack_requests, "ANSWER_SECONDS", 0.2)
    async with Opened(tmp_path) as slack:
        await slack.web.start("chooses")
        good = (await slack.buttons())["Postgres"]

        async def stuck(*_):
            await trio.sleep_forever()

        monkeypatch.setattr(slack_requests, "open_question", stuck)
        assert (await slack.send(good))[0] == 503


async def test_a_server_without_an_app_takes_nothing(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        assert (await web.client.post("/slack/actions", content=b"payload=x")).status_code == 403


WRONG = {
    "signing_secrets": [([], ""), (["short"], "not of the form"), (["with space with space"], "not of the form")],
    "team": [("U9TK3CUKW", "no id of Slack"), ("t9tk3cukw", "no id of Slack"), ("", "no id of Slack")],
}


@pytest.mark.parametrize("key", WRONG)
def test_a_slack_app_that_cannot_be_used_is_refused_without_its_secret(tmp_path, key):
    for value, cause in WRONG[key]:
        path = tmp_path / "config.yaml"
        path.write_text(json.dumps({"slack": {"signing_secrets": [KEY], "team": "T1", key: value}}))
        with pytest.raises(UsageProblem) as caught:
            read_user_config(path)
        assert cause in str(caught.value)
        assert key in str(caught.value)
        assert "with space" not in str(caught.value)


@pytest.mark.parametrize("missing", ["", "account", "buttons"])
def test_the_doctor_says_who_answers_through_slack_or_why_nobody_can(tmp_path, monkeypatch, capsys, missing):
    from replan.cli import diagnosis

    use_home(tmp_path, monkeypatch)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    hook = {"url": "http://127.0.0.1:1", "format": "slack", "page": PAGE, "buttons": missing != "buttons"}
    people = {"ana": {"webhooks": ["ops"], **({} if missing == "account" else {"slack": "UA8RXUSPL"})}}
    settings = {**SETTINGS, "people": people, "webhooks": {"ops": hook}}
    (home / "config.yaml").write_text(json.dumps(settings))
    diagnosis.examine(online=False, model=None, as_json=True)
    text = capsys.readouterr().out
    [found] = [each for each in json.loads(text)["checks"] if each["name"] == "slack"]
    assert found["ok"] == (not missing)
    said = "workspace T9TK3CUKW, 1 signing secret; accounts of ana; buttons in ops"
    assert said in found["found"] if not missing else "so nothing is answered through Slack" in found["found"]
    assert KEY not in text


async def test_behind_a_proxy_slack_needs_no_user_and_the_name_of_the_server(tmp_path):
    async with Opened(tmp_path, proxy=proxy()) as slack:
        await slack.web.start("chooses")
        good = (await slack.buttons())["Postgres"]
        assert (await slack.send(good, headers={"host": "evil.example"}))[0] == 421
        text = await slack.told(good, headers={"host": "replan.example.org"})
        assert text == "Your answer is recorded: Postgres"
