"""Finds tools and changes of steps that a requirement or the user's text forbids. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from actors.demands.reader import read_demands
from actors.guards.port import Guard, unread_verdict
from actors.plans.constraints import FORBIDS, KEPT_KINDS
from actors.plans.coverage import fold_name
from actors.plans.plan import UNDO_WORDS, Plan, Step
from actors.plans.reader import read_draft
from actors.tools.agent_work import list_paths
from actors.tools.snapshot_texts import touched_paths
from actors.tools.uses import PersonUse, ToolSet, ToolUse
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict, limit_findings
from actors.values.format import printable
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, requirement_id
from runtime.core.hooks import make_total

FILES = frozenset({"files", "changed files", "files changed"})
"""The names that a budget's limit may have if it limits how many files may change."""
DAY_SECONDS = 86_400.0


def guard_requirements(proves: Guard, tools: ToolSet | None) -> Guard:
    """Return a guard that accepts a plan if `proves` accepts it and the plan breaks none of its own prohibitions.

    A prohibition of a tool is compared with the names in the plan. If `tools` binds all these names, it is also
    compared with the bound tools.
    """

    @make_total("the plan", partial(unread_verdict, "plan"))
    def guard(artifact: Artifact, context: Context) -> Verdict:
        verdict = proves(artifact, context)
        plan = read_draft(artifact.parsed)[0] if verdict.passed else None
        bound = None if plan is None or tools is None or tools.unbound_names(plan) else tools
        violations = () if plan is None else tuple(_check_plan(plan, bound))
        if not violations:
            return verdict
        update = {"passed": False, "score": 0.99, "findings": tuple(limit_findings([*violations, *verdict.findings]))}
        return verdict.model_copy(update=update)

    return guard


def forbidden_uses(requirements: Iterable[Requirement], step: Step, tools: ToolSet | None) -> tuple[Finding, ...]:
    """Return a finding for each requirement that forbids a tool of the step.

    The forbidden names are compared with the step's generator, guard and undo tool. If `tools` is given, they are also
    compared with the tools that it binds to the step.
    """
    forbidding = [item for item in requirements if item.kind == RequirementKind.MUST_AVOID and item.tools]
    if not forbidding:
        return ()
    used_names = {fold_name(name): name for name in _names_used(step, tools)}
    findings = []
    for requirement in forbidding:
        name = next((used_names[fold_name(tool)] for tool in requirement.tools if fold_name(tool) in used_names), None)
        if name is not None:
            what = f"the step {printable(step.step_id, 100)!r} uses {printable(name, 100)!r}"
            findings.append(_finding(requirement, what, step.step_id))
    return tuple(findings)


def is_forbidden(requirements: Iterable[Requirement], tool: str) -> bool:
    """Return whether one of the requirements forbids the tool with the name `tool`."""
    names = {
        fold_name(name)
        for requirement in requirements
        if requirement.kind == RequirementKind.MUST_AVOID
        for name in requirement.tools
    }
    return fold_name(tool) in names


def _names_used(step: Step, tools: ToolSet | None) -> Iterator[str]:
    if step.guard:
        yield step.guard
    yield step.generator
    if step.undo and step.undo not in UNDO_WORDS:
        yield step.undo
    if tools is None:
        return
    for use in (tools.guard_use(step), tools.generator_use(step)):
        if use is None:
            continue
        yield use.tool if isinstance(use, ToolUse) else use.name
        if not isinstance(use, PersonUse) and use.pre_check is not None:
            yield use.pre_check.tool


