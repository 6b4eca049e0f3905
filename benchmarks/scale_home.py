"""A home of thousands of runs for the benchmark of scale, a file and a database, and what commands cost in it.

Every run is driven by the product with a model in this process that answers at once: most have finished, and some wait
for an answer. The database gets the runs of a file by `replan home copy`, and a new file gets them back.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio
from common import commit, spread

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench_web import serving  # noqa: E402

from actors.planning.prepare import RunOptions  # noqa: E402
from benchmarks.web_home import ANALYSIS, ASKING, RECON, STRATEGY, WORKFLOW, environment, planning  # noqa: E402
from packages.server.tests.support.postgres import other_user, running_server  # noqa: E402
from replan.runs.home import open_home  # noqa: E402
from replan_server.service.access import with_token  # noqa: E402
from replan_server.service.store import Store  # noqa: E402
from runtime.core.ledger import Usage  # noqa: E402
from runtime.models.port import Reply  # noqa: E402

PROBLEM = "# Login fails\n\nThe login fails with a timeout when the session store is slow.\n"
SERVER = {"fsync": "on", "shared_buffers": "256MB", "autovacuum": "on", "max_wal_size": "4GB"}
SIDE_BY_SIDE = 100
"""How many runs are driven at a time."""
FEW = 20
"""The runs of the small home, with which the full one is compared; half of them wait."""
STEPS = {
    "g_analysis": {**WORKFLOW["action_pairs"]["g_analysis"]},
    "g_recon": {**WORKFLOW["action_pairs"]["g_recon"], "requires": ["g_analysis"]},
    "g_strategy": {**WORKFLOW["action_pairs"]["g_strategy"], "requires": ["g_analysis", "g_recon"]},
}
PAGES = {
    "questions, API": "/api/questions",
    "runs, API": "/api/runs",
    "inbox, page": "/",
    "inbox, its tenth page": "/?page=9",
    "runs, page": "/runs",
    "runs that wait, page": "/runs?status=waiting",
    "runs, a search": "/runs?q=fails&page=9",
    "runs of a kind, the dearest first": "/runs?kind=planning&sort=cost",
}


class Author:
    """A model in this process: runs whose names begin so are asked a question, and some steps need a second try."""

    name = "bench"

    async def complete(self, request):
        """Return the reply for the step and the run that a request names."""
        await trio.lowlevel.checkpoint()
        run, step, attempt = request.client_request_id.split("/")
        recon = {**RECON, "reproduction_steps": None} if run.endswith("1") and attempt.startswith("v1.a1") else RECON
        replies = {"g_analysis": ASKING if is_asking(run) else ANALYSIS, "g_recon": recon, "g_strategy": STRATEGY}
        return Reply(text=json.dumps(replies[step]), usage=Usage(input_tokens=900, output_tokens=300), model=self.name)

    async def get(self, *_):
        """Return the model, for every name."""
        await trio.lowlevel.checkpoint()
        return self


def is_asking(run):
    """Tell whether a run waits."""
    return run.startswith("ask")


def names(runs, waiting):
    """Return the names of the runs, those that wait among the others."""
    every = runs // waiting
    return [f"ask{number:06}" if number % every == 0 else f"run{number:06}" for number in range(runs)]


async def fill(home, runs, waiting):
    """Create a home with runs in a file; return the seconds that it took."""
    home.mkdir(mode=0o700)
    workflow = home / "steps.json"
    workflow.write_text(json.dumps({"name": "steps", "action_pairs": STEPS}), encoding="utf-8")
    begun = time.perf_counter()
    async with open_home(environment=environment(home)) as opened:
        engine, left = replace(opened, models=Author()), iter(names(runs, waiting))
        job = planning(engine, PROBLEM, RunOptions(workflow=str(workflow)))

        async def drive():
            for run in left:
                result = await engine.begin(job, run=run)
                assert result.status == ("waiting" if is_asking(run) else "finished"), result

        async with trio.open_nursery() as nursery:
            for _ in range(SIDE_BY_SIDE):
                nursery.start_soon(drive)
    return round(time.perf_counter() - begun, 1)


def make(folder, runs, waiting):
    """Make a home of many runs in a new folder, and a database of the same runs; return what `made` reads.

    The database's data are in a folder apart, since root starts the server as another user, who may not enter the homes
    of root.
    """
    folder.mkdir(mode=0o700, parents=True)
    fill_s = trio.run(fill, folder / "full", runs, waiting)
    print(f"{runs:,} runs in {fill_s} s", flush=True)
    data = Path(tempfile.mkdtemp(prefix="replan-scale-", dir="/var/tmp"))
    if other_user():
        shutil.chown(data, "nobody", other_user()["group"])
    with running_server(data, **SERVER) as server, copy_of(folder) as source:
        server.execute("postgres", "CREATE DATABASE full_home")
        seconds = copied(source.parent, file_of(source), server.url("full_home"))
    print(f"copied into a database in {seconds:.1f} s", flush=True)
    facts = {"runs": runs, "waiting": waiting, "fill_s": fill_s, "server": str(data), "made_at": commit()}
    (folder / "made.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return made(folder)


def made(folder):
    """Return what is known of a made home: its runs, and the folder of its server."""
    facts = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    return facts | {"server": Path(facts["server"])}


@contextmanager
def copy_of(folder):
    """Yield a home with a copy of the file of a made home, since runs that are copied from a journal leave it."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        home = Path(scratch) / "home"
        shutil.copytree(folder / "full", home)
        yield home


