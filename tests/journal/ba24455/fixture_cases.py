"""What the runs of the kept home are about, and what their scripted models say."""

import copy

PROBLEM = """Login times out for new users

After the upgrade, `login(user)` in src/auth/session.py raises TimeoutError when the store is slow.
The test tests/test_session.py fails. Responses must stay under 200 ms.
"""

THIN = "Make it better, please.\n"

ANALYSIS = {
    "problem_type": "bug_fix",
    "language": "python",
    "severity": "high",
    "key_signals": ["TimeoutError"],
    "affected_area": "session handling",
    "rationale": "A call that worked raises an error since the upgrade.",
}
RECON = {
    "mentioned_files": ["src/auth/session.py"],
    "stack_traces": [],
    "apis_involved": ["login(user)"],
    "test_references": ["tests/test_session.py"],
    "reproduction_steps": [],
    "constraints_mentioned": ["Responses must stay under 200 ms."],
}
STRATEGY = {
    "strategy_id": "S1_locate_and_fix",
    "strategy_name": "Locate and fix",
    "rationale": "The failing call is known.",
    "key_steps": ["reproduce", "fix", "verify"],
    "expected_guards": ["dynamic_test"],
    "risk_factors": ["the upgrade changed more than one call"],
}


def step(name, needs, makes, after, **more):
    """Return a step of a plan."""
    return {
        "step_id": name,
        "name": name.capitalize(),
        "generator": "CoderGenerator",
        "guard": "dynamic_test",
        "retry_budget": 2,
        "preconditions": needs,
        "effects": makes,
        "dependencies": after,
        **more,
    }


PLAN = {
    "plan_id": "fix-login",
    "goal": "Logins do not time out.",
    "initial_state": ["problem_reported"],
    "goal_state": ["verified"],
    "total_retry_budget": 10,
    "steps": [
        step("reproduce", ["problem_reported"], ["reproduced"], [], on_failure="continue", failure_effects=["unclear"]),
        step("ask", ["unclear"], ["reproduced"], ["reproduce"], delete_effects=["unclear"], guard="human"),
        step("fix", ["reproduced"], ["fixed"], ["reproduce"]),
        step("verify", ["fixed"], ["verified"], ["fix"]),
    ],
}
LOST = copy.deepcopy(PLAN)
LOST["steps"][3]["preconditions"] = ["fixed", "licence_granted"]
"""Rejected at medium: one precondition has no producer, so the strategy is thought over."""
BROKEN = {**PLAN, "invariants": [{"when": [], "must": [], "must_not": ["unclear"]}]}
"""Rejected at expansive: a failure breaks the invariant, so the facts are looked at again."""


def named(value, number):
    """Return another plan, or another strategy, that means the same."""
    return {**value, ("plan_id" if "plan_id" in value else "strategy_name"): f"number {number}"}


def told(reply, *, into=900, out=80, **more):
    """Return a reply with what it is said to have used."""
    return {"reply": reply, "usage": {"input_tokens": into, "output_tokens": out}, **more}


CHOICE = {"question": "Which store is it?", "type": "choice", "choices": ["Redis", "PostgreSQL"]}
VERSION = {"question": "Which version is it?", "type": "text", "choices": []}

SCRIPTS = {
    "failing": {"g_analysis": [told(ANALYSIS), {"fault": "auth", "message": "no such key", "status": 401}]}
    | {"g_strategy": [{"fault": "auth", "message": "no such key", "status": 401}]},
    "backing": {
        "g_analysis": [told(ANALYSIS)],
        "g_strategy": [told(STRATEGY), told(named(STRATEGY, 2))],
        "g_plan": [told(LOST), told("no JSON at all", finish_reason="length"), told(PLAN, into=1500, out=400)],
    },
    "pruned": {"g_analysis": [{**ANALYSIS, "severity": word} for word in ("dreadful", "dire", "grave", "grim")]},
    "ceiling": {
        "g_analysis": [ANALYSIS, {**ANALYSIS, "severity": "low"}],
        "g_strategy": [named(STRATEGY, number) for number in range(9)],
        "g_plan": [named(LOST, number) for number in range(12)],
    },
    "retrying": {
        "g_analysis": [{"fault": "rate_limited", "retry_after": 0.2, "status": 429}, {"fault": "cut"}, told(ANALYSIS)],
        "g_strategy": [{"reply": STRATEGY, "usage": None}],
        "g_plan": [told(PLAN), told(PLAN)],
    },
    "doubting": {
        "g_recon": [told(RECON), told({**RECON, "stack_traces": ["TimeoutError"]})],
        "g_strategy": [told(STRATEGY), told(named(STRATEGY, 2))],
        "g_plan": [told(BROKEN), told(LOST), told(named(BROKEN, 2)), told(PLAN)],
        "failure_classifier": [told({"cause": "missing_evidence"}, into=700, out=9), told("Hard to say.", out=5)],
    },
    "asking": {
        "g_analysis": [
            told({**ANALYSIS, "open_questions": [CHOICE]}),
            told({**ANALYSIS, "open_questions": [VERSION]}),
            told(ANALYSIS),
            told({**ANALYSIS, "severity": "low"}),
            told({**ANALYSIS, "severity": "medium"}),
        ],
        "g_plan": [told(named(PLAN, number), into=1200, out=300) for number in range(5)],
    },
    "expiring": {"g_analysis": [{**ANALYSIS, "open_questions": [VERSION]}, ANALYSIS], "g_plan": [PLAN]},
}
