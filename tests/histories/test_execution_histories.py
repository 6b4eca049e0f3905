"""Executes the histories of executions (`executions/*.txt`).

    step NAME TOKENS -> TOKENS [key=value]...     a step of the plan that is written; lists are joined by commas
    plan key=value...                             a field of the plan, such as goal=a,b or total=9
    goal QUOTE TOKENS [after=QUOTE]               a goal requirement of the plan
    forbid QUOTE PATHS · invariant WHEN MUST      a requirement not to change paths; an invariant
    use NAME tool|model|person|agent [risky] [once] [pre]   what a generator stands for; `once`: it is not repeatable
    check tool|person                             what the guard stands for
    begin [approval=WORD] [level=GUARD] [calls=N] [at_limit=ask] [replans=N] [questions=N] [without-planner]
          [snapshots]
    run STEP                                      its tool and its check succeed
    tool NODE OUTCOME [TEXT]                      a call starts and ends; NODE is what stands in the transcript
    started NODE · ended NODE OUTCOME · gone      a call is about to begin; it ends; its process has ended
    base NODE · works NODE DOLLARS TEXT · changed NODE FILES    what an agent begins with, its call, and its diff
    edit                                          a person edits the plan, to the steps written since, and approves them
    reply TEXT · planned · nothing WHY · asks TEXT    the model; the planning run, with the steps written since
    proved · answer TEXT [QUESTION] · decline [QUESTION] · woken    the guard, a person, the clock
    tell TEXT · note TEXT · cancel · undo · limits N    messages of the user
    park · resume · work · story                  the driver leaves, another one comes; what is open; the result

The lines of the transcript are those of `replan log`.
"""

import json
from pathlib import Path

import pytest

from actors.execution.edits import waiting_approvals
from actors.execution.result import result_of
from actors.execution.result_lines import result_lines
from actors.execution.views import record_text
from actors.plans.plan import UNDO_WORDS
from actors.run.result import RunView
from actors.run.tools import ToolCost
from actors.tools.agent_work import AgentWork
from actors.tools.snapshot_texts import WorkspaceSnapshot
from runtime.core.ledger import MICRO, Limits
from tests.execution.stage import BASE, WORK, Stage, agent, person, plan, step, tool, toolset, writer
from tests.histories.stage_interpreter import StageInterpreter
from tests.histories.test_histories import check
from tests.support.questions import FORM

HISTORIES = sorted((Path(__file__).parent / "executions").glob("*.txt"))
LISTS = {"dependencies", "delete_effects", "failure_effects", "failure_delete_effects"}


