"""What the page about providers shows, tried against loopback servers that refuse what these are known to refuse."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from actors.config.model_spec import check_settings, parse_model_spec
from actors.run.advice import provider_advice
from replan.runs.models import check_model, open_named
from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.prices import find_price
from runtime.models.providers import PROVIDERS
from tests.contracts.model import TEXT, request
from tests.models.wired import FixedClock
from tests.support import responses_api
from tests.support.openai_server import Answer, serve

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "use-a-provider.md").read_text(encoding="utf-8")
SHOWN = [
    (model, dict(re.findall(r"^export (\w+)=(\S+)", block, re.MULTILINE)))
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for model in re.findall(r"replan .*-m (\S+)", block)
]
"""The models of the page, each with the variables that its section sets."""


def kind(body):
    return body.get("response_format", {}).get("type")


def error(message, status=400, **more):
    return Answer.json({"error": {"message": message, "type": "invalid_request_error", **more}}, status=status)


def azure(body):
    """opencode #37964, litellm #13432."""
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return error(text, param="max_tokens", code="unsupported_parameter") if "max_tokens" in body else None


def openrouter(body):
    """OmniRoute #3044, prism #813: what the server behind it says is in the error's metadata."""
    raw = json.dumps({"error": {"message": "Invalid schema for response_format 'analysis'", "code": "invalid_schema"}})
    metadata = {"raw": raw, "provider_name": "OpenAI"}
    return error("Provider returned error", code=400, metadata=metadata) if kind(body) == "json_schema" else None


def gemini(body):
    """ChatterUI #227, new-api #1037: the error is in a list, and names a field of its own interface."""
    text = (
        "Invalid JSON payload received. Unknown name \"$schema\" at 'generation_config.response_schema': Cannot find."
    )
    refusal = [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]
    return Answer.json(refusal, status=400) if kind(body) == "json_schema" else None


def bedrock(body):
    """langchain-aws #573, LibreChat #8877."""
    return Answer.json({"message": "The model is unsupported for streaming."}, status=400) if "stream" in body else None


def litellm(body):
    """klangk #2067."""
    text = "litellm.UnsupportedParamsError: zai does not support parameters: ['response_format'], for model=glm-5.2."
    return error(text, code="400") if "response_format" in body else None


def lmstudio(body):
    """lmstudio-bug-tracker #189: the error is a text."""
    wrong = {"error": "'response_format.type' must be 'json_schema' or 'text'"}
    return Answer.json(wrong, status=400) if kind(body) == "json_object" else None


def vllm(body):
    """vllm #16321."""
    text = "The provided JSON schema contains features not supported by xgrammar."
    refusal = {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}
    return Answer.json(refusal, status=400) if kind(body) == "json_schema" else None


def llamacpp(body):
    """opencodex #2135."""
    text = "Failed to initialize samplers: failed to parse grammar"
    return error(text, code=400) if kind(body) == "json_schema" else None


def responses(body):
    """pydantic-ai #2865."""
    refusal = responses_api.error("Encrypted content is not supported with this model.", param="include")
    return refusal if "include" in body else None


KNOWN = {
    "openai": (lambda _: None, 1),
    "openai-responses": (responses, 2),
    "anthropic": (lambda _: None, 1),
    "openrouter": (openrouter, 2),
    "gemini": (gemini, 2),
    "azure": (azure, 2),
    "bedrock": (bedrock, 2),
    "litellm": (litellm, 3),
    "ollama": (lambda _: None, 1),
    "lmstudio": (lmstudio, 1),
    "vllm": (vllm, 2),
    "llamacpp": (llamacpp, 2),
}
"""What each provider refuses, and with which request a reply comes."""


def test_the_page_has_every_provider():
    assert {parse_model_spec(model).provider for model, _ in SHOWN} == set(PROVIDERS) == set(KNOWN)


@pytest.mark.parametrize(("model", "exported"), SHOWN, ids=[model for model, _ in SHOWN])
async def test_what_the_page_shows_gets_a_reply_and_what_was_learned_holds_for_the_next_call(model, exported):
    spec = parse_model_spec(model)
    provider = PROVIDERS[spec.provider]
    check_model(spec, exported)
    own = urlsplit(provider.url_in(exported))
    assert own.scheme == "https" or own.hostname == "127.0.0.1"
    refuses, requests = KNOWN[spec.provider]
    with serve(lambda body, _headers, _n: refuses(body) or Answer.say(TEXT)) as server:
        path = "" if provider.path else own.path
        environment = exported | {provider.address: f"http://127.0.0.1:{server.port}{path}"}
        async with open_named(spec, environment, FixedClock()) as opened:
            replies = [await opened.complete(request()) for _ in range(2)]
        assert [isinstance(reply, Reply) and reply.text for reply in replies] == [TEXT, TEXT], replies
        assert len(server.seen) == requests + 1
        assert all(seen.body["model"] == spec.name for seen in server.seen)
        assert server.seen[0].headers["authorization"] == f"Bearer {exported.get(provider.key, 'none')}"


@pytest.mark.parametrize(
    ("model", "settings", "refused"),
    [
        ("gemini:g", {"seed": 1, "temperature": 0.1}, "seed"),
        ("openai-responses:gpt-6", {"stop": ["x"], "seed": 1}, "stop and seed"),
        ("anthropic:claude-x", {"verbosity": "low"}, "verbosity"),
    ],
)
def test_a_setting_that_a_provider_is_known_not_to_take_is_refused_before_a_call(model, settings, refused):
    with pytest.raises(UsageProblem, match=f"does not accept {refused} "):
        check_settings(model, settings)


@pytest.mark.parametrize("region", ["", " ", "us-east-1/x", "evil.example.org", "a" * 50])
def test_bedrock_needs_a_region_that_is_one(region):
    environment = {"AWS_BEARER_TOKEN_BEDROCK": "key", "AWS_REGION": region}
    with pytest.raises(UsageProblem, match="set AWS_BEARER_TOKEN_BEDROCK and AWS_REGION, or BEDROCK_BASE_URL"):
        check_model(parse_model_spec("bedrock:openai.gpt-oss-120b-1:0"), environment)


@pytest.mark.parametrize(
    ("model", "environment"),
    [
        ("openai-responses:gpt-5-mini", {}),
        ("openrouter:openai/gpt-5-mini", {}),
        ("gemini:gemini-flash-latest", {}),
        ("azure:gpt-5-mini", {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"}),
        ("azure:gpt-5-mini", {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/openai/v1/"}),
        ("bedrock:openai.gpt-oss-120b-1:0", {"AWS_REGION": "us-west-2"}),
    ],
)
def test_a_provider_of_the_price_list_has_its_prices(model, environment):
    spec = parse_model_spec(model)
    url = PROVIDERS[spec.provider].url_in(environment)
    assert "//openai" not in url
    assert find_price(spec.name, base_url=url, at=1_790_000_000.0) is not None


async def test_a_model_that_only_the_responses_api_has_is_told_how_to_ask_for_it():
    """airi #1137, and OpenAI's own words."""
    for status in (400, 404):
        text = "This model is only supported in v1/responses and not in v1/chat/completions."
        with serve(lambda *_, status=status, text=text: error(text, status=status)) as server:
            async with open_named(parse_model_spec("m"), {"OPENAI_BASE_URL": server.base_url}, FixedClock()) as opened:
                fault = await opened.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind in {FaultKind.BAD_REQUEST, FaultKind.NOT_FOUND}
        assert "`openai-responses:`" in provider_advice(fault)
