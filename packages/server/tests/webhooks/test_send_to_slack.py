"""The program on the page about Slack turns signed webhooks into messages, and nothing else."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from packages.server.tests.web.world import lasting_port, served
from packages.server.tests.webhooks.conftest import secret
from packages.server.tests.webhooks.test_delivery import until
from tests.docs.blocks import ROOT, blocks
from tests.support.receiver import receiving

PAGE = ROOT / "docs/how-to/send-to-slack.md"


@contextmanager
def program(tmp_path, slack):
    """Run the program of the page, with a receiver in place of Slack; yield its address."""
    [script] = [block.body for block in blocks(PAGE) if block.language == "python"]
    (tmp_path / "to_slack.py").write_text(script)
    port = lasting_port()
    environment = {**os.environ, "WEBHOOK_SECRET": secret(1), "SLACK_URL": slack, "PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, "to_slack.py"],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


async def test_a_question_becomes_a_message_with_links_and_comes_again_where_slack_refuses_it(tmp_path, quick):
    with receiving() as slack, program(tmp_path, slack.url) as address:
        slack.behave = lambda number: 500 if number == 1 else 200
        hook = {"url": address, "secrets": [secret(1)], "page": "https://replan.example.org", "events": ["waiting"]}
        settings = {"people": {"ana": {"webhooks": ["chat"]}}, "answer_links": {"secrets": [secret(2)]}}
        async with served(tmp_path, webhooks={"chat": hook}, settings=settings) as web:
            await web.start()
            await until(lambda: slack.taken)
    [refused, taken] = [json.loads(each.body)["text"] for each in slack.deliveries]
    assert refused == taken
    first, link = taken.splitlines()
    assert first == "run.waiting: Login fails"
    assert link.startswith("Answer as ana: https://replan.example.org/answer/")


def test_what_is_not_signed_sends_nothing(tmp_path):
    with receiving() as slack, program(tmp_path, slack.url) as address:
        for headers in ({}, {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}):
            request = urllib.request.Request(address, b'{"type": "x"}', headers)
            with pytest.raises(ConnectionError):  # The program ends the connection without an answer.
                _sent(request)
        assert slack.deliveries == []


def _sent(request):
    """Send a request once the program has started."""
    ends = time.monotonic() + 60
    while True:
        try:
            return urllib.request.urlopen(request, timeout=10)
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > ends:
                raise
            time.sleep(0.05)
