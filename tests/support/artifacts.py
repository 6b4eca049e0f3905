"""One small problem, and artifacts for it that every guard accepts, for tests of whole runs."""

from typing import Any

PROBLEM = """Login times out for new users

After the upgrade, `login(user)` in src/auth/session.py raises TimeoutError for users without a profile.
The test tests/test_session.py fails. Responses must stay under 200 ms.
"""

ANALYSIS: dict[str, Any] = {
    "problem_type": "bug_fix",
    "language": "python",
    "severity": "high",
    "key_signals": ["TimeoutError"],
    "affected_area": "session handling",
    "rationale": "A call that worked raises an error since the upgrade.",
}

RECON: dict[str, Any] = {
    "mentioned_files": ["src/auth/session.py"],
    "stack_traces": [],
    "apis_involved": ["login(user)"],
    "test_references": ["tests/test_session.py"],
    "reproduction_steps": [],
    "constraints_mentioned": ["Responses must stay under 200 ms."],
    "requirements": [],
}

STRATEGY: dict[str, Any] = {
    "strategy_id": "S1_locate_and_fix",
    "strategy_name": "Locate and fix",
    "rationale": "The failing call is known.",
    "key_steps": ["reproduce", "fix", "verify"],
    "expected_guards": ["dynamic_test"],
    "risk_factors": ["the upgrade changed more than one call"],
}


def step(name: str, needs: list[str], makes: list[str], after: list[str], **more: Any) -> dict[str, Any]:
    return {
        "step_id": name,
        "name": name.replace("_", " "),
        "generator": "CoderGenerator",
        "guard": "dynamic_test",
        "retry_budget": 2,
        "preconditions": needs,
        "effects": makes,
        "dependencies": after,
        **more,
    }


def plan(*, needs_missing_token: str = "", plan_id: str = "fix-login") -> dict[str, Any]:
    """Return a plan; with `needs_missing_token` its last step needs a token that no step makes."""
    last = ["fixed", *([needs_missing_token] if needs_missing_token else [])]
    return {
        "plan_id": plan_id,
        "initial_state": ["problem_reported"],
        "goal_state": ["verified"],
        "total_retry_budget": 10,
        "steps": [
            step("reproduce", ["problem_reported"], ["reproduced"], []),
            step("fix", ["reproduced"], ["fixed"], ["reproduce"]),
            step("verify", last, ["verified"], ["fix"]),
        ],
    }


GOOD: dict[str, Any] = {"g_analysis": ANALYSIS, "g_recon": RECON, "g_strategy": STRATEGY, "g_plan": plan()}
"""A reply per step of the `search` workflow that its guard accepts."""