def waiting_runs(home, url, wanted):
    """Return the names of so many runs that wait for an answer and have none yet."""
    done = run_command(home, url, "questions", "--json")
    return [row["run_id"] for row in json.loads(done.stdout)["questions"]][:wanted]


def call(home, url, *words, ok=(0,)):
    """Run a command in a home, whose journal is a file or the database at `url`; return how many seconds it took."""
    begun = time.perf_counter()
    run_command(home, url, *words, ok=ok)
    return time.perf_counter() - begun


def run_command(home, url, *words, ok=(0,)):
    """Run a command in a home, whose journal is a file or the database at `url`; return what it printed."""
    variables = environment(home) | ({"REPLAN_JOURNAL": url} if url.startswith("postgresql:") else {})
    done = subprocess.run(
        [sys.executable, "-m", "replan", *words], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in ok, done.stderr[-2000:]
    return done


def file_of(home):
    """Return the URL of the file in a home."""
    return f"sqlite:{home / 'journal.sqlite3'}"


def copied(home, source, target):
    """Copy all runs of one journal to another by the command; return the seconds."""
    return call(home, "", "home", "copy", source, target)


COMMANDS = (
    "questions",
    "questions --json",
    "runs",
    "runs --waiting",
    "show run000001",
    "show --last",
    "answer QUESTION TEXT",
    "resume run000001",
)


def commands(few, full, rounds):
    """Return for each command its seconds with few and with all runs, and how much more these are, by round.

    `few` and `full` are each a home, the URL of its journal and the runs that wait there, of which some are answered.
    """
    times = {name: ([], []) for name in COMMANDS}
    for number in range(rounds + 1):
        for name in COMMANDS:
            for place, (home, url, waiting) in enumerate((few, full)):
                words = name.replace("QUESTION", f"{waiting[number]}/q1").split()
                seconds = call(home, url, *words)
                if number > 0:
                    times[name][place].append(seconds)
    return {
        name: {
            "few_s": spread(few_times),
            "full_s": spread(full_times),
            "over_s": spread([b - a for a, b in zip(few_times, full_times, strict=True)]),
        }
        for name, (few_times, full_times) in times.items()
    }


@contextmanager
def served(home, url):
    """Serve a home; yield a function that returns the seconds of a request."""
    store = Store(home)
    token = store.change(partial(with_token, name=f"bench{time.time_ns()}", scope="read", now=time.time()))
    before = os.environ.get("REPLAN_JOURNAL")
    if url.startswith("postgresql:"):
        os.environ["REPLAN_JOURNAL"] = url
    try:
        with serving(home, "--no-host") as (_, address):
            origin, _, one_time = address.partition("/sign-in#")
            host = origin.partition("//")[2]  # A name that only browsers resolve.
            base = f"http://127.0.0.1:{host.rpartition(':')[2]}"
            page = {"Host": host, "Cookie": session_of(base, origin, one_time)}
            program = {"Host": base.partition("//")[2], "Authorization": f"Bearer {token}"}

            def get(path):
                headers = program if path.startswith("/api/") else page
                begun = time.perf_counter()
                with urllib.request.urlopen(urllib.request.Request(f"{base}{path}", headers=headers)) as response:
                    assert response.url.endswith(path), response.url
                    response.read()
                return time.perf_counter() - begun

            yield get
    finally:
        os.environ.pop("REPLAN_JOURNAL", None)
        if before is not None:
            os.environ["REPLAN_JOURNAL"] = before


def session_of(base, origin, one_time):
    """Sign in as a browser does; return the cookie."""
    connection = http.client.HTTPConnection(base.partition("//")[2])
    headers = {
        "Host": origin.partition("//")[2],
        "Origin": origin,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    connection.request("POST", "/sign-in", f"token={one_time}", headers)
    response = connection.getresponse()
    assert response.status == 303, response.status
    return response.headers["set-cookie"].partition(";")[0]


def requests(home, url, rounds):
    """Return the seconds of each request of the API."""
    with served(home, url) as get:
        return {name: spread([get(path) for _ in range(rounds + 1)][1:]) for name, path in PAGES.items()}
