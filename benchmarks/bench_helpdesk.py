"""A helpdesk that nobody here wrote: the telecom tickets of tau2-bench in solo mode, by one proved plan, no model.

    HELPDESK_PYTHON=PYTHON python benchmarks/bench_helpdesk.py [--rounds N] [--tasks N] [--made] [--model NAME]

PYTHON has `mcp` and what the environment of tau2-bench needs: loguru, docstring-parser, deepdiff, addict, toml,
python-dotenv, fastapi. The environment is found by REPLAN_EXTERNAL, or beside the checkout. Each task has a fresh
world (`helpdesk/server.py`), which judges the result by the task's own assertions. Every tenth task is killed in its
first writing call, before or after its work, and resumed; the person who is then asked looks into the world.

Three rounds run side by side. In the first one the user is not reached: only the ticket counts. In the others the user
answers what the plan asks, as the task's own instructions for the user say. Prints a table, writes
results/helpdesk.json.

With `--made` the plan is made first: `replan do` plans from the policy documents and the tools, with a scripted author
(`helpdesk/author.py`) whose first plans have mistakes, and executes the plan on the first ticket; then two rounds
execute it on all tickets (results/helpdesk_made.json). `--model NAME` lets a model make the plan instead.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import HERE, SCRATCH, provenance_of, table, write
from helpdesk.author import replies

import replan
from actors.execution.attempts import DONE, NOT_DONE
from actors.run.questions import NOT_RUN, SUCCEEDED
from tests.support.external import FOLDER

PLAN = HERE / "helpdesk" / "plan.json"
TAU2 = FOLDER / "tau2"
TASKS = TAU2 / "tasks_base.jsonl"
R_MAX = 300
PORT = 8765
REST_SECONDS = 3.0
"""How long the armed call rests, so that its caller is killed then."""
MODEL_CALLS, MODEL_TOKENS = 6, 800
"""The calls that a model has to make a plan, and the most tokens of each reply."""
READERS = frozenset({"ask_user", "transfer", "customer_by_phone", "data_usage"})
"""The generators without outcomes that write nothing."""


def main():
    """Run the rounds, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="rounds in which the user answers (4)")
    parser.add_argument("--tasks", type=int, default=0, help="only the first tasks")
    parser.add_argument("--made", action="store_true", help="execute a plan that is made first")
    parser.add_argument("--model", default="", help="the model that makes it, in place of the scripted author")
    parser.add_argument("--compact", action="store_true", help="with the prompts for a small context window")
    parser.add_argument("--plan", type=Path, default=PLAN, help=argparse.SUPPRESS)
    parser.add_argument("--round", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.round is not None:
        print(json.dumps(one_round(options.round, options.tasks, options.plan)))
        return
    if missing := needs():
        print(f"not measured: {missing}")
        return
    SCRATCH.mkdir(exist_ok=True)
    if options.made or options.model:
        measure_made(options)
        return
    extra = ["--tasks", str(options.tasks)]
    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(partial(separate, extra=extra), range(options.rounds + 1)))
    results = {**provenance_of(), "ticket_only": summary(ended[:1]), "user_answers": summary(ended[1:])}
    print(tables(results))
    write("helpdesk", results)


def measure_made(options):
    """Make a plan, execute it on all tickets, print, write."""
    made = making(options.model, compact=options.compact)
    plan = made.pop("plan")
    results = {**provenance_of(), "made": made}
    if plan is not None:
        path = SCRATCH / "helpdesk_plan.json"
        path.write_text(json.dumps(plan))
        extra = ["--tasks", str(options.tasks), "--plan", str(path)]
        with ThreadPoolExecutor(2) as pool:
            ended = list(pool.map(partial(separate, extra=extra), range(2)))
        results |= {"ticket_only": summary(ended[:1]), "user_answers": summary(ended[1:])}
        print(tables(results))
    print(json.dumps(made, indent=2))
    write("helpdesk_model" if options.model else "helpdesk_made", results)


def policy():
    """Return the policy documents of solo mode as the text of a problem."""
    folder = TAU2 / "data" / "tau2" / "domains" / "telecom"
    texts = [(folder / name).read_text() for name in ("main_policy_solo.md", "tech_support_workflow_solo.md")]
    return "\n\n".join(["# One procedure for all tickets of this helpdesk", *texts])


