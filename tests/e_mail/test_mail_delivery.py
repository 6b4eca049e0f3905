"""Questions arrive by e-mail at each person who may answer them, at least once, and are answered through its link."""

import json
import logging

import pytest
import trio

from replan.relay import message_sender
from tests.e_mail.samples import settings
from tests.support.mail_server import mail_server
from tests.web.test_answer_pages import answers_of, send
from tests.web.world import served
from tests.webhooks.test_delivery import until


def link_in(taken):
    """Return the path of the link in a message."""
    return next(line for line in taken.text.splitlines() if line.startswith("https:")).partition("example.org")[2]


def sent_to(server, person):
    return [each for each in server.messages if each.to == [f"{person}@example.org"]]


async def test_each_person_gets_a_message_whose_link_answers_once(tmp_path, plain):
    async with served(tmp_path, settings=settings(plain.port)) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        await until(lambda: len(plain.messages) == 2)
        ana, bob = (link_in(sent_to(plain, name)[0]) for name in ("ana", "bob"))
        page = await web.client.get(ana)
        assert "Question for ana" in page.text
        done = await send(web, ana, page, typed="3.12")
        assert "Answered by ana through a link in an e-mail" in done.text
        await web.settled(run, "finished")
        for path in (ana, bob):
            late = await web.client.get(path)
            assert late.status_code == 409
            assert "This question was answered by ana through a link in an e-mail." in late.text
        [event] = await answers_of(web, run)
        assert (event.via, event.person) == ("email", "ana")
        assert "ana answered through a link in an e-mail: 3.12" in (await web.browser.get(f"/runs/{run}")).text
        assert "answered by ana through a link in an e-mail" in (await web.browser.get(f"/runs/{run}/records")).text
    assert len(plain.messages) == 2  # Nobody is told of the end.


async def test_a_refused_address_gets_nothing_more_of_this_message_and_holds_up_nobody(tmp_path, plain, caplog):
    caplog.set_level(logging.INFO, logger="replan.mail")

    def refuse(session):
        address = "550 no such person" if session.to == [] and session.rest.startswith("TO:<ana") else "250 ok"
        session.wfile.write(f"{address}\r\n".encode())
        if address.startswith("250"):
            session.to.append(session.rest.partition("<")[2].partition(">")[0])

    plain.behave = lambda _: {"RCPT": refuse}
    async with served(tmp_path, settings=settings(plain.port)) as web:
        for _ in range(2):
            await web.settled(await web.start("asks"), "waiting")
        await until(lambda: len(sent_to(plain, "bob")) == 2)
        await until(lambda: caplog.text.count("mail.refused") == 2)
        await trio.sleep(0.5)
    assert plain.connections == 4
    assert sent_to(plain, "ana") == []


async def test_what_the_server_does_not_take_yet_is_sent_again_with_the_same_id_and_bytes(tmp_path, plain):
    """The server takes the message and says that it failed, as where its answer is lost."""
    plain.behave = lambda number: {"DONE": lambda session: session.leave()} if number <= 2 else {}
    people = {"ana": {"email": "ana@example.org"}}
    async with served(tmp_path, settings={**settings(plain.port), "people": people}) as web:
        await web.settled(await web.start("asks"), "waiting")
        await until(lambda: len(plain.messages) == 3)
        await trio.sleep(0.3)
    assert len({each.data for each in plain.messages}) == 1
    assert len({each.parsed["message-id"] for each in plain.messages}) == 1
    assert plain.connections == 3


async def test_a_server_that_is_down_delays_the_message(tmp_path):
    with mail_server() as server:
        port = server.port
    async with served(tmp_path, settings=settings(port)) as web:
        await web.settled(await web.start("asks"), "waiting")
        await trio.sleep(0.3)
        with mail_server(port=port) as server:
            await until(lambda: len(server.messages) == 2)


async def test_an_old_message_that_was_tried_is_left_out(tmp_path, plain, monkeypatch, caplog):
    monkeypatch.setattr(message_sender, "GIVE_UP_SECONDS", 0.0)
    plain.behave = lambda _: {"RCPT": "450 later"}
    async with served(tmp_path, settings=settings(plain.port)) as web:
        await web.settled(await web.start("asks"), "waiting")
        await until(lambda: caplog.text.count("mail.given_up") == 2)
    assert plain.messages == []


async def test_neither_the_password_nor_a_reply_is_in_a_log_or_the_journal(tmp_path, trusted, monkeypatch, caplog):
    monkeypatch.setenv("SMTP_PASSWORD", "correct-horse-battery")
    login = {"user": "replan", "password_env": "SMTP_PASSWORD", "security": "starttls"}
    caplog.set_level(logging.DEBUG)
    with mail_server(trusted) as server:
        server.users["replan"] = "another"  # The reply repeats what was sent.
        async with served(tmp_path, settings=settings(server.port, **login)) as web:
            run = await web.start("asks")
            await web.settled(run, "waiting")
            await until(lambda: "mail.failed" in caplog.text)
            server.users["replan"] = "correct-horse-battery"
            await until(lambda: len(server.messages) == 2)
            records = json.dumps([str(each) for each in await web.engine.journal.read(run)])
    assert "correct-horse" not in caplog.text + records
    assert "is wrong" not in caplog.text
    assert all(each.secure for each in server.messages)


@pytest.mark.parametrize("trouble", ["", "password", "certificate"])
def test_the_doctor_signs_in_and_says_what_is_wrong(tmp_path, pem, monkeypatch, capsys, trouble):
    from replan.cli import diagnosis

    monkeypatch.setenv("SMTP_PASSWORD", "correct-horse-battery")
    if trouble != "certificate":
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with mail_server(pem) as server:
        server.users["replan"] = "another" if trouble == "password" else "correct-horse-battery"
        login = {"user": "replan", "password_env": "SMTP_PASSWORD", "security": "starttls"}
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(json.dumps(settings(server.port, **login)))
        code = diagnosis.examine(online=True, model=None, as_json=True)
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    found = checks["mail"]
    assert found["ok"] == (not trouble)
    assert code == 1 or not trouble
    expected = {
        "": "answers, and takes replan's password",
        "password": "cannot be used: status 535 (SMTPAuthenticationError)",
        "certificate": "cannot be used: the certificate is not accepted",
    }[trouble]
    assert found["found"].startswith(f"localhost:{server.port} (starttls) {expected}")
    assert server.messages == []
