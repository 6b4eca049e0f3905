"""The guards of an analysis and of a strategy, and the guard that compares a plan with its strategy.

`analysis_valid`: an analysis, which classifies a problem, has all its fields with allowed values. `strategy_valid`: the
strategy's id is known, and the strategy has a rationale and key steps. `fits_problem_type`: the strategy is for the
type of problem that the analysis found. `follows_strategy`: each key step that has an id is implemented by at least one
step of the plan.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.guards.fields import (
    PROBLEM_TYPES,
    SEVERITIES,
    STRATEGIES,
    Fields,
    check_settings,
    comparable_name,
    dependency,
    object_of,
    quote_text,
    verdict_of,
    warn_if_given,
    warn_nothing_to_compare,
    without_settings,
)
from actors.guards.port import Guard
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.format import printable, quote_names
from actors.values.requirements import EVIDENCE, FOR_TYPE, KEY_STEPS, KeyStep, key_step, key_steps_in

ANALYSIS_VALID = "analysis_valid"
LANGUAGE_LENGTH_MAX = 40


def make_analysis_valid(config: Mapping[str, Any]) -> Guard:
    """Return the guard.

    Its setting `languages` lists the allowed languages; by default, any lower-case name is allowed.
    """
    check_settings(ANALYSIS_VALID, config, {"languages"})
    languages = frozenset(config.get("languages", ()))

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        fields = Fields(ANALYSIS_VALID, artifact)
        fields.check_choice("problem_type", PROBLEM_TYPES)
        if languages:
            fields.check_choice("language", languages)
        elif (language := fields.text("language")) is not None:
            fields.check(_check_language(language))
        fields.check_choice("severity", SEVERITIES)
        fields.texts("key_signals", empty=False)
        fields.text("affected_area")
        fields.text("rationale")
        return fields.verdict()

    return guard


def _check_language(name: str) -> list[Finding]:
    if name == name.lower() and name == name.strip() and len(name) <= LANGUAGE_LENGTH_MAX:
        return []
    message = f"language {quote_text(name)} must be a lower-case name such as 'python', or 'unknown'"
    return [Finding(code=Code.CHOICE, message=message, where="language")]


STRATEGY_VALID = "strategy_valid"


def make_strategy_valid(config: Mapping[str, Any]) -> Guard:
    """Return the guard.

    Its setting `strategies` lists ids of strategies that are valid in addition to the five built-in strategies.
    """
    check_settings(STRATEGY_VALID, config, {"strategies"})
    known = frozenset((*STRATEGIES, *config.get("strategies", ())))

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        fields = Fields(STRATEGY_VALID, artifact)
        fields.check_choice("strategy_id", known)
        fields.text("strategy_name")
        fields.text("rationale")
        if key_steps := fields.items(KEY_STEPS):
            fields.check(_check_key_steps(key_steps))
        fields.texts("expected_guards", empty=False)
        fields.texts("risk_factors")
        fields.texts(EVIDENCE, required=False)
        if fields.optional(FOR_TYPE) is not None:
            fields.check_choice(FOR_TYPE, PROBLEM_TYPES)
        return fields.verdict()

    return guard


def _check_key_steps(items: list[Any]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{KEY_STEPS}[{index}]"
        step = key_step(item)
        if step is None:
            blank = isinstance(item, str)
            message = (
                f"{where} must not be empty" if blank else f"{where} must be a text, or an object with id and text"
            )
            yield Finding(code=Code.EMPTY if blank else Code.TYPE, message=message, where=where)
        elif step.id and step.id in seen:
            message = f"{where}: the id {quote_text(step.id)} is used twice; give each key step its own id"
            yield Finding(code=Code.CHOICE, message=message, where=where)
        else:
            seen.add(step.id)


FITS_PROBLEM_TYPE = "fits_problem_type"


def _judge_strategy_type(artifact: Artifact, context: Context) -> Verdict:
    """Compare the strategy's `for_type` with the `problem_type` in the analysis, which is a result of a required step.

    A strategy without `for_type` passes.
    """
    value, unreadable = object_of(artifact)
    if value is None:
        return verdict_of(FITS_PROBLEM_TYPE, unreadable)
    wanted = value.get(FOR_TYPE)
    if not isinstance(wanted, str):
        return verdict_of(FITS_PROBLEM_TYPE, ())
    analysis = dependency(context, "analysis")
    found = None if analysis is None else analysis.get("problem_type")
    if not isinstance(found, str):
        return warn_nothing_to_compare(FITS_PROBLEM_TYPE, "an analysis with a problem_type")
    if comparable_name(wanted) == comparable_name(found):
        return verdict_of(FITS_PROBLEM_TYPE, ())
    message = (
        f"the strategy is for a problem of the type {quote_text(wanted)}, but the analysis found the type "
        f"{quote_text(found)}; choose a strategy for {quote_text(found)}"
    )
    tags = (ReasonTag.WORKFLOW_MISMATCH,)
    return verdict_of(
        FITS_PROBLEM_TYPE, [Finding(code=Code.WORKFLOW_MISMATCH, message=message, where=FOR_TYPE, tags=tags)]
    )


FOLLOWS_STRATEGY = "follows_strategy"


def _judge_plan_by_strategy(artifact: Artifact, context: Context) -> Verdict:
    value, unreadable = object_of(artifact)
    if value is None:
        return verdict_of(FOLLOWS_STRATEGY, unreadable)
    strategy = dependency(context, "strategy")
    if strategy is None:
        return warn_nothing_to_compare(FOLLOWS_STRATEGY, "a strategy")
    key_steps = [step for step in key_steps_in(strategy) if step.id]
    if not key_steps:
        return verdict_of(FOLLOWS_STRATEGY, ())
    findings = warn_if_given(_compare_key_steps(value, key_steps), context, Code.STRATEGY_NOT_FOLLOWED)
    return verdict_of(FOLLOWS_STRATEGY, findings, len(key_steps))


def _compare_key_steps(value: Mapping[str, Any], key_steps: list[KeyStep]) -> Iterator[Finding]:
    plan, findings = read_draft(value)
    if plan is None:
        yield from findings
        return
    implemented = {comparable_name(name) for step in plan.steps for name in step.implements}
    for wanted in key_steps:
        if comparable_name(wanted.id) not in implemented:
            message = (
                f"no step implements the strategy's key step '{printable(wanted.id)}' ({quote_text(wanted.text)}); "
                f"add its id under 'implements' to the step that does this work, or add such a step"
            )
            yield Finding(code=Code.STRATEGY_NOT_FOLLOWED, message=message, where=wanted.id)
    known = {comparable_name(wanted.id) for wanted in key_steps}
    for step in sorted(plan.steps, key=lambda step: step.step_id):
        unknown = [name for name in step.implements if comparable_name(name) not in known]
        if unknown:
            message = (
                f"step {printable(step.step_id)}: implements names unknown key steps of the strategy: "
                f"{quote_names(unknown)}"
            )
            yield Finding(code=Code.UNKNOWN_KEY_STEP, message=message, where=step.step_id, severity="warning")


make_fits_problem_type = without_settings(FITS_PROBLEM_TYPE, _judge_strategy_type)


make_follows_strategy = without_settings(FOLLOWS_STRATEGY, _judge_plan_by_strategy)
