"""Rate limits: calls wait for the limits in a server's headers before the server refuses them."""

import random
import re
from collections import deque
from contextlib import AsyncExitStack

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from replan.runs.models import rate_limiter_of
from runtime.core.clock import TrioClock
from runtime.models.servers import (
    FIRST_CALLS,
    LIMIT_MAX,
    LIMITS_MAX,
    MARGIN,
    RESET_MAX,
    ReportedLimit,
    ServerLimits,
    Servers,
    after_answer,
    after_call,
    next_call_at,
    read_limits,
    read_reset,
)
from tests.models.wired import NOW
from tests.support.answers import Answer
from tests.support.artifacts import GOOD
from tests.wire.test_search import FastBackOffClock, run_against

DAY = 86_400.0
ONE = {"requests": 1}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1h2m3.5s", 3723.5),
        ("2m59.56s", 179.56),
        ("3d", 3 * DAY),
        ("17", 17.0),
        ("0", 0.0),
        (str(NOW + 30), 30.0),
        (str(int((NOW + 30) * 1000)), 30.0),
        ("2023-11-14T22:13:50Z", 30.0),
        ("2023-11-14T22:13:10Z", 0.0),
        *((text, None) for text in ("", "soon", "-5", "nan", "inf", "1x", "s", "9" * 30, "9999-99-99")),
    ],
)
def test_a_reset_is_a_duration_or_a_time(text, seconds):
    assert read_reset(text, NOW) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        (
            {
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-limit-tokens": "150000",
                "x-ratelimit-remaining-tokens": "149984",
                "x-ratelimit-reset-tokens": "6ms",
            },
            {
                "requests": ReportedLimit(limit=60, remaining=59, seconds=1),
                "tokens": ReportedLimit(limit=150000, remaining=149984, seconds=0.006),
            },
        ),
        (
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2023-11-14T22:13:50Z",
            },
            {"requests": ReportedLimit(limit=50, remaining=0, seconds=30)},
        ),
        (
            {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "3", "x-ratelimit-reset": str(int(NOW + 5) * 1000)},
            {"requests": ReportedLimit(limit=20, remaining=3, seconds=5)},
        ),
        ({"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59"}, {}),
        ({"x-ratelimit-limit": "0", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}, {}),
        ({"x-ratelimit-limit": "-1", "x-ratelimit-remaining": "٣", "x-ratelimit-reset": "1"}, {}),
        ({"x-ratelimit-limit": str(LIMIT_MAX + 1), "x-ratelimit-remaining": "1", "x-ratelimit-reset": "1"}, {}),
        ({}, {}),
    ],
)
def test_the_headers_of_several_providers_are_read(headers, told):
    assert read_limits(headers, NOW) == told


NAMES = [f"x-ratelimit-{part}{end}" for part in ("limit", "remaining", "reset") for end in ("", "-requests", "-tokens")]


@given(
    st.dictionaries(st.sampled_from([*NAMES, "retry-after"]), st.text(max_size=20)), st.sampled_from([200, 429, 503])
)
def test_no_header_raises_or_holds_for_longer_than_is_accepted(headers, status):
    limits = after_answer(ServerLimits(), headers, status, sent_at=NOW, costs={}, now=NOW)
    assert next_call_at(after_call(limits, ONE, NOW), ONE, NOW) <= NOW + RESET_MAX + MARGIN


def told(limit, remaining, reset, *, status=200, now=NOW, sent_at=NOW, limits=None, **more):
    headers = {
        "x-ratelimit-limit-requests": str(limit),
        "x-ratelimit-remaining-requests": str(remaining),
        "x-ratelimit-reset-requests": str(reset),
        **more,
    }
    return after_answer(limits or ServerLimits(), headers, status, sent_at=sent_at, costs={}, now=now)


def test_what_is_left_may_be_sent_at_once_and_the_rest_after_the_reset():
    limits = told(60, 2, 30)
    for _ in range(2):
        assert next_call_at(limits, ONE, NOW) <= NOW
        limits = after_call(limits, ONE, NOW)
    assert next_call_at(limits, ONE, NOW) == NOW + 30 + MARGIN
    assert next_call_at(limits, ONE, NOW + 31 + MARGIN) <= NOW + 31 + MARGIN


