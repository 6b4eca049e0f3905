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
    base = "such as https://HOST"
    if provider.interface != "messages":
        base = "with the API's version at its end, such as https://HOST/v1"
    if "v1/responses" in fault.message and name == "openai" and fault.kind.final:
        return "ask the model through the Responses API: put `openai-responses:` before the model's name"
    match fault.kind:
        case FaultKind.AUTH:
            return _account_advice(fault.status, provider)
        case FaultKind.NOT_FOUND:
            return _missing_advice(fault, provider)
        case FaultKind.CONTENT_REFUSED:
            return "reword the parts of the problem that the provider's filter may reject, or use another model"
        case FaultKind.PROMPT_TOO_LONG:
            return "shorten the problem, use shorter prompts (`--compact`), or use a model with a larger window"
        case FaultKind.BAD_REQUEST:
            return (
                "correct what the server rejects: if the prompt is too long, shorten the problem or use another model"
            )
        case FaultKind.UNRESOLVED_HOST:
            return f"check the host's name in {provider.address}, and the network; {_try_it(program)}"
        case FaultKind.REFUSED_CONNECTION:
            return f"start the server, or correct the host and port in {provider.address}; {_try_it(program)}"
        case FaultKind.RATE_LIMITED:
            return "wait until the provider accepts requests again, or use a key or a model with a higher limit"
        case FaultKind.SERVER_ERROR:
            return "try again later, or use another server or model: the provider has an error"
        case FaultKind.CUT:
            return "try again; if the connection breaks again, look at the server's log and at the proxies before it"
        case FaultKind.TIMEOUT:
            time = "`model_timeout_seconds` of the workflow, or --timeout"
            return f"give the model more time ({time}), or use a faster model"
        case FaultKind.NO_API:
            return f"correct {provider.address}, {base}; {_try_it(program)}"
        case FaultKind.BAD_REPLY:
            return f"set {provider.address} to {_SERVERS[provider.interface]}, {base}"
        case FaultKind.TOO_LARGE:
            return "lower `output_tokens_max` in the workflow, or use another model"
        case _:
            assert_never(fault.kind)


def _try_it(program: str) -> str:
    return f"`{program} doctor --online` tries the connection"


def _account_advice(status: int | None, provider: Provider) -> str:
    match status:
        case 401:
            return f"set {provider.key} to a key that this server accepts"
        case 403:
            return "use a key that may use this model, or name another model with -m"
        case _:
            return "add credit to the account, or use another key"


def _missing_advice(fault: Fault, provider: Provider) -> str:
    if fault.message.startswith(LACKS_REPLY):
        return "add `?lenient` to the model's name to get replies even if prompts differ, or use another model"
    if fault.status is None:  # A script, not a server.
        return "add the missing reply to the script, or use another model"
    if fault.status == 404:
        version = "" if provider.interface == "messages" else ", which ends with the API's version, such as /v1"
        return f"correct the model's name (-m or REPLAN_MODEL), or {provider.address}{version}"
    return f"set {provider.address} to the address to which the server redirects"


def advice(result: RunResult, program: str) -> str:
    """Return the user's next step as a clause without a full stop; empty if there is nothing to do."""
    resume = f"`{program} resume {result.run_id}`"
    log = f"`{program} log {result.run_id}` has the details"
    if result.cause == "plugin":
        again = f"{resume} (with the same --plugins, if it is in a file) calls the plug-in again"
        return f"mend the plug-in, then {again}; {log}, and the log file has the traceback"
    if result.fault is not None:
        return f"{provider_advice(result.fault, program, result.provider)}; then {resume}; {log}"
    if result.cause == "provider":
        return f"{resume} sends the request again at once; {log}"
    if result.outcome == "failed":
        return f"this is a bug: report it; {log}, and the log file has the traceback; {resume} tries again"
    if result.cause == "home_budget" and result.status == "parked":
        return "raise the daily budget in config.yaml and resume the run, or start a run with smaller requests"
    if result.cause == "home_budget":
        return f"after the next day (UTC) has begun, or with a higher daily budget in config.yaml, {resume} goes on"
    if result.outcome == "budget_exhausted" and result.why.partition(":")[0] in EARLY:
        tell_hint = f"`{program} tell {result.run_id} TEXT --as requirement` adds details or drops a demand"
        helps = f"{resume[:-1]} -m MODEL` asks another model, {tell_hint}"
        if result.why.startswith(STUCK_FOR_GOOD):  # More calls of this model would only repeat what it wrote.
            return helps
        return f"{helps}, {resume[:-1]} --keep-trying` goes on without a change"
    if result.outcome == "budget_exhausted":
        name = name_of((exhausted_limit(result.why) or Limit.CALLS).key)
        option = f"{flag(name)} {_EXAMPLES[LIMITS[name].unit]}"
        return f"`{program} resume {result.run_id} {option}` goes on with all accepted results"
    return ""


def reopening_advice(result: RunResult, program: str) -> str:
    """Return a sentence that says how a finished run can go on, or that nothing follows."""
    run = result.run_id
    match result.reopened_by:
        case "limits":
            return f"{advice(result, program)}."
        case "requirement":
            commands = f"`{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`"
            return f"To continue the run, add a requirement: {commands}."
        case "resume":
            return f"`{program} resume {run}` goes on with the run."
        case _:
            return f"The run cannot go on; `{program} show {run}` shows its result."


def draft_command(run_id: str, program: str) -> str:
    """Return the command that writes the draft of a run to a file."""
    return f"{program} export {run_id} --draft -o draft.json"
