"""Sample problems, replies and plans for tests of the command line and the Python API."""

import copy
import json

import yaml

from actors.values.requirements import requirement_id

PROBLEM = (
    "# Login fails\n\nThe login fails with a timeout when the session store is slow. It must take less than 1 s.\n"
)

DEMANDED = "It must take less than 1 s"
STATED = {
    "id": requirement_id(DEMANDED),
    "kind": "must_keep",
    "text": "less than 1 s",
    "quote": DEMANDED,
    "source": "problem",
}

PLAN = {
    "plan_id": "p1",
    "goal": "The login works",
    "initial_state": ["bug"],
    "goal_state": ["fixed"],
    "total_retry_budget": 6,
    "requirements": [STATED],
    "steps": [
        {
            "step_id": "find",
            "name": "Find the cause",
            "generator": "g",
            "guard": "human",
            "retry_budget": 2,
            "preconditions": ["bug"],
            "effects": ["known"],
            "on_failure": "continue",
            "failure_effects": ["unknown"],
        },
        {
            "step_id": "ask",
            "name": "Ask somebody",
            "generator": "g",
            "guard": "human",
            "retry_budget": 1,
            "dependencies": ["find"],
            "preconditions": ["unknown"],
            "effects": ["known"],
            "delete_effects": ["unknown"],
        },
        {
            "step_id": "fix",
            "name": "Fix it",
            "generator": "g",
            "guard": "syntax",
            "retry_budget": 2,
            "dependencies": ["find"],
            "preconditions": ["known"],
            "effects": ["fixed"],
            "satisfies": [STATED["id"]],
        },
    ],
}
"""A plan that is valid at every level: if the step `find` fails, `ask` makes its effect."""

LOST = copy.deepcopy(PLAN)
LOST["steps"][2]["preconditions"] = ["nobody_makes_this"]
"""A plan that is rejected at level medium: no step makes one of its preconditions."""

ANALYSIS = {
    "problem_type": "bug_fix",
    "language": "python",
    "severity": "high",
    "key_signals": ["timeout"],
    "affected_area": "login",
    "rationale": "It worked before.",
    "open_questions": [],
}
ASKING = {**ANALYSIS, "open_questions": ["Which version is it?"]}
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
BACKTRACKS = {
    "g_analysis": [ANALYSIS, {**ANALYSIS, "rationale": "Read again."}],
    "g_recon": [RECON, {**RECON, "constraints_mentioned": ["only after a change of the password"]}],
    "g_strategy": [STRATEGY, {**STRATEGY, "rationale": "Another way."}],
    "g_plan": [LOST, {**LOST, "plan_id": "p0"}, PLAN],
}
"""A script with a plan that is told what it lacks and lacks it again, a full replan, then a plan: nine calls."""

RESULT_KEYS = {"run_id", "status", "calls", "tokens", "cost_usd", "revision", "plan", "path", "findings"}
"""The keys of every result of a planning run as JSON."""
DEMAND_KEYS = {"demands", "unread", "proved"}
"""The keys that a result with a plan has too."""


def distinct(plan, count):
    return [{**plan, "plan_id": f"p{number}"} for number in range(count)]


def delayed_reply(reply, *, seconds=0.0, tokens=0):
    """Return an entry of a script: a reply after some seconds, with a number of input tokens."""
    return {"reply": reply, "delay_seconds": seconds, "usage": {"input_tokens": tokens, "output_tokens": 0}}


def write_script(folder, script, name="script.yaml"):
    path = folder / name
    text = yaml.dump(json.loads(json.dumps(script)), Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    path.write_text(text, encoding="utf-8")
    return f"scripted:{path}"
