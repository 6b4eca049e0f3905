"""Recordings: replies by the fingerprint of their prompt, in a file without secrets; strict, lenient, or recording."""

import json

import pytest

from actors.config.model_spec import RecordingSpec, ReplaySpec, parse_model_spec
from actors.prompting.render import Rendered
from replan.runs.models import check_model, open_model
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.logs.redact import MARK, Redactor
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply
from runtime.models.recording import (
    RecordedAnswer,
    RecordingFile,
    RecordingMode,
    RecordingModel,
    fingerprint,
    prompt_difference,
)
from runtime.models.scripted import ScriptedModel
from tests.models.wired import FixedClock

SECRET = "hunter2-is-not-it"


def asked(user, request_id="g_plan/v1.a1", system="Be a planner."):
    return ModelRequest(request_id, request_id.partition("/")[0], system, user, 60.0, 1_000)


def answer(text, user, request_id="g_plan/v1.a1", system="Be a planner."):
    return RecordedAnswer(request_id, fingerprint(system, user), Reply(text, None, "m"), lambda: (system, user))


async def test_a_reply_is_found_by_its_prompt_whatever_the_request_is_called():
    model = RecordingModel([answer("one", "Plan A."), answer("two", "Plan B.", "g_plan/v1.a2")])
    assert (await model.complete(asked("Plan B.", "g_plan/v7.a1"))).text == "two"
    assert (await model.complete(asked("Plan A.", "other/v1.a1"))).text == "one"


async def test_one_prompt_with_several_replies_gives_each_once_and_a_further_try_the_same_again():
    same = [answer(str(number), "Plan A.", f"g_plan/v1.a{number}") for number in (1, 2)]
    model = RecordingModel(same)
    texts = [(await model.complete(asked("Plan A.", f"g_plan/v1.{name}"))).text for name in ("a2", "a1", "a1.t2")]
    assert texts == ["2", "1", "1"]
    fault = await model.complete(asked("Plan A.", "g_plan/v1.a3"))
    assert (fault.kind, "more requests with this prompt than the recording has replies" in fault.message) == (
        FaultKind.NOT_FOUND,
        True,
    )


async def test_the_first_divergence_is_a_difference_of_the_two_prompts():
    model = RecordingModel([answer("one", "Plan it.\nThe login fails.\nBe brief.")])
    fault = await model.complete(asked("Plan it.\nThe logout fails.\nBe brief."))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.NOT_FOUND
    assert fault.message.splitlines()[1:] == ["user @@ -2 +2 @@", "-The login fails.", "+The logout fails."]
    other = await model.complete(asked("x", "g_recon/v1.a1"))
    assert "or its step" in other.message
    unknown = RecordingModel([RecordedAnswer("g_plan/v1.a1", "", Reply("x", None, "m"), lambda: None)])
    assert "cannot be shown any more" in (await unknown.complete(asked("x"))).message


async def test_a_lenient_recording_answers_the_same_request_whatever_its_prompt_is():
    model = RecordingModel([answer("one", "Plan A.")], RecordingMode.LENIENT)
    assert (await model.complete(asked("Plan B."))).text == "one"
    assert isinstance(await model.complete(asked("Plan B.", "g_plan/v2.a1")), Fault)


async def test_what_is_missing_is_asked_and_recorded_without_secrets(tmp_path):
    path, redacted = tmp_path / "replies.yaml", Redactor([SECRET]).text
    file = RecordingFile(path, redacted)
    used = Usage(input_tokens=7, output_tokens=3)
    script = ScriptedModel({"g_plan": [{"reply": f"I saw {SECRET}.\nDone.", "usage": used.model_dump()}]})
    prompt = f"Log in with {SECRET}.\nThen plan.\n"
    first = RecordingModel([], RecordingMode.RECORD, redacted=redacted, missing=script, add=file.add)
    assert SECRET in (await first.complete(asked(prompt))).text
    text = path.read_text(encoding="utf-8")
    assert SECRET not in text
    assert (text.count(MARK), "    Then plan.\n" in text) == (2, True)
    assert fingerprint("Be a planner.", prompt) not in text
    again = RecordingModel(RecordingFile(path, redacted).read(may_be_missing=False), redacted=redacted)
    reply = await again.complete(asked(prompt))
    assert (reply.text, reply.usage) == (f"I saw {MARK}.\nDone.", used)
    elsewhere = RecordingModel(
        RecordingFile(path, Redactor(["another-secret"]).text).read(may_be_missing=False),
        redacted=Redactor(["another-secret"]).text,
    )
    assert (await elsewhere.complete(asked(prompt.replace(SECRET, "another-secret")))).text == reply.text


async def test_several_runs_add_to_one_file_and_faults_are_not_recorded(tmp_path):
    file = RecordingFile(tmp_path / "replies.yaml", str)
    for number in range(3):
        script = ScriptedModel({"g_plan": [str(number), {"fault": "timeout"}]})
        model = RecordingModel([], RecordingMode.RECORD, missing=script, add=RecordingFile(file.path, str).add)
        assert (await model.complete(asked(f"Plan {number}."))).text == str(number)
        assert (await model.complete(asked(f"Plan {number}."))).text == str(number)
        assert isinstance(await model.complete(asked(f"Fail {number}.")), Fault)
    assert [each.answer.text for each in file.read(may_be_missing=False)] == ["0", "1", "2"]


async def recorded(path, number, system="Be a planner."):
    """Add a reply of one call of a model to a recording's file."""
    reply = Reply(f"{number}.\n...\n---\nDone.", None, "m")
    RecordingFile(path, str).add(asked(f"Plan {number}.\n...\nNow.", f"g_plan/v1.a{number}", system), reply)


