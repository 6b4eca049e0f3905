"""The tools that start runs and post to them."""

from collections.abc import Callable, Mapping
from typing import Any

from actors.run.kind import PreparedRun
from replan.mcp import bodies
from replan.mcp.calls import Call
from replan.runs.execution_plans import plan_of_run
from replan.runs.orders import AcquisitionOrder, ExecutionOrder, Order
from replan.service import messages
from replan.service.starting import acquired, executed, mark_of, planned, start_once, start_prepared
from replan.setup.limit_fields import limits_in
from runtime.core.errors import UsageProblem

KEY = "idempotency_key"


async def plan(call: Call, wanted: bodies.Plan) -> Mapping[str, Any]:
    """Start a planning run."""
    files = tuple([(each.name, each.text.encode("utf-8", "replace")) for each in wanted.attachments])
    order = Order(
        problem=wanted.problem,
        workflow=wanted.workflow,
        uploads=files,
        strict=wanted.strict,
        model=wanted.model,
        limits=limits_in(wanted),
    )
    return await _started(call, wanted, "plan", lambda: planned(call.desk, order))


async def acquire(call: Call, wanted: bodies.Acquire) -> Mapping[str, Any]:
    """Start an acquisition."""
    order = AcquisitionOrder(
        profile=wanted.profile,
        goal=wanted.goal,
        documents=wanted.documents,
        given=dict(wanted.given),
        model=wanted.model,
        limits=limits_in(wanted),
    )
    return await _started(call, wanted, "acquire", lambda: acquired(call.desk, order))


async def execute(call: Call, wanted: bodies.Execute) -> Mapping[str, Any]:
    """Start the execution of a proved plan."""
    source = await plan_of_run(call.desk.reader, wanted.id)
    order = ExecutionOrder(plan=source, tools=wanted.tools, model=wanted.model, limits=limits_in(wanted))
    return await _started(call, wanted, "execute", lambda: executed(call.desk, order))


async def answer(call: Call, wanted: bodies.Answer) -> Mapping[str, Any]:
    """Post an answer or a decline; the first one counts."""
    if (wanted.answer is None) != wanted.decline:
        raise UsageProblem("either an answer or a decline is needed", place="answer")
    receipt = await messages.answer_question(call.desk, wanted.question, wanted.answer, via="mcp")
    return receipt.to_json(wanted.question)


async def tell(call: Call, wanted: bodies.Tell) -> Mapping[str, Any]:
    """Post a note or a requirement."""
    key = _hashed(call, wanted.idempotency_key, f"tell {wanted.id}")
    posted = await messages.tell(call.desk, call.who, wanted.id, wanted.text, wanted.kind, key=key)
    return {"run_id": wanted.id, "result": posted.result}


async def cancel(call: Call, wanted: bodies.Run) -> Mapping[str, Any]:
    """Cancel a run; one that is cancelled already stays so."""
    return {"run_id": wanted.id, "cancelled": await messages.cancel(call.desk, wanted.id, shown_by="`result`")}


async def _started(
    call: Call, wanted: bodies.Ordered, tool: str, prepare: Callable[[], PreparedRun]
) -> Mapping[str, Any]:
    """Start a run; a call that repeats an idempotency key returns the run that the first one has started."""
    if wanted.idempotency_key is None:
        run, is_new = await start_prepared(call.desk, call.who, prepare()), True
    else:
        key, mark = _hashed(call, wanted.idempotency_key, tool), mark_of(wanted.model_dump_json())
        run, is_new = await start_once(call.desk, call.who, key, mark, prepare)
    return {"run_id": run, "result": "accepted" if is_new else "duplicate", "next": "call `wait`"}


def _hashed(call: Call, key: str | None, action: str) -> str:
    return "" if key is None else messages.hashed_key(key, call.who, f"mcp {action}", place=KEY)