def test_a_reset_in_three_days_is_bounded():
    limits = told(60, 0, "3d")
    assert next_call_at(limits, ONE, NOW) == NOW + RESET_MAX + MARGIN
    limits = told(60, 0, "3d", status=429, **{"retry-after": str(3 * DAY)})
    assert next_call_at(limits, ONE, NOW) <= NOW + RESET_MAX + MARGIN


def test_a_late_answer_of_an_earlier_window_says_nothing_about_this_one():
    limits = after_call(told(60, 0, 30), ONE, NOW + 40)
    assert limits.windows["requests"].remaining == 59
    late = told(60, 0, 1, now=NOW + 41, sent_at=NOW + 20, limits=limits)
    assert late == limits


def test_a_clock_that_was_set_back_does_not_hold_calls_for_long():
    limits = told(60, 0, 30)
    assert next_call_at(limits, ONE, NOW - DAY) <= NOW - DAY


def test_a_call_with_more_tokens_than_the_limit_is_sent_when_all_are_there():
    headers = {
        "x-ratelimit-limit-tokens": "100",
        "x-ratelimit-remaining-tokens": "99",
        "x-ratelimit-reset-tokens": "1s",
    }
    limits = after_answer(ServerLimits(), headers, 200, sent_at=NOW, costs={}, now=NOW)
    assert next_call_at(limits, {"tokens": 5000}, NOW) == NOW + 1 + MARGIN
    assert next_call_at(limits, {"tokens": 5000}, NOW + 3) <= NOW + 3


# Against servers, with a virtual clock


class FixedWindow:
    """A server that admits so many requests in each minute of its own clock."""

    def __init__(self, limit=60, seconds=60.0):
        self.limit, self.seconds, self.phase = limit, seconds, random.Random(limit).uniform(0, seconds)
        self.window, self.used = None, 0

    def admit(self, now):
        """Return whether a request is admitted, what is left, and the seconds until a reset."""
        window = (now + self.phase) // self.seconds
        if window != self.window:
            self.window, self.used = window, 0
        admitted = self.used < self.limit
        self.used += admitted
        return admitted, self.limit - self.used, (window + 1) * self.seconds - self.phase - now


class SlidingWindow(FixedWindow):
    """A server that admits so many requests in any minute."""

    def __init__(self, **more):
        super().__init__(**more)
        self.times = deque()

    def admit(self, now):
        while self.times and self.times[0] <= now - self.seconds:
            self.times.popleft()
        admitted = len(self.times) < self.limit
        if admitted:
            self.times.append(now)
        return admitted, self.limit - len(self.times), self.times[-1] + self.seconds - now


class Bucket(FixedWindow):
    """A server with a bucket of so many requests, which fills in a minute."""

    def __init__(self, **more):
        super().__init__(**more)
        self.level, self.at = float(self.limit), 0.0

    def admit(self, now):
        rate = self.limit / self.seconds
        self.level, self.at = min(self.limit, self.level + (now - self.at) * rate), now
        admitted = self.level >= 1
        self.level -= admitted
        return admitted, int(self.level), (self.limit - self.level) / rate


