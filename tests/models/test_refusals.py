"""A refused parameter is sent in another way, remembered for a day, and shown in a notice."""

import errno
import json
import os
import stat
import subprocess
import sys
import time

import pytest

from actors.planning.events import ArtifactProduced
from actors.run.parking import RunParked
from replan.setup.installation import data_root
from replan.setup.provider_table import read_refusals
from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.refusals import DAY_SECONDS, STREAM, WITHOUT
from runtime.models.servers import FILE_BYTES_MAX, MODELS_MAX
from tests.contracts.model import TEXT, request
from tests.models.wired import NOW, servers, wired
from tests.support.answers import Answer
from tests.support.artifacts import GOOD
from tests.wire.test_search import FastBackOffClock, run_against

LIMITS = ("max_tokens", "max_completion_tokens")
OTHER_NAME = "Unsupported parameter: '{}' is not supported with this model. Use another instead."


def refusing(*names, words=OTHER_NAME, status=400, answer=TEXT):
    """A server that refuses the first of these parameters that a request has."""

    def handle(body, _headers, _n):
        refused = next((name for name in names if name in body), None)
        return Answer.say(answer) if refused is None else Answer.fault(status, words.format(refused))

    return handle


def limits_of(server):
    return [next(name for name in LIMITS if name in seen.body) for seen in server.seen]


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    "words",
    [
        OTHER_NAME,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "Invalid field {}",
    ],
)
async def test_the_other_name_of_a_limit_is_sent_at_once_and_from_then_on(words, status):
    async with wired(refusing("max_tokens", words=words, status=status)) as (server, model):
        first = await model.complete(request())
        second = await model.complete(request("g_analysis/v1.a2"))
    assert limits_of(server) == ["max_tokens", "max_completion_tokens", "max_completion_tokens"]
    assert {seen.body[name] for seen, name in zip(server.seen, limits_of(server), strict=True)} == {500}
    assert isinstance(first, Reply)
    assert first.notices == ("the server refuses max_tokens: max_completion_tokens is sent instead",)
    assert isinstance(second, Reply)
    assert second.notices == ()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Unsupported parameter", "param": "max_tokens", "code": "unsupported_parameter"}},
        {"detail": [{"loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted"}]},
    ],
)
async def test_a_parameter_may_be_named_beside_the_message(body):
    async with wired(lambda sent, *_: Answer.json(body, status=422) if "max_tokens" in sent else Answer.say(TEXT)) as (
        _,
        model,
    ):
        assert isinstance(await model.complete(request()), Reply)


async def test_several_refusals_are_answered_one_after_the_other():
    def handle(body, _headers, _n):
        if "stream" in body:
            return Answer.fault(422, "stream_options: extra inputs are not permitted")
        if body.get("response_format", {}).get("type") == "json_schema":
            return Answer.fault(400, "response_format json_schema is not supported")
        return refusing("max_tokens")(body, _headers, _n)

    async with wired(handle) as (server, model):
        reply = await model.complete(request())
        await model.complete(request("g_analysis/v1.a2"))
    assert isinstance(reply, Reply)
    assert reply.mode == "json_object"
    assert len(reply.notices) == 3
    assert len(server.seen) == 5


async def test_a_setting_of_the_user_is_never_dropped():
    words = "Unsupported value: 'temperature' does not support 0.2 with this model."
    settings = {"temperature": 0.2}
    async with wired(refusing("temperature", words=words)) as (server, model):
        fault = await model.complete(request(fields=settings))
    assert isinstance(fault, Fault)
    assert fault.message.endswith("(leave out the setting temperature)")
    assert len(server.seen) == 1
    assert server.seen[0].body["temperature"] == 0.2


async def test_a_refused_setting_goes_before_what_its_message_mentions_later():
    words = "'{}' cannot be used together with response_format"
    async with wired(refusing("temperature", words=words)) as (server, model):
        assert isinstance(await model.complete(request(fields={"temperature": 1})), Fault)
    assert len(server.seen) == 1


