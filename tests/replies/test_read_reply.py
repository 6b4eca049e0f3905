"""Finding the one JSON value in a reply, and refusing what is not one."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.replies import Parsed, ReplyCode, Unreadable, read_reply

PLAN = {"plan_id": "p", "steps": [{"step_id": "s0"}]}
BODY = json.dumps(PLAN)
FENCED = "```json\n" + json.dumps(PLAN, indent=2) + "\n```"

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
)
documents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=12)
snippets = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", "\\", ",", ":", "```", "```json\n", "NaN", "1e999", "\\u0000", "\\ud800", "\x00",
     "\ud800", "\ufeff", "true", "True", "None", "-", "0", "a", " ", "\n", "</think>", "\\x4", "/*", "é", "9" * 5000]
)  # fmt: skip


def code(text, **limits):
    found = read_reply(text, **limits)
    assert isinstance(found, Unreadable), found
    assert found.message.count("\n") == 0
    assert found.message.endswith(".")
    return found.code


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        "\ufeff" + BODY + "\n",
        FENCED,
        "```\n" + BODY + "\n```",
        "```json " + BODY + " ```",
        "```JSON5\n" + BODY,
        "Here is {nothing} yet:\n" + FENCED + "\nI hope {this} helps.",
        "```python\nprint([1])\n```\nand so\n" + FENCED,
        "```json\n[1, 2]\n```\nbecomes\n" + FENCED,
        f"Sure! {BODY} Anything else?",
        f"As [1] says: {BODY} and [2] agrees",
        f"<think>perhaps {{}} or {{\n</think>\n{BODY}",
        str({"plan_id": "p", "steps": [{"step_id": "s0"}]}),
    ],
)
def test_the_one_value_is_found(text):
    assert read_reply(text) == Parsed(PLAN)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"code": "```json {} ```"}', {"code": "```json {} ```"}),
        ('[{"a": 1}]', [{"a": 1}]),
        ('The steps are [{"a": 1}, {"b": 2}], in order.', [{"a": 1}, {"b": 2}]),
        ('As [1] says: {"a": 1}', {"a": 1}),
        ("```\n[1, 2]\n```", [1, 2]),
        ('```\n[1, 2]\n```\nrather than {"a": 1}', [1, 2]),
        ("```json\n{broken\n```\n```json\n{}\n```", {}),
        ("3", 3),
        ("null", None),
        ("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100)),
        (json.dumps({"brackets": "[" * 500}), {"brackets": "[" * 500}),
        ('{"emoji": "\\ud83d\\ude00"}', {"emoji": "\N{GRINNING FACE}"}),
        ('{"literal": "\\\\u0000"}', {"literal": "\\u0000"}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
    ],
)
def test_what_stands_there_is_what_is_read(text, value):
    assert read_reply(text) == Parsed(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': True, 'b': None, 'c': [False, 1.5, -2]}", {"a": True, "b": None, "c": [False, 1.5, -2]}),
        (r"""{'it\'s': 'a "quote"'}""", {"it's": 'a "quote"'}),
        (r"{'tab': 'a\tb\x41\u0042\\n'}", {"tab": "a\tbAB\\n"}),
        ("```python\n{'a': \"it's\"}\n```", {"a": "it's"}),
        (r"""{"a": "it\'s \"quoted\" \x41"}""", {"a": 'it\'s "quoted" A'}),
    ],
)
def test_a_python_literal_is_read_by_translation(text, value):
    assert read_reply(text) == Parsed(value)


@pytest.mark.parametrize(
    "text",
    ["{'a': __import__('os')}", "{'a'}", "('a',)", "{'a': b'x'}", "{'a': 'x' 'y'}", "{'a': 1,}", "{'a': 1+2j}",
     "{1: 'a'}", "{'a': '\n'}", "{'a': 'open", r"{'a': '\q'}", "{'a': '\\"],
)  # fmt: skip
def test_python_that_is_not_json_stays_unreadable(text):
    assert code(text) is ReplyCode.NOT_JSON


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ReplyCode.EMPTY),
        (" \n\t\ufeff ", ReplyCode.EMPTY),
        ("I cannot help with that.", ReplyCode.NOT_JSON),
        ("{}{}", ReplyCode.NOT_JSON),
        ('{"a": 1,}', ReplyCode.NOT_JSON),
        ('{"a": 01}', ReplyCode.NOT_JSON),
        ('{"a": "tab\there"}', ReplyCode.NOT_JSON),
        ('{"steps": [', ReplyCode.NOT_JSON),
        ("}{", ReplyCode.NOT_JSON),
        ("```json\n```", ReplyCode.NOT_JSON),
        ('{"a": 1, "a": 1}', ReplyCode.DUPLICATE_KEY),
        ("{'a': 1, 'a': 2}", ReplyCode.DUPLICATE_KEY),
        ('Look: {"x": {"a": 1, "\\u0061": 2}} there', ReplyCode.DUPLICATE_KEY),
        ('{"a": NaN}', ReplyCode.NOT_FINITE),
        ('{"a": -Infinity}', ReplyCode.NOT_FINITE),
        ('{"a": 1e999}', ReplyCode.NOT_FINITE),
        ('```json\n{"a": -1e999}\n``` {', ReplyCode.NOT_FINITE),
        ("9" * 5000, ReplyCode.NOT_FINITE),
        ('{"a": "\\ud800"}', ReplyCode.BAD_TEXT),
        ('{"\\udc00": 1}', ReplyCode.BAD_TEXT),
        ('{"a": ["\\u0000"]}', ReplyCode.BAD_TEXT),
        ('{"a": "\ud800"}', ReplyCode.BAD_TEXT),
        ("{" * 101, ReplyCode.TOO_DEEP),
        ("[" * 10_000 + "]" * 10_000, ReplyCode.TOO_DEEP),
        ("Deep: " + '{"a":' * 100_000, ReplyCode.TOO_DEEP),
    ],
)
def test_what_cannot_be_read_has_a_code(text, expected):
    assert code(text) is expected


def test_limits_are_counted_in_bytes_and_levels():
    assert read_reply('"éé"', bytes_max=6) == Parsed("éé")
    assert code('"ééé"', bytes_max=7) is ReplyCode.TOO_LARGE
    assert read_reply("[[]]", depth_max=2) == Parsed([[]])
    assert code("[[[]]]", depth_max=2) is ReplyCode.TOO_DEEP


def test_a_message_quotes_little():
    for text in (
        '{"' + "k" * 100_000 + '": 1, "' + "k" * 100_000 + '": 2}',
        '{"a": ' + "x" * 100_000,
        "[" + "1" * 100_000 + ".0]",
    ):
        found = read_reply(text)
        assert isinstance(found, Unreadable)
        assert len(found.message) < 200


def test_a_deep_caller_gets_an_answer_too():

    def below(frames):
        return below(frames - 1) if frames else read_reply("[" * 90 + "]" * 90)

    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    assert isinstance(below(sys.getrecursionlimit() - depth - 60), Parsed | Unreadable)


@given(st.lists(snippets | st.text(max_size=5), max_size=60).map("".join))
def test_any_text_has_an_answer(text):
    found = read_reply(text)
    if isinstance(found, Parsed):
        json.dumps(found.value, allow_nan=False, ensure_ascii=False).encode()
    else:
        assert found.code in ReplyCode


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(data):
    """Bytes that are no text arrive as surrogates, which are refused."""
    found = read_reply(data.decode("utf-8", "surrogateescape"))
    assert isinstance(found, Parsed | Unreadable)


@given(documents, st.sampled_from(["{}", "```json\n{}\n```", "Here you are:\n\n```\n{}\n```\nDone."]))
def test_every_document_survives_its_wrapping(value, wrapping):
    wrapped = {"value": value}
    assert read_reply(wrapping.replace("{}", json.dumps(wrapped), 1)) == Parsed(wrapped)


@given(documents)
def test_every_document_survives_as_a_python_literal(value):
    wrapped = {"value": value}
    text = repr(wrapped)
    if "\\U" not in text:
        assert read_reply(text) == Parsed(wrapped)