def making(model, *, compact):
    """Return how a plan was made from the policy and the tools, and the plan; None where none was."""
    task = json.loads(TASKS.read_text().splitlines()[0])
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name, serving(9):
        scratch = Path(name)
        world = Round(9, scratch, PLAN)
        world.wait()
        world.control("reset/0")
        script = scratch / "replies.json"
        script.write_text(json.dumps(replies(world.plan)))
        asked = []

        def answer(question):
            asked.append(question["text"])
            return world.answer(task, question["text"])

        limits = {"max_calls": MODEL_CALLS, "output_tokens_max": MODEL_TOKENS} if model else {}
        if compact:
            limits["compact"] = True
        begun = time.perf_counter()
        done = replan.do(
            policy(),
            tools=world.tools,
            workspace=world.workspace,
            workflow=HERE / "helpdesk" / "workflow.yaml",
            model=model or f"scripted:{script}",
            approve="none",
            home=scratch / "home",
            ask=answer,
            **limits,
        )
        result = done.planning
        return {
            "model": model or "scripted",
            "outcome": str(result.outcome or result.status),
            "why": result.why,
            "calls": result.calls,
            "tokens": result.tokens,
            "level": result.proof.level,
            "assurance": result.proof.assurance,
            "questions": sum(text.startswith("Which of the two holds") for text in asked),
            "first_ticket": None if done.execution is None else bool(world.control("judge")["passed"]),
            "seconds": time.perf_counter() - begun,
            "attempts": {
                attempt.node: [finding.code for finding in attempt.findings if finding.severity == "error"]
                for attempt in result.tree
            },
            "plan": None if result.plan is None else result.plan.to_dict(),
        }


def needs():
    """Return what is missing to run, as half a sentence; empty where nothing is."""
    if not TASKS.is_file():
        return f"there is no {TASKS}; set REPLAN_EXTERNAL to the folder of the external cases"
    words = [
        os.environ.get("HELPDESK_PYTHON", sys.executable),
        "-c",
        "import addict, deepdiff, loguru, mcp, toml, uvicorn",
    ]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        return "HELPDESK_PYTHON names no Python with what the environment of tau2-bench needs"
    return ""


def separate(number, extra):
    """Run one round in a process of its own and return its rows."""
    words = [sys.executable, __file__, "--round", str(number), *extra]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout)


def one_round(number, most, plan):
    """Return a row for each task of a round; in round 0 the user is not reached."""
    tasks = [json.loads(line) for line in TASKS.read_text().splitlines()][: most or None]
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch, serving(number):
        return Round(number, Path(scratch), plan).run(tasks)


