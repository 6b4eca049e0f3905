"""What the OpenAI client says about the prompt cache: the run's key, marks for models that need them, and to whom."""

import pytest

from replan.runs.models import open_model
from runtime.core.errors import UsageProblem
from runtime.models.open_models import open_openai
from runtime.models.port import Fault, Reply
from runtime.models.providers import (
    OPENAI_URL,
    matches_marks_only,
    prompt_cache_of,
    sends_cache_fields,
    with_cache_fields,
)
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, FixedClock
from tests.support.openai_server import Answer, serve

MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
USER = "The parser fails.\n\nRejected."
COMMON = len("The parser fails.")


def texts(body):
    contents = [message["content"] for message in body["messages"]]
    return [each if isinstance(each, str) else "".join(part["text"] for part in each) for each in contents]


async def asked(variable, name="gpt-5.6-mini", *, answer=lambda *_: Answer.say(TEXT), calls=1, **more):
    """Return the bodies that a server of our own gets, with a value of the variable, or None for none."""
    environment = {"OPENAI_API_KEY": KEY} | ({} if variable is None else {"REPLAN_PROMPT_CACHE": variable})
    with serve(answer) as server:
        environment["OPENAI_BASE_URL"] = server.base_url
        opening = open_model(name, journal=None, environment=environment, root=None, clock=FixedClock(), used={})
        async with opening as model:
            for _ in range(calls):
                reply = await model.complete(request(**({"user": USER, "repeated": (COMMON,)} | more)))
        assert isinstance(reply, Reply)
        return [seen.body for seen in server.seen]


@pytest.mark.parametrize("variable", [None, "", "auto", "off"])
async def test_another_server_is_told_nothing_unless_it_is_wished(variable):
    [body] = await asked(variable)
    assert not [name for name in body if name.startswith("prompt_cache")]
    assert [message["content"] for message in body["messages"]] == ["You analyse.", USER]


async def test_with_on_any_server_gets_the_run_as_key_and_the_marks():
    [body] = await asked("on")
    assert body["prompt_cache_key"] == "run-1"
    assert body["prompt_cache_options"] == {"mode": "explicit"}
    assert body["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "You analyse.", **MARK}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "The parser fails.", **MARK},
                {"type": "text", "text": "\n\nRejected."},
            ],
        },
    ]
    assert texts(body) == ["You analyse.", USER]


async def test_results_of_other_steps_stand_between_two_marks():
    [body] = await asked("on", user="The problem.\n\nThe results. The task.\n\nRejected.", repeated=(12, 36))
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "The problem.", **MARK},
        {"type": "text", "text": "\n\nThe results. The task.", **MARK},
        {"type": "text", "text": "\n\nRejected."},
    ]


async def test_a_prompt_without_feedback_or_system_message_has_one_part_and_no_empty_one():
    [body] = await asked("on", user="The parser fails.", system="")
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "The parser fails.", **MARK}]}]


async def test_a_prompt_of_which_nothing_is_known_has_no_marks_and_leaves_them_to_the_provider():
    [body] = await asked("on", repeated=())
    assert "prompt_cache_options" not in body
    assert [message["content"] for message in body["messages"]] == ["You analyse.", USER]
    assert body["prompt_cache_key"] == "run-1"


async def test_models_that_find_prefixes_themselves_get_the_key_alone():
    [body] = await asked("on", "gpt-5-mini")
    assert body["prompt_cache_key"] == "run-1"
    assert [message["content"] for message in body["messages"]] == ["You analyse.", USER]


async def test_a_call_outside_of_a_run_has_no_key():
    [body] = await asked("on", "gpt-5-mini", run="")
    assert "prompt_cache_key" not in body


async def test_a_server_that_refuses_the_fields_by_name_is_asked_at_once_without_and_from_then_on():
    def handle(body, _headers, _n):
        refused = "prompt_cache_key" in body
        return Answer.fault(400, "Unknown parameter: 'prompt_cache_key'") if refused else Answer.say(TEXT)

    bodies = await asked("on", answer=handle, calls=2)
    assert ["prompt_cache_key" in body for body in bodies] == [True, False, False]
    assert [body["response_format"]["type"] for body in bodies] == ["json_schema"] * 3
    assert [message["content"] for message in bodies[1]["messages"]] == ["You analyse.", USER]


async def test_a_refusal_in_other_words_is_a_fault():
    with serve(lambda *_: Answer.fault(400, "context length exceeded")) as server:
        async with open_openai("gpt-5.6", api_key=KEY, base_url=server.base_url, prompt_cache="on") as model:
            assert isinstance(await model.complete(request(repeated=(COMMON,))), Fault)
        assert len(server.seen) == 1


async def test_openai_itself_is_told_unless_it_is_not_wished():
    for setting, told in (("auto", True), ("on", True), ("off", False)):
        async with open_openai("gpt-5.6", api_key=KEY, prompt_cache=setting) as model:
            assert model._cache is told
    assert sends_cache_fields("auto", OPENAI_URL)
    assert not sends_cache_fields("auto", "https://gateway.example.org/v1")


def test_a_value_that_is_unknown_is_a_usage_problem_with_the_known_ones():
    assert prompt_cache_of({"REPLAN_PROMPT_CACHE": " ON "}) == "on"
    with pytest.raises(UsageProblem, match=r"REPLAN_PROMPT_CACHE: 'yes' is unknown \(use auto, on or off\)"):
        prompt_cache_of({"REPLAN_PROMPT_CACHE": "yes"})


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("gpt-5.6", True),
        ("gpt-5.6-mini", True),
        ("gpt-5.10", True),
        ("gpt-6", True),
        ("openai/gpt-5.6-terra", True),
        ("ft:gpt-5.6-mini:org::id", True),
        ("gpt-5.5", False),
        ("gpt-5", False),
        ("gpt-4o", False),
        ("gpt-4.1-mini", False),
        ("gpt-oss-120b", False),
        ("o9", False),
        ("claude-opus-5", False),
    ],
)
def test_marks_are_for_gpt_5_6_and_later(name, marked):
    assert matches_marks_only(name) is marked


def test_a_body_is_not_changed_in_place():
    body = {"messages": [{"role": "user", "content": USER}]}
    with_cache_fields(body, request(user=USER, repeated=(COMMON,)), marked=True)
    assert body == {"messages": [{"role": "user", "content": USER}]}