class World:
    """Runs that call a server at the same time, and what the server said."""

    def __init__(self, server, *, headers=True, retry_after=None, early=True):
        self.server, self.headers, self.retry_after, self.early = server, headers, retry_after, early
        self.clock, self.statuses, self.times = TrioClock(), [], []
        self.random = random.Random(7)

    async def call(self, limiter):
        async with limiter.turn(self.clock):
            sent_at = self.clock.now()
            await trio.sleep(self.random.uniform(0.01, 0.1))
            admitted, remaining, reset = self.server.admit(trio.current_time())
            self.statuses.append(200 if admitted else 429)
            self.times.append(trio.current_time())
            names = ("limit", "remaining", "reset")
            values = (self.server.limit, remaining, f"{reset:.3f}s")
            headers = {f"x-ratelimit-{name}-requests": str(value) for name, value in zip(names, values, strict=True)}
            headers = headers if self.headers else {}
            if not admitted and self.retry_after:
                headers["retry-after"] = self.retry_after
            writes = self.random.uniform(0.5, 20)
            await trio.sleep(0 if self.early else writes)  # Headers come before the text of a stream.
            limiter.learn(headers, self.statuses[-1], sent_at=sent_at, tokens=0, now=self.clock.now())
            await trio.sleep(writes if self.early else 0)
        return admitted

    async def runs(self, limiters, *, runs=100, calls=3):

        async def run(number):
            for _ in range(calls):
                while not await self.call(limiters[number % len(limiters)]):  # noqa: ASYNC110 - as the runs do
                    await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            for number in range(runs):
                nursery.start_soon(run, number)


@pytest.mark.parametrize("early", [True, False], ids=["streams", "whole replies"])
@pytest.mark.parametrize("server", [FixedWindow, SlidingWindow, Bucket])
async def test_a_hundred_runs_meet_a_limit_of_sixty_a_minute(autojump_clock, server, early):
    world = World(server(), early=early)
    await world.runs([Servers().rate_limiter("https://api.example.org/v1", "key")])
    assert 429 not in world.statuses[FIRST_CALLS:]
    assert world.statuses.count(200) == 300
    assert trio.current_time() < (300 / 60 + 1.5) * 60


async def test_processes_of_a_home_share_the_limit(autojump_clock, tmp_path):
    world = World(FixedWindow())
    homes = [Servers(tmp_path / "servers.json") for _ in range(3)]
    await world.runs([home.rate_limiter("https://api.example.org/v1", "key") for home in homes], calls=2)
    assert 429 not in world.statuses[3 * FIRST_CALLS :]
    assert trio.current_time() < (200 / 60 + 1.5) * 60


async def test_the_next_process_knows_the_limit(autojump_clock, tmp_path):
    first, then = World(FixedWindow()), World(FixedWindow())
    await first.runs([Servers(tmp_path / "servers.json").rate_limiter("https://h/v1", "key")], runs=60, calls=1)
    then.server = first.server
    await then.runs([Servers(tmp_path / "servers.json").rate_limiter("https://h/v1", "key")], runs=100, calls=1)
    assert 429 not in first.statuses[FIRST_CALLS:] + then.statuses


async def test_other_keys_and_other_servers_have_their_own_limits(autojump_clock):
    servers = Servers()
    servers.rate_limiter("https://a/v1", "one").learn(
        {"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"},
        200, sent_at=NOW, tokens=0, now=TrioClock().now(),
    )  # fmt: skip
    for url, key, seconds in (("https://a/v1", "two", 0), ("https://b/v1", "one", 0), ("https://a/v2", "one", 61)):
        began = trio.current_time()
        async with servers.rate_limiter(url, key).turn(TrioClock()):
            assert trio.current_time() - began == pytest.approx(seconds)


async def test_an_answer_does_not_count_the_calls_that_were_sent_after_its_own(autojump_clock):
    limiter, clock = (servers := Servers()).rate_limiter("https://h/v1", ""), TrioClock()

    def headers(remaining):
        return {"x-ratelimit-limit": "60", "x-ratelimit-remaining": str(remaining), "x-ratelimit-reset": "30"}

    limiter.learn(headers(50), 200, sent_at=clock.now(), tokens=0, now=clock.now())
    async with limiter.turn(clock):
        await trio.sleep(0.01)
        sent_at = clock.now()
        await trio.sleep(1)
        async with limiter.turn(clock):
            limiter.learn(headers(5), 200, sent_at=sent_at, tokens=0, now=clock.now())
    [limits] = servers.limits().values()
    assert limits.windows["requests"].remaining == 4


