"""The next step after a run that did not succeed, and after a provider that fails. Pure."""

from collections.abc import Mapping
from typing import assert_never

from actors.run.ending import EARLY, STUCK_FOR_GOOD, exhausted_limit
from actors.run.limits import LIMITS, Unit, flag, name_of
from actors.run.result import RunResult
from runtime.core.ledger import Limit
from runtime.models.port import LACKS_REPLY, Fault, FaultKind
from runtime.models.providers import PROVIDERS, Provider, ProviderName

_SERVERS = {
    "chat": "an OpenAI-compatible server",
    "responses": "a server with OpenAI's Responses API",
    "messages": "a server with Anthropic's Messages API",
}
_EXAMPLES: Mapping[Unit, str] = {"count": "N", "dollars": "USD", "time": "1h"}


def provider_advice(fault: Fault, program: str = "replan", name: ProviderName = "openai") -> str:
    """Return the user's next step after a provider's fault that stops a run, as a clause without a full stop."""
    provider = PROVIDERS[name]
    base = "https://HOST" if provider.interface == "messages" else "up to its version, such as https://HOST/v1"
    if "v1/responses" in fault.message and name == "openai" and fault.kind.final:
        return "ask the model by the Responses API: put `openai-responses:` before its name"
    match fault.kind:
        case FaultKind.AUTH:
            return _account_advice(fault.status, provider)
        case FaultKind.NOT_FOUND:
            return _missing_advice(fault, provider)
        case FaultKind.CONTENT_REFUSED:
            return "reword what the provider's filter may object to in the problem, or use another model"
        case FaultKind.PROMPT_TOO_LONG:
            return "shorten the problem, take shorter prompts (`--compact`), or use a model with a larger window"
        case FaultKind.BAD_REQUEST:
            return "mend what the server objects to: a prompt that is too long takes a shorter problem or another model"
        case FaultKind.UNRESOLVED_HOST:
            return f"check the host's name in {provider.address}, and the network; {_try_it(program)}"
        case FaultKind.REFUSED_CONNECTION:
            return f"start the server, or correct the host and port in {provider.address}; {_try_it(program)}"
        case FaultKind.RATE_LIMITED:
            return "wait until the provider takes requests again, or use a key or a model with a higher limit"
        case FaultKind.SERVER_ERROR:
            return "try again later, or use another server or model: the trouble is the provider's"
        case FaultKind.CUT:
            return "try again; if it happens again, look at the server's own log and at proxies on the way"
        case FaultKind.TIMEOUT:
            time = "`model_timeout_seconds` of the workflow, or --timeout"
            return f"give the model more time ({time}), or use a quicker model"
        case FaultKind.NO_API:
            return f"correct {provider.address}, {base}; {_try_it(program)}"
        case FaultKind.BAD_REPLY:
            return f"set {provider.address} to {_SERVERS[provider.interface]}, {base}"
        case FaultKind.TOO_LARGE:
            return "lower `output_tokens_max` in the workflow, or use another model"
        case _:
            assert_never(fault.kind)


def _try_it(program: str) -> str:
    return f"`{program} doctor --online` tries it"


def _account_advice(status: int | None, provider: Provider) -> str:
    match status:
        case 401:
            return f"set {provider.key} to a key that this server takes"
        case 403:
            return "use a key that may use this model, or name another model with -m"
        case _:
            return "add credit to the account, or use another key"


def _missing_advice(fault: Fault, provider: Provider) -> str:
    if fault.message.startswith(LACKS_REPLY):
        return "add `?lenient` to the model's name, which takes the reply to the same request, or use another model"
    if fault.status is None:  # A script, not a server.
        return "give the script the reply that it lacks, or use another model"
    if fault.status == 404:
        version = "" if provider.interface == "messages" else ", up to its version, such as /v1"
        return f"correct the model's name (-m or REPLAN_MODEL), or {provider.address}{version}"
    return f"set {provider.address} to where the server redirects"


def advice(result: RunResult, program: str) -> str:
    """Return the user's next step as a clause without a full stop; empty if there is nothing to do."""
    resume = f"`{program} resume {result.run_id}`"
    log = f"`{program} log {result.run_id}` has the details"
    if result.cause == "plugin":
        again = f"{resume} (with the same --plugins, where it is in a file) asks it again"
        return f"mend the plug-in, then {again}; {log}, and the log file has the traceback"
    if result.fault is not None:
        return f"{provider_advice(result.fault, program, result.provider)}; then {resume}; {log}"
    if result.cause == "provider":
        return f"{resume} asks the provider at once; {log}"
    if result.outcome == "failed":
        return f"this is a bug: report it; {log}, the log has the traceback; {resume} tries again"
    if result.cause == "home_budget" and result.status == "parked":
        return "raise that limit in config.yaml and resume it, or start a run whose requests are smaller"
    if result.cause == "home_budget":
        return f"on the next day (UTC), or with that limit raised in config.yaml, {resume} goes on"
    if result.outcome == "budget_exhausted" and result.why.partition(":")[0] in EARLY:
        tell_hint = f"`{program} tell {result.run_id} TEXT --as requirement` says more or drops a demand"
        helps = f"{resume[:-1]} -m MODEL` asks another model, {tell_hint}"
        if result.why.startswith(STUCK_FOR_GOOD):  # More calls of this model would only repeat what it wrote.
            return helps
        return f"{helps}, {resume[:-1]} --keep-trying` goes on as it is"
    if result.outcome == "budget_exhausted":
        name = name_of((exhausted_limit(result.why) or Limit.CALLS).key)
        option = f"{flag(name)} {_EXAMPLES[LIMITS[name].unit]}"
        return f"`{program} resume {result.run_id} {option}` goes on with all that was accepted"
    return ""


def reopening_advice(result: RunResult, program: str) -> str:
    """Return a sentence that says how a finished run can go on, or that nothing follows."""
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


def draft_command(run_id: str, program: str) -> str:
    """Return the command that writes the draft of a run to a file."""
    return f"{program} export {run_id} --draft -o draft.json"