async def test_a_server_that_refuses_both_names_is_answered_with_both():
    async with wired(refusing(*LIMITS)) as (server, model):
        fault = await model.complete(request())
        await model.complete(request("g_analysis/v1.a2"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST
    assert fault.message.endswith("(the server has already refused max_tokens and max_completion_tokens)")
    assert limits_of(server) == [*LIMITS, *LIMITS], "what never worked is not remembered"


async def test_a_server_that_refuses_whatever_is_sent_is_asked_a_few_times_only():
    def handle(body, _headers, _n):
        return Answer.fault(400, f"not supported: {next(iter(set(body) - {'model', 'messages'}))}")

    async with wired(handle) as (server, model):
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert len(server.seen) <= 6
    assert "the server has already refused" in fault.message


async def test_two_servers_behind_one_address_may_disagree():

    def handle(body, _headers, n):
        refused = LIMITS[(n - 1) // 2 % 2]
        return refusing(refused)(body, _headers, n)

    async with wired(handle) as (server, model):
        for attempt in range(1, 4):
            assert isinstance(await model.complete(request(f"g_analysis/v1.a{attempt}")), Reply)
    assert limits_of(server) == [*LIMITS, *reversed(LIMITS), *LIMITS]


async def test_a_run_is_charged_nothing_for_it_and_says_so():
    async with run_against(
        refusing("max_tokens", answer=json.dumps(GOOD["g_plan"])), FastBackOffClock(), workflow="single"
    ) as (result, server, events):
        assert (result.outcome, result.calls, result.tokens) == ("success", 1, 15)
        assert len(server.seen) == 2
        [reply] = [event for event in events if isinstance(event, ArtifactProduced)]
        assert "max_completion_tokens is sent instead" in reply.notices_text


async def test_a_run_against_a_server_that_refuses_everything_parks():
    async with run_against(refusing(*LIMITS), FastBackOffClock(), workflow="single") as (result, _, events):
        assert result.status == "parked"
        [parked] = [event for event in events if isinstance(event, RunParked)]
        assert "max_tokens and max_completion_tokens" in parked.why
        assert result.calls == 0


# The file


async def test_the_next_process_knows_it_for_a_day(tmp_path):
    path = tmp_path / "servers.json"
    async with wired(refusing("max_tokens"), servers=servers(path)) as (server, model):
        await model.complete(request())
        address = server.base_url
    known = servers(path)
    assert known.ways(address, "test-model", NOW) == {"max_tokens": "max_completion_tokens"}
    assert known.ways(address, "another", NOW) == known.ways("http://localhost:1/v1", "test-model", NOW) == {}
    assert known.ways(address, "test-model", NOW + DAY_SECONDS) == {}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_do_not_overwrite_each_other(tmp_path):
    one, two = servers(tmp_path / "servers.json"), servers(tmp_path / "servers.json")
    one.learn("http://a/v1", "m", {"max_tokens": "max_completion_tokens"}, NOW)
    two.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    one.learn("http://b/v1", "m", {STREAM: WITHOUT}, NOW)
    assert two.ways("http://a/v1", "m", NOW) == {"max_tokens": "max_completion_tokens", STREAM: WITHOUT}
    two.learn("http://a/v1", "m", {STREAM: None}, NOW)
    assert one.ways("http://a/v1", "m", NOW) == {"max_tokens": "max_completion_tokens"}
    assert len(one.learned(NOW)) == 2


def test_the_file_is_bounded(tmp_path):
    known = servers(tmp_path / "servers.json")
    for number in range(MODELS_MAX + 3):
        known.learn("http://a/v1", f"m{number}", {STREAM: WITHOUT}, NOW)
    assert len(known.learned(NOW)) == MODELS_MAX
    assert known.ways("http://a/v1", "m0", NOW) == {}


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"[]", b'{"learned": 1}', b'{"other": 1}', b" " * (FILE_BYTES_MAX + 1)]
)
def test_a_damaged_file_counts_as_empty_and_is_written_anew(tmp_path, content):
    path = tmp_path / "servers.json"
    path.write_bytes(content)
    assert servers(path).learned(NOW) == {}
    servers(path).learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    assert servers(path).ways("http://a/v1", "m", NOW) == {STREAM: WITHOUT}


def test_without_a_file_that_can_be_written_this_process_still_knows_it(tmp_path):
    known = servers(tmp_path / "missing" / "servers.json")
    known.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    assert known.ways("http://a/v1", "m", NOW) == {STREAM: WITHOUT}


@pytest.fixture
def stopped_writer(tmp_path):
    """Another process, which was stopped while it changes `servers.json`."""
    path = str(tmp_path / "servers.json")
    code = (
        f"import fcntl, os, signal; fcntl.flock(os.open({path!r}, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX); "
        "os.kill(os.getpid(), signal.SIGSTOP)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        yield process
        process.kill()


@pytest.mark.usefixtures("stopped_writer")
def test_a_stopped_process_that_holds_the_lock_stops_no_other(tmp_path, monkeypatch):
    known, sleeps = servers(tmp_path / "servers.json"), []
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: (sleeps.append(seconds), sleep(seconds)))
    known.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    tries = len(sleeps)
    known.learn("http://b/v1", "m", {STREAM: WITHOUT}, NOW)
    assert len(known.learned(NOW)) == 2
    assert 0 < tries == len(sleeps)  # For a minute, the file is not tried again.


def test_a_full_disk_takes_nothing_from_what_processes_know(tmp_path, monkeypatch):
    path = tmp_path / "servers.json"
    one, two = servers(path), servers(path)
    one.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    assert len(two.learned(NOW)) == 1

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        one.learn("http://b/v1", "m", {STREAM: WITHOUT}, NOW)
    assert (len(one.learned(NOW)), len(two.learned(NOW))) == (2, 1)
    two.learn("http://c/v1", "m", {STREAM: WITHOUT}, NOW)
    assert len(servers(path).learned(NOW)) == 2


def test_what_a_process_knows_counts_while_another_writes_the_file(tmp_path):
    path = tmp_path / "servers.json"
    known = servers(path)
    known.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    path.write_bytes(path.read_bytes()[:20])
    assert len(known.learned(NOW)) == 1


def test_the_file_is_parsed_only_when_it_has_changed(tmp_path, monkeypatch):
    one, two = servers(tmp_path / "servers.json"), servers(tmp_path / "servers.json")
    one.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    assert len(two.learned(NOW)) == 1
    with monkeypatch.context() as patched:
        patched.setattr("runtime.models.servers._parse", lambda _: pytest.fail("parsed again"))
        assert len(two.learned(NOW)) == 1
    one.learn("http://bb/v1", "m", {STREAM: WITHOUT}, NOW)
    assert len(two.learned(NOW)) == 2


def test_a_clock_that_was_set_back_keeps_nothing_for_longer_than_a_day(tmp_path):
    known = servers(tmp_path / "servers.json")
    known.learn("http://a/v1", "m", {STREAM: WITHOUT}, NOW)
    assert known.ways("http://a/v1", "m", NOW - 1) == {}


# The table


def table(tmp_path, text):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "providers.yaml").write_text(text)
    return read_refusals(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chat:\n  max_tokns: {}\n", "providers.yaml:2 chat.max_tokns: unknown parameter 'max_tokns' .*max_tokens"),
        ("chat:\n  max_tokens: {instead: max_length}\n", "chat.max_tokens: unknown parameter 'max_length'"),
        ("chat:\n  max_tokens: {insted: x}\n", "unknown key 'insted' .*instead"),
        ("chatter: {}\n", "unknown key 'chatter' .*chat"),
        ("chat:\n  stream: {statuses: [200]}\n", "chat.stream.statuses"),
        ("chat:\n  stream: {named: [STREAM]}\n", "chat.stream.named"),
        (
            "chat:\n  stream: {weaker: [text]}\n  response_format: {weaker: [text]}\n",
            "only the parameter for structured output",
        ),
        ("chat:\n  max_tokens: {instead: stop, weaker: [text]}\n", "exclude each other"),
    ],
)
def test_a_wrong_row_of_the_table_is_one_line_with_its_place(tmp_path, text, message):
    with pytest.raises(UsageProblem, match="(?s)" + message.replace("[", r"\[")) as told:
        table(tmp_path, text)
    assert "\n" not in str(told.value)


def test_the_shipped_table_names_the_ways_of_each_client():
    from runtime.models.anthropic_client import AnthropicModel
    from runtime.models.openai_client import OpenAIModel

    shipped = read_refusals(data_root())
    for client in (OpenAIModel, AnthropicModel):
        [row] = [row for row in shipped[client.interface].values() if row.weaker]
        assert row.weaker == client.modes[1:]
    words = [word for rows in shipped.values() for row in rows.values() for word in row.named]
    assert words == [word.lower() for word in words]