class ExecutionInterpreter(StageInterpreter):
    record_text = staticmethod(record_text)

    def __init__(self):
        self.steps, self.fields, self.uses, self.guard = [], {}, {}, tool("tests")

    def _step(self, name, *words):
        place = words.index("->")
        needs, effects = words[0] if place else "", words[place + 1] if len(words) > place + 1 else ""
        options = dict(word.split("=", 1) for word in words[place + 2 :])
        fields = {key: value.split(",") if key in LISTS else value for key, value in options.items()}
        fields |= {key: int(value) for key, value in options.items() if key == "retry_budget"}
        fields |= {key: value == "yes" for key, value in options.items() if key == "repeatable"}
        self.steps.append(step(name, needs.replace(",", " "), effects.replace(",", " "), **fields))
        return []

    def _plan(self, *words):
        options = dict(word.split("=", 1) for word in words)
        self.fields |= {key: int(value) if key == "total" else value for key, value in options.items()}
        return []

    def _goal(self, quote, tokens, after=""):
        from actors.values.requirements import requirement_id

        before = [requirement_id(other) for other in after.removeprefix("after=").split(",") if other]
        goal = {"kind": "goal", "quote": quote, "text": quote, "tokens": tokens.split(","), "depends_on": before}
        self.fields.setdefault("requirements", []).append(goal)
        return []

    def _forbid(self, quote, paths):
        requirement = {"kind": "must_keep", "quote": quote, "text": quote, "paths": paths.split(",")}
        self.fields.setdefault("requirements", []).append(requirement)
        return []

    def _invariant(self, when, must):
        self.fields.setdefault("invariants", []).append({"when": when.split(","), "must": must.split(",")})
        return []

    def _use(self, name, sort, *marks):
        risky = "risky" in marks
        pre_check = tool("ready") if "pre" in marks else None
        match sort:
            case "tool":
                self.uses[name] = tool(name, repeatable="once" not in marks, risky=risky, pre_check=pre_check)
            case "agent":
                self.uses[name] = agent(repeatable="once" not in marks, risky=risky, pre_check=pre_check)
            case "model":
                self.uses[name] = writer(risky=risky, pre_check=pre_check)
            case _:
                self.uses[name] = person()
        return []

    def _check(self, sort):
        self.guard = person() if sort == "person" else tool("tests")
        return []

    def _written(self, initial="start"):
        fields = {
            key: value.replace(",", " ") if isinstance(value, str) else value for key, value in self.fields.items()
        }
        value = plan(*self.steps, **{"initial": initial, **fields})
        self.steps, self.fields = [], {}
        return value

    def _begin(self, *words):
        options = dict(word.split("=") for word in words if "=" in word)
        value = self._written()
        names = {each["generator"] for each in value["steps"]} | {"do_x", "do_y", "do_z"}
        generators = {name: self.uses.get(name.removeprefix("do_"), tool(name)) for name in names}
        self.stage = Stage(
            value,
            toolset(generators, {"syntax": self.guard}).model_copy(update={"undos": self._undos(value)}),
            limits=Limits(calls=int(options.get("calls", 90)), at_limit=options.get("at_limit")),
            level=options.get("level", "plan_expansive"),
            replans="without-planner" not in words,
            approval=options.get("approval", "none"),
            replans_max=int(options.get("replans", 2)),
            questions_max=int(options.get("questions", 5)),
            snapshots="snapshots" in words,
        )

    def _undos(self, value):
        """Return what undoes steps: the tool or person of `use`, else a repeatable tool."""
        names = {each.get("undo", "") for each in value["steps"]} - {"", *UNDO_WORDS}
        return {name: self.uses.get(name, tool(name)) for name in names}

    def _undo(self):
        self.stage.post(kind="undo")

    def _run(self, name):
        [act] = [node for node in self.stage.requests("tool:") if node.startswith(f"tool:{name}/")]
        self.stage.tool(act)
        [checks] = [node for node in self.stage.requests("tool:") if node.startswith(f"tool:{name}/")]
        self.stage.tool(checks)

    def _tool(self, node, outcome, text=""):
        output, reason = ("", text) if outcome in {"transient", "permanent", "broken"} else (text, "exit code 1")
        self.stage.tool(f"tool:{node}", outcome, output, reason if outcome != "succeeded" else "")

    def _base(self, node):
        self.stage.tool(f"tool:{node}", output=WorkspaceSnapshot(id=BASE, ref="refs/replan/run/x").model_dump_json())

    def _works(self, node, dollars, text):
        cost = ToolCost(micro_usd=None if dollars == "unknown" else round(float(dollars) * MICRO), turns=2)
        self.stage.tool(f"tool:{node}", output=text, cost=cost)

    def _changed(self, node, files):
        work = AgentWork(base=BASE, commit=WORK, files=tuple(files.split(",")), diff="+x")
        self.stage.tool(f"tool:{node}", output=work.model_dump_json())

    def _started(self, node):
        self._tool_started(f"tool:{node}")

    def _ended(self, node, outcome):
        self._tool_ended(f"tool:{node}", outcome, "output")

    def _planned(self):
        self.stage.planned(self._written(" ".join(sorted(self.stage.state.tokens))))

    def _edit(self):
        value = json.dumps(self._written(" ".join(sorted(self.stage.state.tokens))))
        revision = self.stage.state.revision
        self.stage.post(
            kind="edit",
            plan=value,
            revision=revision,
            via="cli",
            person="maria",
            approves=sorted(waiting_approvals(self.stage.state)),
        )

    def _nothing(self, why):
        self.stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": why}})

    def _asks(self, text):
        place = {"node": "g_plan/v1.a1", "why": "g_plan"}
        question = {**FORM.form, "text": text, "answer_schema": {"type": "string"}, **place}
        self.stage.planned({"unsuccessful_run": {"outcome": "needs_answer", "why": text, "question": question}})

    def _proved(self):
        self.stage.proved()

    def _woken(self):
        self.stage.woken()

    def _tell(self, text):
        self.stage.post(kind="requirement", text=text)

    def _note(self, text):
        self.stage.post(kind="note", text=text)

    def _limits(self, calls):
        self.stage.post(kind="change", calls=int(calls))

    def _park(self):
        self.stage.park()

    def _story(self):
        state = self.stage.state
        status = self.stage.machine.summary(state).status
        lines = result_lines(result_of(RunView("run", status, state, state)), "replan")
        return [line.plain.rstrip() or "." for line in lines]

    def _question(self):
        text, options = self.stage.question()
        return [*text.split("\n"), f"answers: {' | '.join(options or ['any text'])}"]


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_of_an_execution_has_its_transcript(path, request):
    check(path, ExecutionInterpreter(), request)
