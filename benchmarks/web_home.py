"""A home with many runs and two long ones, for the benchmark of the web page.

Every run is driven by the real supervisor with a model in this process that answers at once: most have finished with a
plan, some wait for an answer, and some found no plan. The two long runs are a search whose plans are rejected again and
again, which waits for a person in the end, and the execution of a long plan.
"""

import json
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from actors.config.model_spec import Named
from actors.execution.prepare import ExecutionInput, prepare_execution
from actors.planning.prepare import PlanningInput, RunOptions
from actors.tools.specs import PythonSpec
from actors.tools.uses import ToolSet, ToolUse
from replan.runs.home import open_home
from replan.runs.prepare import RunOrder, prepare, setup_for
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import ModelChoice, UserConfig
from runtime.core.ledger import Usage
from runtime.models.port import Reply

SEARCH, EXECUTION, LIVE = "longsearch", "longexecution", "liverun"
"""The ids of the long runs, and of one that is driven while others look on."""
PACE_SECONDS = 0.2
"""How long the model thinks about a step of the run that others look on at."""
WAITING_EVERY, REJECTED_EVERY = 4, 10
"""One in so many of the short runs waits for an answer, and one in so many finds no plan."""
RECORDS_OF_ATTEMPT = RECORDS_OF_STEP = 5
"""How many records an attempt of the long search, and a step of the long execution, have on average."""
SIDE_BY_SIDE = 50
"""How many runs are driven at a time."""
CHOICE = ModelChoice("bench", Named("bench"))
ANALYSIS = {
    "problem_type": "bug_fix",
    "language": "python",
    "severity": "high",
    "key_signals": ["timeout"],
    "affected_area": "login",
    "rationale": "It worked before.",
}
ASKING = {**ANALYSIS, "open_questions": ["Which version of the session store is it?"]}
RECON = {
    "mentioned_files": [],
    "stack_traces": [],
    "apis_involved": [],
    "test_references": [],
    "reproduction_steps": ["log in"],
    "constraints_mentioned": [],
    "requirements": [],
}
STRATEGY = {
    "strategy_id": "S1_locate_and_fix",
    "strategy_name": "Locate and fix",
    "rationale": "The symptom is clear.",
    "key_steps": ["find", "fix"],
    "expected_guards": ["human"],
    "risk_factors": [],
}
FIX = {"step_id": "fix", "name": "Fix it", "generator": "g", "guard": "syntax", "retry_budget": 2, "effects": ["fixed"]}
PLAN = {
    "plan_id": "p1",
    "goal": "The login works",
    "initial_state": ["bug"],
    "goal_state": ["fixed"],
    "total_retry_budget": 4,
    "steps": [
        {**FIX, "step_id": "find", "name": "Find the cause", "preconditions": ["bug"], "effects": ["known"]},
        {**FIX, "dependencies": ["find"], "preconditions": ["known"]},
    ],
}


class Author:
    """A model in this process: some runs are asked a question, some get a plan that cannot work, by their number.

    The long search asks a question once it has had so many replies.
    """

    name = "bench"

    def __init__(self, long=0):
        self._left = long

    async def complete(self, request):
        """Return the reply for the step and the run that a request names."""
        await trio.lowlevel.checkpoint()
        run, step, attempt = request.client_request_id.split("/")
        number = int(run[3:]) if run[3:].isdigit() else 1
        first = attempt.startswith("v1.a1")
        plan, strategy = PLAN, {**STRATEGY, "rationale": f"The symptom is clear: {attempt}."}
        if run == LIVE:
            await trio.sleep(PACE_SECONDS)
        if run == SEARCH:
            self._left -= 1
            if self._left < 0:
                strategy["open_questions"] = ["Should the search go on?"]
        if (
            run in (SEARCH, LIVE) or number % REJECTED_EVERY == 0
        ):  # Each with another finding, so that the search goes on.
            plan = json.loads(json.dumps(PLAN))
            plan["plan_id"] = attempt
            plan["steps"][1]["preconditions"] = [f"nothing_makes_{attempt}"]
        replies = {
            "g_analysis": ASKING if first and number % WAITING_EVERY == 0 else ANALYSIS,
            "g_recon": RECON,
            "g_strategy": strategy,
            "g_plan": plan,
        }
        return Reply(text=json.dumps(replies[step]), usage=Usage(input_tokens=900, output_tokens=300), model=self.name)

    async def get(self, *_):
        """Return the model, for every name."""
        await trio.lowlevel.checkpoint()
        return self


def environment(home):
    """Return the environment variables for a home."""
    nobody = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"}
    return {**os.environ, **nobody, "REPLAN_HOME": str(home), "PYTHONPATH": str(data_root())}


