"""The program on a journal in Postgres: runs, questions and views as on a file, and no password anywhere."""

import json

import pytest
from click.testing import CliRunner

import replan as api
from packages.server.tests.support.postgres import PASSWORD
from replan.cli.app import app
from replan.runs.home import open_home
from replan_server.postgres.transaction import Listening
from runtime.host.wakeup import WakeSockets
from tests.cli.samples import PROBLEM


@pytest.fixture
def home(tmp_path, monkeypatch, url):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REPLAN_JOURNAL", url)
    return tmp_path / "home"


@pytest.fixture
def call(home):
    """Call `replan` in this process; check that it shows no password and writes none down."""

    def call(*words):
        done = CliRunner().invoke(app, [*map(str, words)])
        written = [path.read_bytes().decode(errors="replace") for path in home.rglob("*") if path.is_file()]
        for text in (done.stdout, done.stderr, *written):
            assert PASSWORD not in text
            assert PASSWORD.replace("/", "%2F") not in text
        return done

    return call


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.md"
    path.write_text(PROBLEM, encoding="utf-8")
    return path


def test_a_run_is_made_shown_and_checked_in_the_database(call, problem, home):
    done = call("run", problem, "-m", "template:bug", "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    listed = json.loads(call("runs", "--json").stdout)
    assert [run["run_id"] for run in listed["runs"]] == [result["run_id"]]
    assert json.loads(call("show", "--last", "--json").stdout)["plan"] == result["plan"]
    checks = {check["name"]: check["found"] for check in json.loads(call("doctor", "--json").stdout)["checks"]}
    assert checks["journal"].endswith("1 run, 0 waiting")
    assert checks["journal"].startswith("postgresql://127.0.0.1:")
    assert not (home / "journal.sqlite3").exists()


def test_a_question_is_asked_and_answered_through_the_database(call, tmp_path):
    vague = tmp_path / "vague.md"
    vague.write_text("Make it better, please.", encoding="utf-8")
    assert call("run", vague, "-m", "template:bug", "--no-input").exit_code == 6
    question = json.loads(call("questions", "--json").stdout)["questions"][0]["id"]
    assert call("answer", question, "The login page times out after 30 seconds.").exit_code == 0
    done = call("resume", "--last", "--no-input", "--json")
    assert json.loads(done.stdout)["status"] in {"finished", "waiting"}


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"postgresql://replan:{PASSWORD.replace('/', '%2F')}@127.0.0.1:1/journal", 9),
        (f"postgresql://replan:{PASSWORD}@127.0.0.1/journal", 2),
        ("sqlite:journal.sqlite3", 2),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(call, problem, monkeypatch, url, code):
    monkeypatch.setenv("REPLAN_JOURNAL", url)
    for words in (["runs"], ["run", problem, "-m", "template:bug"]):
        done = call(*words)
        assert done.exit_code == code
        assert len(done.stderr.splitlines()) == 1


def test_a_home_that_a_program_names_keeps_its_own_journal(home, tmp_path):
    result = api.solve(PROBLEM, model="template:bug", home=tmp_path / "other")
    assert (tmp_path / "other" / "journal.sqlite3").exists()
    assert [run.run_id for run in api.runs(home=tmp_path / "other")] == [result.run_id]
    assert not api.runs()


@pytest.mark.parametrize(("direct", "kind"), [(True, Listening), (False, WakeSockets)])
async def test_hosts_listen_to_the_server_where_its_own_address_is_named(home, url, direct, kind):
    environment = {"REPLAN_HOME": str(home), "REPLAN_JOURNAL": url} | ({"REPLAN_JOURNAL_DIRECT": url} if direct else {})
    async with open_home(environment=environment) as engine:
        assert isinstance(engine.wakeup, kind)
        assert engine.lease_seconds == 8.0
        await engine.journal.create("a", "title")
