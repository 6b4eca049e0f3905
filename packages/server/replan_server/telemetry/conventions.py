"""The names of attributes and metrics: those of OpenTelemetry's conventions for generative AI, and Replan's own.

The conventions are those of open-telemetry/semantic-conventions-genai v0.1.0, the first release of that repository. No
Python package has these names yet: `opentelemetry-semantic-conventions` has older names, and marks them as deprecated.
"""

from actors.config.model_spec import Named, parse_model_spec, unpin_model
from runtime.core.errors import UsageProblem
from runtime.models.providers import PROVIDERS

AGENT_NAME = "gen_ai.agent.name"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
CONVERSATION_ID = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_MESSAGES = "gen_ai.input.messages"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OPERATION = "gen_ai.operation.name"
OUTPUT_MESSAGES = "gen_ai.output.messages"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
OUTPUT_TYPE = "gen_ai.output.type"
PROVIDER = "gen_ai.provider.name"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
SERVER = "server.address"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
TOKEN_MODALITY = "gen_ai.token.modality"  # noqa: S105 -- a name, not a secret
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_RESULT = "gen_ai.tool.call.result"
TOOL_TYPE = "gen_ai.tool.type"

CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
INVOKE_AGENT = "invoke_agent"
PLAN = "plan"

AGENT_DURATION = "gen_ai.invoke_agent.duration"
INFERENCE_DURATION = "gen_ai.client.inference.duration"
TOOL_DURATION = "gen_ai.execute_tool.duration"
TOKENS_USED = {
    INPUT_TOKENS: "gen_ai.client.inference.usage.input_tokens",
    OUTPUT_TOKENS: "gen_ai.client.inference.usage.output_tokens",
    CACHE_READ_TOKENS: "gen_ai.client.inference.usage.cache_read.input_tokens",
    CACHE_WRITE_TOKENS: "gen_ai.client.inference.usage.cache_write.input_tokens",
    REASONING_TOKENS: "gen_ai.client.inference.usage.reasoning.output_tokens",
}
TOKENS_OF_CALL = {
    INPUT_TOKENS: "gen_ai.client.inference.operation.input_tokens",
    OUTPUT_TOKENS: "gen_ai.client.inference.operation.output_tokens",
}
"""The name of the histogram of the tokens in one call, by the span attribute with the number of these tokens."""
DURATION_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""The histogram bounds that the conventions recommend for the durations of model calls and tool calls, in seconds."""
AGENT_BUCKETS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
"""The histogram bounds that the conventions recommend for the durations of agents' runs, in seconds."""
TOKEN_BUCKETS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The histogram bounds that the conventions recommend for numbers of tokens."""

CALLS = "replan.calls"
COST = "replan.cost_usd"
EPOCH = "replan.epoch"
KEY = "replan.key"
KIND = "replan.kind"
LEVEL = "replan.level"
LIMITED = "replan.limited"
NODE = "replan.node"
OUTCOME = "replan.outcome"
REASON = "replan.reason"
REQUEST_ID = "replan.request_id"
RULE = "replan.rule"
RUN = "replan.run"
SEQ = "replan.seq"
STATUS = "replan.status"
STEP = "replan.step"
TOKENS = "replan.tokens"
TRY = "replan.try"
OWN = "replan."

SCOPE = "replan"


_LONGEST = 200


def model_label(model: str) -> str:
    """Return the name of a model in traces and metrics. `model` has the form of the option `--model`.

    For a model that runs in this process, such as a scripted model, return only the part before the colon. The part
    after the colon may be a path.
    """
    named = _find_model(model)
    return (unpin_model(model).partition(":")[0] if named is None else named.name)[:_LONGEST]


def provider_label(model: str) -> str:
    """Return the name that the conventions have for the provider whose API a model's server has.

    For a model that runs in this process, such as a scripted model, the name is `replan`.
    """
    named = _find_model(model)
    return "replan" if named is None else PROVIDERS[named.provider].traced_as or named.provider


def _find_model(model: str) -> Named | None:
    try:
        spec = parse_model_spec(model)
    except UsageProblem:
        return None
    return spec if isinstance(spec, Named) else None
