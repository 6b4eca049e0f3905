"""Slow and simple readings of the specification, to hold the guards against. They share no code with them."""

from itertools import permutations


def linearisations(steps):
    """Yield every order of the steps that their dependencies allow."""
    by_id = {step.step_id: step for step in steps}
    for order in permutations(sorted(by_id)):
        place = {one: number for number, one in enumerate(order)}
        if all(place[before] < place[one] for one in order for before in by_id[one].dependencies if before in place):
            yield [by_id[one] for one in order]


def possibly_false(plan, steps):
    """Return for each step, and for None as the end, the tokens it needs that are false there in some order."""
    found = {}
    for order in linearisations(steps):
        tokens = set(plan.initial_state)
        for step in order:
            found.setdefault(step.step_id, set()).update(step.preconditions - tokens)
            tokens = (tokens - step.delete_effects) | step.effects
        found.setdefault(None, set()).update(plan.goal_state - tokens)
    return {one: tokens for one, tokens in found.items() if tokens}


class Walk:
    """Every configuration of a plan, one by one: `(statuses, tokens)`, where a status is pending, ok or failed."""

    def __init__(self, plan):
        self.plan = plan
        self.by_id = {step.step_id: step for step in plan.steps}
        self.below = {one: self._below(one) for one in self.by_id}
        self.escalations = set()
        self.broken = set()
        self.edges = {}
        first = (frozenset((one, "pending") for one in self.by_id), plan.initial_state)
        self._check(first[1])
        queue = [first]
        while queue:
            now = queue.pop()
            if now not in self.edges:
                self.edges[now] = self._after(now)
                queue.extend(self.edges[now])
        self.handing_over = {now for now in self.edges if self._hands_over(now)}

    def _below(self, one):
        found = {one}
        while True:
            more = {step.step_id for step in self.plan.steps if step.dependencies & found} - found
            if not more:
                return found
            found |= more

    def ready(self, now):
        statuses, tokens = dict(now[0]), now[1]
        for one, step in sorted(self.by_id.items()):
            pending = step.repeatable or statuses[one] == "pending"
            if pending and step.preconditions <= tokens and all(statuses[d] != "pending" for d in step.dependencies):
                yield step

    def _check(self, tokens):
        for number, one in enumerate(self.plan.invariants):
            if one.when <= tokens and not (one.must <= tokens and not one.must_not & tokens):
                self.broken.add(number)

    def _after(self, now):
        found = []
        for step in self.ready(now):
            statuses, tokens = dict(now[0]), now[1]
            good = (tokens - step.delete_effects) | step.effects
            bad = (tokens - step.failure_delete_effects) | step.failure_effects
            self._check(good)
            found.append((frozenset((statuses | self._status(step, "ok")).items()), good))
            if step.on_failure == "never":
                continue
            self._check(bad)
            if step.on_failure == "continue":
                found.append((frozenset((statuses | self._status(step, "failed")).items()), bad))
                continue
            self.escalations.add(step.step_id)
            if step.on_failure != "escalate":
                again = dict.fromkeys(self.below[step.on_failure], "pending")
                found.append((frozenset((statuses | again).items()), bad))
        return found

    def _status(self, step, status):
        return {} if step.repeatable else {step.step_id: status}

    def _hands_over(self, now):
        return any(step.on_failure not in ("never", "continue") for step in self.ready(now))

    def _reaching(self, targets):
        found = set(targets)
        while True:
            more = {now for now, then in self.edges.items() if now not in found and found & set(then)}
            if not more:
                return found
            found |= more

    @property
    def successes(self):
        return {now for now, then in self.edges.items() if not then and self.plan.goal_state <= now[1]}

    @property
    def dead_ends(self):
        return {now for now, then in self.edges.items() if not then} - self.successes

    @property
    def trapped(self):
        ending = {now for now, then in self.edges.items() if not then} | self.handing_over
        return set(self.edges) - self._reaching(ending)

    def loops(self):
        left = dict(self.edges)
        while True:
            leaves = [now for now, then in left.items() if not any(one in left for one in then)]
            if not leaves:
                return bool(left)
            for now in leaves:
                del left[now]

    @property
    def assurance(self):
        if not self.successes:
            return "none"
        if set(self.edges) - self._reaching(self.successes | self.handing_over):
            return "weak"
        return "strong_cyclic" if self.loops() else "strong"
