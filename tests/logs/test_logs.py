"""Logs: one line a record, foreign loggers in the same stream, no secret, no forged line, nothing left behind."""

import io
import json
import logging
import subprocess
import sys
from typing import Literal

import pytest

from runtime.core.events import Event, Record, Value
from runtime.logs import log
from runtime.logs.redact import MARK, Redactor

SECRET = "hunter2hunter2"


class Spent(Value):
    tokens: int = 7


class StepDone(Event):
    kind: Literal["step_done"] = "step_done"
    step: str = "g_plan"
    attempt: int = 2
    spent: Spent = Spent()
    note: str = "what the model wrote"
    event: str = "x"


RECORD = Record(run="r-1", seq=4, at=1.0, epoch=2, event=StepDone(), hash="h")


@pytest.fixture
def stream():
    """A stream, and a log set-up that is undone afterwards."""
    yield io.StringIO()
    log.reset()


def _json_lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _configure(stream, **changes):
    log.configure(**{"stream": stream, "json": True, "level": "info", "redactor": Redactor([SECRET]), **changes})


def test_a_record_is_one_line_with_its_place_and_the_outline_of_its_event(stream):
    _configure(stream)
    log.log_record(RECORD, lambda: {"branch": "b1"})
    (line,) = _json_lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "step_done", "run_id": "r-1", "seq": 4, "epoch": 2, "branch": "b1", "step": "g_plan", "attempt": 2,
        "spent": {"tokens": 7}, "note": "<20 bytes>", "event_": "x", "logger": "replan.journal", "level": "info",
    }  # fmt: skip


def test_what_a_record_binds_is_gone_after_its_line(stream):
    _configure(stream)
    log.log_record(RECORD)
    log.get_logger("x").info("after")
    assert "run_id" not in _json_lines(stream)[1]


def test_foreign_loggers_share_the_stream_and_the_bound_fields(stream):
    _configure(stream)
    with log.bind_fields(run_id="r-1", step="g_plan"):
        logging.getLogger("somebody.else").warning("took %d s", 3, extra={"host": "h"})
    (line,) = _json_lines(stream)
    assert (line["event"], line["logger"], line["run_id"], line["host"]) == ("took 3 s", "somebody.else", "r-1", "h")


@pytest.mark.parametrize("as_json", [True, False])
def test_no_secret_reaches_the_stream(stream, as_json):
    _configure(stream, json=as_json)
    logger = log.get_logger("x")
    with log.bind_fields(who=SECRET):
        logger.info(SECRET, nested={"deep": [SECRET]}, api_key="short")
        logging.getLogger("somebody").error("%s", SECRET)
        try:
            int(SECRET)
        except ValueError:
            logger.exception("failed")
            logging.getLogger("somebody").exception("failed")
    shown = stream.getvalue()
    assert SECRET not in shown
    assert "short" not in shown
    assert shown.count("ValueError") >= 2
    assert MARK in shown


@pytest.mark.parametrize("as_json", [True, False])
def test_a_message_cannot_forge_a_line(stream, as_json):
    _configure(stream, json=as_json)
    hostile = "x\n2026-01-01 [info] forged\r\x1b[2J\x9b1m\u202e\u2028"
    log.get_logger("x").info(hostile, **{"field": hostile, "na\nme": 1})
    shown = stream.getvalue()
    assert len(shown.splitlines()) == 1
    assert shown.rstrip("\n").isprintable()


def test_lines_of_a_traceback_stand_behind_a_margin(stream):
    _configure(stream, json=False)
    try:
        getattr(log, "one\n2026-01-01 [info] forged")
    except AttributeError:
        log.get_logger("x").exception("failed")
    first, *rest = stream.getvalue().splitlines()
    assert "failed" in first
    assert rest
    assert all(line.startswith("  | ") for line in rest)


def test_a_line_that_cannot_be_formatted_is_reported_without_its_content(stream, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # The test runner's own handlers raise.
    _configure(stream)
    logging.getLogger("somebody").warning("%d", SECRET)
    (line,) = _json_lines(stream)
    assert line["event"] == "a log line could not be written"
    assert SECRET not in capsys.readouterr().err


def test_a_closed_stream_fails_nobody(stream):
    _configure(stream)
    stream.close()
    log.log_record(RECORD)


def test_configuring_again_replaces_and_reset_restores(stream):
    root, chatty = logging.getLogger(), logging.getLogger("httpx2")
    before = (list(root.handlers), root.level, chatty.level)
    _configure(io.StringIO(), level="debug")
    _configure(stream, level="warning")
    log.get_logger("x").info("unheard")
    log.get_logger("x").warning("heard")
    assert [line["event"] for line in _json_lines(stream)] == ["heard"]
    log.reset()
    log.reset()
    assert (root.handlers, root.level, chatty.level) == before


def test_chatty_libraries_need_one_level_more(stream):
    _configure(stream, level="info")
    logging.getLogger("httpx2").info("quiet")
    _configure(stream, level="debug")
    logging.getLogger("httpx2").info("shown")
    logging.getLogger("openai").debug("a whole request")
    assert [line["event"] for line in _json_lines(stream)] == ["shown"]


def test_colour_is_for_terminals_without_no_color(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = {}
    for name, stream in {"terminal": Terminal(), "file": io.StringIO()}.items():
        _configure(stream, json=False)
        log.get_logger("x").info("hello")
        shown[name] = stream.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    _configure(quiet := Terminal(), json=False)
    log.get_logger("x").info("hello")
    log.reset()
    assert "\x1b[" in shown["terminal"]
    assert "\x1b[" not in shown["file"] + quiet.getvalue()


def test_an_unconfigured_program_says_nothing():
    """A library that uses the API gets no line on its stderr or stdout, and pays no import of structlog."""
    code = (
        "import sys; from runtime.logs import log; from runtime.core.events import Record, Event\n"
        "log.log_record(Record('r', 1, 1.0, 1, Event(), 'h'))\n"
        "assert 'structlog' not in sys.modules\n"
        "log.get_logger('x').warning('unheard')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_an_outline_shows_sizes_instead_of_content():
    shown = log.outline({"id": "strategy.r2.a1", "text": "two words", "many": [0] * 21, "few": ["a b", None, 1.5]})
    assert shown == {"id": "strategy.r2.a1", "text": "<9 bytes>", "many": "<21 items>", "few": ["<3 bytes>", None, 1.5]}
