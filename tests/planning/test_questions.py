"""The life of a question, and what people say of their own accord: moves, limits, and what prompts tell."""

import json
from dataclasses import replace

import pytest

from actors.planning.events import EVENTS
from actors.planning.planning_questions import questions_of_verdict
from actors.policy.decision import after_change
from actors.policy.table import BacktrackLevel, Policy
from actors.run.questions import MOVES, ClarificationAnswered, Question, Status
from actors.search.graph import Graph, StepBudget
from actors.values.findings import Verdict
from actors.values.open_questions import questions_of
from runtime.core.messages import Mailed
from tests.long.simulation.driver import Run
from tests.long.simulation.invariants import Invariants
from tests.support.questions import question_asked
from tests.support.worlds import SEEDS as SEEDS_STEPS
from tests.support.worlds import World, default_policy, passed, pinned, rejected

SEEDS = (47, 197, *range(10))
"""Seeds of runs; the first two make the moves that are rare."""


def test_the_simulation_makes_every_move_of_the_table_and_no_other():
    """The documentation draws the table: random runs make exactly its moves, as counted by a separate model."""
    made = set()
    for seed in SEEDS:
        run = Run(seed)
        run.weather = replace(run.weather, disturbance=0.4, passes=0.3, fatal=0.5, cancel=0.02)
        run.config = pinned(SEEDS_STEPS, question_expires_seconds=1_000.0)
        run.invariants = Invariants(run.config, run.limits)
        run.simulate()
        made |= run.invariants.moves
    status = {kind: str(after) for (before, kind), after in MOVES.items() if before is Status.ASKED}
    assert {(status.get(before, before), kind) for before, kind in made} == {(str(b), kind) for b, kind in MOVES}


def test_every_kind_of_event_that_moves_a_question_is_one():
    kinds = {str(event.model_fields["kind"].default) for event in EVENTS}
    assert {kind for _, kind in MOVES} <= kinds


def test_a_closed_review_cannot_be_answered():
    """What it was about is gone; any other question may be answered late."""
    request = question_asked(blocks=("a",))
    review = request.model_copy(update={"review": True})
    for status in (Status.WITHDRAWN, Status.EXPIRED):
        assert Question(request, 1.0, status).can_take("clarification_answered")
        assert not Question(review, 1.0, status).can_take("clarification_answered")
    with pytest.raises(KeyError):
        Question(request, 1.0, Status.DECLINED).move(ClarificationAnswered(at=1.0, question_id="q1", answer="x"))


def world(**keys):
    made = World(pinned({"a": {}, "b": {"requires": ["a"]}}, **keys), judge=lambda *_: passed())
    made.begin()
    return made


def say(made, kind, text):
    return made.send(Mailed(1, "key", json.dumps({"kind": kind, "text": text}), made.now))


def test_a_note_is_seen_once_a_prompt_with_it_has_gone_out():
    made = world()
    say(made, "note", "The team knows Rust.")
    assert [message.seen for message in made.state.run.messages] == [False]
    made.answer("a/v1.a1")
    made.answer("judge:a/v1.a1")
    assert made.requested() == ["a/v1.a1", "b/v1.a1"]
    assert [message.seen for message in made.state.run.messages] == [True]


GRAPH = Graph(
    {"x": (), "y": (), "z": ("x", "y"), "end": ("z",)}, {step: StepBudget() for step in ("x", "y", "z", "end")}
)
ROLES = {"x": "analysis", "y": "recon", "z": "strategy", "end": "plan"}


@pytest.mark.parametrize(
    ("level", "target", "redone"),
    [
        ("full_replan", "root", ("x", "y")),
        ("partial_replan", "up 1", ("z",)),
        ("partial_replan", "role recon or up 2", ("y",)),
        ("partial_replan", "further", ("end",)),
        ("local_retry", "self", ("end",)),
        ("clarify", "self", ("end",)),
        ("give_up", "self", ("end",)),
    ],
)
def test_the_table_says_how_far_back_a_requirement_goes(level, target, redone):
    rows = [
        {"id": "changed", "why": "x", "codes": ["requirements.changed"], "level": level, "target": target},
        {"id": "rest", "why": "x", "level": "local_retry"},
    ]
    policy = Policy.model_validate({"name": "mine", "rows": rows})
    assert after_change(GRAPH, ROLES, policy)[1] == redone


def test_the_shipped_table_redoes_everything_for_a_requirement():
    assert after_change(GRAPH, ROLES, default_policy()) == (BacktrackLevel.FULL_REPLAN, ("x", "y"))


def test_questions_max_holds_for_the_run_whatever_happens_to_the_questions():
    """Declined, answered or withdrawn: each counts, over all rounds."""
    config = pinned({"a": {"rmax": 9}}, questions_max=2)
    made = World(config, judge=lambda *_: rejected("requirements.missing"))
    made.begin()
    asked = []
    for _ in range(6):
        while not made.state.run.open_questions and made.state.run.finished is None:
            made.answer(made.doable()[0])
        for name in made.state.run.open_questions:
            asked.append(name)
            made.send(Mailed(1, "key", json.dumps({"kind": "answer", "question": name, "answer": "yes"}), made.now))
    assert asked == ["q1", "q2"]
    assert made.state.run.finished.outcome == "all_pruned"


@pytest.mark.parametrize(("left", "expected"), [(9, [1, 1, 1]), (3, [1, 1, 1]), (2, [1, 2]), (1, [3])])
def test_each_finding_for_a_person_is_a_question_of_its_own_while_the_run_may_ask_that_many(left, expected):
    """Each keeps its words and its schema; the last one that the run may ask has the rest."""
    asked = ["Which version is it?", {"question": "How many?", "type": "number"}, "Which system is it?"]
    world = World(pinned(SEEDS_STEPS), judge=lambda *_: passed())
    world.begin()
    step = next(iter(world.state.config.steps))
    verdict = Verdict(guard="a_guard", findings=tuple(questions_of(asked)))
    forms = questions_of_verdict(world.state, step, verdict, left)
    texts = [form.whole for form in forms]
    assert [sum(words in text for words in ("version", "many?", "system")) for text in texts] == expected
    if left >= 3:
        assert forms[1].answer_schema["type"] == "number"
