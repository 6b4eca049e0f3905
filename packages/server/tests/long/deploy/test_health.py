"""Health endpoints: liveness needs no database, readiness does; neither holds data or asks for a token."""

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager, nullcontext, suppress

import httpx2
import pytest

from runtime.core.clock import SystemClock
from runtime.core.errors import JournalUnreachable
from runtime.journal.memory import open_memory
from tests.contracts.toy_events import CODEC
from tests.support.receiver import free_port


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    return {**os.environ, "REPLAN_HOME": str(tmp_path / "home")}


@pytest.fixture
def running(warm):
    """Start a command for the length of a block, and wait until it serves."""

    @contextmanager
    def started(environment, *command):
        words = [warm / "replan", *command, "--json"]
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert json.loads(process.stdout.readline())["event"] in ("ready", "sign_in")
                yield process
            finally:
                process.kill()

    return started


def asked(port, path, **headers):
    answer = httpx2.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=20, trust_env=False)
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, answer.text


def until(port, wanted, seconds=30.0, *, listening=True):
    """Wait until `/readyz` answers with a status, and return the text."""
    end, answer = time.monotonic() + seconds, (0, "")
    while answer[0] != wanted:
        assert time.monotonic() < end, answer
        time.sleep(0.1)
        with nullcontext() if listening else suppress(httpx2.ConnectError):
            answer = asked(port, "/readyz")
    return answer[1]


def test_a_worker_lives_without_its_database_and_is_not_ready(server, url, environment, running):
    port = free_port()
    with running({**environment, "REPLAN_JOURNAL": url}, "worker", "--health-port", str(port)) as worker:
        assert until(port, 200) == "ok\n"
        assert asked(port, "/livez") == (200, "ok\n")
        server.stop()
        try:
            assert until(port, 503) == "no journal\n"
            begun = time.monotonic()
            assert asked(port, "/livez") == (200, "ok\n")
            assert time.monotonic() - begun < 2
        finally:
            server.start()
        assert until(port, 200) == "ok\n"
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


def test_a_host_of_a_file_is_ready_and_answers_nobody_else(environment, running, warm):
    port = free_port()
    with running(environment, "host", "--health-port", str(port)):
        assert asked(port, "/readyz") == (200, "ok\n")
        for host in (f"evil.example:{port}", "127.0.0.1:1"):
            answer = httpx2.get(f"http://127.0.0.1:{port}/livez", headers={"host": host}, trust_env=False)
            assert answer.status_code == 421
        assert httpx2.get(f"http://127.0.0.1:{port}/runs", trust_env=False).status_code == 404
        busy = subprocess.run(
            [warm / "replan", "host", "--health-port", str(port)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert busy.returncode == 2
        assert f"--health-port: port {port} of 127.0.0.1 cannot be used" in busy.stderr


@pytest.mark.parametrize("options", [[], ["--no-host"]])
def test_the_web_server_has_the_same_endpoints_without_a_token(environment, options, running):
    port, health_port = free_port(), free_port()
    with running(environment, "serve", "--port", str(port), "--health-port", str(health_port), *options):
        for number in (port, health_port):
            assert until(number, 200) == "ok\n"
            assert asked(number, "/livez") == (200, "ok\n")


async def test_readiness_begins_with_the_host_and_ends_with_the_stop(autojump_clock):
    import trio

    from replan_server.web.health import AGE_SECONDS, Health
    from runtime.host.notices import Ready

    asked_for, fails, stopping, heard = [], [], [], []
    async with open_memory(CODEC, SystemClock()) as journal:

        class Journal:
            async def spent_today(self):
                asked_for.append(1)
                if fails:
                    raise JournalUnreachable("place", "gone")
                return await journal.spent_today()

        health = Health(Journal(), lambda: bool(stopping))
        report = health.report_to(heard.append)
        assert await health.problem() == "starting"
        report(Ready())
        assert [type(notice) for notice in heard] == [Ready]
        assert [await health.problem() for _ in range(50)] == [""] * 50
        assert len(asked_for) == 1, "requests do not make the journal busy"
        fails.append(1)
        await trio.sleep(2 * AGE_SECONDS)
        assert await health.problem() == "no journal"
        stopping.append(1)
        assert await health.problem() == "stopping"


async def test_a_journal_that_does_not_answer_is_not_waited_for(autojump_clock):
    import trio

    from replan_server.web.health import ASK_SECONDS, Health

    class Silent:
        async def spent_today(self):
            await trio.sleep_forever()

    begun = trio.current_time()
    assert await Health(Silent(), bool, serving=True).problem() == "no journal"
    assert trio.current_time() - begun == pytest.approx(ASK_SECONDS)
