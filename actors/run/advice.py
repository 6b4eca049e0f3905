"""The next step after a run of any kind that has no success: what its user can do so that it goes on. Pure."""

from actors.run.ending import EARLY, STUCK_FOR_GOOD
from actors.run.provider_advice import provider_advice
from actors.run.result import RunResult

_FLAGS = {
    "no calls left": "--max-calls N",
    "no tokens left": "--max-tokens N",
    "no money left": "--max-cost USD",
    "no active time left": "--active-time 1h",
    "the deadline has passed": "--deadline 1h",
}
"""The option that raises the limit that ran out, by what the run says at its end, up to a colon."""


def advice(result: RunResult, program: str) -> str:
    """Return the next step as a clause without a full stop; empty where there is nothing to do."""
    resume = f"`{program} resume {result.run_id}`"
    log = f"`{program} log {result.run_id}` has the details"
    if result.cause == "plugin":
        again = f"{resume} (with the same --plugins, where it is in a file) asks it again"
        return f"mend the plug-in, then {again}; {log}, and the log file has the traceback"
    if result.fault is not None:
        return f"{provider_advice(result.fault, program)}; then {resume}; {log}"
    if result.cause == "provider":
        return f"{resume} asks the provider at once; {log}"
    if result.outcome == "failed":
        return f"this is a bug: report it; {log}, the log has the traceback; {resume} tries again"
    if result.cause == "home_budget" and result.status == "parked":
        return "raise `home_budget` in config.yaml and resume it, or start a run whose requests are smaller"
    if result.cause == "home_budget":
        return f"on the next day (UTC), or with a larger `home_budget` in config.yaml, {resume} goes on"
    if result.outcome == "budget_exhausted" and result.why.partition(":")[0] in EARLY:
        told = f"`{program} tell {result.run_id} TEXT --as requirement` says more or drops a demand"
        helps = f"{resume[:-1]} -m MODEL` asks another model, {told}"
        if result.why.startswith(STUCK_FOR_GOOD):  # More calls of this model bring what it wrote before.
            return helps
        return f"{helps}, {resume[:-1]} --keep-trying` goes on as it is"
    if result.outcome == "budget_exhausted":
        flag = _FLAGS.get(result.why.partition(":")[0], "--max-calls N")
        return f"`{program} resume {result.run_id} {flag}` goes on with all that was accepted"
    return ""


def reopening(result: RunResult, program: str) -> str:
    """Return how a finished run can be gone on with, as a sentence; that it cannot, where its end is final."""
    run = result.run_id
    match result.reopened_by:
        case "limits":
            return f"{advice(result, program)}."
        case "requirement":
            commands = f"`{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`"
            return f"It goes on after another requirement: {commands}."
        case "resume":
            return f"`{program} resume {run}` goes on with it."
        case _:
            return f"Nothing follows; `{program} show {run}` shows what it came to."
