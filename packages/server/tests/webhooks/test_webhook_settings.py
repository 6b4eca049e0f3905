"""The settings of webhooks: addresses and secrets that cannot be used are refused, and never shown."""

import base64

import pytest
from pydantic import ValidationError

from packages.server.tests.webhooks.conftest import secret
from replan.setup.settings import read_user_config
from replan_server.notifications import WebhookEntry
from replan_server.settings import ServerSettings
from runtime.core.errors import UsageProblem

GOOD = {"url": "https://hooks.example.org/replan?token=abc", "secrets": [secret(1)]}


def test_a_webhook_has_an_address_and_secrets():
    entry = WebhookEntry.model_validate(GOOD)
    assert entry.events == ("waiting", "parked", "finished")
    assert secret(1) not in repr(entry)
    for url in ("http://127.0.0.1:8080/hook", "http://192.168.1.5/hook", "https://hooks.example.org"):
        WebhookEntry.model_validate({**GOOD, "url": url})


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://hooks.example.org/replan"},
        {"url": "ftp://hooks.example.org"},
        {"url": "https://user:password@hooks.example.org"},
        {"url": "https://hooks.example.org/#fragment"},
        {"url": "https://hooks.example.org/a b"},
        {"url": "https://"},
        {"url": "/etc/passwd"},
        {"page": "https://replan.example.org/?a=b"},
        {"page": "javascript:alert(1)"},
        {"secrets": []},
        {"secrets": ["secret"]},
        {"secrets": ["whsec_" + base64.b64encode(b"short").decode()]},
        {"secrets": ["whsec_!!!!"]},
        {"secrets": [secret(number) for number in range(5)]},
        {"events": []},
        {"events": ["started"]},
    ],
)
def test_what_cannot_be_used_is_refused(wrong):
    with pytest.raises(ValidationError):
        WebhookEntry.model_validate({**GOOD, **wrong})


def test_a_name_is_short_and_plain():
    for name in ("Ops", "", "a b", "x" * 33):
        with pytest.raises(ValidationError):
            ServerSettings.model_validate({"webhooks": {name: GOOD}})


def test_a_mistake_in_the_file_is_said_without_the_secret_and_the_address(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("webhooks:\n  ops:\n    url: https://hooks.example.org/tok-123\n    secrets: [plain-secret-9]\n")
    with pytest.raises(UsageProblem) as caught:
        read_user_config(path)
    assert "plain-secret-9" not in str(caught.value)
    assert "tok-123" not in str(caught.value)
    assert "secrets" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("webhooks: {ops: {url: https://x, secrets: SECRET}}", "webhooks.ops.secrets: should be a list, not text"),
        (
            "webhooks: {ops: {url: https://x.example, secrets: [[SECRET]]}}",
            "webhooks.ops.secrets[0]: should be text, not a list",
        ),
        ("webhooks: {ops: {url: {a: SECRET}}}", "webhooks.ops.url: should be text, not a mapping"),
        ("webhooks: {ops: https://SECRET}", "webhooks.ops: should be a mapping of keys to values, not text"),
        ("webhooks: [https://SECRET]", "webhooks: should be a mapping of keys to values, not a list"),
        ("answer_links: {secrets: SECRET}", "answer_links.secrets: should be a list, not text"),
        ("answer_links: SECRET", "answer_links: should be a mapping of keys to values, not text"),
        ("answer_links: {secrets: [true], hours: 1}", "answer_links.secrets[0]: should be text, not true or false"),
        ("answer_links: 5", "answer_links: should be a mapping of keys to values, not a number"),
        ("webhooks: {Ops: {url: https://SECRET}}", "webhooks.Ops: should be a lower-case letter or a digit"),
        ("answer_links: {secrets: [SECRET], hours: 0}", "answer_links.hours: should be at least 1, not 0"),
        (
            "answer_links: {secrets: [SECRET], hours: true}",
            "answer_links.hours: should be a whole number, not True",
        ),
    ],
)
def test_a_secret_at_a_wrong_place_is_not_shown(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(text.replace("SECRET", "c0ffee0c0ffee0c0ffee"))
    with pytest.raises(UsageProblem) as caught:
        read_user_config(path)
    assert message in str(caught.value)
    assert "c0ffee" not in str(caught.value)
