"""The next step after a provider has failed, for each kind of fault. Pure."""

from typing import assert_never

from runtime.models.port import Fault, FaultKind


def provider_advice(fault: Fault, program: str = "replan") -> str:
    """Return the next step after a fault that holds a run, as a clause without a full stop."""
    match fault.kind:
        case FaultKind.AUTH:
            return _account(fault.status)
        case FaultKind.NOT_FOUND:
            return _missing(fault.status)
        case FaultKind.CONTENT_REFUSED:
            return "reword what the provider's filter may object to in the problem, or use another model"
        case FaultKind.BAD_REQUEST:
            return "mend what the server objects to: a prompt that is too long takes a shorter problem or another model"
        case FaultKind.UNRESOLVED_HOST:
            return f"check the host's name in OPENAI_BASE_URL, and the network; {_try_it(program)}"
        case FaultKind.REFUSED_CONNECTION:
            return f"start the server, or correct the host and port in OPENAI_BASE_URL; {_try_it(program)}"
        case FaultKind.RATE_LIMITED:
            return "wait until the provider takes requests again, or use a key or a model with a higher limit"
        case FaultKind.SERVER_ERROR:
            return "try again later, or use another server or model: the trouble is the provider's"
        case FaultKind.CUT:
            return "try again; if it happens again, look at the server's own log and at proxies on the way"
        case FaultKind.TIMEOUT:
            return "give the model more time (`model_timeout_seconds` of the workflow, or --timeout), or a quicker one"
        case FaultKind.NO_API:
            return f"correct OPENAI_BASE_URL, up to its version, such as https://HOST/v1; {_try_it(program)}"
        case FaultKind.BAD_REPLY:
            return "set OPENAI_BASE_URL to an OpenAI-compatible server, up to its version, such as https://HOST/v1"
        case FaultKind.TOO_LARGE:
            return "lower `output_tokens_max` in the workflow, or use another model"
        case _:
            assert_never(fault.kind)


def _try_it(program: str) -> str:
    return f"`{program} doctor --online` tries it"


def _account(status: int | None) -> str:
    match status:
        case 401:
            return "set OPENAI_API_KEY to a key that this server takes"
        case 403:
            return "use a key that may use this model, or name another model with -m"
        case _:
            return "add credit to the account, or use another key"


def _missing(status: int | None) -> str:
    if status is None:  # A script or a recording, not a server.
        return "give the script the reply that it lacks, or use another model"
    if status == 404:
        return "correct the model's name (-m or REPLAN_MODEL), or OPENAI_BASE_URL, up to its version, such as /v1"
    return "set OPENAI_BASE_URL to where the server redirects"
