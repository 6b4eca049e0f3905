"""The settings of a model's calls: what they may be, what is sent, and what a provider's refusal says of them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.values.model_settings import KEY, OWN, ModelSettings, check_settings, words_of
from runtime.core.errors import UsageProblem
from runtime.models.open_models import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY as API_KEY
from tests.models.wired import wired
from tests.support.openai_server import Answer

ALL = {
    "temperature": 0,
    "top_p": 0.5,
    "seed": 7,
    "reasoning_effort": "low",
    "verbosity": "high",
    "stop": ["END"],
    "extra_body": {"top_k": 40},
    "extra_headers": {"X-Title": "plans"},
}


def test_all_settings_are_read_and_sent_by_the_names_of_chat_completions():
    settings = ModelSettings.model_validate(ALL)
    assert settings.body == {
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 7,
        "reasoning_effort": "low",
        "verbosity": "high",
        "stop": ["END"],
        "top_k": 40,
    }
    assert ModelSettings.model_validate_json(settings.model_dump_json()) == settings
    assert set(ALL) | OWN == set(ModelSettings.model_fields)
    assert ModelSettings(context_window=4096, compact=True).body == {}, "they are for this program"


def test_what_is_not_set_is_neither_sent_nor_stored():
    assert ModelSettings().body == {}
    assert ModelSettings().model_dump_json() == "{}"
    assert not ModelSettings()
    assert ModelSettings(temperature=0.0), "zero is a value"


def deep(levels):
    """Return extra fields nested so deep."""
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"temprature": 1}, "model_settings: unknown setting 'temprature' (did you mean 'temperature'? settings: "),
        (
            {"zzz": None},
            "model_settings: unknown setting 'zzz' (settings: temperature, top_p, seed, reasoning_effort, ",
        ),
        ({"temperature": 3}, "model_settings: temperature: should be at most 2, not 3"),
        ({"temperature": True}, "model_settings: temperature: should be a number, not True"),
        ({"temperature": "warm"}, "model_settings: temperature: should be a number, not 'warm'"),
        ({"top_p": 0}, "model_settings: top_p: should be above 0, not 0"),
        ({"seed": 1.5}, "model_settings: seed: should be a whole number, not 1.5"),
        ({"reasoning_effort": "hihg"}, "model_settings: reasoning_effort: should be 'none', 'minimal', "),
        ({"stop": ["a", "b", "c", "d", "e"]}, "model_settings: stop: takes at most 4 entries"),
        ({"extra_body": {"seed": 1}}, "model_settings: extra_body.seed: 'seed' must not be in extra_body"),
        ({"extra_body": [1]}, "model_settings: extra_body: should be a mapping"),
        ({"extra_body": {"a": "x" * 20_000}}, "model_settings: extra_body: has more than 16,000 bytes"),
        ({"extra_body": deep(21)}, "model_settings: extra_body: is nested more than 20 levels deep"),
        ({"extra_body": deep(5_000)}, "model_settings: extra_body: is nested more than 20 levels deep"),
        ({"extra_body": {"a": float("nan")}}, "model_settings: extra_body: a value is not JSON"),
        ({"extra_body": {"a": {1, 2}}}, "model_settings: extra_body: a value is not JSON"),
        (
            {"extra_headers": {f"X-{n}": "a" for n in range(21)}},
            "model_settings: extra_headers: takes at most 20 entries",
        ),
        (
            {"extra_headers": {"X Title": "a"}},
            "model_settings: extra_headers.X Title: 'X Title' is not a valid header name",
        ),
        ({"extra_headers": {"X-Title": "a\r\nX: b"}}, "model_settings: extra_headers.X-Title: the value of 'X-Title' "),
        ({"extra_headers": {"a\nb": "c"}}, "model_settings: extra_headers.a?b: 'a\\nb' is not a valid header name"),
        ({"extra_headers": {"x" * 300: "c"}}, f"model_settings: extra_headers.{'x' * 66}: '{'x' * 64}' is not a valid"),
        ({"extra_headers": {"X-Title": "é"}}, "model_settings: extra_headers.X-Title: the value of 'X-Title' "),
        (["temperature"], "model_settings: 'temperature' is not a setting with a value (write NAME=VALUE)"),
        (7, "model_settings: the settings must be a mapping of names to values"),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_name(value, message):
    with pytest.raises(UsageProblem) as told:
        check_settings(value)
    assert str(told.value).startswith(message), str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "name",
    [
        *("n", "tools", "models", "plugins", "web_search_options", "modalities", "prediction", "stream", "messages"),
        *("model", "max_tokens", "max_completion_tokens", "response_format", "service_tier", "prompt_cache_key"),
        *("stream_options", "tool_choice", "functions", "best_of", "audio", "speed", "search_parameters"),
    ],
)
def test_fields_that_the_client_sets_or_that_change_the_price_are_refused(name):
    with pytest.raises(UsageProblem, match=f"'{name}' is set by the client, or changes what a call costs"):
        check_settings({"extra_body": {name: 2}})


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Authorization",
            "Proxy-Authorization",
            "X-Api-Key",
            "api-key",
            "Cookie",
            "X-Auth-Token",
            "cf-aig-authorization",
        ),
        *("X-Client-Secret", "Ocp-Apim-Subscription-Key", "X-Password", "X-Signature"),
    ],
)
def test_headers_with_the_name_of_a_secret_are_refused_since_runs_store_them(name):
    with pytest.raises(UsageProblem, match=r"holds a secret, and settings are stored|is set by the client itself"):
        check_settings({"extra_headers": {name: "abc"}})


@pytest.mark.parametrize("value", ["Bearer abcdef", "basic YTpi", "sk-proj-123456"])
def test_headers_with_the_form_of_a_secret_are_refused(value):
    with pytest.raises(UsageProblem, match="holds a secret"):
        check_settings({"extra_headers": {"X-Title": value}})


@pytest.mark.parametrize("name", ["Host", "content-length", "Accept-Encoding", "X-Client-Request-Id", "X-Stainless-OS"])
def test_headers_that_the_client_sets_are_refused(name):
    with pytest.raises(UsageProblem, match="is set by the client itself"):
        check_settings({"extra_headers": {name: "abc"}})


@pytest.mark.parametrize(
    "fields",
    [
        {"api_key": "a"},
        {"provider": {"token": "a"}},
        {"hooks": [{"auth_token": "a"}]},
        {"hooks": [{"headers": ["Bearer abc"]}]},
    ],
)
def test_extra_fields_with_the_name_or_the_form_of_a_secret_are_refused_at_any_depth(fields):
    with pytest.raises(UsageProblem, match="holds a secret, and settings are stored"):
        check_settings({"extra_body": fields})


def test_fields_that_count_tokens_are_no_secrets():
    fields = {"min_tokens": 5, "stop_token_ids": [1], "skip_special_tokens": False, "thinking": {"budget_tokens": 900}}
    assert check_settings({"extra_body": fields}) == {"extra_body": fields}


def test_words_of_options_are_json_or_else_text():
    words = ["temperature=0.2", "reasoning_effort=low", 'stop=["a=b", "c"]', "seed=null", 'extra_body={"top_k": 4}']
    assert check_settings(words) == {
        "temperature": 0.2,
        "reasoning_effort": "low",
        "stop": ["a=b", "c"],
        "seed": None,
        "extra_body": {"top_k": 4},
    }
    assert check_settings("stop=END") == {"stop": ["END"]}
    assert check_settings(()) == {}
    assert words_of("temperature=0.2 'stop=the end'") == ["temperature=0.2", "stop=the end"]
    with pytest.raises(UsageProblem, match=f"{KEY}: a quotation mark is not closed"):
        words_of("stop='the end")


def read(value):
    """Return the change that a value is, and why it is none."""
    try:
        return check_settings(value), None
    except UsageProblem as problem:
        return None, problem


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20) | st.binary(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), below, max_size=3),
    max_leaves=12,
)
names = st.sampled_from([*ModelSettings.model_fields, "other", ""])


@given(st.dictionaries(names, anything, max_size=4) | st.lists(st.text(max_size=20), max_size=3) | anything)
def test_whatever_is_given_becomes_a_change_that_stays_the_same_or_one_line(value):
    patch, problem = read(value)
    if problem is not None:
        assert (problem.place, "\n" in str(problem)) == (KEY, False)
        return
    assert check_settings(json.loads(json.dumps(patch))) == patch
    settings = ModelSettings().apply_patch(patch)
    assert ModelSettings.model_validate_json(settings.model_dump_json()) == settings
    json.dumps(settings.body)


def test_a_change_keeps_the_others_takes_away_and_adds_extra_fields():
    before = ModelSettings(temperature=1.0, seed=3, extra_body={"a": 1, "b": 2})
    patch = check_settings({"temperature": None, "verbosity": "low", "extra_body": {"b": 3}})
    assert before.apply_patch(patch) == ModelSettings(seed=3, verbosity="low", extra_body={"a": 1, "b": 3})
    assert before.apply_patch({"extra_body": None}) == ModelSettings(temperature=1.0, seed=3)
    assert ModelSettings(seed=4).fill_from(before).seed == 4
    assert ModelSettings(seed=4).fill_from(before).temperature == 1.0


def with_settings(**settings):
    of_call = ModelSettings.model_validate(settings)
    return replace(request(), fields=of_call.body, headers=of_call.extra_headers)


async def test_settings_go_out_and_the_clients_own_fields_go_first():
    async with wired(Answer.say(TEXT)) as (server, model):
        await model.complete(with_settings(**ALL))
        await model.complete(replace(request(), fields={"model": "other", "stream": False}))
    first, second = server.seen
    assert {name: first.body[name] for name in ("temperature", "seed", "stop", "top_k")} == {
        "temperature": 0.0,
        "seed": 7,
        "stop": ["END"],
        "top_k": 40,
    }
    assert first.headers["x-title"] == "plans"
    assert first.request_id == "run-1/g_analysis/v1.a1"
    assert (second.body["model"], second.body["stream"]) == ("test-model", True)


async def test_a_refusal_of_a_setting_says_which_to_leave_out():
    words = (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
    )
    async with wired(Answer.fault(400, words)) as (server, model):
        fault = await model.complete(with_settings(temperature=0, seed=3))
        plain = await model.complete(request())
    assert isinstance(fault, Fault)
    assert isinstance(plain, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST
    assert fault.message.endswith("(leave out the setting temperature)")
    assert "leave out" not in plain.message
    assert len(server.seen) == 2


async def test_a_refusal_of_an_extra_field_or_header_names_it_too():
    async with wired(Answer.fault(400, "Unknown parameter: 'top_k'.")) as (_, model):
        fault = await model.complete(with_settings(extra_body={"top_k": 4, "min_p": 1}))
    assert isinstance(fault, Fault)
    assert fault.message.endswith("(leave out the setting top_k)")


async def test_a_reply_is_not_changed_by_words_of_settings():
    async with wired(Answer.say("temperature")) as (_, model):
        assert isinstance(await model.complete(with_settings(temperature=1)), Reply)


async def test_openai_itself_is_told_the_tier_of_the_price_list_and_no_other_server():
    async with open_openai("gpt-5", api_key=API_KEY) as model:
        body = json.dumps(model._body(request(), "text", stream=True, cache=False))
    assert '"service_tier": "default"' in body
    async with wired(Answer.say(TEXT)) as (server, model):
        await model.complete(request())
    assert "service_tier" not in server.seen[0].body
