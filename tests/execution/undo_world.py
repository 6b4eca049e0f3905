"""A simulated world for executions that undo what they did: it knows what each call has really done and undone."""

from actors.execution.ids import parse_node
from actors.execution.undo_rules import BY_HAND, CALL, CALL_AGAIN, LEAVE, NOT_DONE
from actors.plans.plan import UNDO_WORDS
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from actors.run.tools import Begun, ToolOutcome
from tests.execution.random_plans import random_plan, random_policy
from tests.execution.stage import tool
from tests.execution.world import MESSAGES_MAX, World


def undoing_plan(chance):
    """Return a random plan in which some failures undo and most steps say how they are undone."""
    value = random_policy(chance) if chance.random() < 0.2 else random_plan(chance)
    for each in value["steps"]:
        if each.get("on_failure", "escalate") in ("escalate", "continue", each["step_id"]) and chance.random() < 0.4:
            each["on_failure"] = "undo"
        each["undo"] = chance.choice(["take_back", "take_back", "take_back", "revoke", "nothing", "irreversible", ""])
        each["retry_budget"] = chance.randint(1, 3)
    value["total_retry_budget"] = sum(each["retry_budget"] for each in value["steps"]) + chance.choice([0, 3, 10])
    return value


class UndoWorld(World):
    """An execution in a world that counts what was done and what was undone, apart from the product's own records."""

    def __init__(self, seed, value, **more):
        self.happened, self.undone, self.left, self.allowed = {}, {}, set(), {}
        self.undo_of, self.doubtful = {}, set()
        super().__init__(seed, value, **more)

    def _tools(self, value):
        tools = super()._tools(value)
        undos = {"take_back": tool("take_back", repeatable=True), "revoke": tool("revoke", repeatable=False)}
        return tools.model_copy(update={"undos": undos})

    def play(self):
        """Run to the end; half of the runs that end otherwise are undone afterwards. Return the outcome."""
        outcome = super().play()
        if outcome == "undone" or self.chance.random() < 0.3:
            return outcome
        self.stage.post(kind="undo")
        if self.stage.events[-1].kind != "undo_decided":
            assert self.stage.events[-1].kind == "mail_refused"
            return outcome
        self.stage.resume()
        self.started.clear()
        for _ in range(MESSAGES_MAX):
            if self.stage.state.run.over:
                return self.stage.end
            assert self.stage.work, "the undoing has stopped without an end, and nothing is open"
            self._disturb() if self.disturbed and self.chance.random() < 0.06 else self._one()
            self.check()
        raise AssertionError("the undoing goes on for ever")

    def _begin(self, work):
        request, stage = work.request, self.stage
        node = request.node
        if node.startswith("undo/"):
            return self._begin_undo(work)
        super()._begin(work)
        outcome = self.started.get(work.request_id)
        if outcome is None or not node.endswith(".act"):
            return None
        step = stage.state.plan.by_id[stage.state.plan.by_name[parse_node(node).name]]
        doubtful = outcome in (ToolOutcome.TRANSIENT, ToolOutcome.BROKEN) and self.chance.random() < 0.5
        self.undo_of[node] = step.undo
        self.happened[node] = self.happened.get(node, False) or outcome is ToolOutcome.SUCCEEDED or doubtful
        if outcome is not ToolOutcome.SUCCEEDED:
            self.doubtful.add(node)
            return None
        self.doubtful.discard(node)
        if request.repeatable:  # A second call does no harm: what the visit has done is one effect.
            visit = node.removesuffix(".act").rpartition(".a")[0]
            for other in self.doubtful:
                self.happened[other] = self.happened[other] and not (other != node and other.startswith(f"{visit}.a"))
        return None

    def _begin_undo(self, work):
        stage, request = self.stage, work.request
        number = int(request.node.removeprefix("undo/n"))
        [effect] = [each for each in stage.state.effects.values() if each.number == number]
        assert effect.undo == request.tool, "another tool undoes it than its step says"
        later = [each for each in stage.state.effects.values() if each.number > number and each.counts]
        assert all(each.node in stage.state.ends for each in later), "a later call is not undone yet"
        if not stage.send(Begun(request.request_id, stage.now, f"host/1/{len(self.calls) + 7}/boot.5")):
            return
        key = effect.node
        assert self.happened.get(key), "what was not done is undone"
        if not request.repeatable:
            assert not self.undone.get(key), "an effect is undone twice"
            last = self.done.get(f"undo of {request.node}")
            if last is not None and last is not ToolOutcome.FAILED:
                self.words[request.node] = self.words.get(request.node, 0) - 1
                assert self.words[request.node] >= 0, f"{request.node} is called again without a word"
        outcome = self._outcome()
        done = outcome is ToolOutcome.SUCCEEDED
        doubtful = outcome in (ToolOutcome.TRANSIENT, ToolOutcome.BROKEN) and self.chance.random() < 0.5
        self.undone[key] = self.undone.get(key, False) or done or doubtful
        self.started[work.request_id] = self.done[work.request_id] = outcome
        self.done[f"undo of {request.node}"] = outcome

    def _truth(self, node):
        plain = node.removeprefix("tool:").partition(".t")[0].removesuffix(".outcome")
        if plain.startswith("undo/"):
            number = int(plain.removeprefix("undo/n"))
            [effect] = [each for each in self.stage.state.effects.values() if each.number == number]
            if self.done.get(f"undo of {plain}") is None:
                return NOT_RUN
            return SUCCEEDED if self.undone.get(effect.node) else FAILED
        act = plain if plain in self.happened else f"{plain}.act"
        if self.happened.get(act):
            return SUCCEEDED
        truth = super()._truth(node)
        return FAILED if truth == SUCCEEDED and plain.endswith(".act") else truth

    def _person(self, work):
        """Answer truthfully what was done and undone, and anything to other questions."""
        node, stage = work.request.node, self.stage
        if not node.startswith("undo/"):
            plain = node.removeprefix("tool:").partition(".t")[0]
            if node.startswith("tool:undo/") and self._truth(node) != SUCCEEDED:
                self.words[plain] = self.words.get(plain, 0) + 1
            super()._person(work)
            return
        number = int(node.removeprefix("undo/n").removesuffix(".ask"))
        [effect] = [each for each in stage.state.effects.values() if each.number == number]
        key, options = (
            effect.node,
            work.request.answer_schema["enum"],
        )
        if self.disturbed and self.chance.random() < 0.1:
            self.left.add(key)
            stage.post(kind="decline", question=work.request_id)
            return
        if not self.happened.get(key):
            answer = NOT_DONE if NOT_DONE in options else BY_HAND
            assert NOT_DONE in options, "a call that did nothing is said to have done something"
        elif self.undone.get(key):
            answer = BY_HAND
        else:
            answer = self.chance.choice([each for each in options if each != NOT_DONE])
        if answer == BY_HAND:
            self.undone[key] = True
        if answer == LEAVE:
            self.left.add(key)
        if answer in (CALL, CALL_AGAIN):
            self.words[node.removesuffix(".ask")] = self.words.get(node.removesuffix(".ask"), 0) + 1
        stage.answer(answer, work.request_id)

    def judge(self):
        for key, happened in self.happened.items():
            if happened and self.undo_of[key] not in UNDO_WORDS and key not in self.left:
                assert self.undone.get(key), f"{key} is not undone"
        settled = [event for event in self.stage.events if event.kind == "effect_settled"]
        numbers = [self.stage.state.effects[event.node].number for event in settled]
        assert numbers == sorted(set(numbers), reverse=True), "the order is not the reverse of the calls, each once"

    def _disturb(self):
        if self.chance.random() < 0.1:
            self.stage.post(kind="undo")
            return
        super()._disturb()