def texts_in(path):
    """Return the first lines of the replies in a recording's file."""
    return [each.answer.text.partition(".")[0] for each in RecordingFile(path, str).read(may_be_missing=False)]


async def test_a_reply_is_added_to_the_end_and_leaves_what_stands_there_as_it_is(tmp_path):
    path = tmp_path / "replies.yaml"
    for number in range(5):
        before = path.read_bytes() if number else b""
        await recorded(path, number)
        assert path.read_bytes().startswith(before)
    answers = RecordingFile(path, str).read(may_be_missing=False)
    assert [each.answer.text for each in answers] == [f"{number}.\n...\n---\nDone." for number in range(5)]
    assert {each.prompt()[0] for each in answers} == {"Be a planner."}


async def test_one_file_has_the_system_message_once(tmp_path):
    path = tmp_path / "replies.yaml"
    file = RecordingFile(path, str)
    for number in range(3):
        file.add(asked(f"Plan {number}."), Reply("x", None, "m"))
    assert path.read_text(encoding="utf-8").count("Be a planner.") == 1


async def test_a_crash_at_any_byte_of_an_addition_loses_no_earlier_reply_and_the_next_one_takes_its_place(tmp_path):
    path = tmp_path / "replies.yaml"
    await recorded(path, 0)
    first = path.read_bytes()
    await recorded(path, 1)
    both = path.read_bytes()
    for cut in range(len(first), len(both)):
        path.write_bytes(both[:cut])
        assert texts_in(path) == ["0"]
        await recorded(path, 2)
        assert texts_in(path) == ["0", "2"]


@pytest.mark.parametrize("end", ["", "\n"])
async def test_replies_are_added_to_a_file_that_is_one_document(end, tmp_path):
    path = tmp_path / "replies.yaml"
    path.write_text(
        "recording: 1\nreplies: [{request: a, fingerprint: b, user: c, reply: 7. d}]" + end, encoding="utf-8"
    )
    await recorded(path, 1)
    await recorded(path, 2)
    assert texts_in(path) == ["7", "1", "2"]


def test_a_reply_that_would_make_the_file_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("runtime.models.recording.FILE_BYTES_MAX", 1_000)
    file = RecordingFile(tmp_path / "replies.yaml", str)
    file.add(asked("Plan."), Reply("x", None, "m"))
    with pytest.raises(UsageProblem, match="the file is over"):
        file.add(asked("Plan."), Reply("x" * 1_000, None, "m"))
    assert len(file.read(may_be_missing=False)) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file"),
        ("g_plan: [x]\n", "not a recording"),
        ("", "not a recording"),
        ("recording: 2\n", "recording"),
        ("recording: 1\n...\n---\nreplies: [{request: a}]\n...\n", "document 2 replies.0.fingerprint"),
        ("recording: 1\nreplies: [{request: a}]\n", "replies.0.fingerprint"),
        ("{", "not YAML"),
        ("\0", "not YAML"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_place(text, told, tmp_path):
    path = tmp_path / "replies.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageProblem) as problem:
        check_model(parse_model_spec(f"recorded:{path}"), {})
    assert str(path) in str(problem.value)
    assert told in str(problem.value)


def test_the_forms_of_a_recording_are_read():
    assert parse_model_spec("recorded:a.yaml") == RecordingSpec("a.yaml")
    assert parse_model_spec("recorded:a.yaml?lenient") == RecordingSpec("a.yaml", lenient=True)
    assert parse_model_spec("recorded:a.yaml?record=simulated:base?seed=7").missing == "simulated:base?seed=7"
    assert parse_model_spec("replay:k7m2x9qa?lenient") == ReplaySpec("k7m2x9qa", lenient=True)
    for wrong in ("recorded:", "recorded:a?b", "recorded:a?record=", "recorded:a?record=recorded:b", "replay:a?b"):
        with pytest.raises(UsageProblem):
            parse_model_spec(wrong)


def test_a_difference_is_cut_to_a_few_lines():
    then, now = ("s", "\n".join(map(str, range(100)))), ("t", "\n".join(str(-number) * 99 for number in range(100)))
    lines = prompt_difference(then, now).splitlines()
    assert len(lines) == 13
    assert lines[:3] == ["system @@ -1 +1 @@", "-s", "+t"]
    assert max(map(len, lines)) <= 161
    assert prompt_difference(then, then) == ""


async def test_a_recording_is_opened_by_its_name_with_the_model_for_what_is_missing(tmp_path):
    script, path = tmp_path / "script.json", tmp_path / "replies.yaml"
    script.write_text(json.dumps({"g_plan": ["one"]}), encoding="utf-8")

    def opened(text):
        return open_model(text, journal=None, environment={}, root=tmp_path, clock=FixedClock(), used={})

    async with opened(f"recorded:{path}?record=scripted:{script}") as model:
        assert (await model.complete(asked("Plan."))).text == "one"
    async with opened(f"recorded:{path}") as model:
        assert (await model.complete(asked("Plan."))).text == "one"


def test_the_fingerprint_is_the_hash_that_requests_store():
    assert fingerprint("Be a planner.", "Plan ä.") == Rendered("Be a planner.", "Plan ä.").ref


async def test_a_file_that_cannot_be_written_is_refused_before_a_call_and_parks_the_run_after_one(tmp_path):
    missing = tmp_path / "no folder" / "replies.yaml"
    with pytest.raises(UsageProblem, match="its folder does not exist"):
        check_model(parse_model_spec(f"recorded:{missing}?record=template:bug"), {})
    script, file = ScriptedModel({"g_plan": ["one"]}), RecordingFile(missing, str)
    model = RecordingModel([], RecordingMode.RECORD, missing=script, add=file.add)
    fault = await model.complete(asked("Plan."))
    assert isinstance(fault, Fault)
    assert "cannot store the reply" in fault.message