def protected_paths(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Return the paths that no step may change, as the requirements write them."""
    return tuple(path for requirement in requirements if requirement.kind in FORBIDS for path in requirement.paths)


def _check_plan(plan: Plan, tools: ToolSet | None) -> Iterator[Finding]:
    forbidding = [item for item in plan.requirements if item.kind in FORBIDS and (item.tools or item.tokens)]
    for step in plan.steps if forbidding else ():
        yield from forbidden_uses(forbidding, step, tools)
        for item in forbidding:
            avoid = item.kind == RequirementKind.MUST_AVOID
            changed = step.may_add if avoid else step.may_delete - step.effects - plan.goal_state
            token = next((token for token in item.tokens if token in changed), None)
            if token is not None:
                verb = "adds" if avoid else "deletes"
                what = f"the step {printable(step.step_id, 100)!r} {verb} {printable(token, 100)}"
                yield _finding(item, what, step.step_id)


def changed_paths(requirements: Iterable[Requirement], changed: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose protected paths a step has changed."""
    touched = ((item, touched_paths(changed, item.paths)) for item in requirements if item.kind in FORBIDS)
    return tuple(_finding(item, f"{list_paths(paths)} changed", step) for item, paths in touched if paths)


def check_change_finding(check: str, changed: Sequence[str], step: str) -> Finding:
    """Return the finding that a check has changed files, although a check may only look at a result."""
    names = f"the check {printable(check, 100)!r} of the step {printable(step, 100)!r}"
    message = f"{names} changed files: {list_paths(changed)}"
    return Finding(code=Code.CHECK_CHANGES, message=message, where=step, tags=(ReasonTag.REQUIREMENT_VIOLATION,))


def check_changes(
    requirements: Collection[Requirement], changed: Collection[str], all_changed: Collection[str], step: str
) -> tuple[Finding, ...]:
    """Return the findings about the paths that a step has changed.

    `all_changed` are the paths that have changed since the start of the run.
    """
    findings = [*changed_paths(requirements, changed, step)]
    scopes = [item for item in requirements if item.kind == RequirementKind.SCOPE and item.paths]
    outside = set(changed).difference(touched_paths(changed, [path for item in scopes for path in item.paths]))
    if scopes and outside:
        findings.append(_finding(scopes[0], f"{list_paths(sorted(outside))} changed outside this scope", step))
    limits = [(item, files_limit(item)) for item in requirements] if changed else []
    for item, most in limits:
        if most is not None and len(all_changed) > most:
            findings.append(_finding(item, f"{len(all_changed):,} files have changed since the start", step))
    return tuple(findings)


def files_limit(requirement: Requirement) -> int | None:
    """Return how many files a requirement lets the steps change; None if the requirement does not limit this."""
    limit = requirement.limit
    if requirement.kind != RequirementKind.BUDGET or limit is None or fold_name(limit.name) not in FILES:
        return None
    value = limit.value.strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else None


def _deadline_of(requirement: Requirement) -> float | None:
    """Return the deadline in a requirement's limit (an ISO 8601 date or time), in UTC seconds; None without a deadline.

    A time without a zone is in UTC. A date without a time means the end of that day.
    """
    if requirement.kind != RequirementKind.DEADLINE or requirement.limit is None:
        return None
    value = requirement.limit.value.strip()
    try:
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return moment.timestamp() + (DAY_SECONDS if len(value) <= len("2026-01-31") else 0)
    except (ValueError, OverflowError):
        return None


def missed_deadlines(requirements: Iterable[Requirement], now: float, step: str) -> tuple[Finding, ...]:
    """Return a finding for each deadline that has passed."""
    times = ((item, _deadline_of(item)) for item in requirements)
    return tuple(
        _finding(item, "the deadline has passed", step) for item, time in times if time is not None and now > time
    )


def uncheckable_requirements(requirements: Iterable[Requirement], *, snapshots: bool) -> tuple[Requirement, ...]:
    """Return the requirements that the execution cannot check.

    `snapshots` says whether snapshots of the workspace are taken.
    """
    return tuple(item for item in requirements if not _is_compared(item, snapshots=snapshots))


def _is_compared(item: Requirement, *, snapshots: bool) -> bool:
    match item.kind:
        case RequirementKind.MUST_AVOID | RequirementKind.MUST_KEEP:
            forbids = item.kind == RequirementKind.MUST_AVOID and bool(item.tools)
            return forbids or bool(item.tokens) or (snapshots and bool(item.paths))
        case RequirementKind.SCOPE:
            return snapshots and bool(item.paths)
        case RequirementKind.BUDGET:
            return snapshots and files_limit(item) is not None
        case RequirementKind.DEADLINE:
            return _deadline_of(item) is not None
        case _:
            return True


def broken_tokens(requirements: Iterable[Requirement], tokens: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement that the tokens break.

    The tokens break a requirement if a forbidden token holds, or if a token that must be kept does not hold.
    """
    findings = []
    for requirement in requirements:
        if requirement.kind not in FORBIDS:
            continue
        wrong = [token for token in requirement.tokens if (token in tokens) == (requirement.kind == "must_avoid")]
        if wrong:
            verb = "holds" if requirement.kind == "must_avoid" else "does not hold"
            findings.append(_finding(requirement, f"the token {printable(wrong[0], 100)} {verb}", step))
    return tuple(findings)


def _finding(requirement: Requirement, what: str, step: str) -> Finding:
    return Finding(
        code=Code.VIOLATED,
        message=f"{requirement.kind}: {printable(requirement.text, 200)}: {what}",
        where=step,
        tags=(ReasonTag.REQUIREMENT_VIOLATION,),
    )


_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"(?<![\w/.:@-])(?:[\w.-]+/[\w./-]*\w/?|[\w-]*\w\.[A-Za-z]\w{0,7})(?![\w:@-])")
_CHANGES = re.compile(r"\b(?:chang|touch|modif|edit|alter|delet|remov|overwrit|renam|mov|rewrit)\w*", re.IGNORECASE)


def read_constraints(texts: Iterable[str], tools: Iterable[str]) -> tuple[Requirement, ...]:
    """Return the prohibitions and limits in the user's texts that the program can read, as requirements.

    If a prohibition names a tool in `tools`, the requirement forbids this tool. If a text says that a path must not
    change, the requirement protects this path. Any other prohibition or limit is kept only as text.
    """
    names = tuple(tools)
    by_id: dict[str, Requirement] = {}
    for text in texts:
        for demand in read_demands(text, RequirementSource.USER).demands:
            kind, quote = str(demand.kind), demand.quote
            if kind in KEPT_KINDS:
                by_id[requirement_id(quote)] = Requirement(
                    id=requirement_id(quote),
                    kind=kind,
                    text=quote,
                    quote=quote,
                    source=str(RequirementSource.USER),
                    tools=tuple(filter(partial(_names_tool, fold_name(quote)), names))
                    if kind == RequirementKind.MUST_AVOID
                    else (),
                    paths=tuple(_paths_in(quote, kind, names)),
                )
    return tuple(by_id.values())


def _names_tool(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(fold_name(name))}(?![\w-])", text) is not None


def _paths_in(quote: str, kind: str, tools: Iterable[str]) -> Iterator[str]:
    if kind not in FORBIDS or (kind == RequirementKind.MUST_AVOID and not _CHANGES.search(quote)):
        return
    quoted = _QUOTED.findall(quote)
    names = {fold_name(name) for name in tools}
    for path in dict.fromkeys((*quoted, *_PATH.findall(_QUOTED.sub(" ", quote)))):
        if not any(sign.isspace() for sign in path) and fold_name(path) not in names:
            yield path
