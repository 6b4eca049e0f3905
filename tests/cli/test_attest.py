"""`attest`: a key is made, a run is attested, the file verified; each mistake is one line."""

import json
import sqlite3
from contextlib import closing

import pytest

from replan.runs.attestation import signed
from replan.setup.attest_key import read_key
from replan.verifier.verify_attestation import verify
from runtime.core.events import text_hash
from tests.attestation.simulated_runs import KEY, PUBLIC, attestation, rebuilt
from tests.cli.conftest import SCRIPT
from tests.cli.samples import ANALYSIS, ASKING
from tests.cli.test_bad_input import assert_refused
from tests.cli.test_fork import BACK


@pytest.fixture
def run(replan, problem):
    """The id of a finished run."""
    return json.loads(replan("run", problem, "-m", "rules", "--json").stdout)["run_id"]


@pytest.fixture
def public(replan, home):
    """The public key of the home."""
    return replan("attest", "--new-key").stdout.strip()


def test_a_run_is_attested_and_verified(replan, home, run, public, tmp_path):
    file = tmp_path / "run.json"
    made = json.loads(replan("attest", run, "-o", file, "--json").stdout)
    assert made == {"run_id": run, "file": str(file), "bytes": file.stat().st_size, "public_key": public}
    assert (home / "attest-key.pem").stat().st_mode & 0o777 == 0o600
    shown = replan("attest", "--verify", file, "--public-key", public)
    assert shown.exit_code == 0, shown.stdout
    assert {line.split()[0] for line in shown.stdout.splitlines()} == {"proved", "claimed"}
    assert verify(file.read_bytes(), public).wrong == []


def test_forks_at_every_record_are_attested(replan, problem, scripted, public, tmp_path):
    """Also under another policy: charges begin anew, and decisions follow from the configuration from there on."""
    done = replan("run", problem, "-m", scripted(BACK), "--no-input", "--json", "-q")
    origin, file = json.loads(done.stdout)["run_id"], tmp_path / "fork.json"
    last = int(replan("log", origin).stdout.splitlines()[-1].split()[0]) - 1
    for seq in range(2, last + 1):
        policy = ("--policy", "belief") if seq % 2 else ()
        made = replan("fork", origin, "--at", seq, *policy, "-m", "rules", "--no-input", "--json", "-q")
        run = json.loads(made.stdout)["run_id"]
        assert replan("attest", run, "-o", file).exit_code == 0
        assert verify(file.read_bytes(), public).wrong == [], (seq, policy)


def test_a_changed_file_and_another_key_are_found(replan, run, public, tmp_path):
    file, key = tmp_path / "run.json", tmp_path / "other.pem"
    other = replan("attest", "--new-key", "--key", key).stdout.strip()
    replan("attest", run, "-o", file)
    wrong = replan("attest", "--verify", file, "--public-key", other)
    assert (wrong.exit_code, wrong.stdout) == (9, f"WRONG    signature: it is by the key {public}, not by {other}\n")
    file.write_bytes(file.read_bytes().replace(b"success", b"succes5", 1))
    wrong = replan("attest", "--verify", file, "--public-key", public, "--json")
    found = json.loads(wrong.stdout)
    assert (wrong.exit_code, found["ok"], found["wrong"]) == (9, False, ["signature: the file is not what was signed"])


def test_a_verdict_that_passes_a_plan_whose_goal_nothing_makes_is_found(replan, home, run, tmp_path):
    """Also where the owner of the key signs it, and the plan stands by its own hash."""
    replan("attest", "--new-key")
    file, key = tmp_path / "run.json", read_key(home / "attest-key.pem")
    replan("attest", run, "-o", file)
    made = json.loads(file.read_bytes())["attestation"]
    [judged] = made["runs"][0]["summary"]["plans"]
    plan = json.loads(made["texts"][judged["text"]])
    plan["goal_state"].append("never_made")
    text = json.dumps(plan)
    judged["text"] = text_hash(text)
    made["texts"][judged["text"]] = text
    wrong = verify(signed(made, key)).wrong
    assert any(cause.endswith("it passes a plan, although never_made is never reached") for cause in wrong), wrong


def test_what_cannot_be_attested_is_one_line(replan, home, planned, tmp_path):
    run = planned()
    assert_refused(replan("attest", run), "there is no key to sign with", "attest --new-key` makes one")
    public = replan("attest", "--new-key").stdout
    assert_refused(replan("attest", "--new-key"), "there is a key already", "move it away first")
    waiting = planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    assert_refused(replan("attest", waiting), f"run {waiting} has not ended", "cancel")
    (home / "attest-key.pem").chmod(0o644)
    assert_refused(replan("attest", run), "other users may read the key", "chmod 600")
    (home / "attest-key.pem").chmod(0o600)
    no_key = tmp_path / "no.pem"
    no_key.write_text(public, encoding="utf-8")
    no_key.chmod(0o600)
    assert_refused(replan("attest", run, "--key", no_key), "not the private key of Ed25519", "attest --new-key")
    assert_refused(replan("attest", run, "-o", tmp_path), "is a directory", "name a file")
    assert_refused(replan("attest", "--verify", tmp_path / "gone"), "no such file", "attest")


DAMAGES = (
    ("UPDATE runs SET kind = 'other'", 2, "other"),
    ("UPDATE events SET at = at - 60 WHERE seq = 5", 9, "record 5"),
)


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize("damage", DAMAGES, ids=["kind", "record"])
def test_a_damaged_run_and_one_of_an_unknown_kind_are_one_line(replan, home, run, damage):
    statement, code, cause = damage
    with closing(sqlite3.connect(home / "journal.sqlite3")) as journal:
        journal.execute(statement)
        journal.commit()
    refused = replan("attest", run)
    assert (refused.exit_code, refused.stderr.count("\n")) == (code, 1), refused.stderr
    assert cause in refused.stderr


def test_the_verifier_names_a_kind_that_it_does_not_know():
    made = json.loads(json.dumps(attestation("planning", 1)))
    made["runs"][0]["kind"] = "cooking"
    [cause] = verify(signed(rebuilt(made), KEY), PUBLIC).wrong
    assert cause.endswith("its kind cooking is unknown")
