"""The redactor: loaded secrets by value in all their written forms, unknown ones by shape, ordinary text untouched."""

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runtime.logs.redact import MARK, SECRET_MIN, Redactor, secrets_in

SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=SECRET_MIN, max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
DIGITS = "a1B2c3D4e5F6g7H8i9J0k1L2"


def _leaves(value):
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in [key, *_leaves(item)]]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_loaded_secret_never_comes_through(secret, before, after):
    assume(secret not in MARK)
    assume(secret not in f"{before}{MARK}{after}")
    shown = Redactor([secret]).text(f"{before}{secret}{after}")
    assert secret not in shown
    assert MARK in shown


@given(SECRETS, st.binary(max_size=5), st.binary(max_size=5))
def test_base64_at_any_alignment_is_found(secret, before, after):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + secret.encode() + after).decode()
        shown = Redactor([secret]).text(encoded)
        assert MARK in shown
        assert len(shown.replace(MARK, "")) <= len(encoded) - len(secret.encode()) * 8 // 6 + 2


@given(SECRETS)
def test_quoted_and_escaped_forms_are_found(secret):
    redactor = Redactor([secret])
    forms = [quote(secret, safe=""), quote(secret), quote_plus(secret), json.dumps(secret)[1:-1]]
    for form in [*forms, json.dumps(secret, ensure_ascii=False)[1:-1]]:
        assert redactor.text(f"<{form}>") == f"<{MARK}>"


@given(SECRETS, JSON)
def test_no_leaf_of_a_value_holds_the_secret(secret, value):
    assume(secret not in MARK)
    shown = Redactor([secret]).value({"a": [value, secret], secret: f"x{secret}y"})
    assert not any(isinstance(leaf, str) and secret in leaf.replace(MARK, "") for leaf in _leaves(shown))


@given(JSON)
def test_a_value_without_secrets_is_unchanged(value):
    assert Redactor(["this-is-the-secret"]).value(value) == value


@pytest.mark.parametrize(
    "text",
    [
        f"sk-proj-{DIGITS}",
        f"sk-ant-api03-{DIGITS}",
        f"Authorization: Bearer {DIGITS}",
        "Authorization: Basic dXNlcjpwYXNz",
        f"bearer {DIGITS}.x-y_z=",
        f"api_key={DIGITS}",
        '{"api_key": "short-1"}',
        '"{\\"client_secret\\": \\"short-1\\"}"',
        "password: hunter2",
        "DB_PASSWORD='correct horse battery'",
        f"https://host/path?key={DIGITS}&x=1",
        f"key={DIGITS}",
        f"aws_secret_access_key = {DIGITS}/{DIGITS}",
        "AKIAIOSFODNN7EXAMPLE",
        f"ghp_{DIGITS}{DIGITS}",
        f"github_pat_{DIGITS}_{DIGITS}",
        f"xoxb-{DIGITS}",
        f"AIza{DIGITS}{DIGITS}",
        f"hf_{DIGITS}",
        f"sk_live_{DIGITS}",
        f"eyJhbGciOiJIUzI1NiJ9.eyJ{DIGITS}.{DIGITS}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{DIGITS}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{DIGITS} and cut off",
        "postgresql://user:p@ssword@db.example/runs",
    ],
)
def test_a_secret_is_known_by_its_shape(text):
    shown = Redactor().text(f"before {text} after")
    assert MARK in shown
    for part in (DIGITS, "dXNlcjpwYXNz", "short-1", "hunter2", "horse", "AKIA", "p@ss"):
        assert part not in shown
    assert shown.startswith("before ")


def test_the_names_around_a_secret_stay_readable():
    redactor = Redactor()
    assert redactor.text("postgresql://me:secret1@db/runs") == f"postgresql://me:{MARK}@db/runs"
    assert redactor.text('{"api_key": "abcdef", "n": 1}') == f'{{"api_key": "{MARK}", "n": 1}}'
    assert redactor.text("?page=2&token=abcdef&x=1") == f"?page=2&token={MARK}&x=1"


