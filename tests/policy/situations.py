"""Situations for `decide`: by default in the seeds' workflow, with any progress of the search."""

from dataclasses import replace

from actors.policy.belief import Past, signature
from actors.policy.decision import Escalation, Failure, Situation
from actors.search.graph import Graph, StepBudget
from actors.search.progress import Phase, Search, Slot
from actors.values.findings import Finding, Verdict
from tests.support.worlds import default_policy

SEEDS = Graph(
    {
        "analysis": (),
        "recon": (),
        "strategy": ("analysis", "recon"),
        "plan": ("analysis", "recon", "strategy"),
    },
    {"analysis": StepBudget(2, 1), "recon": StepBudget(2, 2), "strategy": StepBudget(2, 3), "plan": StepBudget(3, 0)},
)
ROLES = {step: step for step in SEEDS.steps}


def progress(graph, failed, *, attempt=1, visits=None):
    """Return the progress when a step is rejected: all steps above are accepted, with one visit or as in `visits`."""
    slots = {}
    for step in graph.steps:
        above = step in graph.above[failed]
        slots[step] = Slot(phase=Phase.ACCEPTED, visits=1, attempt=1, accepted="x") if above else Slot()
    slots[failed] = Slot(phase=Phase.FAILED, visits=1, attempt=attempt)
    for step, count in (visits or {}).items():
        slots[step] = replace(slots[step], visits=count)
    return slots


def situation(failed="plan", *, graph=SEEDS, attempt=1, visits=None, **changes):
    """Return a situation in which every move is allowed, except for the changes."""
    return Situation(
        **{
            "graph": graph,
            "progress": progress(graph, failed, attempt=attempt, visits=visits),
            "roles": ROLES if graph is SEEDS else dict.fromkeys(graph.steps, ""),
            "policy": default_policy(),
            "search": Search.DEPTH_FIRST,
            "history": (),
            "escalation": Escalation(),
            "questions_left": 5,
        }
        | changes
    )


def failure(*codes, step="plan", where="", tags=(), fatal=False, severity="error", guard="toy"):
    """Return a rejection with these findings."""
    findings = tuple(
        Finding(code=code, message="is wrong", where=where, tags=tuple(tags), severity=severity) for code in codes
    )
    verdict = Verdict(guard=guard, passed=False, score=0.0, findings=findings, fatal=fatal)
    return Failure(step, f"{step}/v1.a1", verdict)


def past(failed, up):
    """Return an earlier failure with the same signature."""
    return Past(failed.step, signature(failed.verdict), up)
