"""Writes each event of a history as one short line."""

import re

from actors.planning.prompt_context import render_prompt
from actors.search.progress import Phase
from actors.values.answers import TEXT, describe_expected
from actors.values.findings import Code

SHOWN = ("[requirements]", "[given]", "[clarifications]", "[notes]", "[afresh]", "[escalations]", "[retries]")
DELIMITER = re.compile(r" ?<[0-9a-f]{8}$|^[0-9a-f]{8}>$")


class Transcript:
    """Writes events as lines. Times are seconds since the run began."""

    def __init__(self, start):
        self.start, self.parents = start, {}

    def line(self, event, state):
        self.parents = {name: node.parents for name, node in state.nodes.items()}
        return getattr(self, f"_{event.kind}")(event)

    def _run_started(self, event):
        limits = event.limits.model_dump(exclude_none=True)
        if "deadline" in limits:
            limits["deadline"] -= self.start
        at_limit = ", asks at a limit" if limits.pop("at_limit", "stop") == "ask" else ""
        return f"started, with {', '.join(f'{name} {value:g}' for name, value in limits.items())}{at_limit}"

    def _forked(self, event):
        return f"forked    from {event.origin} after record {event.seq}"

    def _run_resumed(self, event):
        return f"resumed by driver {event.epoch}{', at once' if event.at_once else ''}"

    def _run_parked(self, event):
        return f"parked, {event.cause}: {event.why}" if event.cause else "parked"

    def _generation_requested(self, event):
        parents = self.parents.get(event.node)
        parents = f" on {' '.join(parents)}" if parents else ""
        return f"ask       {event.request_id}{parents}"

    def _classification_requested(self, event):
        return f"doubt     {event.request_id}, since {event.rule} goes far back"

    def _failure_classified(self, event):
        return f"cause     of {event.node}: {event.cause or 'no code of the set'}"

    def _request_reissued(self, event):
        return f"ask again {event.again.request_id} for {event.replaces}"

    def _artifact_produced(self, event):
        repeats = f", which repeats {event.repeats}" if event.repeats else ""
        return f"made      {event.node}{repeats}"

    def _generation_failed(self, event):
        charged = "charged" if event.used is None else f"took {event.used.calls}"
        free = event.refunded
        return f"fault     {event.request_id}: {event.fault.kind}, {'free' if free else charged}"

    def _judgement_requested(self, event):
        return f"judge     {event.node} by {event.guard}"

    def _verdict_reached(self, event):
        if event.verdict.passed:
            replaced = [finding.where for finding in event.verdict.findings if finding.code == Code.GIVEN_REPLACED]
            return f"accepted  {event.node}{', given: ' if replaced else ''}{' '.join(replaced)}"
        findings = ", ".join(
            f"{error.code}{' at ' + error.where if error.where else ''}" for error in event.verdict.errors
        )
        return f"rejected  {event.node}: {findings or 'nothing said'}{', fatal' if event.verdict.fatal else ''}"

    def _decided(self, event):
        decision = event.decision
        wanted = f", not to {' '.join(decision.wanted)}" if decision.wanted else ""
        delay = f", after {decision.delay_seconds:g} s" if decision.delay_seconds else ""
        because = f", as {decision.classified}" if decision.classified else ""
        afresh = " afresh" if decision.afresh else ""
        targets = " ".join(decision.targets) or "nowhere"
        return f"decided   {decision.level}{afresh} to {targets} by {decision.rule}{because}{wanted}{delay}"

    def _plan_corrected(self, event):
        return f"edited    {event.node} by {event.who}"

    def _revised(self, event):
        fresh = ", a new round" if event.new_round else ""
        return f"revision  {event.revision} clears {' '.join(event.cleared) or 'nothing'}{fresh}"

    def _branch_opened(self, event):
        parent = "on nothing" if event.parent is None else f"on branch {event.parent}"
        kept = f", keeps {' '.join(event.kept)}" if event.kept else ""
        return f"branch    {event.branch} opened {parent}{kept}{', anew' if event.anew else ''}: {event.why}"

    def _branch_pruned(self, event):
        return f"branch    {event.branch} pruned, {event.cause}: {event.why}"

    def _clarification_requested(self, event):
        kind = "review   " if event.review else "question "
        wanted = "" if event.answer_schema == TEXT or event.review else f", {describe_expected(event.answer_schema)}"
        blocks = " ".join(event.blocks)
        return f"{kind} {event.question_id} about {event.step}: {event.whole!r}{wanted}, blocks {blocks}"

    def _clarification_answered(self, event):
        return f"answered  {event.question_id}: {event.answer!r}"

    def _clarification_declined(self, event):
        return f"declined  {event.question_id}"

    def _clarification_withdrawn(self, event):
        return f"withdrawn {event.question_id}"

    def _clarification_expired(self, event):
        return f"expired   {event.question_id}"

    def _clarification_reminded(self, event):
        return f"remind    of {event.question_id}{self._follows(event)}"

    def _clarification_escalated(self, event):
        people = f"to {' '.join(event.added)}, asked {' '.join(event.asked)}"
        return f"escalate  {event.question_id} {people}{self._follows(event)}"

    def _follows(self, event):
        then = (
            f"; {' '.join(event.next_ask) or 'reminder'} at {event.next_at - self.start:g} s" if event.next_at else ""
        )
        return f"{then}; {event.ending} at {event.until - self.start:g} s" if event.until else then

    def _note_told(self, event):
        return f"note      {event.text!r}"

    def _requirement_told(self, event):
        return f"told      {event.text!r}"

    def _wait_requested(self, event):
        if event.for_provider:
            stays = "" if event.node is None else ", stays"
            return f"wait      {event.request_id} until {event.until - self.start:.1f} s: {event.why}{stays}"
        return f"wait      {event.request_id} until {event.until - self.start:.1f} s: {event.why}"

    def _wait_ended(self, event):
        return f"woken     {event.request_id}"

    def _settled(self, event):
        return f"settled   {event.request_id} at {event.used.calls} call, {event.used.tokens} tokens"

    def _settings_changed(self, event):
        changes = [] if event.limits is None else [f"calls {event.limits.calls}"]
        if event.limits is not None and event.limits.at_limit == "ask":
            limits = event.limits.model_dump(exclude={"calls", "at_limit"}, exclude_none=True)
            changes += [f"{name} {value - self.start * (name == 'deadline'):g}" for name, value in limits.items()]
        worth = None if event.limits is None else event.limits.stop_below
        changes += [f"stop_below {worth:g}"] if worth is not None else []
        changes += [f"model {event.model}"] if event.model else []
        changes += [f"time-out {event.timeout_seconds:g} s"] if event.timeout_seconds else []
        changes += [f"replies of {event.output_tokens_max} tokens"] if event.output_tokens_max else []
        changes += ["strict"] if event.strict else []
        return f"changed   {', '.join(changes)}"

    def _limit_near(self, event):
        return f"near      {event.limit} {event.percent}: {event.text}"

    def _mail_refused(self, event):
        return f"mail refused: {event.reason}"

    def _run_finished(self, event):
        return f"finished  {event.outcome}{', ' + event.cause if event.cause else ''}: {event.why}"

    def show(self, state):
        """Yield a summary of the state: steps, ledger, round and questions."""
        for step, slot in state.latest.progress.items():
            artifact = f" {slot.accepted}" if slot.phase is Phase.ACCEPTED else ""
            yield f"{step}: {slot.phase}{artifact}, visits {slot.visits}, attempt {slot.attempt}"
        ledger = state.run.ledger
        yield (
            f"calls {ledger.spent.calls} spent, {ledger.unknown.calls} unknown, {len(ledger.reserved)} reserved; "
            f"tokens {ledger.spent.tokens} spent; active {ledger.active:g} s"
        )
        yield f"round {state.round}, revision {state.revision}, questions {len(state.run.questions)}"

    def prompt(self, state, step):
        """Yield the lines of the step's next prompt that stand under the headings in `SHOWN`, without delimiters."""
        shown = False
        for line in render_prompt(state, state.latest, step).user.splitlines():
            shown = (shown or line in SHOWN) and line not in ("[specification]", "[dependencies]", "[task]")
            text = DELIMITER.sub("", line)
            if shown and text:
                yield text
