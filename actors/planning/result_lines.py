"""The texts of a planning run for people: its result with the next step, its search tree, and its documents. Pure.

Most commands only read records, so `views` imports this module only when a command shows more.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from actors.config.model_spec import is_author
from actors.demands.table import demand_line, table_lines, table_texts
from actors.guards.plan_settings import GUARD_CATALOG
from actors.planning.config import RunConfig
from actors.planning.drafts import remedy_of
from actors.planning.events import ONLY_FORWARD, FailureClassified, PlanningEvent
from actors.planning.result import Result
from actors.planning.state import State
from actors.planning.story import AttemptView, BranchStory, attempts, branch_stories, roots
from actors.plans.plan_flow import plan_flow, plan_mermaid
from actors.plans.plan_text import plan_checklist, plan_items, plan_lines, plan_markdown, plan_summary, value_lines
from actors.policy.author import Author
from actors.policy.belief_choice import Option, Weighing, count_calls
from actors.policy.decision import Decision
from actors.policy.table import UNSOLVABLE
from actors.run.advice import advice
from actors.run.ending import EARLY, exhausted_limit
from actors.run.result import RunResult, heading, message_lines, question_lines, usage_line
from actors.run.views import RunDocument, Tree
from actors.run.words import step_in_words
from actors.values.findings import Code, Finding, finding_line, reason_of
from actors.values.flow import Checklist, Flow
from actors.values.format import format_chance, format_count, format_usage
from actors.values.lines import BLANK, Line, LineTree, Style, StyledSpan, diff_lines, indent_line, line
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import COUNTED, ZERO

UNANSWERED = "add the answer to the text of the problem, and run the problem again"
"""The advice if a question was not answered, and the run no longer accepts an answer."""

_BY_CODE: Mapping[str, str] = {
    Code.FILTERED: "reword the parts of the problem that the provider's filter may reject, or use another model",
    Code.NOT_IN_TEXT: "name the files, functions and tests that matter in the problem, or use another model",
    Code.NOTHING_FOUND: "add facts to the problem, such as files, errors, and how to reproduce the failure",
    Code.UNKNOWN_GUARD: "add the guards that plans may name to `guard_catalog` in the workflow",
    Code.BUDGET_OVER_R_MAX: "raise `r_max` in the workflow, or split the problem",
    Code.TOO_COMPLEX: "split the problem, or lower `target_guard_level` in the workflow",
    Code.PLAN_TOO_LARGE: "split the problem",
    Code.ASSURANCE_TOO_LOW: "set a lower `assurance` in the workflow, or use another model",
    Code.REVIEW_UNANSWERED: "run the problem again, and approve the artifact or say what is wrong with the artifact",
    Code.REVIEW_REJECTED: "add to the problem what the review asks for, and run the problem again",
}
_BY_FAMILY: Mapping[str, str] = {
    "reply": "use another model, or a server that enforces the requested JSON",
    "requirements": UNANSWERED,
    "tool": "repair the tool that failed",
    "child": "look at the child run of the step that failed",
}


def _cut_advice(result: Result, program: str) -> str:
    resume = f"`{program} resume {result.run_id}"
    if Code.CUT in result.why:  # The reason may also come from a child run.
        more = f"{resume} --output-tokens-max {2 * result.output_tokens or 'N'}` allows longer replies"
        return f"{more}, `-m MODEL` asks another model; accepted results are kept"
    return f"{resume} -m MODEL` asks another model, {resume}` asks the same model again; accepted results are kept"


def advice_for(findings: Sequence[Finding], output_tokens: int) -> str:
    """Return the next step as a clause without a full stop; empty if the findings suggest no step.

    `output_tokens` is the token limit of the failed step. Only the first error counts, as in the policy.
    """
    first = next((finding for finding in findings if finding.severity == "error"), None)
    if first is None:
        return ""
    if first.code == Code.CUT:
        return f"allow longer replies than {output_tokens:,} tokens: `--output-tokens-max {2 * output_tokens}`"
    return _BY_CODE.get(first.code) or _BY_FAMILY.get(first.code.split(".", 1)[0], "")


FINDINGS_MAX = 5
"""The largest number of findings of the last rejection that the report of a run shows. `replan show RUN --tree` shows
all findings."""

_NEXT = {
    "all_pruned": "state the problem more fully, or use another model",
    "not_understood": "state the problem as software work in English, or use a language model (-m NAME)",
    "backtrack_ceiling": "use a workflow with larger backtrack budgets, or another model",
    "cancelled": "all accepted artifacts are kept",
}


def brief_lines(result: Result, program: str = "replan") -> list[Line]:
    """Return the report with a short form of the plan, and the commands that show and export the whole plan."""
    if not result.succeeded or result.plan_json is None:
        return outcome_lines(result, program)
    run = result.run_id
    more = f"The whole plan: {program} show {run} --full; as Markdown: {program} export {run} -o plan.md"
    return [*outcome_lines(result, program, full=False), *_guard_hint(result, program), line(more, "dim")]


def outcome_lines(result: Result, program: str = "replan", *, full: bool = True) -> list[Line]:
    """Return the whole report. `program` is the command with which the user calls this program.

    Without `full`, the plan is in short form.
    """
    if result.succeeded and result.plan_json is None:
        return [*_artifacts(result), *_warnings(result), usage_line(result)]
    if result.succeeded:
        return [*accepted_lines(result, full=full), usage_line(result)]
    rows = list(heading(result, "No plan"))
    early = result.why.partition(":")[0] in EARLY
    if not early and any(finding.message[:100] in result.why for finding in result.findings):
        rows = rows[:1]  # The findings below say the reason in full.
        rows += [line(f"{ONLY_FORWARD.capitalize()}.")] if _ended_without_going_back(result) else []
    rows += [*_edits(result), *question_lines(result, program), *message_lines(result), *_path(result)]
    in_draft = result.draft is not None and all(finding in result.draft.findings for finding in result.findings)
    if result.findings and result.question is None and not in_draft:
        rows += [BLANK, line("The last rejection", "bold")]
        rows += [indent_line(finding_line(finding), "red") for finding in result.findings[:FINDINGS_MAX]]
    draft = _draft(result, program)  # Its last line is a hint, like the following lines.
    rows += [*draft, *([] if draft else [BLANK]), usage_line(result)]
    if result.outcome:
        rows.append(line(f"What {result.outcome} means: {program} explain {result.outcome}", "dim"))
    if result.status == "finished" or result.cause:
        rows.append(line(f"Next: {_advice(result, program)}.", "cyan"))
    return rows


def _draft(result: Result, program: str) -> list[Line]:
    if (draft := result.draft) is None:
        return []
    rows = [BLANK, line("Draft, not proved", "bold"), indent_line(f"{draft.node}: {draft.summary}.", "yellow")]
    for finding in draft.findings[:FINDINGS_MAX]:
        rows += [indent_line(finding_line(finding), "red"), indent_line(f"Needed: {remedy_of(finding)}.")]
    rows += [indent_line(demand_line(row), "yellow") for row in draft.uncovered[:FINDINGS_MAX]]
    written, checked = draft.commands(result.run_id, program)
    edit = f"{program} edit {result.run_id}; or " if draft.editable else ""
    return [*rows, indent_line(f"To repair the draft: {edit}{written}, then {checked}", "dim")]


def accepted_lines(result: Result, *, full: bool) -> list[Line]:
    """Return the accepted plan, its warnings, and the conclusion about the plan."""
    plan = [*plan_lines(result.plan_json), BLANK] if full else plan_summary(result.plan_json)
    return [*plan, *_edits(result), *_warnings(result), _conclusion(result)]


def _edits(result: Result) -> Iterator[Line]:
    for edit in result.edits:
        yield line(f"Edited by {edit['edited_by']}:", "yellow")
        yield from diff_lines(edit["changes"])


def _guard_hint(result: Result, program: str) -> list[Line]:
    """Return a hint that says what the name in brackets behind each step is, with one guard as the example."""
    steps = result.plan_json.get("steps", ()) if isinstance(result.plan_json, dict) else ()
    guards = [step.get("guard") for step in steps if isinstance(step, dict)]
    example = next((guard for guard in guards if guard in GUARD_CATALOG), None)
    text = f"In brackets: the guard that checks the step. To explain a guard: {program} explain {example}"
    return [] if example is None else [line(text, "dim")]


def _advice(result: Result, program: str) -> str:
    if result.cause == "reply":
        return _cut_advice(result, program)
    common = advice(result, program)
    if common and result.outcome != "budget_exhausted":
        return common
    tree = f"`{program} show {result.run_id} --tree` explains every attempt"
    by_finding = advice_for(result.findings, result.output_tokens)
    if _ended_without_going_back(result) and not _was_unreadable(result):
        return f"use a search that goes back, such as depth_first, or another model; {tree}"
    if result.outcome == "budget_exhausted":
        too_large = not result.calls and exhausted_limit(result.why) in COUNTED[1:]
        per_call = "even the first call may exceed this limit; " if too_large else ""
        first = f"{by_finding}; " if _was_unreadable(result) else ""
        return f"{per_call}{first}{common}; {tree}"
    if result.outcome == "cancelled":
        return f"{_NEXT[result.outcome]}; {tree}"
    if result.reopened_by == "requirement" and by_finding == UNANSWERED:
        run = result.run_id
        tell = f"`{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`"
        return f"tell the run the answer: {tell}; {tree}"
    return f"{by_finding or _NEXT[result.outcome]}; {tree}"


def _ended_without_going_back(result: Result) -> bool:
    return result.outcome == "all_pruned" and result.why.endswith(ONLY_FORWARD)


def _was_unreadable(result: Result) -> bool:
    return any(finding.code.startswith("reply.") for finding in result.findings)


def _warnings(result: Result) -> list[Line]:
    return [line(finding_line(finding), "yellow", hang=3) for finding in result.findings[:FINDINGS_MAX]]


def _artifacts(result: Result) -> list[Line]:
    """Return the artifacts that no other artifact builds on, for a workflow without a plan."""
    rows: list[Line] = []
    for step in result.path:
        if step.last:
            rows += [line(step.node, "bold"), *value_lines(step.value)]
            rows += [BLANK, line(f"Accepted by {step.guard}.", "green")]
    return rows


def _path(result: Result) -> list[Line]:
    steps = ", ".join(step_in_words(step.step) for step in result.path)
    accepted = f"Accepted so far: {steps}" if steps else "No step was accepted."
    return [*([BLANK] if result.messages else []), line(accepted)]


def _conclusion(result: Result) -> Line:
    return line(f"{result.conclusion.text}.", "green" if result.proved or result.demands is None else "yellow")


TREE_FINDINGS_MAX = 3

_TREE_STYLES: Mapping[str, Style] = {"accepted": "green", "rejected": "red", "superseded": "dim", "pending": "yellow"}
_STATUS_WORDS = {"superseded": "accepted", "pending": "under way"}


def search_tree(title: str, views: list[AttemptView], *, brief: bool = False) -> LineTree:
    """Return the attempts as a tree of lines. `brief` leaves out guards, codes, warnings and the reasons of rules."""
    return LineTree(line(title, "bold"), tuple(_subtree(branch, brief=brief) for branch in roots(views)))


def _subtree(branch: tuple[AttemptView, list[Any]], *, brief: bool) -> LineTree:
    attempt, children = branch
    explanation = [LineTree(text) for text in _explanation(attempt, brief=brief)]
    below = (*explanation, *(_subtree(child, brief=brief) for child in children))
    return LineTree(_label(attempt, brief=brief), below, key=attempt.node.node)


def _label(attempt: AttemptView, *, brief: bool) -> Line:
    node = attempt.node
    spans = [*line(node.node).spans, StyledSpan(f"  {_status_word(attempt)}", _TREE_STYLES[node.status])]
    if node.verdict is not None and not brief:
        score = "" if node.verdict.passed else f", score {node.verdict.score:.2f}"
        spans += [StyledSpan(" "), *line(f"by {node.verdict.judges}{score}", "dim").spans]
    if attempt.child is not None:
        spans += [StyledSpan(", "), StyledSpan(f"run {attempt.child}", "dim", attempt.child)]
    if node.status == "superseded" and node.verdict is not None:
        spans.append(StyledSpan(", made void later", "dim"))
    if attempt.used.tokens or attempt.used.calls > 1:
        cost = format_usage(attempt.used, known=attempt.cost_known).removeprefix("1 call, ")
        spans.append(StyledSpan(f" ({cost})", "dim"))
    if attempt.unknown != ZERO:
        cost = format_usage(attempt.unknown, known=attempt.cost_known)
        spans.append(StyledSpan(f" (charged as unknown: {cost})", "yellow"))
    if node.repeats is not None:
        same = "as before" if brief else f"as {node.repeats}"
        spans += [StyledSpan(", "), *line(f"the same answer {same}", "yellow").spans]
    return Line(tuple(spans))


def _status_word(attempt: AttemptView) -> str:
    node = attempt.node
    if node.status == "pending" and attempt.over:
        return "without a verdict"
    if attempt.reviewed:
        return "waiting for a person's review"
    if node.status == "pending" and attempt.rests:
        return "interrupted" if node.artifact is None else "not judged yet"
    if node.status == "superseded" and node.verdict is None:
        return "withdrawn"
    return _STATUS_WORDS.get(node.status, node.status)


def _explanation(attempt: AttemptView, *, brief: bool) -> list[Line]:
    findings = [finding for finding in attempt.findings if finding.severity == "error" or not brief]
    lines = [
        line(reason_of(finding) if brief else finding_line(finding), "red" if finding.severity == "error" else "yellow")
        for finding in findings[:TREE_FINDINGS_MAX]
    ]
    if len(findings) > TREE_FINDINGS_MAX:
        lines.append(line(f"and {format_count(len(findings) - TREE_FINDINGS_MAX, 'more finding')}", "dim"))
    if attempt.node.decision is not None:
        lines += [line(text, "cyan") for text in _decision_lines(attempt, brief=brief)]
    return lines


def _decision_lines(attempt: AttemptView, *, brief: bool) -> list[str]:
    decision, node = attempt.node.decision, attempt.node
    assert decision is not None
    target = f" to {', '.join(decision.targets)}" if attempt.went_back and decision.level != "clarify" else ""
    cause = f" because of {decision.code}" if decision.code else ""
    afresh = " afresh" if decision.afresh else ""
    if brief and decision.level == "local_retry" and not decision.afresh:
        return []  # The next attempt shows the retry.
    lines = [f"=> {decision.level}{afresh}{target}{'' if brief else cause}, by rule {decision.rule}"]
    if brief:
        return lines
    if node.classification is not None:
        lines.insert(0, _describe_cause(node.classification, decision))
    if attempt.why:
        lines[-1] += f": {attempt.why}"
    if decision.weighing is not None:
        lines.append(belief_text(decision.weighing))
    if decision.wanted is not None:
        lines.append(f"the rule wanted to go back to {', '.join(decision.wanted)}, but no visits are left")
    if node.cleared:
        cost = format_usage(attempt.wasted, known=attempt.cost_known)
        lines.append(f"cleared {', '.join(node.cleared)}; cost of the lost work: {cost}")
    return lines


def _describe_cause(classification: FailureClassified, decision: Decision) -> str:
    if classification.cause is None:
        return "a model was asked for the cause, but named no known cause; so the policy's table decides"
    use = "and this cause selects the rule" if decision.classified else "but the policy's table decides"
    return f"a model named the cause {classification.cause}, {use}"


def belief_text(weighing: Weighing) -> str:
    """Return a text that names the most likely mistake, and the costs of the best and the second-best move."""
    place, options = weighing.places[0], weighing.options
    where = f"The mistake is most likely in the {step_in_words(place.step)}"
    if place.step == UNSOLVABLE:
        where = "Most likely the problem has no solution"
    text = f"{where} ({format_chance(place.after)})."
    if not options:
        return f"{text} No move is left."
    best = _move_in_words(options[0])
    verb = "cost" if len(options[0].targets) > 1 else "costs"
    cost = f"{count_calls(options[0].calls)}, with a chance of {format_chance(options[0].chance)}"
    text = f"{text} {best[0].upper()}{best[1:]} {verb} {cost}."
    if len(options) == 1:
        return text
    other = options[1]
    return f"{text} Next best: {_move_in_words(other)} ({count_calls(other.calls)}, {format_chance(other.chance)})."


def _move_in_words(option: Option) -> str:
    afresh = " (the next prompt does not show the earlier answers)" if option.afresh else ""
    match option.move:
        case "retry":
            return f"another attempt{afresh}"
        case "redo":
            return f"{' and '.join(f'a new {step_in_words(step)}' for step in option.targets)}{afresh}"
        case "ask":
            return "a question to you"
        case _:
            assert_never(option.move)


def _branch_line(story: BranchStory) -> Line:
    base = "" if story.parent is None else f" on branch {story.parent}"
    kept = f" with {', '.join(story.kept)}" if story.kept else ""
    text = line(f"branch {story.branch}{base}{kept}", "bold") + Line((StyledSpan(": "),))
    text += line(f"{story.opened}; {format_count(story.calls, 'call')}")
    if story.won:
        return text + Line((StyledSpan("; "), StyledSpan("brought the plan", "green")))
    if story.cause:
        return text + Line((StyledSpan("; "),)) + line(f"pruned ({story.cause}): {story.pruned}", "yellow")
    return text


def tree(title: str, state: State, written: Sequence[Record[PlanningEvent]], *, interrupted: bool, brief: bool) -> Tree:
    """Return the attempts of a run as a tree, and a line about each branch."""
    if brief:  # A live view is drawn often, and shows nothing that only the records tell.
        return Tree(search_tree(title, attempts(state, interrupted=interrupted, live=not interrupted), brief=True))
    attempt_views = attempts(state, written, interrupted=interrupted)
    stories = branch_stories(state, written)

    def to_json() -> dict[str, Any]:
        nodes, branches = [attempt.to_json() for attempt in attempt_views], [story.to_json() for story in stories]
        known = _author(state.config)
        return {"nodes": nodes, "branches": branches, "author": None if known is None else known.model_dump()}

    lines = (*map(_branch_line, stories), *_author_lines(state.config))
    weighed = [view.node.decision.weighing for view in attempt_views if view.node.decision is not None]
    belief = next((belief_text(weighing) for weighing in reversed(weighed) if weighing is not None), "")
    return Tree(search_tree(title, attempt_views), lines, to_json, belief)


def _author(config: RunConfig) -> Author | None:
    table = config.policy.belief
    if table is None or table.author is None or not is_author(config.model):
        return None
    return config.author or table.author.model_copy(update={"source": "middle"})


def _author_lines(config: RunConfig) -> list[Line]:
    known = _author(config)
    if known is None:
        return []
    first = f"accepted first attempts {known.first_accepted:.0%}"
    retries_text = f"accepted retries that see the finding {known.told_retry_mends:.0%}"
    again = f"retries that repeat the answer {known.repeats:.0%}"
    if known.source == "middle":
        return [
            line(f"nothing is known about {config.model}, so the average of all measured models is assumed:", "dim"),
            line(f"  {first}, {retries_text}, {again}", "dim"),
        ]
    return [line(f"known about {config.model}: {first}, {retries_text}, {again}; source: {known.source}", "dim")]


def flow(result: Result) -> Flow | None:
    """Return the graph of the proved plan."""
    return None if result.plan_json is None else plan_flow(result.plan_json)


def checklist(result: Result) -> Checklist | None:
    """Return the steps of the accepted plan; None if there is no plan."""
    steps = None if result.plan_json is None else plan_items(result.plan_json)
    if steps is None:
        return None
    notes = (*steps.notes, *_edits(result), *_warnings(result))
    return steps._replace(notes=notes, conclusion=_conclusion(result))


def document(view: str, state: State, result: Result, program: str) -> RunDocument:
    """Return a document of a run. `view` is the name of the document, such as `plan`.

    Raises `UsageProblem` with the reason if the run does not have this document.
    """
    if view == "draft":
        if result.draft is None:
            hint = f"`{program} show {result.run_id}` shows its state"
            cause = "the run has a plan" if result.plan_json is not None else "the run has not ended, or wrote no plan"
            raise UsageProblem(f"run {result.run_id} has no draft: {cause}", place="--draft", hint=hint)
        return RunDocument(json=result.draft.to_file(result.run_id))
    if view != "yaml":
        note = f"Run {result.run_id}: {result.conclusion.text}."
        return plan_document(view, result, _read_proved_plan(state, result, view, program), note, program)
    if not (text := yaml_text(result)):
        hint = f"`{program} show {result.run_id}` shows its state"
        raise UsageProblem("the run has no accepted JSON artifact", place=option_of(view), hint=hint)
    return RunDocument(text=text)


def plan_document(view: str, result: RunResult, plan: Any, note: str, program: str) -> RunDocument:
    """Return a plan with the table of demands. `note` says in Markdown how the plan was made.

    `view` is `plan`, `mermaid`, `markdown` or `github-checklist`. Raises `UsageProblem` if the value is not a plan.
    """
    if view == "plan":
        demands = [] if result.demands is None else [BLANK, *table_lines(result.demands)]
        return RunDocument((*plan_lines(plan), *demands), plan)
    if view == "mermaid":
        return RunDocument(text=plan_mermaid(plan, program))
    written = plan_markdown if view == "markdown" else plan_checklist
    return RunDocument(text=written(plan, note, () if result.demands is None else table_texts(result.demands)))


def option_of(view: str) -> str:
    """Return the option of `show` and `export` for a document."""
    return f"--{view}" if view in ("plan", "mermaid") else f"--format {view}"


def yaml_text(result: Result) -> str:
    """Return the accepted artifact of the last step as YAML, such as a proposed profile; empty if there is none."""
    last = next((step for step in result.path if step.last), None)
    if not result.succeeded or last is None or isinstance(last.value, str):
        return ""
    import yaml  # noqa: PLC0415 - most commands do without

    return yaml.safe_dump(last.value, sort_keys=False, allow_unicode=True, width=110)


def _read_proved_plan(state: State, result: Result, view: str, program: str) -> Any:
    run = result.run_id
    if result.plan_json is not None:
        return result.plan_json
    if "plan" not in state.config.roles.values():
        cause = f"the workflow {state.config.workflow.name} of run {run} makes no plan"
        raise UsageProblem(cause, place=option_of(view), hint=f"`{program} show {run}` shows its artifacts")
    hint = f"`{program} show {run}` shows its progress"
    raise UsageProblem(f"run {run} has no proved plan", place=option_of(view), hint=hint)
