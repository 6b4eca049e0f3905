"""The lines of a host never hold up its process, also where nobody reads them."""

import json
import os
import threading

import pytest

from replan.cli.host_notices import reporter
from replan.cli.terminal.console import Lossy
from runtime.host.notices import Failed, TakenUp

PIPE_BYTES_MAX = 2_000_000
"""More than a pipe takes in on any system of today."""


@pytest.fixture
def pipe():
    """A pipe whose reader has not read yet: its end to read from, and the stream to print on."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "w") as stream:
        yield reader, stream


def in_time(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it waits for the reader"


def read(reader):
    return [json.loads(line) for line in reader.read(PIPE_BYTES_MAX).decode().splitlines()]


def test_notices_that_nobody_reads_are_left_out_and_then_counted(pipe):
    reader, stream = pipe
    report, count = reporter(as_json=True, stream=Lossy(stream)), 20_000

    def fill():
        for number in range(count):
            report(TakenUp(f"run{number}"))

    in_time(fill)
    first = read(reader)
    assert [each["run_id"] for each in first] == [f"run{number}" for number in range(len(first))]
    in_time(lambda: report(TakenUp("again")))
    gap, last = read(reader)
    assert (gap["event"], gap["text"]) == (
        "left_out",
        f"{count - len(first)} notices were left out: nobody read the output",
    )
    assert last["run_id"] == "again"
    in_time(lambda: report(TakenUp("more")))
    assert [each["run_id"] for each in read(reader)] == ["more"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_notice_too_long_for_a_pipe_to_take_at_once_is_cut_and_does_not_wait(pipe, as_json):
    reader, stream = pipe
    report = reporter(as_json=as_json, stream=Lossy(stream))

    def fill():
        for number in range(200):
            report(Failed(f"run{number}", "\N{GRINNING FACE}" * 5_000))

    in_time(fill)
    lines = reader.read(PIPE_BYTES_MAX).decode().splitlines()
    assert 1 < len(lines) < 200
    assert all(f"run{number}" in line for number, line in enumerate(lines))


def test_a_short_notice_and_one_for_a_file_are_whole(tmp_path):
    with (tmp_path / "out").open("w") as stream:
        report = reporter(as_json=True, stream=stream)
        for number in range(2_000):
            report(Failed(f"run{number}", "x" * 400))
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(each["run_id"], each["text"]) for each in lines] == [(f"run{n}", "x" * 400) for n in range(2_000)]
