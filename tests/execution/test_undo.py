"""Undoing on the pure machine: what is undone, in which order, once each, and who is asked."""

import pytest

from actors.execution.ids import Owner, owner_of
from actors.run.inbox import MailRefused
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from actors.run.tools import Begun, Ended, ToolOutcome
from actors.tools.output_parsing import ValueSource
from actors.tools.parameters import StringParameter
from actors.tools.specs import CommandSpec
from tests.execution.stage import Stage, person, plan, step, tool, toolset

UNDO = {"on_failure": "undo"}
TRIP = plan(
    step("hotel", "start", "hotel", undo="cancel_hotel"),
    step("flight", "hotel", "flight", dependencies="hotel", undo="cancel_flight"),
    step("pay", "flight", "goal", dependencies="flight", undo="refund", **UNDO),
)
UNDO_TOOLS = ("cancel_hotel", "cancel_flight", "refund")


def stage_of(value=TRIP, *, repeatable=True, uses=None, **fields):
    """Return a stage with tools for every generator, guard and undo of a plan."""
    generators = {each["generator"]: tool(each["generator"], repeatable=False) for each in value["steps"]}
    undos = {name: tool(name, repeatable=repeatable) for name in UNDO_TOOLS}
    tools = toolset(generators | (uses or {}), {"syntax": tool("check_syntax")})
    return Stage(value, tools.model_copy(update={"undos": undos | fields.pop("undos", {})}), **fields)


def undo_request(stage):
    """Return the tool that is called to undo something, with its arguments; None where none is."""
    calls = [work.request for work in stage.work.values() if work.request_id.startswith("tool:undo/")]
    assert len(calls) <= 1, "two effects are undone at a time"
    return (calls[0].tool, calls[0].arguments) if calls else None


def undone(stage):
    """Return what has become of each effect, in the order in which that was recorded."""
    return [(event.step, str(event.end)) for event in stage.events if event.kind == "effect_settled"]


def undo_by(stage, *names):
    """End the undoing by successful calls of these tools, one at a time and in this order."""
    for name in names:
        assert undo_request(stage)[0] == name
        stage.tool(name)
    assert stage.end == "undone"


def failed(stage):
    stage.run_step("hotel")
    stage.run_step("flight")
    stage.run_step("pay", "failed")
    return stage


def test_a_failure_undoes_what_was_done_the_last_call_first():
    """The call that failed by its own report has no effect."""
    stage = failed(stage_of())
    undo_by(stage, "cancel_flight", "cancel_hotel")
    assert undone(stage) == [("flight", "undone"), ("hotel", "undone")]
    assert stage.state.tokens == {"start", "hotel", "flight"}
    assert not stage.work


def test_a_call_that_succeeded_and_was_rejected_by_its_check_is_undone_too():
    stage = stage_of()
    stage.run_step("hotel")
    stage.run_step("flight")
    stage.run_step("pay", check="failed")
    undo_by(stage, "refund", "cancel_flight", "cancel_hotel")


def test_a_step_may_have_the_id_undo():
    """Its attempts, back-offs and questions are its own; only `undo/n1` and `undo/n1.ask` belong to the undoing."""
    value = plan(
        step("undo", "start", "hotel", undo="cancel_hotel", retry_budget=2),
        step("pay", "hotel", "goal", dependencies="undo", undo="refund", **UNDO),
    )
    stage = stage_of(value, uses={"do_undo": tool("do_undo")})
    stage.tool("do_undo", "transient", reason="it took long")
    stage.woken()
    stage.run_step("undo")
    stage.run_step("pay", "failed")
    undo_by(stage, "cancel_hotel")
    assert undone(stage) == [("undo", "undone")]


