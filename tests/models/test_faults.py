"""Faults out of status codes, headers and provider texts, without a wire."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.faults import MESSAGE_MAX, error_of, is_unresolved, provider_text, retry_after, status_fault
from runtime.models.port import Fault, FaultKind, Reply
from tests.models.whole import read_completion

KEY = "sk-secret-0123456789"
MARCH = "Sun, 15 Mar 2026 12:00:00 GMT"
MARCH_SECONDS = 1_773_576_000.0


def test_a_date_is_relative_to_now_unless_the_server_gave_its_own():
    assert retry_after({"retry-after": MARCH}, MARCH_SECONDS - 30) == 30
    assert retry_after({"retry-after": MARCH}, MARCH_SECONDS + 30) == 0
    assert retry_after({"retry-after": str(MARCH_SECONDS)}, MARCH_SECONDS - 30) == 30
    assert retry_after({"retry-after": MARCH, "date": "Sun, 15 Mar 2026 11:59:00 GMT"}, 0) == 60


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=30)))
def test_any_header_gives_a_wait_or_none(headers):
    seconds = retry_after(headers, 0.0)
    assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize("padding", range(MESSAGE_MAX - 25, MESSAGE_MAX + 5))
def test_a_cut_never_leaves_half_a_secret(padding):
    assert KEY[:6] not in provider_text("x" * padding + KEY, KEY)


def test_a_text_becomes_one_short_printable_line():
    assert provider_text("a\n\n b\x1b[31m\u202ec") == "a b [31m c"
    assert len(provider_text("y" * 10_000_000)) == MESSAGE_MAX
    assert provider_text("abc", "") == "abc"


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error": {"message": "m", "code": "c", "type": "t"}}', "m", "c"),
        (b'{"error": {"message": "m", "code": null, "type": "t"}}', "m", "t"),
        (b'{"error": "plain"}', "plain", ""),
        (b'{"message": "m", "code": 40001}', "m", ""),
        (b'{"detail": "not found"}', "not found", ""),
        (b'{"detail": [{"msg": "bad"}]}', '{"detail": [{"msg": "bad"}]}', ""),
        (b"[1]", "[1]", ""),
        (b'[{"error": {"code": 400, "message": "m"}}]', "m", ""),
        (b'{"error": {"message": "m", "code": 400, "metadata": {"raw": "{\\"message\\": \\"n\\"}"}}}', "m: n", ""),
        (b'{"error": {"message": "m", "metadata": {"raw": "plain"}}}', "m: plain", ""),
        (b'{"error": {"message": "m", "metadata": {"raw": 7}}}', "m", ""),
        (b"upstream\xff", "upstream\ufffd", ""),
        (b"", "", ""),
        (
            b"\n<!DOCTYPE html><head><title>502 Bad Gateway</title></head><body>long</body>",
            "a web page: 502 Bad Gateway",
            "",
        ),
        (b"<html><body>no title</body></html>", "a web page", ""),
    ],
)
def test_error_bodies_of_many_servers(body, message, code):
    assert error_of(body) == (message, code)


@given(st.integers(300, 999), st.binary(max_size=80))
def test_every_status_has_a_kind(status, body):
    fault = status_fault(status, {}, body, now=0.0, secret=KEY)
    assert fault.status == status
    assert fault.kind.refunded == (status < 500) or fault.kind is FaultKind.AUTH


@given(st.binary(max_size=200))
def test_any_body_is_read(body):
    assert isinstance(read_completion(body), Reply | Fault)


def test_final_faults_are_refunded():
    assert {kind for kind in FaultKind if kind.final} < {kind for kind in FaultKind if kind.refunded}
    charged = {kind for kind in FaultKind if not kind.refunded}
    assert charged == {
        FaultKind.SERVER_ERROR,
        FaultKind.CUT,
        FaultKind.TIMEOUT,
        FaultKind.BAD_REPLY,
        FaultKind.TOO_LARGE,
    }


def test_a_name_that_does_not_resolve_is_found_behind_other_errors():
    deep = ConnectionError("outer")
    deep.__cause__ = ExceptionGroup("all addresses", [OSError("one"), socket.gaierror(-2, "unknown")])
    assert is_unresolved(deep)
    loop = ConnectionError("refused")
    loop.__cause__ = loop
    assert not is_unresolved(loop)
