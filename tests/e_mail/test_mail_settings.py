"""The settings of e-mail: what cannot be used is refused in one line with its key, and no password is shown."""

import pytest
import yaml

from replan.setup.settings import read_user_config
from runtime.core.errors import UsageProblem
from tests.docs.blocks import ROOT
from tests.docs.blocks import blocks as shown_blocks
from tests.e_mail.samples import settings
from tests.webhooks.conftest import secret

WRONG = {
    "people.ana.email": [
        ({"people": {"ana": {"email": text}}}, "is no e-mail address")
        for text in ("ana", "ana@", "@example.org", "ana@example.org\nBcc: eve@example.org", "a b@example.org",
                     f"{'a' * 300}@b.de",
                     "Ana <ana@example.org>", "ana@example.org, eve@example.org", "änä@example.org")
    ]
    + [({"mail": None}, "nothing sends e-mail")],
    "people.ana": [({"people": {"ana": {}}}, "nothing reaches this person")],
    "people": [({"answer_links": None}, "nothing signs the links")],
}  # fmt: skip
MAIL_WRONG = {
    "host": [("a..b", "no name of a server"), ("", "")],
    "port": [(0, ""), (70_000, "")],
    "security": [("ssl", "")],
    "sender": [("replan", "is no e-mail address"), ("a@b\r\nx", "is no e-mail address")],
    "page": [("http://replan.example.org", "in the clear"), ("javascript:alert(1)", "not an http")],
    "user": [("replan", "one password"), ("rëplan", "outside ASCII")],
    "password_env": [("SMTP_PASSWORD", "a password without a user"), ("with-dash", "environment variable")],
}


def read(tmp_path, change):
    path = tmp_path / "config.yaml"
    value = {key: each for key, each in {**settings(25), **change}.items() if each is not None}
    path.write_text(yaml.safe_dump(value))
    return read_user_config(path)


def refusal(tmp_path, change):
    with pytest.raises(UsageProblem) as caught:
        read(tmp_path, change)
    text = str(caught.value)
    assert "\n" not in text
    assert "config.yaml" in text
    return text


@pytest.mark.parametrize("key", WRONG)
def test_a_person_needs_an_address_that_is_one_and_what_sends_to_it(tmp_path, key):
    for change, cause in WRONG[key]:
        text = refusal(tmp_path, change)
        assert cause in text
        assert key.rpartition(".")[2] in text


@pytest.mark.parametrize("key", MAIL_WRONG)
def test_a_mail_server_that_cannot_be_used_is_refused(tmp_path, key):
    for value, cause in MAIL_WRONG[key]:
        text = refusal(tmp_path, {"mail": {**settings(25)["mail"], key: value}})
        assert cause in text
        assert key in text


def test_neither_mail_nor_a_password_goes_in_the_clear_to_another_machine(tmp_path):
    good = settings(25)["mail"]
    assert "in the clear" in refusal(tmp_path, {"mail": {**good, "host": "smtp.example.org"}})
    login = {"user": "replan", "password_env": "SMTP_PASSWORD"}
    assert "in the clear" in refusal(tmp_path, {"mail": {**good, **login}})
    read(tmp_path, {"mail": {**good, **login, "security": "starttls", "host": "smtp.example.org"}})


def test_the_usual_ports_follow_from_the_security(tmp_path):
    for security, port in (("starttls", 587), ("tls", 465), ("none", 25)):
        mail = {key: value for key, value in settings(25)["mail"].items() if key != "port"}
        assert read(tmp_path, {"mail": {**mail, "security": security}}).mail.address == ("localhost", port)


def test_a_password_is_read_from_its_variable_or_file_each_time_and_never_shown(tmp_path):
    secret = tmp_path / "password"
    mail = {**settings(25)["mail"], "security": "tls", "user": "replan"}
    entry = read(tmp_path, {"mail": {**mail, "password_file": str(secret)}}).mail
    with pytest.raises(UsageProblem, match="cannot be read"):
        entry.password({})
    for text, password in (("first\n", "first"), ("second\r\nx", "second"), ("pass word", "pass word")):
        secret.write_text(text, newline="")
        assert entry.password({}) == password
    for wrong in ("", "\nx", "x" * 5000):
        secret.write_text(wrong)
        with pytest.raises(UsageProblem, match="has no password"):
            entry.password({})
    assert "in password_file" not in repr(entry)
    assert "relative" in refusal(tmp_path, {"mail": {**mail, "password_file": "password"}})
    entry = read(tmp_path, {"mail": {**mail, "password_env": "SMTP_PASSWORD"}}).mail
    assert entry.password({"SMTP_PASSWORD": "third"}) == "third"
    with pytest.raises(UsageProblem, match="SMTP_PASSWORD is not set"):
        entry.password({})


@pytest.mark.parametrize("key", ["password_env", "password_file"])
def test_a_password_outside_ascii_is_refused_by_its_setting_and_not_shown(tmp_path, key):
    file = tmp_path / "password"
    file.write_text("pass wörd\n")
    value = {"password_env": "SMTP_PASSWORD", "password_file": str(file)}[key]
    mail = {**settings(25)["mail"], "security": "tls", "user": "replan", key: value}
    entry = read(tmp_path, {"mail": mail}).mail
    with pytest.raises(UsageProblem, match="characters outside ASCII") as caught:
        entry.password({"SMTP_PASSWORD": "pass wörd"})
    assert f"mail.{key} in config.yaml" in str(caught.value)
    assert value in str(caught.value)
    assert "wörd" not in str(caught.value)


def test_the_settings_on_the_page_about_channels_are_taken(tmp_path):
    blocks = [each.body for each in shown_blocks(ROOT / "docs/how-to/send-webhooks.md") if each.language == "yaml"]
    found = {}
    for text in blocks:
        for key, value in yaml.safe_load(text).items():
            found.setdefault(key, {}).update(value) if isinstance(value, dict) else found.update({key: value})
    assert {"mail", "people", "slack", "reminders", "webhooks"} <= found.keys()
    people = {name: {"webhooks": ["ops"], "may": "approve"} for name in ("ana", "bob", "eve")}
    for name, person in found["people"].items():
        people[name].update(person)
    secrets = [secret(1)]
    ops = {"url": "https://hooks.example.org/replan", "secrets": secrets, "page": "https://replan.example.org"}
    found["webhooks"]["ops"] = ops
    found.update(people=people, answer_links={"secrets": secrets})
    found["slack"]["signing_secrets"] = ["8f742231b10e8888abcd99yyyzzz85a5"]
    found["webhooks"]["team"]["url"] = "https://hooks.slack.com/services/T/B/x"
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(found))
    config = read_user_config(path)
    assert (config.mail.address, config.slack.team) == (("smtp.example.org", 587), "T0123ABCD")
    assert (config.people["ana"].email, config.people["bob"].slack) == ("ana@example.org", "U0123ABCD")