@asynccontextmanager
async def engine_of(home, *, long=0):
    """Open the engine of a home, with the model of this module."""
    async with open_home(environment=environment(home)) as opened:
        yield replace(opened, models=Author(long))


async def fill(home, *, runs, records):
    """Create a home with so many runs, of which two have about so many records each."""
    slots = trio.CapacityLimiter(SIDE_BY_SIDE)
    attempts = records // RECORDS_OF_ATTEMPT
    async with engine_of(home, long=attempts) as engine, trio.open_nursery() as nursery:

        async def begin(number):
            async with slots:
                problem = f"# Login {number} fails\n\nThe login fails with a timeout when the session store is slow.\n"
                await engine.begin(planning(engine, problem, RunOptions()), run=f"run{number:05}")

        for number in range(runs - 2):
            nursery.start_soon(begin, number)
        nursery.start_soon(_search, engine, Path(home).parent, attempts)
        nursery.start_soon(_execution, engine, Path(home).parent, records // RECORDS_OF_STEP)


def planning(engine, problem, options):
    return prepare(
        RunOrder(PlanningInput(problem, options), CHOICE.text),
        config=UserConfig(),
        registry=registry(),
        environment=engine.environment,
        now=engine.clock.now(),
    ).request


async def _search(engine, folder, attempts):
    """Drive the long search: strategy after strategy, as all plans are rejected. It has to ask before its cap."""
    problem = "# The long search\n\nThe login fails with a timeout when the session store is slow.\n"
    await engine.begin(planning(engine, problem, _long(folder, 2 * attempts)), run=SEARCH)


async def live_run(engine, folder, attempts):
    """Record the start of a run with so many attempts; return its id, and a function that drives it to its end."""
    prepared = planning(engine, "# The live run\n\nThe login fails with a timeout.\n", _long(folder, attempts))
    run = await engine.admit(prepared, run=LIVE)
    return run, partial(engine.resume, run)


def _long(folder, calls):
    """Return the options of a search that goes back as often as its calls allow."""
    workflow = json.loads(json.dumps(WORKFLOW))
    workflow["max_total_calls"] = calls
    workflow["action_pairs"]["g_strategy"]["backtrack_budget"] = calls
    path = folder / f"long{calls}.json"
    path.write_text(json.dumps(workflow), encoding="utf-8")
    return RunOptions(workflow=str(path))


WORKFLOW = {
    "name": "long",
    "action_pairs": {
        "g_analysis": {"generator": "LLMJsonGenerator", "guard": "analysis_valid"},
        "g_recon": {"generator": "LLMJsonGenerator", "guard": "recon_valid"},
        "g_strategy": {
            "generator": "LLMJsonGenerator",
            "guard": "strategy_valid",
            "requires": ["g_analysis", "g_recon"],
            "rmax": 2,
        },
        "g_plan": {"generator": "LLMPlanGenerator", "guard": "plan_medium", "requires": ["g_strategy"], "rmax": 3},
    },
}


async def work(_workspace):
    """The tool of the long execution's steps."""
    await trio.lowlevel.checkpoint()
    return "done"


async def _execution(engine, folder, steps):
    """Drive the long execution: a chain of steps, each a call and its check, which a function of this process is."""
    workspace = folder / "workspace"
    workspace.mkdir()
    names = {
        "parameters": {},
        "output_bytes": 100_000,
        "function": "work",
        "module": __name__,
        "file": "",
        "sha256": "",
    }
    use = {"arguments": "{}", "repeatable": True, "risky": False, "timeout_seconds": 60.0}
    tools = ToolSet(
        source="",
        sha256="",
        tools={name: PythonSpec(name=name, **names) for name in ("work", "check")},
        generators={"work": ToolUse(tool="work", **use)},
        guards={"syntax": ToolUse(tool="check", **use)},
    )
    request = ExecutionInput(
        plan=_chain(steps),
        tools=tools,
        workspace=workspace,
        approval="none",
        level="plan_minimal",
        assurance="none",
        r_max=steps,
        snapshots=False,
    )
    setup = setup_for(
        CHOICE,
        config=UserConfig(),
        registry=registry(),
        root=data_root(),
        environment=engine.environment,
        now=engine.clock.now(),
    )
    await engine.begin(prepare_execution(request, setup), run=EXECUTION)


def _chain(steps):
    return {
        "plan_id": "chain",
        "initial_state": ["t0"],
        "goal_state": [f"t{steps}"],
        "total_retry_budget": steps,
        "steps": [
            {
                "step_id": f"s{number:04}",
                "name": f"step {number}",
                "generator": "work",
                "guard": "syntax",
                "retry_budget": 1,
                "dependencies": [f"s{number - 1:04}"] if number else [],
                "preconditions": [f"t{number}"],
                "effects": [f"t{number + 1}"],
            }
            for number in range(steps)
        ],
    }
