"""The files of a deployment: their commands and options exist, and what the page promises of them is in them."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys

import click
import pytest
import yaml

from packages.server.tests.deploy.image_build import allowed, instructions
from replan.cli.app import app
from replan.cli.exits import Exit
from runtime.drive.options import TERMINATED_SECONDS
from tests.docs.blocks import ROOT

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("replan")}
DOCKERFILE = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
UNIT_FILE = ROOT / "docs" / "examples" / "deploy" / "replan-worker.service"
UNIT = dict(re.findall(r"^(\w+)=(.*)$", UNIT_FILE.read_text(encoding="utf-8"), re.MULTILINE))


def last(name):
    return [arguments for each, arguments in DOCKERFILE if each == name][-1]


def parse(words):
    """Parse a command line as `replan` does, without running it. Raises `click.UsageError`."""
    context, command = app.make_context("replan", list(words), obj=None), app
    while isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context.params


COMMANDS = {
    **{f"compose.yaml {name}": service["command"] for name, service in OURS.items()},
    "Dockerfile": json.loads(last("CMD")),
    "replan-worker.service": shlex.split(UNIT["ExecStart"])[1:],
}


@pytest.mark.parametrize("place", COMMANDS)
def test_every_command_is_one_of_the_program(place):
    assert COMMANDS[place]
    parse(COMMANDS[place])


def test_a_wrong_command_would_be_noticed():
    with pytest.raises(click.UsageError):
        parse(["worker", "--concurrency", "many"])
    with pytest.raises(click.UsageError):
        parse(["worker", "--helth-port", "8431"])


@pytest.mark.parametrize("name", OURS)
def test_every_container_has_a_read_only_root_and_no_rights(name):
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    written = [*service.get("tmpfs", []), *service.get("volumes", [])]
    assert any(str(place).partition(":")[0] == "/tmp" for place in written)
    assert any("/var/lib/replan" in str(place) for place in written)


def test_the_image_runs_as_a_user_of_its_own_whose_home_is_private():
    names = [name for name, _ in DOCKERFILE]
    assert names.count("FROM") == 2
    user, group = last("USER").split(":")
    assert int(user) > 0 < int(group)
    assert names.index("USER") > max(place for place, name in enumerate(names) if name in ("RUN", "COPY"))
    runs = " ".join(arguments for name, arguments in DOCKERFILE if name == "RUN")
    assert f"--uid {user}" in runs
    assert "--owner replan --group replan --mode 0700 /var/lib/replan" in runs
    assert "REPLAN_HOME=/var/lib/replan" in last("ENV")
    mounted = [place for service in OURS.values() for place in service["tmpfs"] if "/var/lib" in place]
    assert all(f"uid={user},gid={group},mode=0700" in place for place in mounted)


def test_the_image_gets_all_that_it_copies_and_nothing_else():
    names = allowed((ROOT / ".dockerignore").read_text(encoding="utf-8"))
    copied = [
        word for name, words in DOCKERFILE if name == "COPY" and "--from" not in words for word in words.split()[:-1]
    ]
    assert sorted(copied) == sorted(names)
    assert all((ROOT / name).exists() for name in names)


@pytest.mark.parametrize("name", [name for name in OURS if "healthcheck" in OURS[name]])
def test_health_is_asked_of_the_port_and_the_path_that_there_are(name):
    service = OURS[name]
    [(port, path)] = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", " ".join(service["healthcheck"]["test"]))
    params = parse(service["command"])
    assert int(port) in (params.get("health_port"), params.get("port"))
    from replan_server.web.health import Health, health_routes

    assert path in [route.path for route in health_routes(Health(None, bool))]


def test_who_stops_a_worker_waits_longer_than_the_worker_does():
    assert all(int(service["stop_grace_period"].rstrip("s")) > TERMINATED_SECONDS for service in OURS.values())
    assert int(UNIT["TimeoutStopSec"]) > TERMINATED_SECONDS


def test_no_port_is_open_to_other_machines():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_there_are_two_workers_and_only_the_archive_may_delete():
    assert SERVICES["worker"]["deploy"]["replicas"] == 2
    roles = {name: re.findall(r"//(\w+):", str(service["environment"])) for name, service in OURS.items()}
    assert {name: set(found) for name, found in roles.items()} == {
        "tables": {"replan_owner"},
        "worker": {"replan_app"},
        "web": {"replan_app"},
        "archive": {"replan_archive"},
    }
    granted = parse(SERVICES["tables"]["command"])
    assert (granted["app"], granted["archive"]) == ("replan_app", "replan_archive")


def test_no_password_is_in_a_file():
    """They come from the environment, and a missing one is an error."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for password in re.findall(r"PASSWORD: (\S+)", text):
        assert re.match(r"\$\{REPLAN_\w+:\?", password)
    assert not re.search(r"//\w+:(?!\$)\w+@", text)
    assert "EnvironmentFile" in UNIT


def test_the_variables_are_those_that_the_program_reads():
    known = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    for service in OURS.values():
        for name in service["environment"]:
            assert f"`{name}`" in known


def test_the_unit_has_its_parts():
    text = UNIT_FILE.read_text(encoding="utf-8")
    assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE) == ["Unit", "Service", "Install"]
    assert (UNIT["ProtectSystem"], UNIT["DynamicUser"], UNIT["NoNewPrivileges"]) == ("strict", "yes", "yes")
    assert UNIT["Environment"] == f"REPLAN_HOME=/var/lib/{UNIT['StateDirectory']}/home"


def test_a_worker_that_starts_while_the_database_is_away_ends_with_one_line(tmp_path):
    """So that whoever started it by hand sees why; whatever supervises it starts it again."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # Nothing listens there.
        environment = {
            **os.environ,
            "REPLAN_HOME": str(tmp_path / "home"),
            "REPLAN_JOURNAL": f"postgresql://u:p@127.0.0.1:{closed.getsockname()[1]}/x",
        }
        words = [sys.executable, "-m", "replan", "worker"]
        done = subprocess.run(
            words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
        )
    assert done.returncode == Exit.JOURNAL
    assert "the database cannot be reached" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_worker_whose_database_is_away_is_started_again_without_a_limit():
    assert SERVICES["worker"]["restart"] == "unless-stopped"
    assert (UNIT["Restart"], UNIT["StartLimitIntervalSec"]) == ("always", "0")
    assert int(UNIT["RestartSec"]) > 0