async def test_a_server_without_limits_is_not_slowed_once_it_has_answered(autojump_clock):
    world = World(FixedWindow(limit=10**6), headers=False)
    await world.runs([Servers().rate_limiter("https://h/v1", "")], calls=1)
    assert sum(at < 1 for at in world.times) == 100
    assert sum(at < 0.1 for at in world.times) >= FIRST_CALLS


async def test_a_refusal_holds_all_calls_for_as_long_as_the_server_asks(autojump_clock):
    world = World(FixedWindow(limit=10), headers=False, retry_after="30")
    await world.runs([Servers().rate_limiter("https://h/v1", "")], runs=60, calls=1)
    refused = [at for at, status in zip(world.times, world.statuses, strict=True) if status == 429]
    assert all(not at < other < at + 29 for at in refused for other in world.times if other > at + 1)


async def test_a_server_that_does_not_answer_gets_ten_calls_and_then_one_each_two_minutes(autojump_clock):
    limiter, clock = Servers().rate_limiter("https://h/v1", ""), TrioClock()
    async with AsyncExitStack() as stack:
        for _ in range(FIRST_CALLS):
            await stack.enter_async_context(limiter.turn(clock))
        assert trio.current_time() == 0
        await stack.enter_async_context(limiter.turn(clock))
        assert trio.current_time() == pytest.approx(RESET_MAX)


async def test_a_call_that_is_withdrawn_while_it_waits_leaves_its_place(autojump_clock):
    limiter, clock = Servers().rate_limiter("https://h/v1", ""), TrioClock()
    limiter.learn(
        {"x-ratelimit-limit": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"},
        200, sent_at=NOW, tokens=0, now=clock.now(),
    )  # fmt: skip
    with trio.move_on_after(5) as scope:
        async with limiter.turn(clock):
            pytest.fail("sent")
    assert scope.cancelled_caught
    async with limiter.turn(clock):
        assert trio.current_time() == pytest.approx(30 + MARGIN)


def test_the_file_is_bounded_and_has_no_key(tmp_path):
    servers = Servers(tmp_path / "servers.json")
    headers = {"x-ratelimit-limit": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}
    for number in range(LIMITS_MAX + 2):
        servers.rate_limiter(f"https://h{number}/v1", "sk-secret-key").learn(
            headers, 200, sent_at=NOW, tokens=0, now=NOW
        )
    assert len(servers.limits()) == LIMITS_MAX
    assert "sk-secret" not in (tmp_path / "servers.json").read_text()


def test_what_is_kept_of_a_key_fits_so_many_keys_that_none_can_be_guessed():
    servers = Servers()
    for host in ("a", "b"):
        servers.rate_limiter(f"https://{host}/v1", "1234").learn(
            {"retry-after": "9"}, 429, sent_at=NOW, tokens=0, now=NOW
        )
    kept = [re.fullmatch(r"[ab] ([0-9a-f]{4})", key)[1] for key in servers.limits()]
    assert len(set(kept)) == 2  # The same key has other digits for another server.


@pytest.mark.parametrize(
    "model",
    ["scripted:a.yaml", "replay:k7m2x9qa", "recorded:a.yaml", "recorded:a.yaml?record=gpt-5-mini", "template:bug"],
)
def test_a_model_with_replies_of_its_own_waits_for_no_server(model):
    assert rate_limiter_of(model, {}, Servers()) is None


class NotingClock(FastBackOffClock):
    """Notes for how long somebody waits."""

    def __init__(self):
        super().__init__()
        self.waits = []

    async def sleep_until(self, when):
        self.waits.append(when - self.now())
        await super().sleep_until(when)


async def test_a_run_waits_for_its_server_before_a_call():
    headers = {"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "20"}
    answers = iter([Answer.value({"no": "plan"}), Answer.value(GOOD["g_plan"])])

    def handle(*_):
        answer = next(answers)
        return Answer(status=200, body=answer.body, headers={**answer.headers, **headers})

    clock = NotingClock()
    async with run_against(handle, clock, workflow="single") as (result, server, _):
        assert (result.outcome, result.calls, len(server.seen)) == ("success", 2, 2)
    assert any(19 < wait <= 20 + MARGIN for wait in clock.waits)