def test_a_node_names_its_owner():
    owners = {
        "undo/n3": Owner.UNDO,
        "undo/n3.ask": Owner.UNDO,
        "undo/r1.v1.a1": Owner.STEP,
        "undo/r1.v1.a1.act": Owner.STEP,
        "step-7/r2.v10.a3.outcome": Owner.STEP,
        "trouble/n1": Owner.TROUBLE,
        "planner/n12": Owner.PLANNER,
        "workspace/start": Owner.OTHER,
        "replan/r1.n1": Owner.OTHER,
        "tool:undo/n3": Owner.OTHER,
        "tool:pay/r1.v1.a1.act": Owner.OTHER,
        None: Owner.OTHER,
    }
    assert {node: owner_of(node) for node in owners} == owners


def test_each_attempt_whose_call_succeeded_is_undone():
    value = plan(step("pay", "start", "goal", undo="refund", retry_budget=2, **UNDO))
    stage = stage_of(value)
    stage.run_step("pay", check="failed")
    stage.run_step("pay", check="failed")
    undo_by(stage, "refund", "refund")
    assert undone(stage) == [("pay", "undone"), ("pay", "undone")]


def test_each_visit_of_a_loop_is_undone():
    value = plan(
        step("hotel", "start", "hotel", undo="cancel_hotel"),
        step("look", "hotel", "seen", dependencies="hotel", undo="nothing", on_failure="hotel"),
        step("pay", "seen", "goal", dependencies="look", undo="refund", **UNDO),
    )
    stage = stage_of(value)
    stage.run_step("hotel")
    stage.run_step("look", "failed")
    stage.run_step("hotel")
    stage.run_step("look")
    stage.run_step("pay", "failed")
    undo_by(stage, "cancel_hotel", "cancel_hotel")


def test_effects_of_an_earlier_plan_are_undone_once():
    first = plan(
        step("hotel", "start", "hotel", undo="cancel_hotel"),
        step("flight", "hotel", "goal", dependencies="hotel"),
        total=2,
    )
    stage = stage_of(first, uses={"do_pay": tool("do_pay", repeatable=False)})
    stage.run_step("hotel")
    stage.run_step("flight", "failed")
    new = step("pay", "hotel", "goal", undo="refund", generator="do_pay", **UNDO)
    stage.planned(plan(new, initial="start hotel"))
    stage.proved()
    stage.run_step("pay", check="failed")
    undo_by(stage, "refund", "cancel_hotel")
    assert undone(stage) == [("pay", "undone"), ("hotel", "undone")]


def test_the_undo_tool_gets_the_parameters_of_the_call_and_the_values_that_were_known_after_it():
    text = StringParameter(type="string", pattern=".*")

    def spec(name, *parameters):
        return CommandSpec(
            name=name,
            argv=("x",),
            folder="/",
            parameters=dict.fromkeys(parameters, text),
            environment=(),
            output_bytes=100,
            transient_exit_codes=(),
            failure_pattern="",
        )

    value = plan(
        step("file", "start", "ticket_id", undo="delete_ticket"),
        step("pay", "ticket_id", "goal", dependencies="file", undo="nothing", **UNDO),
    )
    values = {"ticket_id": ValueSource(after="id ", pattern="T[0-9]+")}
    make = tool("make").model_copy(update={"arguments": '{"queue":"ops"}', "values": values})
    tools = toolset({"do_file": make, "do_pay": tool("do_pay")}, {"syntax": tool("check_syntax")})
    update = {
        "undos": {"delete_ticket": tool("delete_ticket")},
        "tools": {"delete_ticket": spec("delete_ticket", "ticket_id", "queue"), "make": spec("make", "queue")},
    }
    tools = tools.model_copy(update=update)
    stage = Stage(value, tools)
    stage.tool("make", output="made: id T77")
    stage.tool("check_syntax")
    stage.run_step("pay", "failed")
    assert undo_request(stage) == ("delete_ticket", '{"queue":"ops","ticket_id":"T77"}')
    wrong = tools.model_copy(update={"tools": update["tools"] | {"delete_ticket": spec("delete_ticket", "number")}})
    from actors.plans.reader import read_plan

    read = read_plan(value)[0]
    assert tools.unbound(read) == ()
    assert wrong.unbound(read) == ("the parameter 'number' of undo 'delete_ticket' for step 'file'",)
    assert tools.model_copy(update={"undos": {}}).unbound(read) == ("undo 'delete_ticket' of step 'file'",)


