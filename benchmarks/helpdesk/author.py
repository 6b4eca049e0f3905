"""A scripted author for the helpdesk: the replies with which a run makes a plan from the policy, mistakes included.

The last plan is that of `plan.json`, as a model writes it: all fields, requirements, and the key steps that it follows.
The replies before it have the mistakes that models make; guards find them.
"""

QUOTE = "Make sure you try all the relevant resolution steps before transferring the user to a human agent."
TOTAL = 100
"""Attempts of an execution: the most that a plan may have where nothing else is said."""
KEY_STEPS = {
    "identify": ("Read the ticket and find the customer and the line", "read_ticket"),
    "service": ("Restore the service", "check_service"),
    "data": ("Restore mobile data and its speed", "check_data"),
    "mms": ("Make picture messages work", "check_mms_1"),
    "close": ("Transfer to a person what cannot be resolved", "transfer"),
}
BLANK = {
    "description": "",
    "guard": "",
    "dependencies": [],
    "preconditions": [],
    "effects": [],
    "delete_effects": [],
    "on_failure": "escalate",
    "failure_effects": [],
    "failure_delete_effects": [],
    "repeatable": False,
    "satisfies": [],
    "implements": [],
    "outcomes": [],
}


def replies(plan):
    """Return the script: the replies of each step of the workflow."""
    whole = written(plan)
    return {
        "g_analysis": [ANALYSIS],
        "g_recon": [RECON] * 3,
        "g_strategy": [STRATEGY] * 2,
        "g_plan": [misread(whole), incomplete(whole), whole],
    }


def written(plan):
    """Return the plan with every field that the schema for models has."""
    steps = [BLANK | step for step in plan["steps"]]
    for step in steps:
        step["outcomes"] = [{"effects": [], "delete_effects": []} | outcome for outcome in step["outcomes"]]
        step["implements"] = [name for name, (_, at) in KEY_STEPS.items() if at == step["step_id"]]
        step["satisfies"] = ["resolve"] if "closed" in may_make(step) else []
    return {
        "plan_id": plan["plan_id"],
        "goal": plan["goal"],
        "initial_state": plan["initial_state"],
        "goal_state": plan["goal_state"],
        "total_retry_budget": TOTAL,
        "invariants": [],
        "requirements": [{"id": "resolve", **GOAL, "tokens": ["closed"], "depends_on": []}],
        "steps": steps,
        "open_questions": [],
    }


def may_make(step):
    """Return the tokens that a success of a step may make."""
    return {token for each in (step, *step["outcomes"]) for token in each["effects"]}


def changed(plan, step_id, **fields):
    """Return the plan with other fields of a step."""
    steps = [step | fields if step["step_id"] == step_id else step for step in plan["steps"]]
    return plan | {"steps": steps}


def misread(plan):
    """Return the plan with an outcome that no result tells, and a call without a value that it uses."""
    [sim] = [step for step in plan["steps"] if step["step_id"] == "check_sim"]
    outcomes = [each | {"name": "lockd"} if each["name"] == "locked" else each for each in sim["outcomes"]]
    return changed(
        changed(plan, "check_sim", outcomes=outcomes), "resume_line", preconditions=["bills_paid", "line_id"]
    )


def incomplete(plan):
    """Return the plan without the step that follows one of the outcomes."""
    return plan | {"steps": [step for step in plan["steps"] if step["step_id"] != "leave_vpn"]}


GOAL = {
    "kind": "goal",
    "text": "The issue is resolved, or the user is with a person",
    "quote": QUOTE,
    "source": "problem",
    "tools": [],
    "paths": [],
}
ANALYSIS = {
    "problem_type": "feature",
    "language": "unknown",
    "severity": "medium",
    "key_signals": ["No Service", "Mobile Data Issues", "MMS"],
    "affected_area": "technical support of a phone",
    "rationale": "A procedure is asked for that handles every ticket.",
    "open_questions": [],
}
RECON = {
    "mentioned_files": [],
    "stack_traces": [],
    "apis_involved": [],
    "test_references": [],
    "reproduction_steps": [],
    "constraints_mentioned": ["You should only make one tool call at a time."],
    "requirements": [{**GOAL, "conflicts_with": [], "limit": {"name": "", "value": ""}, "readings": []}],
    "open_questions": [],
}
STRATEGY = {
    "strategy_id": "S2_tdd_feature",
    "strategy_name": "Follow the paths of the workflow",
    "rationale": "The policy has a path for each kind of issue, and each ends in a check.",
    "for_type": "feature",
    "key_steps": [{"id": name, "text": text} for name, (text, _) in KEY_STEPS.items()],
    "expected_guards": ["human"],
    "risk_factors": ["A result may be none of those that the policy names"],
    "evidence": [],
    "open_questions": [],
}
