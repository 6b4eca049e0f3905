"""The names and values of traces and metrics are those of OpenTelemetry's published registry.

`opentelemetry-semantic-conventions` is generated from the registry. It marks what concerns generative AI as deprecated,
since that has moved to a registry of its own, so it is used here and not by the program.
"""

import pytest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from replan_server.telemetry import conventions
from runtime.models.providers import PROVIDERS

OURS = {
    name: value
    for name, value in vars(conventions).items()
    if name.isupper() and isinstance(value, str) and value.startswith(("gen_ai.", "error."))
}


def names_of(*modules):
    return {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and "." in value
    }


def values_of(name):
    return {member.value for member in getattr(gen_ai_attributes, name)}


@pytest.mark.parametrize("name", OURS)
def test_a_name_is_in_the_registry(name):
    attributes, metrics = names_of(gen_ai_attributes, error_attributes), names_of(gen_ai_metrics)
    is_metric = OURS[name] in (conventions.OPERATION_DURATION, conventions.TOKEN_USAGE)
    assert OURS[name] in (metrics if is_metric else attributes)


def test_values_are_those_that_the_registry_lists():
    """A provider that is not listed has a name of its own, as the registry allows: models in this process."""
    assert {conventions.CHAT, conventions.EXECUTE_TOOL, conventions.INVOKE_AGENT} <= values_of(
        "GenAiOperationNameValues"
    )
    assert {"input", "output"} == values_of("GenAiTokenTypeValues")
    assert {"text", "json"} <= values_of("GenAiOutputTypeValues")
    labels = {conventions.provider_label(f"{name}:m") for name in PROVIDERS}
    assert {"openai", "anthropic", "azure.ai.openai", "aws.bedrock", "gcp.gemini"} == labels & values_of(
        "GenAiProviderNameValues"
    )
    assert conventions.provider_label("template:bug") not in values_of("GenAiProviderNameValues")
