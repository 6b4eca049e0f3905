"""Slow and simple implementations of the specification, to test the guards against. They share no code with them."""

from itertools import permutations


def linearisations(steps):
    """Yield every order of the steps that their dependencies allow."""
    by_id = {step.step_id: step for step in steps}
    for order in permutations(sorted(by_id)):
        index = {step_id: number for number, step_id in enumerate(order)}
        if all(
            index[dependency] < index[step_id]
            for step_id in order
            for dependency in by_id[step_id].dependencies
            if dependency in index
        ):
            yield [by_id[step_id] for step_id in order]


def possibly_false(plan, steps):
    """Return, by step id, the preconditions that are false in some order; under None, the goal tokens."""
    unmet = {}
    for order in linearisations(steps):
        tokens = set(plan.initial_state)
        for step in order:
            unmet.setdefault(step.step_id, set()).update(step.preconditions - tokens)
            tokens = (tokens - step.delete_effects) | step.effects
        unmet.setdefault(None, set()).update(plan.goal_state - tokens)
    return {step_id: tokens for step_id, tokens in unmet.items() if tokens}


class Walk:
    """The graph of all configurations `(statuses, tokens)` of a plan; a status is pending, ok or failed."""

    def __init__(self, plan):
        self.plan = plan
        self.by_id = {step.step_id: step for step in plan.steps}
        self.below = {step_id: self._below(step_id) for step_id in self.by_id}
        self.escalations = set()
        self.broken = set()
        self.edges = {}
        first = (frozenset((step_id, "pending") for step_id in self.by_id), plan.initial_state)
        self._check(first[1])
        queue = [first]
        while queue:
            now = queue.pop()
            if now not in self.edges:
                self.edges[now] = self._after(now)
                queue.extend(self.edges[now])
        self.escalating = {now for now in self.edges if self._may_escalate(now)}

    def _below(self, step_id):
        found = {step_id}
        while True:
            more = {step.step_id for step in self.plan.steps if step.dependencies & found} - found
            if not more:
                return found
            found |= more

    def ready(self, now):
        statuses, tokens = dict(now[0]), now[1]
        for step_id, step in sorted(self.by_id.items()):
            pending = step.repeatable or statuses[step_id] == "pending"
            if pending and step.preconditions <= tokens and all(statuses[d] != "pending" for d in step.dependencies):
                yield step

    def _check(self, tokens):
        for number, invariant in enumerate(self.plan.invariants):
            if invariant.when <= tokens and not (invariant.must <= tokens and not invariant.must_not & tokens):
                self.broken.add(number)

    def _after(self, now):
        successors = []
        for step in self.ready(now):
            statuses, tokens = dict(now[0]), now[1]
            for more in step.outcomes or (None,):
                adds, deletes = step.effects, step.delete_effects
                if more is not None:
                    adds, deletes = adds | more.effects, deletes | more.delete_effects
                good = (tokens - deletes) | adds
                self._check(good)
                successors.append((frozenset((statuses | self._status(step, "ok")).items()), good))
            bad = (tokens - step.failure_delete_effects) | step.failure_effects
            if step.on_failure == "never":
                continue
            self._check(bad)
            if step.on_failure == "continue":
                successors.append((frozenset((statuses | self._status(step, "failed")).items()), bad))
                continue
            self.escalations.add(step.step_id)
            if step.on_failure != "escalate":
                reset = dict.fromkeys(self.below[step.on_failure], "pending")
                successors.append((frozenset((statuses | reset).items()), bad))
        return successors

    def _status(self, step, status):
        return {} if step.repeatable else {step.step_id: status}

    def _may_escalate(self, now):
        return any(step.on_failure not in ("never", "continue") for step in self.ready(now))

    def _reaching(self, targets):
        found = set(targets)
        while True:
            more = {now for now, after in self.edges.items() if now not in found and found & set(after)}
            if not more:
                return found
            found |= more

    @property
    def successes(self):
        return {now for now, after in self.edges.items() if not after and self.plan.goal_state <= now[1]}

    @property
    def dead_ends(self):
        return {now for now, after in self.edges.items() if not after} - self.successes

    @property
    def trapped(self):
        ending = {now for now, after in self.edges.items() if not after} | self.escalating
        return set(self.edges) - self._reaching(ending)

    def loops(self):
        left = dict(self.edges)
        while True:
            leaves = [now for now, after in left.items() if not any(target in left for target in after)]
            if not leaves:
                return bool(left)
            for now in leaves:
                del left[now]

    @property
    def assurance(self):
        if not self.successes:
            return "none"
        if set(self.edges) - self._reaching(self.successes | self.escalating):
            return "weak"
        return "strong_cyclic" if self.loops() else "strong"