@pytest.mark.parametrize(
    "text",
    [
        "input_tokens=120 output_tokens=44 max_tokens=4096",
        "unmet tokens: has_tests, server_running",
        "a basic understanding of risk-assessment-of-things",
        "https://example.org:8080/a?b=c#d",
        "see https://example.org/~user@home and mail a@b.example",
        "the bearer of this message; key=question-1; task-list-with-many-items",
        "request r-20261121/g_strategy/v2.a1.t1, hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "scikit-learn sk-learn-compatible-estimators",
        "The password field is ignored. Reset the password, then log in.",
    ],
)
def test_ordinary_text_is_unchanged(text):
    assert Redactor().text(text) == text


@given(st.text(max_size=60))
def test_redacting_a_redacted_shape_changes_nothing(tail):
    redactor = Redactor()
    once = redactor.text(f"api_key=abcdefgh {tail}")
    assert redactor.text(once) == once


def test_a_field_with_a_secrets_name_loses_its_text_only():
    shown = Redactor().value(
        {"clientSecret": "x", "Authorization": "y", "api_key": "", "secrets_found": 3, "steps": "z"}
    )
    assert shown == {"clientSecret": MARK, "Authorization": MARK, "api_key": "", "secrets_found": 3, "steps": "z"}


def test_every_value_becomes_json():
    shown = Redactor(["hunter2hunter2"]).value({"e": ValueError("hunter2hunter2"), 1: (float("nan"), {2}), "b": b"x"})
    assert json.loads(json.dumps(shown)) == {"e": MARK, "1": ["nan", [2]], "b": "b'x'"}


def test_bottomless_nesting_is_cut():
    value = "x"
    for _ in range(100_000):
        value = [value]
    assert MARK in json.dumps(Redactor().value(value))


def test_short_values_are_not_secrets():
    assert Redactor(["", "ab", "none"]).text("a table of none") == "a table of none"


def test_the_longest_secret_wins_where_one_contains_another():
    assert Redactor(["abcdef", "abcdefghij"]).text("abcdefghij") == MARK


def test_secrets_are_found_in_an_environment_by_name():
    environ = {
        "OPENAI_API_KEY": "one",
        "HF_TOKEN": "two",
        "DB_PASSWORD": "three",
        "HOME": "/home",
        "SSH_AUTH_SOCK": "s",
    }
    assert secrets_in(environ) == {"one", "two", "three"}


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "eyJ",
        "eyJaaaaaaaa.",
        "a://",
        "a://:",
        "a://b",
        "a://b:c",
        "secret=",
        'secret="',
        "secret='\\",
        "password ",
        "bearer ",
        "bearer a",
        "sk-",
        "ghp_",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "?key=",
        "key=",
        "a-",
    ],
)
def test_a_hostile_text_is_redacted_in_linear_time(piece):
    started = time.process_time()
    assert isinstance(Redactor(["this-is-the-secret"]).text(piece * (200_000 // len(piece))), str)
    assert time.process_time() - started < 4  # At most 0.3 s on a quiet machine.


SECRET = "tr4cker-t0ken-0123456789"


@pytest.mark.parametrize("place", [*range(0, 130, 7), 100 - len(SECRET), 99, 100])
@pytest.mark.parametrize("secret", [SECRET, "password=hunter2hunter2", "-----BEGIN PRIVATE KEY-----" + "MIIE" * 5000])
def test_a_beginning_holds_no_part_of_a_secret_wherever_it_is_cut(place, secret):
    shown = Redactor([SECRET]).redact_beginning("." * place + secret + "." * 20_000, 100)
    assert len(shown) <= 100
    assert set(shown.replace("password=", "")) <= set("." + MARK)


def test_a_beginning_is_read_with_a_margin_and_what_marks_shorten_brings_no_unread_end():
    text = (SECRET + " ") * 100_000
    shown = Redactor([SECRET]).redact_beginning(text, 1_000)
    assert SECRET[:8] not in shown
    assert Redactor([SECRET]).redact_beginning("short", 1_000) == "short"
    assert Redactor([SECRET]).redact_beginning("x" * 50_000, 1_000) == "x" * 1_000
