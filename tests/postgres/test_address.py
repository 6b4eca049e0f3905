"""What a connection to a database demands of the server, from its URL and the environment (S4)."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from runtime.journal.postgres.address import parse_address


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
