"""What a user is told to do after each end or pause of a run."""

import pytest

from actors.run.advice import advice, provider_advice, reopening_advice
from actors.run.ending import end_exhausted_run, exhausted_limit
from actors.run.inbox import UserMessage
from actors.run.limits import LIMITS, flag
from actors.run.result import RunResult, heading, message_lines, question_lines, usage_line
from actors.values.answers import TEXT
from runtime.core.ledger import Amount, Limit
from runtime.models.port import LACKS_REPLY, Fault, FaultKind

SPENT = {"run_id": "r", "calls": 1, "tokens": 2_400, "cost_usd": None}
RESUME, LOG, TRACE = "`p resume r`", "`p log r` has the details", ", and the log file has the traceback"
WITH = " (with the same --plugins, if it is in a file)"
CUT = "try again; if the connection breaks again, look at the server's log and at the proxies before it"
TELL = "`p tell r TEXT --as requirement` adds details or drops a demand"


def result(status="finished", outcome="", why="", **fields):
    return RunResult(status=status, outcome=outcome, why=why, **{**SPENT, **fields})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"outcome": "success"}, ""),
        (
            {"cause": "plugin", "outcome": "failed"},
            f"mend the plug-in, then {RESUME}{WITH} calls the plug-in again; {LOG}{TRACE}",
        ),
        (
            {"fault": Fault(kind=FaultKind.CUT, message=""), "cause": "provider"},
            f"{CUT}; then {RESUME}; {LOG}",
        ),
        ({"cause": "provider"}, "`p resume r` sends the request again at once; `p log r` has the details"),
        (
            {"outcome": "failed"},
            f"this is a bug: report it; {LOG}{TRACE}; `p resume r` tries again",
        ),
        (
            {"cause": "home_budget", "status": "parked"},
            "raise the daily budget in config.yaml and resume the run, or start a run with smaller requests",
        ),
        (
            {"cause": "home_budget"},
            "after the next day (UTC) has begun, or with a higher daily budget in config.yaml, `p resume r` goes on",
        ),
        (
            {"outcome": "budget_exhausted", "why": "stuck: the same again"},
            f"`p resume r -m MODEL` asks another model, {TELL}, `p resume r --keep-trying` goes on without a change",
        ),
        (
            {"outcome": "budget_exhausted", "why": "stuck for good: the same again"},
            f"`p resume r -m MODEL` asks another model, {TELL}",
        ),
        ({"outcome": "success", "why": "stuck: no"}, ""),
        *(
            ({"outcome": "budget_exhausted", "why": why}, f"`p resume r {flag}` goes on with all accepted results")
            for why, flag in (
                ("no calls left", "--max-calls N"),
                ("no tokens left: 3", "--max-tokens N"),
                ("no money left", "--max-cost USD"),
                ("no active time left", "--active-time 1h"),
                ("the deadline has passed", "--deadline 1h"),
                ("anything", "--max-calls N"),
            )
        ),
    ],
)
def test_each_end_has_its_next_step(fields, text):
    assert advice(result(**fields), "p") == text


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("limits", "`p resume r --max-calls N` goes on with all accepted results."),
        (
            "requirement",
            "To continue the run, add a requirement: `p tell r TEXT --as requirement`, then `p resume r`.",
        ),
        ("resume", "`p resume r` goes on with the run."),
        ("nothing", "The run cannot go on; `p show r` shows its result."),
    ],
)
def test_a_finished_run_says_how_it_can_be_gone_on_with(by, text):
    assert reopening_advice(result(outcome="budget_exhausted", why="no calls left", reopened_by=by), "p") == text