def test_steps_that_change_nothing_are_passed_over_and_irreversible_ones_are_listed():
    value = plan(
        step("look", "start", "seen", undo="nothing"),
        step("mail", "seen", "mailed", dependencies="look", undo="irreversible"),
        step("pay", "mailed", "goal", dependencies="mail", undo="refund", **UNDO),
    )
    stage = stage_of(value)
    stage.run_step("look")
    stage.run_step("mail")
    stage.run_step("pay", "failed")
    assert stage.end == "undone"
    assert "1 irreversible" in stage.state.run.finished.why


def test_an_irreversible_step_of_a_plan_that_undoes_is_approved_first():
    mail = step("mail", "start", "mailed", undo="irreversible")
    pay = step("pay", "mailed", "goal", dependencies="mail", undo="refund", **UNDO)
    stage = stage_of(plan(mail, pay), approval="risky")
    text, options = stage.question()
    assert "The step cannot be undone" in text
    assert options is None or "yes" in options
    stage.answer("yes")
    stage.run_step("mail")
    other = stage_of(plan(mail, {**pay, "on_failure": "escalate"}), approval="risky")
    assert not other.requests("user")


def test_the_question_whether_a_step_may_run_says_what_undoes_it():
    stage = stage_of(uses={"do_hotel": tool("do_hotel", risky=True)}, approval="risky")
    assert "What undoes the step: cancel_hotel" in stage.question()[0]


def test_an_undo_that_fails_is_tried_as_often_as_the_step_and_then_a_person_is_asked():
    value = plan(step("hotel", "start", "hotel", undo="cancel_hotel", retry_budget=2), *TRIP["steps"][1:])
    stage = failed(stage_of(value))
    stage.tool("cancel_flight")
    stage.tool("cancel_hotel", "failed")
    stage.tool("cancel_hotel", "failed", reason="no such booking")
    text, options = stage.question()
    assert "the undo tool failed: no such booking" in text
    assert options == ["try again", "it is undone", "leave it"]
    stage.answer("try again")
    stage.tool("cancel_hotel", "failed")
    undo_by(stage, "cancel_hotel")
    assert undone(stage)[-1] == ("hotel", "undone")


@pytest.mark.parametrize(("answer", "end"), [("it is undone", "by_hand"), ("leave it", "left")])
def test_what_a_person_says_of_an_undo_that_failed_is_recorded_and_the_next_one_follows(answer, end):
    stage = failed(stage_of())
    stage.tool("cancel_flight", "permanent", reason="missing")
    stage.answer(answer)
    assert undone(stage) == [("flight", end)]
    undo_by(stage, "cancel_hotel")


def test_without_an_answer_an_effect_is_left():
    stage = failed(stage_of())
    stage.tool("cancel_flight", "permanent", reason="missing")
    assert "the call is not undone" in stage.work[stage.only("user")].request.otherwise
    stage.decline()
    assert undone(stage) == [("flight", "left")]


def test_an_undo_that_hangs_is_called_again_after_a_pause_if_that_does_no_harm():
    value = plan(step("pay", "start", "goal", undo="refund", retry_budget=2, **UNDO))
    stage = stage_of(value)
    stage.run_step("pay", check="failed")
    stage.run_step("pay", "failed")
    stage.tool("refund", "transient", reason="the call took longer than 60 s")
    assert stage.requests("clock")
    assert undo_request(stage) is None
    stage.woken()
    undo_by(stage, "refund")


def test_an_undo_that_hangs_and_is_not_repeatable_is_a_question():
    """It may have done its work, so it is not called again by itself."""
    stage = failed(stage_of(repeatable=False))
    stage.tool("cancel_flight", "transient", reason="the call took longer than 60 s")
    assert undo_request(stage) is None
    assert "the call took longer than 60 s" in stage.question()[0]
    stage.answer("it is undone")
    assert undo_request(stage)[0] == "cancel_hotel"


