"""Random profiles and replies: every run ends within its caps, and no node writes what it does not own."""

import dataclasses
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.run.questions import USER
from actors.run.tools import ToolOutcome
from packages.acquire.tests.acquisition.stage import Stage, prepared
from packages.acquire.tests.acquisition.states import BOOT
from replan_acquire.acquisition.graph import END
from replan_acquire.acquisition.kind import CODEC
from replan_acquire.acquisition.planner_state import PlannerState
from replan_acquire.acquisition.prepare import PreparedAcquisition
from replan_acquire.acquisition.profile import Profile
from replan_acquire.acquisition.profile_check import problems
from replan_acquire.acquisition.table import graph_for
from runtime.core.machine import fold
from runtime.models.port import FaultKind

STEPS_MAX = 600
"""Messages after which a run that has not ended runs away."""


def random_profile(chance: random.Random) -> Profile:
    """Return a profile with fields of all sources, which the check accepts."""
    fields: dict[str, dict[str, object]] = {
        "core.region": {"label": "region", "type": "text", "source": "user"},
        "core.currency": {"label": "currency", "type": "currency", "source": "user"},
    }
    numbers = []
    for place in range(chance.randint(1, 5)):
        path, source = f"a.f{place}", chance.choice(["web", "web", "user", "components", "derived"])
        spec: dict[str, object] = {"label": f"field {place}", "source": source, "required": chance.random() < 0.8}
        if source == "components":
            parts = {"p": {"label": "p"}, "q": {"label": "q", "source": chance.choice(["web", "user"])}}
            made_of = {"formula": chance.choice(["p * q", "p / q", "p - q"]), "fields": parts}
            spec["decomposition"] = chance.choice(["generated", made_of])
        elif source == "derived":
            if not numbers:
                continue
            spec["formula"] = f"{chance.choice(numbers)} {chance.choice('+-*/')} {chance.choice(numbers)}"
        elif chance.random() < 0.3:
            spec["default"] = 3
        numbers.append(path)
        fields[path] = spec
    value: dict[str, object] = {
        "name": "random",
        "about": "Random.",
        "bootstrap": chance.sample(["core.region", "core.currency"], chance.randint(0, 2)),
        "fields": fields,
        "caps": {
            "iterations": chance.randint(1, 25),
            "attempts_per_field": chance.randint(1, 3),
            "calculations": chance.randint(1, 3),
        },
    }
    if numbers and chance.random() < 0.8:
        formula = " + ".join(chance.sample(numbers, min(len(numbers), 2)))
        results = {
            "total": {"label": "total", "formula": formula},
            "ratio": {"label": "r", "formula": f"1 / {numbers[0]}"},
        }
        checks = [{"check": f"{numbers[0]} < 50", "why": "too large"}] if chance.random() < 0.5 else []
        value["calculator"] = {"results": results, "preconditions": checks}
        if chance.random() < 0.2:
            value["stop_when"] = [{"check": f"{numbers[-1]} > 90", "why": "enough"}]
    return Profile.model_validate(value)


def reply_for(chance: random.Random, stage: Stage) -> str:
    """Return a reply that may be right, wrong in a known way, or no reply at all."""
    request = stage.request
    material = request.material
    paths = [field["path"] for field in material.get("fields", ()) if isinstance(field, dict)] + ["no.field", ""]
    if chance.random() < 0.15:
        return chance.choice(["", "no", "[]", "{}", '{"action": 5}', '{"values": [3]}', "x" * 2000])
    match request.purpose:
        case "plan":
            actions = ["search", "search", "ask_user", "ask_user", "reflect", "calculate", "finish"]
            query = chance.choice(["same", "other", ""])
            return json.dumps({"action": chance.choice(actions), "target_field": chance.choice(paths), "query": query})
        case "observe":
            value = {
                "field": chance.choice(paths),
                "value": "7.5",
                "quote": chance.choice(["about 7.5", "about 7.5", "I know 7.5"]),
            }
            return json.dumps({"values": [value] * chance.randint(0, 2)})
        case "decompose":
            names = [{"name": name, "label": name, "unit": chance.choice(["", "", "parsec"])} for name in "xy"]
            return json.dumps({"formula": chance.choice(["x * y", "x", "x / y"]), "fields": names})
        case _:
            caveats = ["doubtful"]
            return json.dumps({"next_field": chance.choice(paths), "finish": chance.random() < 0.5, "caveats": caveats})


