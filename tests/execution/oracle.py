"""Checks the trace of an execution against the meaning of its plan, with plain sets and no code of the product."""


class Oracle:
    """Follows the records of an execution. Every method raises `AssertionError` where the plan does not allow one."""

    def __init__(self, value):
        self.tokens = set(value["initial_state"])
        self.handed_over = False
        self.escalations = 0
        self.begin(value)

    def begin(self, value):
        self.value, self.steps = value, {each["step_id"]: each for each in value["steps"]}
        self.policy = all(each.get("repeatable") for each in value["steps"])
        self.pending, self.attempts = set(self.steps), 0
        self.handed_over = False

    def ready(self, step_id):
        needed = self.steps[step_id]
        waits = set(needed.get("dependencies", ())) & self.pending
        return step_id in self.pending and not waits and set(needed["preconditions"]) <= self.tokens

    def any_ready(self):
        return any(self.ready(step_id) for step_id in self.steps)

    @property
    def goal(self):
        return set(self.value["goal_state"]) <= self.tokens

    def settled(self, event):
        step = self.steps[event.step]
        if event.outcome == "unknown":
            self.handed_over = True
            self.escalations += 1
            return
        if not event.late:
            assert not self.handed_over or not event.node, f"{event.step} goes on after the plan was handed over"
            assert self.ready(event.step) or not event.node, f"{event.step} was not ready"
        if event.outcome == "ok":
            by_name = {each["name"]: each for each in step.get("outcomes", ())}
            assert (event.branch in by_name) if by_name else not event.branch, f"{event.step} has no such outcome"
            outcome = by_name.get(event.branch, {})
            added = (*step["effects"], *outcome.get("effects", ()))
            self._change(added, (*step.get("delete_effects", ()), *outcome.get("delete_effects", ())))
            if not self.policy:
                self.pending.discard(event.step)
            self.handed_over = False if not event.node else self.handed_over
            return
        self._change(step.get("failure_effects", ()), step.get("failure_delete_effects", ()))
        word = step.get("on_failure", "escalate")
        target = word if word not in {"escalate", "continue", "never", "undo"} else None
        if not self.policy:
            self.pending.discard(event.step)
            if target is not None:
                self.pending |= self._below(target)
        if event.late:
            return
        must = word in {"escalate", "never", "undo"}
        assert not must or event.handed_over, f"the failure of {event.step} was not handed over"
        assert event.handed_over <= (must or (target is not None and not self.policy)), f"{event.step} must go on"
        self.handed_over = event.handed_over
        self.escalations += event.handed_over

    def visited_again(self, step_id):
        if step_id:
            self.pending.add(step_id)
        self.handed_over = False

    def begun(self):
        self.attempts += 1
        assert self.attempts <= self.value["total_retry_budget"], "more attempts than the plan has in total"

    def _change(self, added, deleted):
        self.tokens -= set(deleted)
        self.tokens |= set(added)

    def _below(self, step_id):
        found = {step_id}
        while True:
            more = {name for name, each in self.steps.items() if found & set(each.get("dependencies", ()))} - found
            if not more:
                return found
            found |= more
