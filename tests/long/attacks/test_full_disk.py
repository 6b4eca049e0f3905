"""A disk that is really full: the home is on a file system of 8 MB, and another file takes what is left.

The file system is a tmpfs in a mount namespace of the test's own. Where the kernel lets this user mount nothing, the
test checks that this is why; `journal/test_sqlite_disk.py` then has the same faults, simulated below SQLite.
"""

import json
import subprocess
import sys

from tests.cli.samples import PROBLEM
from tests.docs.blocks import ROOT

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
WAITS = "no room is left to write; the run goes on when there is room again"
INSIDE = """
import json, os, pathlib, subprocess, sys
place, problem, waits = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", place], check=True)
environment = os.environ | {"REPLAN_HOME": str(place / "home")}
ballast, run = place / "ballast", ("run", problem, "-m", "template:bug", "--json")

def fill(left):
    room = os.statvfs(place)
    ballast.write_bytes(b"x" * (room.f_bavail * room.f_frsize - left))

def start(*words):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "replan", *words], env=environment, **pipes)

def call(*words):
    process = start(*words)
    out, err = process.communicate(timeout=120)
    return {"code": process.returncode, "out": out, "err": err}

story = {"first": call(*run)}
fill(50_000)
story["full"] = [call(*words) for words in (run, ("runs", "--json"), ("home", "verify"))]
ballast.unlink()
fill(100_000)
process = start(*run)
said = ""
for line in process.stderr:
    said += line
    if waits in line:
        break
ballast.unlink()
out, err = process.communicate(timeout=120)
story["waited"] = {"code": process.returncode, "out": out, "err": said + err}
story["after"] = [call(*words) for words in (("runs", "--json"), ("home", "verify"))]
print(json.dumps(story))
"""


def test_a_full_disk_costs_no_record_and_a_run_goes_on_once_there_is_room(tmp_path):
    (place := tmp_path / "disk").mkdir(mode=0o700)
    (problem := tmp_path / "problem.md").write_text(PROBLEM)
    tried = [*NAMESPACE, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    mounted = subprocess.run(tried, capture_output=True, text=True, check=False)
    if mounted.returncode:
        assert "not permitted" in mounted.stderr or "No space left" in mounted.stderr, mounted.stderr
        return
    command = [*NAMESPACE, sys.executable, "-c", INSIDE, str(place), str(problem), WAITS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    story = json.loads(done.stdout)
    assert story["first"]["code"] == 0
    refused, *reading = story["full"]
    assert refused["code"] == 1
    assert refused["err"].endswith("no room is left to write; free some space, then resume the run\n")
    assert "Traceback" not in refused["err"]
    assert [each["code"] for each in reading] == [0, 0], reading
    assert WAITS in story["waited"]["err"], "the disk was not full while the run was driven"
    assert story["waited"]["code"] == 0, story["waited"]["err"]
    listed, verified = story["after"]
    ended = {json.loads(story[name]["out"])["run_id"] for name in ("first", "waited")}
    assert {run["run_id"] for run in json.loads(listed["out"])["runs"] if run["status"] == "finished"} == ended
    assert verified["code"] == 0