@contextmanager
def serving(number):
    """Serve the worlds of the tasks for a round."""
    python = os.environ.get("HELPDESK_PYTHON", sys.executable)
    environment = {**os.environ, "TAU2_DATA_DIR": str(TAU2 / "data"), "PYTHONPATH": str(TAU2 / "src")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    words = [python, HERE / "helpdesk" / "server.py", "--tasks", TASKS, "--port", str(PORT + number)]
    with subprocess.Popen(words, env=environment) as server:
        try:
            yield
        finally:
            server.terminate()


class Round:
    """One round over the tasks, with a server of its own."""

    def __init__(self, number, scratch, plan):
        self.number, self.scratch, self.port, self.file = number, scratch, PORT + number, plan
        self.plan = json.loads(plan.read_text())
        self.tools = scratch / "tools.yaml"
        text = (HERE / "helpdesk" / "tools.yaml").read_text()
        self.tools.write_text(text.replace("127.0.0.1:8765", f"127.0.0.1:{self.port}"))
        (scratch / "functions.py").write_text((HERE / "helpdesk" / "functions.py").read_text())
        self.workspace = scratch / "workspace"
        self.workspace.mkdir()
        self.generators = {step["step_id"]: step for step in self.plan["steps"]}
        self.asked = 0

    def control(self, path):
        """Ask the server for something that only the benchmark may."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/control/{path}") as reply:
            return json.load(reply)

    def wait(self):
        """Wait until the server answers."""
        for _ in range(200):
            try:
                self.control("armed")
                break
            except OSError:
                time.sleep(0.2)

    def run(self, tasks):
        """Return a row for each task."""
        self.wait()
        return [self.task(index, task) for index, task in enumerate(tasks)]

    def task(self, index, task):
        """Carry out one task and return its row."""
        self.control(f"reset/{index}")
        self.asked, before = 0, time.perf_counter()
        killed = index % 10 == 9
        told = self.killed(index, task) if killed else self.whole(task)
        seconds = time.perf_counter() - before
        judged, writes = self.control("judge"), self.control("writes")["writes"]
        trace = told["trace"]
        wanted = sum(self.writes(item) for item in trace)
        return {
            "id": task["id"],
            "passed": bool(judged["passed"]) and all(judged["passed"]),
            "outcome": told["outcome"],
            "handed_over": "transfer:ok" in trace,
            "asked": self.asked,
            "model_calls": told["calls"],
            "calls": judged["calls"],
            "repeated": max(0, len(writes) - wanted),
            "killed": killed and told.get("killed", False),
            "seconds": seconds,
        }

    def writes(self, item):
        """Tell whether an item of a trace is a success of a step that writes."""
        step_id, _, outcome = item.rpartition(":")
        step = self.generators[step_id]
        return outcome == "ok" and not step.get("outcomes") and step["generator"] not in READERS

    def whole(self, task):
        """Execute the plan on one ticket in this process; return the run as `show` does."""
        home = self.scratch / "home"
        options = {"tools": self.tools, "workspace": self.workspace, "home": home, "model": "template:bug"}
        answer = partial(self.answer, task)
        ended = replan.execute(
            self.plan, approve="none", r_max=R_MAX, ask=lambda question: answer(question["text"]), **options
        )
        return replan.show(ended.run_id, home=home).to_json()

    def answer(self, task, text):
        """Return the answer of the user, or of the person who looks what a killed call has done."""
        if text.startswith("Have you done"):
            self.asked += 1
            willing = "willing to refuel 2.0 GB" in task["user_scenario"]["instructions"]["task_instructions"]
            return DONE if willing and self.number else NOT_DONE
        return SUCCEEDED if self.control("writes")["writes"] else NOT_RUN

    def killed(self, index, task):
        """Execute the plan in a process that is killed in its first writing call, and resume it."""
        home = self.scratch / f"home-{index}"
        environment = {**os.environ, "REPLAN_HOME": str(home)}
        cli = [sys.executable, "-m", "replan"]
        files = [self.file, "--tools", self.tools, "--workspace", self.workspace, "--r-max", str(R_MAX)]
        words = [*cli, "execute", *files, "--approve", "none", "-m", "template:bug", "--no-input", "--json"]
        self.control(f"arm/{'before' if index % 20 == 9 else 'after'}/{REST_SECONDS}")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(words, env=environment, cwd=HERE.parent, **quiet) as process:
            while process.poll() is None and not self.control("armed")["resting"]:
                time.sleep(0.02)
            killed = process.poll() is None
            if killed:
                process.send_signal(signal.SIGKILL)
        time.sleep(REST_SECONDS if killed else 0)  # A call that was cut off has ended by now, whatever became of it.

        def ask(*arguments):
            return subprocess.run(
                [*cli, *arguments], env=environment, cwd=HERE.parent, capture_output=True, text=True, check=False
            )

        told = json.loads(ask("resume", "--last", "--no-input", "--json").stdout) if killed else {"question": None}
        while told.get("question"):
            question = told["question"]
            ask("answer", question["id"], self.answer(task, question["text"]))
            told = json.loads(ask("resume", "--last", "--no-input", "--json").stdout)
        return json.loads(ask("show", "--last", "--json").stdout) | {"killed": killed}


def summary(rounds):
    """Return the numbers of some rounds over the same tasks."""
    rows = [row for each in rounds for row in each]
    by_task = list(zip(*rounds, strict=True))
    return {
        "tasks": len(by_task),
        "rounds": len(rounds),
        "passed": [sum(row["passed"] for row in each) for each in rounds],
        "pass_all": sum(all(row["passed"] for row in each) for each in by_task),
        "handed_over": sum(row["handed_over"] for row in rows) / len(rounds),
        "asked": sum(row["asked"] for row in rows) / len(rounds),
        "model_calls": sum(row["model_calls"] for row in rows),
        "calls": sum(row["calls"] for row in rows) / len(rounds),
        "writes_repeated": sum(row["repeated"] for row in rows),
        "kills": sum(row["killed"] for row in rows),
        "kills_passed": sum(row["killed"] and row["passed"] for row in rows),
        "seconds": statistics.median(row["seconds"] for row in rows if not row["killed"]),
        "proved_and_failed": sum(not row["passed"] for row in rows) / len(rows),
        "failed": sorted({row["id"] for row in rows if not row["passed"]}),
    }


def tables(results):
    """Return the results as Markdown."""
    names = {"ticket_only": "the ticket alone", "user_answers": "the user answers"}
    rows = []
    for key, name in names.items():
        each = results[key]
        rows.append(
            (
                name,
                each["tasks"],
                ", ".join(map(str, each["passed"])),
                f"{each['pass_all']} ({each['rounds']} rounds)",
                f"{each['asked']:g}",
                f"{each['calls']:,.0f}",
                each["model_calls"],
                each["writes_repeated"],
                f"{each['kills_passed']} of {each['kills']}",
                f"{each['seconds']:.2f}",
                f"{100 * each['proved_and_failed']:.1f} %",
            )
        )
    head = ("solo mode", "tasks", "passed", "passed in all", "questions", "tool calls", "model calls")
    tail = ("writes repeated", "kills, then passed", "median s", "proved, yet failed")
    return table((*head, *tail), rows)


if __name__ == "__main__":
    main()
