"""The names and values of traces and metrics are those of OpenTelemetry's published conventions.

`opentelemetry-semantic-conventions` is generated from a registry that generative AI has left for one of its own. What
that has changed until its first release, v0.1.0, stands here.
"""

import pytest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

from replan_server.telemetry import conventions
from runtime.models.providers import PROVIDERS

OURS = {
    name: value
    for name, value in vars(conventions).items()
    if name.isupper() and isinstance(value, str) and value.startswith(("gen_ai.", "error."))
}

RELEASE = "https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/gen-ai/"
"""What the following names are from: `client-inference.md`, `gen-ai-metrics.md`, `execute-tool.md`, changelog."""
NEW_ATTRIBUTES = {"gen_ai.usage.cache_write.input_tokens", "gen_ai.token.modality"}
NEW_OPERATIONS = {"plan"}
METRICS = {
    "gen_ai.client.inference.duration",
    "gen_ai.client.inference.operation.input_tokens",
    "gen_ai.client.inference.operation.output_tokens",
    "gen_ai.client.inference.usage.cache_read.input_tokens",
    "gen_ai.client.inference.usage.cache_write.input_tokens",
    "gen_ai.client.inference.usage.input_tokens",
    "gen_ai.client.inference.usage.output_tokens",
    "gen_ai.client.inference.usage.reasoning.output_tokens",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
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


@pytest.mark.parametrize("name", [name for name in OURS if not name.endswith("_DURATION")])
def test_an_attribute_is_in_the_registry(name):
    known = names_of(gen_ai_attributes, error_attributes) - {"gen_ai.usage.cache_creation.input_tokens"}
    assert OURS[name] in known | NEW_ATTRIBUTES


def test_the_metrics_are_those_of_the_release():
    durations = {value for name, value in OURS.items() if name.endswith("_DURATION")}
    assert durations | {*conventions.TOKENS_USED.values(), *conventions.TOKENS_OF_CALL.values()} == METRICS


def test_values_are_those_that_the_registry_lists():
    """A provider that is not listed has a name of its own, as the registry allows: models in this process."""
    operations = {conventions.CHAT, conventions.EXECUTE_TOOL, conventions.INVOKE_AGENT, conventions.PLAN}
    assert operations <= values_of("GenAiOperationNameValues") | NEW_OPERATIONS
    assert {"text", "json"} <= values_of("GenAiOutputTypeValues")
    labels = {conventions.provider_label(f"{name}:m") for name in PROVIDERS}
    assert {"openai", "anthropic", "azure.ai.openai", "aws.bedrock", "gcp.gemini"} == labels & values_of(
        "GenAiProviderNameValues"
    )
    assert conventions.provider_label("template:bug") not in values_of("GenAiProviderNameValues")
