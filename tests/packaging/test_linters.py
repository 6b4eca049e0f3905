"""The linters of the image, the compose file and the unit find nothing.

`make linters` installs those of `.ci/linters.lock` into `build/linters`; systemd has its own. With the variable
REPLAN_REQUIRE_LINTERS, as on a build machine, one that is missing is a failure.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from jsonschema.validators import validator_for

from packages.server.tests.deploy.test_files import UNIT_FILE
from tests.docs.blocks import ROOT

FOLDER = ROOT / "build" / "linters"
COMPOSE_SCHEMA = FOLDER / "check_jsonschema" / "builtin_schemas" / "vendor" / "compose-spec.json"
PATH = os.pathsep.join([str(FOLDER / "bin"), os.environ["PATH"]])


def required(found, name):
    """Skip the test without a linter, or fail where it is required."""
    if not found:
        if os.environ.get("REPLAN_REQUIRE_LINTERS"):
            pytest.fail(f"REPLAN_REQUIRE_LINTERS is set, and there is no {name}")
        pytest.skip(f"there is no {name}: `make linters` installs it")


def call(*words):
    """Run a linter over a file; it has to find nothing."""
    environment = os.environ | {"PATH": PATH, "PYTHONPATH": str(FOLDER)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hadolint_finds_no_mistake_in_the_dockerfile():
    required(shutil.which("hadolint", path=PATH), "hadolint")
    call("hadolint", "--failure-threshold", "warning", "Dockerfile")


def test_compose_lint_finds_nothing_in_the_compose_file_but_what_is_accepted_with_a_reason():
    required((FOLDER / "compose_lint").is_dir(), "compose-lint")
    options = ("--fail-on", "low", "--strict-config", "--config", ".ci/compose-lint.yml", "--no-env", "--quiet")
    call(sys.executable, "-m", "compose_lint", "check", *options, "compose.yaml")


def test_the_compose_file_fits_the_schema_of_the_specification():
    required(COMPOSE_SCHEMA.is_file(), "check-jsonschema")
    schema = json.loads(COMPOSE_SCHEMA.read_text(encoding="utf-8"))
    checks = validator_for(schema)(schema)
    document = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert [error.message for error in checks.iter_errors(document)] == []
    service = document["services"]["web"]
    for wrong in ({"prots": ["8430"]}, {"restart": True}, {"depends_on": {"db": {"condition": "service_hale"}}}):
        assert not checks.is_valid({"services": {"web": {**service, **wrong}}}), wrong


def test_systemd_finds_no_mistake_in_the_unit(tmp_path):
    """Its verifier gets a program that exists in the place of the installed one."""
    required(shutil.which("systemd-analyze"), "systemd-analyze")
    unit = tmp_path / UNIT_FILE.name
    unit.write_text(UNIT_FILE.read_text(encoding="utf-8").replace("/opt/replan/bin/replan", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
