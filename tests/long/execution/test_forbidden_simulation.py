"""No forbidden tool starts and no protected path differs at a success, whatever plans, tools, people and crashes do.

`REPLAN_PROHIBITIONS` sets the number of random executions.
"""

import json
import os
import random

from tests.execution.stage import Stage, plan, step
from tests.execution.test_prohibitions import AVOIDED, INVARIANT, KEPT, TOOLS, stated

SEEDS = int(os.environ.get("REPLAN_PROHIBITIONS", "40"))
LEAK = {"kind": "must_avoid", "text": "no leak", "quote": "no leak", "tokens": ["leak"]}
MESSAGES_MAX = 400


class Workspace:
    """An execution with a workspace, and a person, a planner, tools and a driver that do anything."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.files, self.seen, self.told = {"LICENSE": 0, "src/a.py": 0}, {}, 0
        value = self.plan(("start", "safe"), ("do", "other"))
        value |= {"requirements": [KEPT, AVOIDED, LEAK], "invariants": [INVARIANT]}
        self.stage = Stage(value, TOOLS, snapshots=True, level="plan_minimal", required_assurance="none")

    def plan(self, initial, generators):
        wanted = self.chance.sample(["x", "y", "z"], self.chance.randint(1, 3))
        steps = [
            step(
                f"s{number}",
                "start",
                token,
                generator=self.chance.choice(generators),
                retry_budget=self.chance.randint(1, 2),
            )
            for number, token in enumerate(wanted)
        ]
        return plan(*steps, initial=" ".join(initial), goal=" ".join(wanted), total=10)

    def play(self):
        for _ in range(MESSAGES_MAX):
            if self.stage.state.run.over:
                return self.stage.end
            if self.chance.random() < 0.1:
                self.stage.resume()
            elif self.chance.random() < 0.03 and self.told < 3:
                self.told += 1
                self.stage.post(kind="requirement", text=f"Also consider part {self.told}.")
            elif self.stage.work:
                self.one(self.chance.choice(list(self.stage.work.values())))
        return "unfinished"

    def one(self, work):
        stage = self.stage
        match work.address:
            case "user":
                options = work.request.answer_schema.get("enum") or ["anything"]
                stage.answer(self.chance.choice(options), work.request.question_id)
            case "clock":
                stage.woken() if len(stage.requests("clock")) == 1 else stage.resume()
            case "planner":
                self.planned(stage.machine.brief(stage.state, work).given)
            case "prover":
                stage.proved()
            case _:
                self.call(work.request)

    def planned(self, given):
        """Bring a new plan that knows nothing of the prohibitions, and may use a forbidden tool, or no plan."""
        assert stated(given) >= {KEPT["quote"], AVOIDED["quote"], LEAK["quote"]}, "the planner does not know them all"
        invariants = [dict(each) for each in (*(given.invariants or ()), *given.kept_invariants)]
        assert any(each["must"] == ["safe"] for each in invariants)
        if self.chance.random() < 0.2:
            self.stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": "no way"}})
        else:
            self.stage.planned(self.plan(given.initial_state, ("do", "other", "shredder")))

    def call(self, request):
        """Play a tool, which may change a protected file whatever its outcome is, or take a snapshot."""
        if request.tool == "workspace:snapshot":
            since = json.loads(request.arguments)["since"]
            before, name = self.seen.get(since, self.files), f"c{len(self.seen)}"
            changed = sorted(path for path in self.files if self.files[path] != before.get(path))
            self.seen[name] = dict(self.files)
            self.stage.tool(request.request_id, output=json.dumps({"id": name, "changed": changed}))
            return
        assert request.tool not in ("shredder", "shred"), "a forbidden tool has started"
        if self.chance.random() < 0.1:
            self.files["LICENSE"] += 1
        self.files["src/a.py"] += 1
        self.stage.tool(request.request_id, self.chance.choice(["succeeded"] * 3 + ["failed", "transient"]))


def test_no_forbidden_tool_starts_and_no_protected_path_differs_at_a_success():
    ends = []
    for seed in range(SEEDS):
        world = Workspace(seed)
        ends.append(world.play())
        assert ends[-1] != "unfinished", f"seed {seed}: the run goes on for ever"
        if ends[-1] == "success":
            assert world.files["LICENSE"] == 0, f"seed {seed}: a protected path differs at a success"
    assert ends.count("success") >= len(ends) // 5
    assert ends.count("goals_failed") >= len(ends) // 20


def test_a_protected_path_that_a_failed_tool_has_changed_makes_no_success():
    """The step that failed has no snapshot; a person has done its work by hand."""
    value = plan(step("a", "start", "goal", generator="do"), initial="start safe", requirements=[KEPT])
    stage = Stage(value, TOOLS, snapshots=True, replans=False)
    stage.tool("tool:workspace/start", output=json.dumps({"id": "c0"}))
    stage.tool("do", "permanent", reason="gone")
    stage.answer("the step is done")
    stage.tool("tool:workspace/end", output=json.dumps({"id": "c1", "changed": ["LICENSE", "out.txt"]}))
    assert stage.end == "goals_failed"
    assert stage.state.run.finished.why == "the goal is reached, but protected paths have changed: LICENSE"


def test_a_comparison_counts_no_more_once_the_run_goes_on():
    """A message arrives during the comparison, and a tool that fails changes the protected file afterwards."""
    value = plan(step("a", "start", "goal", generator="do"), initial="start safe", requirements=[KEPT])
    stage = Stage(value, TOOLS, snapshots=True, level="plan_minimal", required_assurance="none")
    stage.tool("tool:workspace/start", output=json.dumps({"id": "c0"}))
    stage.tool("do")
    stage.tool("tool:a/r1.v1.a1.snapshot", output=json.dumps({"id": "c1", "changed": []}))
    stage.tool("check")
    stage.tool("tool:a/r1.v1.a1.compare", output=json.dumps({"id": "c2", "changed": []}))
    stage.post(kind="requirement", text="Also consider part 1.")
    stage.tool("tool:workspace/end", output=json.dumps({"id": "c3", "changed": []}))
    stage.planned(plan(step("b", "start", "late", generator="do"), initial="start safe goal", goal="late"))
    stage.proved()
    stage.tool("do", "permanent", reason="gone")
    stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": "no way"}})
    stage.answer("the step is done")
    stage.tool("tool:workspace/end", output=json.dumps({"id": "c4", "changed": ["LICENSE"]}))
    assert stage.end == "goals_failed"
