"""How models are named in traces and metrics: a server's name for one, or which of ours it is. Pure."""

from actors.config.model_spec import Named, parse_model_spec
from runtime.core.errors import UsageProblem

_LONGEST = 200


def model_label(model: str) -> str:
    """Return the name of a model; of one in this process only its class, since the rest may be a path."""
    if _is_named(model):
        return model[:_LONGEST]
    return model.partition(":")[0][:_LONGEST]


def provider_label(model: str) -> str:
    """Return `openai` for a server with OpenAI's interface, as the conventions ask; `replan` for our own models."""
    return "openai" if _is_named(model) else "replan"


def _is_named(model: str) -> bool:
    try:
        return isinstance(parse_model_spec(model), Named)
    except UsageProblem:
        return False
