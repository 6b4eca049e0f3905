"""Senders of installed distributions get the messages of a webhook, at least once, in the order of the records."""

import importlib

import pytest
from pydantic import ValidationError

from packages.server.tests.web.world import served
from packages.server.tests.webhooks.test_delivery import until
from replan.runs import hosting
from replan.setup.settings import read_user_config
from replan_server.notifications import SenderEntry
from replan_server.services import WEBHOOKS
from replan_server.settings import ServerSettings
from replan_server.webhooks.messages import message_id
from replan_server.webhooks.sender import SENDER_PLUGINS, by_plugin
from runtime.core.errors import UsageProblem
from tests.support.distributions import install

MODULE = """
sent, tries = [], []

async def send(message, settings):
    tries.append(message["id"])
    if len(tries) == 1:
        raise OSError("the desktop is asleep")
    sent.append((message, settings))

def slow(message, settings):
    return None
"""
SENDERS = {"desktop": "desktops:send", "slow": "desktops:slow", "lost": "nowhere:send", "webhook": "desktops:send"}


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """Install a distribution with a sender, and return its module."""
    install(monkeypatch, tmp_path / "site", "desk-tops", {"replan.senders": SENDERS}, desktops=MODULE)

    return importlib.import_module("desktops")


async def test_a_sender_gets_the_messages_in_order_and_one_that_failed_again(tmp_path, quick, desktop, monkeypatch):
    page, notices = "https://replan.example.org", []
    kept = hosting.OutsideTrouble
    monkeypatch.setattr(hosting, "OutsideTrouble", lambda run, text: notices.append(text) or kept(run, text))
    senders = {"lost": {}, "desktop": {"page": page, "settings": {"topic": "ops", "tags": ["a", 1]}}}
    async with served(tmp_path, settings={"senders": senders}) as web:
        run = await web.start()
        await until(lambda: desktop.sent)
        await web.engine.answer(f"{run}/q1", "The second version")
        await until(lambda: len(desktop.sent) == 2)
    (asked, settings), (ended, _) = desktop.sent
    assert settings == {"topic": "ops", "tags": ["a", 1]}
    assert (asked["type"], ended["type"]) == ("run.waiting", "run.finished")
    assert (asked["data"]["run_id"], asked["data"]["question"]) == (run, f"{run}/q1")
    assert ended["data"]["link"] == f"{page}/open"
    assert desktop.tries == [message_id(run, item["data"]["seq"]) for item in (asked, asked, ended)]
    [notice] = notices
    assert notice.startswith("replan.senders lost (from desk-tops): cannot be loaded: ModuleNotFoundError")


async def test_only_the_events_that_are_asked_for_are_sent(tmp_path, quick, desktop):
    desktop.tries.append("an earlier one")
    async with served(tmp_path, settings={"senders": {"desktop": {"events": ["finished"]}}}) as web:
        await web.settled(await web.start("asks"), "waiting")
        await web.start("plans")
        await until(lambda: desktop.sent)
    assert [message["type"] for message, _ in desktop.sent] == ["run.finished"]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("slow", "is the function slow(message, settings), and should be an async function"),
        ("lost", "cannot be loaded: ModuleNotFoundError"),
        ("webhook", "no sender 'webhook' is installed (installed: desktop, lost, slow)"),
        ("phone", "no sender 'phone' is installed (installed: desktop, lost, slow)"),
    ],
)
def test_a_sender_that_cannot_be_used_is_named(desktop, name, cause):
    with pytest.raises(UsageProblem) as caught:
        by_plugin(name, SenderEntry())
    assert cause in str(caught.value)


def test_a_name_is_neither_taken_twice_nor_that_of_the_built_in_sender(desktop, tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "other", "work-tops", {"replan.senders": {"desktop": "desktops:send"}})
    with pytest.raises(
        UsageProblem, match=r"desktop \(from desk-tops and work-tops\): several packages have a plug-in of this name"
    ):
        by_plugin("desktop", SenderEntry())
    assert any(
        "webhook (from desk-tops): a plug-in cannot have a built-in name" in problem
        for problem in SENDER_PLUGINS.problems()
    )


def test_the_settings_of_senders_are_checked_and_not_shown(tmp_path):
    for wrong in ({"events": []}, {"page": "javascript:alert(1)"}, {"topic": "ops"}):
        with pytest.raises(ValidationError):
            ServerSettings.model_validate({"senders": {"desktop": wrong}})
    path = tmp_path / "config.yaml"
    path.write_text("senders:\n  desktop: {settings: {token: tok-123}, events: [started]}\n")
    with pytest.raises(UsageProblem) as caught:
        read_user_config(path)
    assert "config.yaml:2" in str(caught.value)
    assert "tok-123" not in str(caught.value)


def test_doctor_lists_the_senders_that_are_switched_on(desktop, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("senders: {desktop: {}}\n")
    assert WEBHOOKS.describe({"REPLAN_HOME": str(tmp_path)}) == "the sender desktop"
    (tmp_path / "config.yaml").write_text("senders: {phone: {}}\n")
    with pytest.raises(UsageProblem, match="no sender 'phone' is installed"):
        WEBHOOKS.describe({"REPLAN_HOME": str(tmp_path)})
