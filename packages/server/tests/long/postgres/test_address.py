"""What a connection to a database demands of the server, from its URL and the environment (S4)."""

import socket
import struct
import threading
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from replan_server.postgres.address import parse_address
from replan_server.postgres.connecting import connect


def demanded(url):
    parts = conninfo_to_dict(parse_address(url).conninfo)
    return parts.get("sslmode"), parts.get("sslrootcert"), parts.get("require_auth")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    for name in ("PGHOST", "PGSSLMODE", "PGSSLROOTCERT", "PGREQUIREAUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("host", ["db.example.com", "10.0.0.7", "localhost,db.example.com", "localhost.example.com"])
def test_a_server_on_another_machine_has_to_prove_its_name(host):
    assert demanded(f"postgresql://replan@{host}/journal") == ("verify-full", "system", "!password,!md5")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "%2Frun%2Fpostgresql", ""])
def test_a_server_on_this_machine_needs_no_certificate_but_gets_no_password_in_clear_text(host):
    assert demanded(f"postgresql://replan@{host}/journal") == (None, None, "!password,!md5")


def test_what_the_url_says_counts():
    url = "postgresql://replan@db/journal?sslmode=disable&require_auth=password"
    assert demanded(url) == ("disable", None, "password")


def test_what_the_environment_says_counts(monkeypatch):
    monkeypatch.setenv("PGSSLMODE", "require")
    monkeypatch.setenv("PGREQUIREAUTH", "md5")
    assert demanded("postgresql://replan@db/journal") == (None, None, None)


def test_a_host_that_the_environment_names_counts(monkeypatch):
    monkeypatch.setenv("PGHOST", "db.example.com")
    assert demanded("postgresql:///journal")[0] == "verify-full"


def test_roots_of_the_user_come_before_those_of_the_system(tmp_path):
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql" / "root.crt").write_text("", encoding="utf-8")
    assert demanded("postgresql://replan@db/journal")[:2] == ("verify-full", None)


def asking_for_the_password(listener, got):
    """Play a server that has no TLS and wants the password in clear text; `got` gets what it is told then."""
    connection, _ = listener.accept()
    connection.settimeout(5)
    with connection, suppress(OSError):
        while True:
            (size,) = struct.unpack("!I", connection.recv(4))
            (code,) = struct.unpack("!I", connection.recv(size - 4)[:4])
            if code in (80877103, 80877104):  # The client asks for TLS, or for GSS.
                connection.sendall(b"N")
                continue
            connection.sendall(b"R" + struct.pack("!II", 8, 3))
            got.append(connection.recv(1000))
            return


@pytest.mark.parametrize(("setting", "told"), [("", False), ("?require_auth=password", True)], ids=["", "asked for"])
def test_a_server_that_asks_for_the_password_in_clear_text_does_not_get_it(setting, told):
    """Unless the URL says so: else the test shows nothing."""
    got = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=asking_for_the_password, args=(listener, got))
        thread.start()
        url = f"postgresql://app:PASSw0rdZ@127.0.0.1:{listener.getsockname()[1]}/replan{setting}"
        with pytest.raises(psycopg.OperationalError) as caught:
            connect(parse_address(url))
        thread.join()
    assert any(b"PASSw0rdZ" in each for each in got) is told
    assert "PASSw0rdZ" not in str(caught.value)
