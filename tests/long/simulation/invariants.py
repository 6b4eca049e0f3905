"""What must hold after every event of a run, worked out from the events alone, with none of the machine's own counting.

`observe` keeps the books; `after` also compares them with the machine's state; `quiet` looks at a settled machine.
"""

import re
from collections import Counter, defaultdict

from actors.planning.events import GenerationRequested, PlanningOutcome
from actors.planning.prompt_context import render_prompt
from actors.policy.table import BacktrackLevel
from actors.search.graph import worst_case_calls
from actors.search.progress import Search
from actors.values.findings import Code
from runtime.core.ledger import Amount

REPLANS = (BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN)


class Invariants:
    """The books of one run, by another hand."""

    def __init__(self, config, limits):
        self.graph, self.workflow, self.search, self.limits = config.graph, config.workflow, config.search, limits
        self.seen, self.step_of, self.visit_of, self.verdicts = [], {}, {}, {}
        self.accepted, self.busy, self.causes, self.doubts = {}, {}, {}, []
        self.visits, self.attempts, self.calls = Counter(), Counter(), 0
        self.revision, self.questions = 0, 0
        self.rejections, self.cycles = defaultdict(list), defaultdict(list)
        self.begun_afresh = {}
        self.decision, self.stuck, self.asking, self.now = None, {}, {}, 0.0
        self.closed, self.heard, self.silent, self.messages = {}, set(), set(), []
        self.reviewed, self.reviewing, self.changed, self.shown = config.reviewed, set(), False, []
        self.moves, self.texts = set(), {}
        self.at_limit, self.stopped, self.warned = set(), False, {}
        self.cut, self.extra, self.held, self.no_input = set(), 0, False, config.no_input

    def replay(self, events):
        for event in events:
            self.observe(event)

    def after(self, event, state):
        self.observe(event)
        if event.kind == "generation_requested":
            parents = tuple(self.accepted[upper] for upper in self.graph.requires[event.step])
            assert state.nodes[event.node].parents == parents, "an attempt builds on what is accepted now"
        if event.kind in ("generation_requested", "classification_requested", "request_reissued"):
            request = event.again if event.kind == "request_reissued" else event
            self.affordable(request, state)
            if isinstance(request, GenerationRequested):
                self.feedback(request, state)
        if event.kind == "run_finished":
            self.ending(event, state)
        live = {name for name, node in state.nodes.items() if node.status in ("pending", "accepted")}
        assert state.live == live, "the state's list of live attempts follows from its nodes"
        assert state.run.now >= self.now, "time goes back"
        self.now = state.run.now
        assert state.revision == self.revision
        assert state.run.questions_used == self.questions <= self.workflow.questions_max
        assert list(state.run.open_questions) == ([] if state.run.finished else list(self.asking)), (
            "another question is open than was asked and not closed"
        )

    def observe(self, event):
        """Keep the books of one event."""
        prompted = event.again if event.kind == "request_reissued" else event
        if prompted.kind == "generation_requested" and not self.graph.budgets[prompted.step].deterministic:
            self.shown = [True] * len(self.shown)
        self.cuts(event)
        self.warns(event)
        match event.kind:
            case "request_reissued":
                again = event.again
                child = isinstance(again, GenerationRequested) and self.workflow.action_pairs[again.step].child
                assert not child, "a run of its own goes on; it is not asked again"
            case "generation_requested" if event.try_number == 1:
                self.attempt(event)
            case "artifact_produced" | "generation_failed" | "judgement_requested":
                assert self.busy[self.step_of[event.node]] == event.node, "work of an older revision is acted on"
            case "classification_requested" if event.try_number == 1:
                self.doubted(event)
            case "failure_classified":
                assert self.busy[self.step_of[event.node]] == event.node, "a withdrawn classification is acted on"
                self.causes[event.node] = event.cause
            case "verdict_reached":
                self.judged(event)
            case "decided":
                assert event.decision.node in self.busy.values()
                assert not self.verdicts[event.decision.node].passed
                self.legal(event.decision)
                self.worth(event.decision)
                assert event.decision.classified in (None, self.causes.get(event.decision.node))
                self.decision = event.decision
                if event.decision.level is BacktrackLevel.GIVE_UP:
                    self.stuck[event.decision.step] = event.decision
            case "revised":
                self.revised(event)
            case "clarification_requested":
                self.asked(event)
            case "clarification_answered" | "clarification_declined" | "clarification_expired":
                self.closes(event)
            case "clarification_withdrawn":
                step = self.closes(event)
                assert self.busy.get(step) is None, "a question is withdrawn that its step still waits for"
            case "note_told" | "requirement_told":
                self.messages.append(event.text)
                self.shown.append(False)
                self.changed = self.changed or event.kind == "requirement_told"
            case "settings_changed":
                self.limits, self.stopped = event.limits or self.limits, False
            case "run_finished" if event.final:
                self.moves |= {("asked", event.kind) for _ in self.asking}
                self.asking = {}
        self.seen.append(event)

    def warns(self, event):
        """A warning follows its level, and is made once for each level of each value of a limit."""
        if event.kind != "limit_near":
            return
        assert event.percent * event.most <= 100 * event.used, "a warning before its level is reached"
        value = event.limit, event.limit.of(self.limits)
        assert event.percent > self.warned.get(value, 0), "a second warning about a level"
        self.warned[value] = event.percent

    def cuts(self, event):
        """To resume a run that was parked for cut replies allows each step one more attempt, and a retry."""
        match event.kind:
            case "artifact_produced" if event.finish_reason != "stop":
                self.cut.add(event.node)
            case "run_parked":
                self.held = self.held or event.cause == "reply"
            case "run_resumed":
                self.extra, self.held = self.extra + 2 * self.held * len(self.graph.steps), False

    def asked(self, event):
        """A review is of what no other guard rejects; any other question was decided on, and is within the limit."""
        assert event.question_id not in {*self.asking, *self.closed}, "a question has an id of its own"
        if event.reached is not None:
            assert self.limits.at_limit == "ask"
            assert not self.at_limit & self.asking.keys(), "a run asks one question at a time about its limits"
            assert min(event.reached.more.values()) > 0
            self.at_limit.add(event.question_id)
            self.stopped = False
            self.asking[event.question_id] = "limit"
            return
        assert event.step not in self.silent, "a step whose question nobody answered asks again in this round"
        if event.review:
            assert event.step in self.reviewed
            assert self.busy[event.step] == event.node
            assert event.node not in self.verdicts
            self.reviewing.add(event.question_id)
        else:
            assert self.decision.level is BacktrackLevel.CLARIFY
            assert self.decision.node == event.node
            self.questions += 1
            self.texts[event.question_id] = event.node, event.whole
        self.asking[event.question_id] = event.step

    def worth(self, decision):
        """A move of a belief has the value that the run asks for; without input it is no question."""
        options = () if decision.weighing is None else decision.weighing.options
        if options:
            rounding = 0.001
            assert options[0].chance + rounding >= self.limits.stop_below * (options[0].calls - rounding)
        assert not (self.no_input and any(option.move == "ask" for option in options))

    def closes(self, event):
        """A question is closed once, but for a late answer; what closes it is heard of. Return the step that asked."""
        name, review = event.question_id, event.question_id in self.reviewing
        late = self.closed.get(name)
        self.moves.add((late or "asked", event.kind))
        if late is not None:
            assert event.kind == "clarification_answered"
            assert late in ("clarification_withdrawn", "clarification_expired")
            assert not review
        step = self.asking.pop(name, None)
        self.closed[name] = event.kind
        if name in self.at_limit:
            assert late is None, "a question about a limit stays closed"
            self.stopped = event.kind != "clarification_withdrawn" and getattr(event, "answer", "stop") == "stop"
            return step
        if event.kind in ("clarification_declined", "clarification_expired"):
            self.silent.add(step)
        if event.kind != "clarification_withdrawn" and not review:
            self.heard.add(name)
        return step

    def attempt(self, event):
        """S3, S4, S23, S24: what an attempt needs, and that no budget of visits, attempts or calls is passed."""
        assert not self.stuck, "a run that only an answer can help spends nothing meanwhile"
        step, budget, leaf = event.step, self.graph.budgets[event.step], event.step in self.graph.leaves
        parents = tuple(self.accepted[upper] for upper in self.graph.requires[step])
        assert event.node not in self.step_of, "an attempt has an id of its own"
        if self.busy.get(step) is None or self.visit_of[self.busy[step]] != event.visit:
            self.visits[step] += 1
            assert leaf or budget.deterministic or self.visits[step] <= 1 + budget.backtrack_budget
        self.step_of[event.node], self.visit_of[event.node], self.busy[step] = step, event.visit, event.node
        key = (step, parents) if leaf else (step, event.visit)
        self.attempts[key] += 1
        assert budget.deterministic or self.attempts[key] <= budget.rmax + self.extra
        self.calls += not budget.deterministic
        assert self.calls <= worst_case_calls(self.graph) + self.extra, "more calls than the worst case of a round"

    def doubted(self, event):
        """S22: a rejection is classified once at most, and no more of them than the workflow says."""
        assert not self.verdicts[event.node].passed
        assert self.busy[event.step] == event.node
        self.doubts.append(event.node)
        assert len(self.doubts) == len(set(self.doubts)) <= self.workflow.classifications_max
        assert self.search is Search.DEPTH_FIRST

    def judged(self, event):
        step = self.step_of[event.node]
        assert self.busy[step] == event.node, "a verdict on work that was withdrawn"
        person = any(part.guard == "human_review" for part in (event.verdict, *event.verdict.parts))
        if step in self.reviewed and event.verdict.passed and not person:
            return  # A person is still to be asked.
        self.verdicts[event.node] = event.verdict
        if event.verdict.passed:
            self.accepted[step], self.busy[step] = event.node, None
        else:
            self.rejections[step].append(event.node)

    def revised(self, event):
        """S5, S116, S117: a marker with the next number; the targets and all below them are unset, nothing else."""
        assert event.revision == self.revision + 1
        self.revision = event.revision
        below = {step for target in event.targets for step in (target, *self.graph.below[target])}
        assert set(event.cleared) == below
        cause = next(seen.kind for seen in reversed(self.seen) if seen.kind not in ("run_resumed", "limit_near"))
        if cause == "decided":
            for step in below:
                if self.decision.step not in self.graph.above[step]:
                    self.cycles[step].append(self.decision.node)
                if self.decision.afresh:
                    self.begin_afresh(step)
        elif self.changed and not cause.startswith("clarification"):
            assert event.new_round
            assert set(event.targets) == {step for step in self.graph.steps if not self.graph.requires[step]}
            self.changed = False
        else:
            assert cause in ("clarification_answered", "clarification_declined", "clarification_expired")
            assert event.new_round
        for step in below:
            self.accepted.pop(step, None)
            self.stuck.pop(step, None)
            self.busy[step] = None
        if event.new_round:
            for step in self.stuck:
                self.busy[step] = None
            self.calls, self.stuck, self.silent = 0, {}, set()
            self.attempts = Counter({key: count for key, count in self.attempts.items() if self.running(key)})
            running = [step for step, node in self.busy.items() if node is not None]
            self.visits = Counter(dict.fromkeys((*running, *self.accepted), 1))

    def begin_afresh(self, step):
        """From now on, prompts of the step leave out what was rejected so far."""
        self.begun_afresh[step] = len(self.rejections[step]), len(self.cycles[step])

    def running(self, key):
        """Whether an attempt of this visit, or of this set of parents, is under way across a change of the round."""
        return self.busy.get(key[0]) is not None

    def may_visit(self, target):
        """Whether a step, and every non-leaf below it, has a visit left (docs/explanation/search.md)."""
        budgets, leaves = self.graph.budgets, self.graph.leaves
        if target in leaves or budgets[target].deterministic:
            return False
        inner = [step for step in (target, *self.graph.below[target]) if step not in leaves]
        return all(budgets[step].deterministic or self.visits[step] <= budgets[step].backtrack_budget for step in inner)

    def may_retry(self, step):
        leaf, budget = step in self.graph.leaves, self.graph.budgets[step]
        node = self.busy[step]
        parents = tuple(self.accepted[upper] for upper in self.graph.requires[step])
        used = self.attempts[(step, parents) if leaf else (step, self.visit_of[node])]
        return not budget.deterministic and used < budget.rmax

    def legal(self, decision):
        """S7, S21, S27, S39: each decision is one that the budgets allow, and giving up means that none is left."""
        step, targets = decision.step, decision.targets
        match decision.level:
            case BacktrackLevel.LOCAL_RETRY:
                assert targets == (step,)
                assert self.may_retry(step) or (self.extra and decision.node in self.cut)
                if decision.afresh:
                    self.begin_afresh(step)
            case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
                assert targets
                assert all(target == step or target in self.graph.above[step] for target in targets)
                assert all(self.may_visit(target) for target in targets)
                assert self.search is not Search.LINEAR
            case BacktrackLevel.CLARIFY:
                assert self.search is Search.DEPTH_FIRST
                assert self.questions < self.workflow.questions_max
                assert step not in self.silent
            case BacktrackLevel.GIVE_UP if decision.rule == "unreviewed":
                assert "review.unanswered" in {error.code for error in self.verdicts[decision.node].errors}
            case BacktrackLevel.GIVE_UP if decision.rule == "not_understood":
                assert Code.NOT_UNDERSTOOD in {finding.code for finding in self.verdicts[decision.node].findings}
            case BacktrackLevel.GIVE_UP:
                assert not self.may_retry(step)
                nowhere = not any(self.may_visit(target) for target in (step, *self.graph.above[step]))
                assert nowhere or self.search is Search.LINEAR or decision.rule == "e_max"

    def affordable(self, request, state):
        """S25, S43: at a reservation nothing passes a limit, at any concurrency and after any crash."""
        total, limits = state.run.ledger.committed, self.limits
        assert total.calls <= limits.calls
        assert limits.tokens is None or total.tokens <= limits.tokens
        assert limits.micro_usd is None or total.micro_usd <= limits.micro_usd
        assert limits.deadline is None or state.run.now < limits.deadline
        timeout = request.timeout_seconds or self.workflow.model_timeout_seconds
        assert limits.active_seconds is None or timeout <= limits.active_seconds
        for amount in (state.run.ledger.spent, state.run.ledger.unknown):
            assert min(amount.calls, amount.tokens, amount.micro_usd) >= 0

    def feedback(self, request, state):
        """S93, S94, S96, S99, S105: every earlier rejection that fits the window stands in the prompt exactly once.

        Those before a fresh attempt do not.
        """
        step, window = request.step, self.workflow.feedback_window
        if self.graph.budgets[step].deterministic:
            return
        # A question that a rejection led to quotes it too, further up.
        whole = render_prompt(state, state.latest, step).user
        assert [whole.count(text) for text in self.messages] == [1] * len(self.messages), "a message is not in a prompt"
        _, *sections = re.split(r"\[escalations\]|\[retries\]", whole)
        prompt = "".join(sections)
        attempts, cycles = self.begun_afresh.get(step, (0, 0))
        own = [node for node in self.rejections[step][attempts:] if not self.questioned(node)]
        told = [cause for last in self.cycles[step][cycles:] if (cause := self.told(last, own[-window:]))][-window:]
        must = {*own[-window:], *(node for cycle in told for node in cycle)}
        for node in filter(self.mark, must):
            assert prompt.count(self.mark(node)) == 1, f"{node} stands {prompt.count(self.mark(node))} times"
        for node, verdict in self.verdicts.items():
            if verdict.errors and node not in must and self.mark(node):
                assert self.mark(node) not in prompt

    def told(self, last, shown):
        """Return the rejections of the visit that ended with a replan, without those that the step reads as its own."""
        step, visit = self.step_of[last], self.visit_of[last]
        own = [node for node in self.rejections[step] if self.visit_of[node] == visit and node not in shown]
        return [node for node in own if not self.questioned(node)]

    def questioned(self, node):
        """Whether all that speaks against a node was asked, and has been answered."""
        answered = [name for name, how in self.closed.items() if how == "clarification_answered"]
        texts = [self.texts[name][1] for name in answered if name in self.texts and self.texts[name][0] == node]
        return bool(texts) and all(error.message in "\n".join(texts) for error in self.verdicts[node].errors)

    def mark(self, node):
        """Return the text by which a rejection is known again; one without errors has none."""
        errors = () if node in self.cut else self.verdicts[node].errors  # Cut replies are told of in the same words.
        return errors[0].message if errors and errors[0].code != "review.unanswered" else ""

    def quiet(self, state, outstanding):
        """A settled machine is over, or has something to wait for, or was asked to do nothing."""
        assert state.run.finished is not None or outstanding or state.run.parked or state.run.renewing
        assert not (state.run.finished and outstanding)
        assert state.run.finished or not self.changed, "a changed requirement did not lead to a revision"
        assert [said.seen for said in state.run.messages] == self.shown, (
            "what the user told is shown as seen, and is not"
        )
        for work in outstanding.values():
            node = getattr(work.request, "node", None)
            assert node is None or node.startswith("limit/") or self.busy[self.step_of[node]] == node, (
                "work is asked for that nobody needs"
            )

    def ending(self, event, state):
        """S27, S28, S36: the outcome is the right one of the seven."""
        assert state.run.ledger.reserved == {}
        complete = set(self.accepted) == set(self.graph.steps)
        assert complete == (event.outcome is PlanningOutcome.SUCCESS) or event.at is not None
        match event.outcome:
            case PlanningOutcome.SUCCESS:
                assert all(self.verdicts[node].passed for node in self.accepted.values())
            case PlanningOutcome.NOT_UNDERSTOOD:
                assert event.why.partition(":")[0] in self.stuck
                assert Code.NOT_UNDERSTOOD in event.why
                assert not self.asking, "an answer could still open a new round"
            case PlanningOutcome.ALL_PRUNED | PlanningOutcome.BACKTRACK_CEILING:
                step = event.why.partition(":")[0]
                assert step in self.stuck
                nowhere = not self.graph.requires[step] or self.search is Search.LINEAR
                assert nowhere == (event.outcome is PlanningOutcome.ALL_PRUNED)
                assert not self.asking, "an answer could still open a new round"
            case PlanningOutcome.CANCELLED:
                assert event.at is not None
            case PlanningOutcome.FAILED:
                assert event.cause == "bug", "no provider ends a run"
            case PlanningOutcome.BUDGET_EXHAUSTED:
                self.spent_out(event, state)

    def spent_out(self, event, state):
        """More of what ran out may help: the limit is named, and the least next request would pass it."""
        if self.stopped:
            return
        total, limits = state.run.ledger.committed, self.limits
        least = Amount(calls=1, tokens=self.workflow.output_tokens_max, micro_usd=3 * self.workflow.output_tokens_max)
        match event.why:
            case "no calls left":
                assert total.calls >= limits.calls
            case "no tokens left":
                assert total.tokens + 20_000 + least.tokens > limits.tokens
            case "no money left":
                assert total.micro_usd + 20_000 + least.micro_usd > limits.micro_usd
            case "no active time left":
                assert state.run.ledger.active >= limits.active_seconds
            case "the deadline has passed":
                assert state.run.now >= limits.deadline
            case why if why.startswith(("not_worth_it: ", "stuck: ", "stuck for good: ")):
                assert limits.stop_below > 0
                assert not self.asking, "an answer could still open a new round"
            case other:
                raise AssertionError(other)