@pytest.mark.parametrize(
    ("answer", "end"),
    [(SUCCEEDED, ("flight", "undone")), (FAILED, None), (NOT_RUN, None)],
    ids=["ran", "failed", "not"],
)
def test_an_undo_that_a_kill_interrupts_is_never_made_twice_without_a_word(answer, end):
    stage = failed(stage_of(repeatable=False))
    stage.send(Begun(stage.only("tool:cancel_flight"), stage.now))
    stage.resume()
    assert undo_request(stage) is None
    stage.answer(answer)
    assert (undone(stage) or [None])[0] == end
    if answer == NOT_RUN:
        assert undo_request(stage)[0] == "cancel_flight"
    if answer == FAILED:
        assert "the undo tool failed" in stage.question()[0]


def test_a_repeatable_undo_is_made_again_after_a_kill():
    stage = failed(stage_of())
    stage.resume()
    undo_by(stage, "cancel_flight", "cancel_hotel")


def test_a_call_of_which_nobody_knows_what_it_did_is_asked_about_before_it_is_undone():
    value = plan(step("pay", "start", "goal", undo="refund", **UNDO))
    stage = stage_of(value, uses={"do_pay": tool("do_pay", repeatable=True)})
    stage.run_step("pay", "transient")
    text, options = stage.question()
    assert "nobody knows whether the call has done its work" in text
    assert options == ["undo it", "it is undone", "leave it", "it was not done"]
    stage.answer("undo it")
    undo_by(stage, "refund")
    assert undone(stage) == [("pay", "undone")]


def test_a_later_success_of_the_visit_settles_a_doubtful_call_of_a_repeatable_tool():
    value = plan(
        step("hotel", "start", "hotel", undo="cancel_hotel", retry_budget=2),
        step("pay", "hotel", "goal", dependencies="hotel", undo="refund", **UNDO),
    )
    stage = stage_of(value, uses={"do_hotel": tool("do_hotel", repeatable=True)})
    stage.run_step("hotel", "transient")
    stage.woken()
    stage.run_step("hotel")
    stage.run_step("pay", "failed")
    undo_by(stage, "cancel_hotel")
    assert undone(stage) == [("hotel", "undone")]


def test_a_step_beside_the_failed_one_runs_to_its_end_and_is_undone():
    value = plan(
        step("hotel", "start", "hotel", undo="cancel_hotel"),
        step("pay", "start", "paid", undo="refund", **UNDO),
        goal="hotel paid",
    )
    stage = stage_of(value)
    stage.run_step("pay", "failed")
    assert undo_request(stage) is None
    stage.run_step("hotel")
    assert undo_request(stage)[0] == "cancel_hotel"


def test_a_person_who_is_asked_about_a_failure_can_have_everything_undone():
    value = plan(*TRIP["steps"][:2], {**TRIP["steps"][2], "on_failure": "escalate"}, total=3)
    stage = failed(stage_of(value, replans=False))
    _, options = stage.question()
    assert "undo everything and end" in options
    stage.answer("undo everything and end")
    undo_by(stage, "cancel_flight", "cancel_hotel")


def test_a_message_undoes_everything_while_a_tool_works():
    """A call that is not repeatable runs to its end and is undone; its check is not made."""
    stage = stage_of()
    stage.run_step("hotel")
    stage.send(Begun(stage.only("tool:do_flight"), stage.now))
    stage.post(kind="undo")
    assert undo_request(stage) is None
    stage.send(Ended(stage.only("tool:do_flight"), stage.now, 1.0, ToolOutcome.SUCCEEDED, "", ""))
    undo_by(stage, "cancel_flight", "cancel_hotel")


