"""The services of compose.yaml as processes of this machine: in their order, with their commands and environments.

What this cannot show is what Docker itself does: networks, read-only roots, users, volumes.
"""

import json
import os
import re
import subprocess
from contextlib import ExitStack, contextmanager

import pytest

from packages.server.tests.deploy.test_files import COMPOSE, SERVICES
from packages.server.tests.long.deploy.test_health import until
from packages.server.tests.support.postgres import required, running_server
from tests.support.receiver import free_port

ENVIRONMENT = {f"REPLAN_{name}_PASSWORD": f"{name.lower()}7secret" for name in ("ADMIN", "OWNER", "APP", "ARCHIVE")}
PROBLEM = "# Export loses the last row\n\n`export_csv()` in `shop/export.py` leaves out the last order.\n"


def interpolated(text, environment):
    """Return a value of the file as Compose reads it."""

    def value(match):
        found = environment.get(match["name"], "")
        if match["sign"] == ":?" and not found:
            raise KeyError(match["name"])
        return found or (match["rest"] if match["sign"] == ":-" else "")

    return re.sub(r"\$\{(?P<name>\w+)(?:(?P<sign>:[-?])(?P<rest>[^}]*))?\}", value, text).replace("$$", "$")


@pytest.fixture(scope="module")
def server():
    """The service `db`: a database, and its script for roles."""
    (psql,) = required("psql")
    service = {name: interpolated(text, ENVIRONMENT) for name, text in SERVICES["db"]["environment"].items()}
    with running_server() as server:
        user, database = service["POSTGRES_USER"], service["POSTGRES_DB"]
        password = service["POSTGRES_PASSWORD"]
        server.execute(
            "postgres",
            f"CREATE ROLE {user} LOGIN SUPERUSER PASSWORD '{password}'",
            f"CREATE DATABASE {database} OWNER {user}",
        )
        script = interpolated(COMPOSE["configs"]["roles"]["content"], ENVIRONMENT)
        paths = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGPASSWORD": password}
        path = f"{os.path.dirname(psql)}:{os.environ['PATH']}"  # noqa: PTH120
        subprocess.run(["/bin/sh"], input=script, text=True, check=True, env={**service, **paths, "PATH": path})
        yield server


class Stack:
    def __init__(self, server, folder, warm):
        self.server, self.folder, self.warm, self.ports = server, folder, warm, {}

    def environment(self, name, instance="1"):
        own = {key: interpolated(text, ENVIRONMENT) for key, text in SERVICES[name]["environment"].items()}
        own = {key: re.sub(r"@(?:db|127\.0\.0\.1):5432/", f"@127.0.0.1:{self.server.port}/", own[key]) for key in own}
        home = self.folder / f"{name}{instance}"
        return {"PATH": os.environ["PATH"], "REPLAN_HOME": str(home), **own}

    def command(self, name, instance="1"):
        """Return a service's command; its port is a free one of this machine."""
        words = list(SERVICES[name]["command"])
        for option in ("--port", "--health-port"):
            if option in words:
                self.ports[name + instance] = free_port()
                words[words.index(option) + 1] = str(self.ports[name + instance])
        return words

    def call(self, name, *words, code=0):
        """Run a command with a service's environment; return its stdout."""
        done = subprocess.run(
            [self.warm / "replan", *words],
            env=self.environment(name),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    @contextmanager
    def running(self, name, instance="1"):
        """Run a service until the end, and wait until it is healthy."""
        process = subprocess.Popen(
            [self.warm / "replan", *self.command(name, instance)],
            env=self.environment(name, instance),
            stdout=subprocess.DEVNULL,
        )
        try:
            assert until(self.ports[name + instance], 200, listening=False) == "ok\n"
            yield process
            process.terminate()
            assert process.wait(45) == 0
        finally:
            process.kill()
            process.wait()


def test_the_services_start_drive_a_run_move_it_away_and_stop(server, tmp_path, warm):
    stack = Stack(server, tmp_path, warm)
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM)
    stack.call("tables", *stack.command("tables"))
    with ExitStack() as running:
        for instance in ("1", "2"):
            running.enter_context(stack.running("worker", instance))
        running.enter_context(stack.running("web"))
        run = stack.call("web", "run", str(problem), "-m", "template:bug", "--detach").strip()
        assert "finished: success" in stack.call("web", "log", run, "--follow")
    stack.call("web", "home", "delete", run, code=9)
    old = tmp_path / "old"
    words = [*stack.command("archive")[:2], f"sqlite:{old / 'journal.sqlite3'}", "--ended", "--delete"]
    assert stack.call("archive", *words) == f"{run}\n"
    assert json.loads(stack.call("web", "runs", "--json"))["runs"] == []


def test_a_missing_password_stops_the_start():
    with pytest.raises(KeyError, match="REPLAN_APP_PASSWORD"):
        interpolated(SERVICES["db"]["environment"]["APP_PASSWORD"], {})