FAULTS = {
    (FaultKind.AUTH, 401): "set OPENAI_API_KEY to a key that this server accepts",
    (FaultKind.AUTH, 403): "use a key that may use this model, or name another model with -m",
    (FaultKind.AUTH, 402): "add credit to the account, or use another key",
    (FaultKind.NOT_FOUND, None): "add the missing reply to the script, or use another model",
    (
        FaultKind.NOT_FOUND,
        404,
    ): "correct the model's name (-m or REPLAN_MODEL), or OPENAI_BASE_URL, which ends with the API's version",
    (FaultKind.NOT_FOUND, 308): "set OPENAI_BASE_URL to the address to which the server redirects",
    (FaultKind.CONTENT_REFUSED, None): "reword the parts of the problem that the provider's filter may reject",
    (FaultKind.BAD_REQUEST, None): "correct what the server rejects",
    (FaultKind.UNRESOLVED_HOST, None): "check the host's name in OPENAI_BASE_URL, and the network; `p doctor --online`",
    (FaultKind.REFUSED_CONNECTION, None): "start the server, or correct the host and port in OPENAI_BASE_URL; `p doc",
    (FaultKind.RATE_LIMITED, 429): "wait until the provider accepts requests again",
    (FaultKind.SERVER_ERROR, 500): "try again later",
    (FaultKind.TIMEOUT, None): "give the model more time (`model_timeout_seconds` of the workflow, or --timeout)",
    (
        FaultKind.NO_API,
        None,
    ): "correct OPENAI_BASE_URL, with the API's version at its end, such as https://HOST/v1; `p d",
    (FaultKind.BAD_REPLY, None): "set OPENAI_BASE_URL to an OpenAI-compatible server",
    (FaultKind.TOO_LARGE, None): "lower `output_tokens_max` in the workflow",
}


@pytest.mark.parametrize(("kind", "status"), FAULTS)
def test_each_fault_of_a_provider_has_its_next_step(kind, status):
    fault = Fault(kind=kind, message="", status=status)
    assert provider_advice(fault, "p").startswith(FAULTS[kind, status])
    assert "OPENAI" not in provider_advice(fault, "p", "anthropic")


def test_a_recording_that_lacks_a_reply_is_taken_leniently():
    fault = Fault(kind=FaultKind.NOT_FOUND, message=f"{LACKS_REPLY} to the prompt of 'plan/v1.a1'")
    assert provider_advice(fault, "p").startswith("add `?lenient` to the model's name")


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"status": "running"}, ["Running"]),
        ({"status": "running", "why": "no worker"}, ["Held up", "no worker"]),
        ({"status": "running", "why": "down", "cause": "provider"}, ["Running", "down"]),
        ({"status": "waiting"}, ["Waiting for you"]),
        ({"status": "parked", "why": "stopped"}, ["Parked", "stopped"]),
        ({"status": "moved"}, ["Moved"]),
        ({"outcome": "success", "why": "all passed"}, ["Done: success", "all passed"]),
    ],
)
def test_the_heading_has_the_status_and_the_reason(fields, lines):
    assert [line.plain for line in heading(result(**fields), "Done")] == lines


def test_what_was_used_is_told_with_what_is_not_known_of_it():
    assert usage_line(result()).plain == "Run r: 1 model call, 2,400 tokens, cost unknown."
    unknown = Amount(calls=2, tokens=1, micro_usd=50)
    assert usage_line(result(unknown=unknown)).plain.endswith("; charged as unknown: 2 calls, 1 token.")
    known = usage_line(result(unknown=unknown, cost_usd=1.5)).plain
    assert known == "Run r: 1 model call, 2,400 tokens, $1.50; charged as unknown: 2 calls, 1 token, $0.0001."


def test_the_users_messages_are_shown_and_those_that_no_prompt_has_had_are_marked():
    messages = (
        UserMessage(kind="note", text="a", place=1, seen=True),
        UserMessage(kind="requirement", text="b", place=1),
    )
    shown = [line.plain.strip() for line in message_lines(result(messages=messages))]
    assert shown[1:] == ["You said", "note: a", "requirement: b (not yet seen)"]
    assert message_lines(result()) == []
    kept = result(messages=messages).to_json()["messages"]
    assert kept == [
        {"kind": "note", "text": "a", "seen": True},
        {"kind": "requirement", "text": "b", "seen": False},
    ]


def test_what_a_question_is_about_keeps_its_indentation():
    rest = {"priority": "normal", "about": "", "choices": [], "answer_schema": TEXT, "otherwise": ""}
    lines = question_lines(result(question={"text": "Is it?", "shown": '{\n  "a": 1', **rest}), "p")
    assert [line.plain for line in lines if "|" in line.plain] == ["   | {", '   |   "a": 1']


def test_a_run_without_a_question_has_no_lines_for_one():
    assert list(question_lines(result(open_questions=("q1", "q2")), "p")) == []


def test_every_limit_has_its_own_reason_and_its_own_option():
    ends = [end_exhausted_run(limit) for limit in Limit]
    assert [exhausted_limit(end.why) for end in ends] == [*Limit]
    commands = [advice(result(outcome=end.outcome, why=end.why), "p") for end in ends]
    options = {command.split()[3] for command in commands}
    assert len(options) == len(Limit)
    assert options <= {flag(name) for name in LIMITS}