def move(chance: random.Random, stage: Stage) -> None:
    """Give the run one message: a reply to what it waits for, a fault, a takeover or a duplicate."""
    if chance.random() < 0.05:
        stage.resume(at_once=True)
        return
    work = chance.choice([*stage.work.values()])
    if work.address == USER:
        schema = work.request.answer_schema
        fitting = "EUR" if "pattern" in schema else "7" if "unit" in schema else "Portugal"
        if chance.random() < 0.1:
            stage.decline()
        else:
            stage.answer(chance.choice([fitting, fitting, fitting, "0", "12 kWh", "3-5"]))
    elif work.address == "model":
        if chance.random() < 0.05:
            stage.fault(chance.choice([FaultKind.TIMEOUT, FaultKind.SERVER_ERROR]))
        else:
            stage.reply(reply_for(chance, stage))
    elif work.address.startswith("tool:"):
        if work.request_id.startswith("check:"):
            stage.checked()
        elif chance.random() < 0.2:
            stage.search_ends(outcome=chance.choice([ToolOutcome.FAILED, ToolOutcome.TRANSIENT]), reason="down")
        else:
            stage.found(*(["It is about 7.5."] * chance.randint(0, 2)))
    else:
        stage.wake(work.request_id)


def check_ownership(stage: Stage) -> None:
    """Refold the run; each event changes only fields that the node owns at which the run was."""
    graph, state = graph_for(stage.state.config.profile), stage.machine.initial()
    for event in stage.events:
        before, state = state, stage.machine.evolve(state, event)
        if event.kind in ("acquisition_started", "requirement_told"):
            continue
        names = [each.name for each in dataclasses.fields(PlannerState)]
        changed = {name for name in names if getattr(before.planner, name) != getattr(state.planner, name)}
        if not changed:
            continue
        assert changed <= graph.nodes[before.node].owns, f"{before.node} wrote {changed}"
        if event.kind == "routed":
            assert event.to == graph.next(event.node, event.outcome) == state.node
    assert state == stage.state


@given(st.integers(0, 10**9))
def test_every_run_of_a_random_profile_ends_within_its_caps(seed):
    chance = random.Random(seed)
    spec = random_profile(chance)
    assert [*problems(spec)] == []
    base = prepared()
    config, given_first = base.pinned.model_copy(update={"profile": spec}), chance.choice([{}, BOOT, BOOT])
    job = PreparedAcquisition("goal", config, base.limits, given_first, "random")
    stage = Stage(job)
    for _ in range(STEPS_MAX):
        if stage.finished:
            break
        assert stage.work or stage.state.run.parked, f"nothing is outstanding at {stage.state.node}"
        move(chance, stage)
    assert stage.finished is not None
    assert stage.finished.outcome in ("success", "incomplete", "budget_exhausted")
    planner, caps = stage.planner, spec.caps
    assert planner.iterations <= caps.iterations + 1
    assert planner.calculation.count <= caps.calculations
    for path in {search.path for search in planner.searches} | {*planner.asked}:
        assert planner.searches_for(path) <= caps.attempts_per_field
        assert planner.questions_about(path) <= caps.attempts_per_field
    check_ownership(stage)
    stored = [CODEC.encode(event) for event in stage.events]
    assert fold(stage.machine, [CODEC.decode(each.body, each.texts) for each in stored]) == stage.state
    if stage.finished.outcome != "budget_exhausted":
        assert stage.state.path[-1].to == END


def test_s82_a_gate_that_writes_what_it_does_not_own_is_a_bug():
    from replan_acquire.acquisition.graph import Hop
    from replan_acquire.acquisition.machine import AcquisitionMachine
    from replan_acquire.acquisition.planner_state import Writes

    def table(spec):
        graph = graph_for(spec)
        bad = dataclasses.replace(
            graph.nodes["enter_iteration"], gate=lambda _: Hop("continue", "x", Writes(status="aborted"))
        )
        return dataclasses.replace(graph, nodes={**graph.nodes, "enter_iteration": bad})

    with pytest.raises(AssertionError, match="enter_iteration writes status, which it does not own"):
        Stage(machine=AcquisitionMachine(table))
