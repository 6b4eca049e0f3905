"""How the kept home is looked at: the commands whose output is kept, and the one form that it is kept and compared in.

Left out is the text of `replan runs`, which says how long ago a run was changed: `runs --json` has the times.
"""

import gzip
import hashlib
import json
from pathlib import Path

from click.testing import CliRunner

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC"}

VIEWS = {
    "show": ["--full"],
    "json": ["--json"],
    "tree": ["--tree"],
    "events": ["--events"],
    "events_json": ["--events", "--json"],
    "plan": ["--plan"],
    "mermaid": ["--mermaid"],
}
"""The views of a run, as `replan show RUN` takes them; the last two only for a run that has a proved plan."""
LISTS = {
    "runs_json": ["runs", "--json"],
    "waiting_json": ["runs", "--waiting", "--json"],
    "questions": ["questions"],
    "questions_json": ["questions", "--json"],
}
"""What is kept of the home as a whole."""

ANSWERS = {
    "waiting01": "The export of orders to CSV takes a minute; it should take five seconds.",
    "review001": "approve",
}
"""What a person says to the question `q1` of a run before it is resumed."""
RESUMED = {
    **dict.fromkeys(("parked001", "parked002", "crashed01", "admitted1", "daily0001", "aside0001", "review001"), ()),
    **dict.fromkeys(("waiting01", "waiting02", "waiting03", "waiting04"), ()),
    **{run: (f"{run}.367efd6c",) for run in ("parent001", "crashed02")},
}
"""The runs that can be gone on with, and the runs below them, which then go on as well."""

LONG = 200
"""A longer text in the records is kept as its hash: the journal has it, and a page of it would tell a reader less."""


def unpack(folder):
    """Make a copy of the home in a folder that is not there yet, and return that."""
    folder.mkdir(mode=0o700)
    (folder / "journal.sqlite3").write_bytes(gzip.decompress((HERE / "journal.sqlite3.gz").read_bytes()))
    return folder


def called(app, home, *arguments):
    """Call the command line on a home, and return the result."""
    return CliRunner().invoke(app, [str(one) for one in arguments], env={**ENVIRONMENT, "REPLAN_HOME": str(home)})


def kept(text, view):
    """Return what a command has printed in the form that is kept."""
    return pretty(shortened(json.loads(text))) if view.endswith("json") else text


def without_times(text):
    """Return the kept form of events without their times: ba24455 printed the event's own for some, as a number."""
    shown = json.loads(text)
    return {
        **shown,
        "events": [{key: value for key, value in event.items() if key != "at"} for event in shown["events"]],
    }


def pretty(value):
    """Return a JSON object as text: a line for each key, and for each member of a list, in the order that they have."""
    lines = [f"{json.dumps(key)}: {_members(one) or _line(one)}" for key, one in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _members(value):
    several = isinstance(value, list) and value
    return several and "[\n" + ",\n".join(f" {_line(one)}" for one in value) + "\n]"


def _line(value):
    return json.dumps(value, ensure_ascii=False)


def shortened(value):
    """Return a JSON value with a hash in the place of each long text."""
    match value:
        case str() if len(value) > LONG:
            return f"{len(value)} characters with the SHA-256 {hashlib.sha256(value.encode()).hexdigest()}"
        case dict():
            return {key: shortened(one) for key, one in value.items()}
        case list():
            return [shortened(one) for one in value]
        case _:
            return value


def runs(app, home):
    """Return the ids of all runs of a home that a person has started, the newest first."""
    return [row["run_id"] for row in json.loads(called(app, home, "runs", "--json").stdout)["runs"]]


def resumed(app, home, run):
    """Go on with a run, after a person has answered it, and yield each run that went on, with what it has come to."""
    if run in ANSWERS:
        done = called(app, home, "answer", f"{run}/q1", ANSWERS[run])
        assert done.exit_code == 0, done.output
    done = called(app, home, "resume", run, "--json", "--no-input")
    assert done.exit_code in (0, 3, 6), done.output
    for name in (run, *RESUMED[run]):
        yield name, pretty(json.loads(called(app, home, "show", name, "--json").stdout))
