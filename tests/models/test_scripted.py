"""Scripts: which entry answers which request, and what is told about a bad script."""

import pytest
import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models import scripted
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.scripted import FILE_BYTES_MAX, ScriptedModel
from tests.contracts.model import request

SCRIPT = """\
g_analysis:
  - {problem_type: bug_fix, note: "née"}
  - "Sorry, I cannot do that."
  - {fault: rate_limited, retry_after: 2, message: slow down, status: 429}
  - {reply: {fault: kept}, usage: {input_tokens: 9, output_tokens: 3}, finish_reason: length}
  - {reply: text, usage: null}
g_plan/v2.a1: {steps: []}
g_plan/v2.a1.t2: [second, try]
g_plan:
  - first
"""


async def ask(model, *request_ids):
    return [await model.complete(request(request_id)) for request_id in request_ids]


async def test_a_step_is_answered_in_order(tmp_path):
    path = tmp_path / "replies.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    model = ScriptedModel.from_file(path)
    value, text, fault, described, unmetered = await ask(model, *(f"g_analysis/v1.a{n}" for n in range(1, 6)))
    assert value == Reply('{"problem_type": "bug_fix", "note": "née"}', Usage(), "scripted")
    assert text.text == "Sorry, I cannot do that."
    assert fault == Fault(kind=FaultKind.RATE_LIMITED, message="slow down", status=429, retry_after=2.0)
    assert described.text == '{"fault": "kept"}'
    assert described.usage == Usage(input_tokens=9, output_tokens=3)
    assert described.finish_reason == "length"
    assert unmetered.usage is None


async def test_an_exact_address_goes_first(tmp_path):
    path = tmp_path / "replies.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    model = ScriptedModel.from_file(path)
    ids = ("g_plan/v2.a1", "g_plan/v1.a1", "g_plan/v2.a1", "g_plan/v2.a1.t3", "g_plan/v2.a1.t2")
    texts = [reply.text for reply in await ask(model, *ids)]
    assert texts == ['{"steps": []}', "first", '{"steps": []}', '{"steps": []}', '["second", "try"]']


async def test_a_script_that_is_used_up_says_so():
    model = ScriptedModel({"g_analysis": ["one"]}, place="replies.yaml")
    _, fault, other = await ask(model, "g_analysis/v1.a1", "g_analysis/v1.a2", "g_recon/v1.a1")
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.NOT_FOUND
    assert fault.kind.final
    for word in ("replies.yaml", "'g_analysis'", "g_analysis/v1.a2"):
        assert word in fault.message
    assert "'g_recon'" in other.message


async def test_a_later_process_goes_on_where_the_first_stopped():
    """Told what was used, a new model gives the next reply."""
    model = ScriptedModel({"g_analysis": ["one", "two"]}, used={"g_analysis": 1})
    [reply] = await ask(model, "g_analysis/v1.a2")
    assert reply.text == "two"


async def test_a_delay_is_the_clocks(autojump_clock):
    model = ScriptedModel({"g_analysis": [{"reply": "late", "delay_seconds": 3600}]}, clock=TrioClock())
    started = trio.current_time()
    [reply] = await ask(model, "g_analysis/v1.a1")
    assert reply.text == "late"
    assert trio.current_time() - started == pytest.approx(3600)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "not a mapping"),
        ("a: [", "replies.yaml:1: not YAML"),
        ("b: [x]\na: 5", "replies.yaml:2 a: not a list"),
        ("5: []", "not a string"),
        ("? [a]\n: []", "not YAML: found unhashable key"),
        ("a:\n- {fault: nonsense}", "replies.yaml:2 a[0].fault: should be '"),
        ("a: [{fault: timeout, retry: 5}]", "a[0].retry: unknown key 'retry'"),
        ("a: [one, {reply: x, delay_seconds: -1}]", "replies.yaml:1 a[1].delay_seconds: should be at least 0, not -1"),
        ("a: [2024-01-01]", "a[0]: not a JSON value"),
        ("a: [{b: .nan}]", "a[0]: not a JSON value"),
        ("a/v1.a1: {reply: x, usage: 3}", "a/v1.a1.usage: should be a mapping of keys to values, not 3"),
        ("[" * 1500, "not YAML"),
        ("\x00", "not YAML"),
    ],
)
def test_a_bad_script_is_told_with_its_place(tmp_path, text, told):
    path = tmp_path / "replies.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageProblem) as problem:
        ScriptedModel.from_file(path)
    assert told in str(problem.value)
    assert str(path) in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_missing_script_is_told(tmp_path):
    with pytest.raises(UsageProblem, match=r"cannot be read: .*\(name an existing script"):
        ScriptedModel.from_file(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match="not YAML"):
        ScriptedModel.from_file(tmp_path / "binary.yaml")


LEVELS = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]


def test_aliases_cannot_multiply_the_values(tmp_path, monkeypatch):
    path = tmp_path / "script.yaml"
    path.write_text("\n".join(["a0: &a0 [x]", *LEVELS]), encoding="utf-8")
    monkeypatch.setattr(scripted._Loader, "construct_object", None)  # Nothing is built before all is counted.
    with pytest.raises(UsageProblem, match="more than 50,000 values"):
        ScriptedModel.from_file(path)


def test_a_file_is_not_read_beyond_its_limit(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(UsageProblem, match="the file is over 4 MiB"):
        ScriptedModel.from_file(path)


def test_ordinary_aliases_are_read(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text("g_a: [&first {x: 1}, *first]\n", encoding="utf-8")
    assert ScriptedModel.from_file(path).keys == {"g_a": "g_a"}