@pytest.mark.parametrize("ending", ["success", "cancelled"])
def test_a_run_that_has_ended_is_undone_later(ending):
    stage = stage_of()
    stage.run_step("hotel")
    if ending == "cancelled":
        stage.run_step("flight")
        stage.post(kind="cancel")
    else:
        stage.run_step("flight")
        stage.run_step("pay")
    for request in list(stage.requests("tool:")):
        stage.tool(request)
    assert stage.end == ending
    stage.post(kind="undo")
    assert stage.state.run.undoes_end(at_once=True)
    stage.post(kind="undo")
    assert isinstance(stage.events[-1], MailRefused)
    assert stage.events[-1].reason == "the run is undoing everything already"
    stage.resume()
    if ending == "cancelled":  # The call that the cancel came upon.
        stage.answer("it was not done") if stage.requests("user") else None
    for name in ("refund", "cancel_flight", "cancel_hotel"):
        if undo_request(stage) and undo_request(stage)[0] == name:
            stage.tool(name)
    assert stage.end == "undone"
    stage.post(kind="undo")
    assert stage.events[-1].reason == "everything that can be undone is undone already"


def test_a_run_without_effects_that_can_be_undone_refuses_the_message_after_its_end():
    value = plan(step("look", "start", "goal", undo="nothing"))
    stage = stage_of(value)
    stage.run_step("look")
    assert stage.end == "success"
    stage.post(kind="undo")
    assert "there is nothing to undo" in stage.events[-1].reason


def test_a_cancel_stops_the_undoing_and_a_further_message_goes_on_with_it():
    stage = failed(stage_of())
    stage.tool("cancel_flight")
    stage.post(kind="cancel")
    for request in list(stage.requests("tool:")):
        stage.tool(request)
    assert stage.end == "cancelled"
    stage.post(kind="undo")
    stage.resume()
    stage.tool("cancel_hotel")
    assert (stage.end, [name for name, _ in undone(stage)]) == ("undone", ["flight", "hotel"])


def test_an_undo_call_that_ends_after_a_cancel_counts():
    """It was found by the simulation: the call was made again."""
    stage = failed(stage_of(repeatable=False))
    stage.send(Begun(stage.only("tool:cancel_flight"), stage.now))
    stage.post(kind="cancel")
    stage.send(Ended(stage.only("tool:cancel_flight"), stage.now, 1.0, ToolOutcome.SUCCEEDED, "", ""))
    stage.post(kind="undo")
    stage.resume()
    assert undone(stage) == [("flight", "undone")]
    assert undo_request(stage)[0] == "cancel_hotel"


def test_a_step_that_a_person_does_is_undone_by_a_person():
    value = plan(
        step("hang", "start", "hung", undo="take_down"),
        step("pay", "hung", "goal", dependencies="hang", undo="refund", **UNDO),
    )
    stage = stage_of(value, uses={"do_hang": person()}, undos={"take_down": person("worker")})
    stage.answer("it was done")
    stage.tool("check_syntax")
    stage.run_step("pay", "failed")
    text, options = stage.question()
    assert "Look after it." in text
    assert options == ["it is undone", "leave it"]
    stage.answer("it is undone")
    assert (stage.end, undone(stage)) == ("undone", [("hang", "by_hand")])


def test_under_approve_each_every_undo_is_approved():
    stage = stage_of(approval="each")
    for name in ("hotel", "flight"):
        stage.answer("yes")
        stage.run_step(name)
    stage.answer("yes")
    stage.run_step("pay", "failed")
    assert "a person must approve each call" in stage.question()[0]
    stage.answer("undo it")
    stage.tool("cancel_flight")


def test_an_undo_tool_that_is_forbidden_is_not_called():
    """A person is asked; before the start the plan is refused, as for any other tool of a step."""
    stage = stage_of()
    stage.run_step("hotel")
    stage.post(kind="requirement", text="Never use cancel_hotel.")
    stage.post(kind="undo")
    stage.tool("do_flight")
    stage.tool("cancel_flight")
    text, options = stage.question()
    assert "a requirement forbids the tool 'cancel_hotel'" in text
    assert options == ["it is undone", "leave it"]


def test_limits_do_not_keep_what_was_done_from_being_undone():
    from runtime.core.ledger import Limits

    stage = stage_of(limits=Limits(calls=90, deadline=1_020.0))
    failed(stage)
    stage.now = 2_000.0
    undo_by(stage, "cancel_flight", "cancel_hotel")
