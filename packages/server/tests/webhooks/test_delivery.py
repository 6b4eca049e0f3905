"""Messages arrive, signed, in the order of a run's records, at least once, whatever the receiver does."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import trio
from standardwebhooks import WebhookVerificationError

from packages.server.tests.web.world import served
from packages.server.tests.webhooks.conftest import secret
from replan_server.webhooks import sender
from replan_server.webhooks.messages import message_id
from runtime.drive.options import DriveOptions, Stop
from tests.cli.samples import PROBLEM
from tests.journal.behind import change
from tests.support.receiver import free_port, receiving

ROOT = Path(__file__).resolve().parents[4]


def hook(receiver, *secrets, **more):
    return {"ops": {"url": receiver.url, "secrets": secrets or [secret(1)], **more}}


async def until(condition, seconds=60):
    with trio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - the receiver is in another thread
            await trio.sleep(0.02)


async def test_a_question_and_an_end_are_told_with_ids_a_title_and_a_link(tmp_path, quick, receiver):
    page = "https://replan.example.org"
    async with served(tmp_path, webhooks=hook(receiver, page=page)) as web:
        run = await web.start()
        await until(lambda: len(receiver.taken) == 1)
        await web.engine.answer(f"{run}/q1", "The second version")
        await until(lambda: len(receiver.taken) == 2)
    asked, ended = receiver.taken
    asked.verify(secret(1))
    ended.verify(secret(1))
    assert (asked.type, ended.type) == ("run.waiting", "run.finished")
    assert asked.data["question"] == f"{run}/q1"
    assert (ended.data["run_id"], ended.data["kind"], ended.data["outcome"]) == (run, "planning", "success")
    assert ended.data["link"] == f"{page}/open"
    assert asked.data["title"] == "Login fails"
    assert asked.id == message_id(run, asked.data["seq"]) != ended.id
    assert "timeout when the session store" not in asked.body.decode() + ended.body.decode()
    assert len(receiver.deliveries) == 2
    assert asked.headers["content-type"] == "application/json"
    assert abs(int(asked.headers["webhook-timestamp"]) - time.time()) < 300


async def test_a_limit_that_is_near_is_told_to_a_webhook_that_names_it_and_shown_in_lists(tmp_path, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver, events=["limit_near", "finished"])) as web:
        run = await web.start("plans", limits={"max_calls": 5, "at_limit": "ask"})
        await until(lambda: len(receiver.taken) == 3)
        told, nearer, _ = receiver.taken
    assert [message.type for message in receiver.taken] == ["run.limit_near", "run.limit_near", "run.finished"]
    assert {**told.data, "run_id": run} == told.data
    amounts = {"limit": "calls", "percent": 50, "used": 3, "most": 5}
    assert amounts.items() <= told.data.items()
    assert (amounts | {"percent": 80, "used": 4}).items() <= nearer.data.items()


async def test_a_run_that_a_person_has_parked_is_told(tmp_path, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        await web.start("plans")
        await until(lambda: receiver.taken)
    stop = Stop()
    stop.requested.set()
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run, DriveOptions(stop=stop))
    async with served(tmp_path, webhooks=hook(receiver)):
        await until(lambda: len(receiver.taken) == 2)
    told = receiver.taken[1]
    told.verify(secret(1))
    assert (told.type, told.data["run_id"], told.data["cause"]) == ("run.parked", run, "")


async def test_a_changed_message_or_another_secret_does_not_verify(tmp_path, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        await web.start("plans")
        await until(lambda: receiver.taken)
    (told,) = receiver.taken
    with pytest.raises(WebhookVerificationError):
        told.verify(secret(2))
    told.body = told.body.replace(b"success", b"failure")
    with pytest.raises(WebhookVerificationError):
        told.verify(secret(1))


async def test_while_a_secret_is_replaced_both_verify(tmp_path, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver, secret(2), secret(1))) as web:
        await web.start("plans")
        await until(lambda: receiver.taken)
    (told,) = receiver.taken
    told.verify(secret(1))
    told.verify(secret(2))
    with pytest.raises(WebhookVerificationError):
        told.verify(secret(3))


async def test_only_the_events_that_are_asked_for_are_told(tmp_path, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver, events=["waiting"])) as web:
        await web.settled(await web.start("plans"), "finished")
        await web.start("asks")
        await until(lambda: receiver.taken)
    assert [told.type for told in receiver.deliveries] == ["run.waiting"]


async def test_a_receiver_that_is_down_gets_everything_when_it_is_back(tmp_path, quick):
    port = free_port()
    webhooks = {"ops": {"url": f"http://127.0.0.1:{port}/hook", "secrets": [secret(1)]}}
    async with served(tmp_path, webhooks=webhooks) as web:
        run = await web.start()
        assert (await web.settled(run)).status == "waiting"
        await web.engine.answer(f"{run}/q1", "The second version")
        assert (await web.settled(run, "finished")).outcome == "success"
        await trio.sleep(0.5)
        with receiving(port) as receiver:
            await until(lambda: len(receiver.taken) == 2)
    assert [told.type for told in receiver.taken] == ["run.waiting", "run.finished"]


def redirected(handler):
    handler.send_response(307)
    handler.send_header("location", "/elsewhere")
    handler.send_header("content-length", "0")
    handler.end_headers()


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"\0" * 65536)


FAULTS = {"broken": 500, "busy": 429, "not found": 404, "a redirect": redirected}


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_not_taken_is_sent_again_with_the_same_id_and_a_new_signature(tmp_path, quick, receiver, fault):
    receiver.behave = lambda number: FAULTS[fault] if number <= 2 else 204
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        await web.start("plans")
        await until(lambda: receiver.taken)
    first, second, third = receiver.deliveries
    assert first.id == second.id == third.id
    assert first.body == second.body == third.body
    for each in receiver.deliveries:
        each.verify(secret(1))
    assert set(receiver.paths) == {"/hook"}


async def test_a_slow_receiver_holds_up_neither_runs_nor_messages_of_other_runs(tmp_path, quick, receiver, monkeypatch):
    monkeypatch.setattr(sender, "POST_SECONDS", 1.0)
    first = []

    def behave(number):
        if number == 1:
            first.append(number)
            return lambda _: time.sleep(3)
        return 204

    receiver.behave = behave
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        slow = await web.start("plans")
        await until(lambda: first)
        begun = trio.current_time()
        other = await web.start("plans")
        await web.settled(other, "finished")
        await until(lambda: any(told.data["run_id"] == other for told in receiver.taken))
        await until(lambda: any(told.data["run_id"] == slow for told in receiver.taken))
        assert trio.current_time() - begun < 30


async def test_the_body_of_an_answer_is_not_read(tmp_path, quick, receiver):
    receiver.behave = lambda _: endless
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        run = await web.start("plans")
        await until(lambda: receiver.deliveries)

        async def passed():
            behind = await web.engine.journal.behind("webhook:ops")
            return all(row.run != run for row in behind)

        with trio.fail_after(300):
            while not await passed():  # noqa: ASYNC110 - nothing tells when a cursor has moved
                await trio.sleep(0.05)
    assert len(receiver.deliveries) == 1


async def test_a_receiver_that_is_gone_gets_no_more(tmp_path, quick, receiver):
    receiver.behave = lambda _: 410
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        await web.settled(await web.start("plans"), "finished")
        await until(lambda: receiver.deliveries)
        await web.settled(await web.start("plans"), "finished")
        await trio.sleep(0.5)
    assert len(receiver.deliveries) == 1


async def test_an_old_message_that_was_tried_is_left_out_and_the_next_ones_are_told(
    tmp_path, quick, receiver, monkeypatch
):
    monkeypatch.setattr(sender, "GIVE_UP_SECONDS", 0.0)
    receiver.behave = lambda number: 500 if number <= 2 else 204
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        run = await web.start()
        await web.settled(run, "waiting")
        await until(lambda: len(receiver.deliveries) >= 2)
        await web.engine.answer(f"{run}/q1", "The second version")
        await until(lambda: receiver.taken)
    assert [told.type for told in receiver.deliveries] == ["run.waiting", "run.waiting", "run.finished"]


async def test_a_new_webhook_is_not_told_what_happened_before(tmp_path, quick, receiver):
    async with served(tmp_path) as web:
        await web.settled(await web.start("plans"), "finished")
        waiting = await web.start()
        await web.settled(waiting, "waiting")
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        await web.engine.answer(f"{waiting}/q1", "The second version")
        await until(lambda: receiver.taken)
    assert [(told.type, told.data["run_id"]) for told in receiver.deliveries] == [("run.finished", waiting)]


def test_a_host_that_is_killed_before_it_notes_a_delivery_sends_it_again_with_the_same_id(
    tmp_path, home, receiver, commands
):
    home.mkdir(mode=0o700)
    settings = {"webhooks": {"ops": {"url": receiver.url, "secrets": [secret(1)]}}}
    (home / "config.yaml").write_text(json.dumps(settings))
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM)
    environment = {"PATH": os.environ["PATH"], "REPLAN_HOME": str(home), "PYTHONPATH": str(ROOT)}

    def start(*arguments):
        command = [commands.folder / "replan", *arguments]
        return subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True)

    host = start("host")
    killed = host

    def kill(_):
        commands.kill(killed.pid)

    receiver.behave = lambda number: kill if number == 1 else 204
    assert "serving" in host.stdout.readline()
    starter = start("run", str(problem), "-m", "template:bug", "--detach")
    starter.communicate(timeout=300)
    assert starter.returncode == 0
    host.communicate(timeout=300)
    assert host.returncode == -signal.SIGKILL
    host = start("host")
    try:
        ends = time.monotonic() + 60
        while not receiver.taken:
            assert time.monotonic() < ends
            time.sleep(0.05)
    finally:
        host.send_signal(signal.SIGTERM)
        host.communicate(timeout=300)
    first, second = receiver.deliveries
    assert (first.id, first.body) == (second.id, second.body)
    second.verify(secret(1))


async def test_a_proxy_variable_that_is_wrong_stops_no_run(tmp_path, quick, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "htp://[::wrong")
    webhooks = {"ops": {"url": "https://127.0.0.2:1/hook", "secrets": [secret(1)]}}
    async with served(tmp_path, webhooks=webhooks) as web:
        assert (await web.settled(await web.start("plans"))).outcome == "success"


async def test_a_run_in_a_newer_format_holds_up_no_messages_of_other_runs(tmp_path, home, quick, receiver):
    async with served(tmp_path, webhooks=hook(receiver)):
        pass  # The cursor is made.
    async with served(tmp_path, hosts=False) as web:
        newer, ours = await web.start("plans"), await web.start("plans")
    change(home / "journal.sqlite3", "UPDATE runs SET format = format + 1 WHERE run = ?", newer)
    async with served(tmp_path, webhooks=hook(receiver)):
        await until(lambda: receiver.taken, seconds=10)
    assert [told.data["run_id"] for told in receiver.deliveries] == [ours]


async def test_a_run_that_was_deleted_before_its_message_was_taken_is_forgotten(tmp_path, quick, receiver, caplog):
    caplog.set_level("INFO", logger="replan.webhook")
    receiver.behave = lambda _: 500
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        await until(lambda: receiver.deliveries)
        row = await web.engine.journal.row(run)
        await web.engine.journal.delete({run: row.last_seq})
        receiver.behave = lambda _: 204
        other = await web.start("plans")
        await until(lambda: receiver.taken)
        await until(lambda: "webhook.goes_on" in caplog.text, seconds=5)
    assert [told.data["run_id"] for told in receiver.taken] == [other]
