"""An engine for the library `unified-planning` that uses Replan's guards: a `PlanValidator` for sequential plans.

`register()` adds the engine to an environment of the library under the name `replan`. The engine needs the extra
`unified-planning` of `replan-lab`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from unified_planning.engines import Engine, ValidationResult, ValidationResultStatus
from unified_planning.engines.mixins import PlanValidatorMixin
from unified_planning.engines.results import FailedValidationReason, LogLevel, LogMessage
from unified_planning.environment import get_environment
from unified_planning.exceptions import UPUsageError
from unified_planning.model import Problem, ProblemKind
from unified_planning.model.problem_kind_versioning import LATEST_PROBLEM_KIND_VERSION
from unified_planning.plans import PlanKind

from actors.values.findings import Code
from replan_lab.pddl.action_list import ACTIONS_MAX
from replan_lab.pddl.domain import (
    EQUAL,
    OBJECT,
    ActionSchema,
    Atom,
    ConditionalEffect,
    Effect,
    Literal,
    PddlDomain,
    PddlProblem,
    PlanAction,
)
from replan_lab.pddl.judging import PddlJudgement, judge_actions
from runtime.core.errors import UsageProblem

__all__ = ["NAME", "ReplanValidator", "register"]

NAME = "replan"
_NEVER = (Literal(Atom(EQUAL, ("true", "false"))),)


class ReplanValidator(Engine, PlanValidatorMixin):  # type: ignore[misc]  # the library has no types
    """Validates sequential plans with the guards of plans, at the level `medium`.

    It supports action-based problems with types, negative conditions, equality and conditional effects, but without
    metrics. A plan may have at most `ACTIONS_MAX` actions. If the validator cannot judge a plan, the status is UNKNOWN,
    and the log has the reason.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ARG002 -- the library gives an environment, which is not needed
        Engine.__init__(self)
        PlanValidatorMixin.__init__(self)

    @property
    def name(self) -> str:
        """The name of the engine."""
        return NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Return the supported features of a problem."""
        kind = ProblemKind(version=LATEST_PROBLEM_KIND_VERSION)
        kind.set_problem_class("ACTION_BASED")
        kind.set_typing("FLAT_TYPING")
        kind.set_typing("HIERARCHICAL_TYPING")
        kind.set_conditions_kind("NEGATIVE_CONDITIONS")
        kind.set_conditions_kind("EQUALITIES")
        kind.set_effects_kind("CONDITIONAL_EFFECTS")
        return kind

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Return whether this engine can judge plans for problems of a kind."""
        return bool(problem_kind <= ReplanValidator.supported_kind())

    @staticmethod
    def supports_plan(plan_kind: PlanKind) -> bool:
        """Return whether this engine can judge plans of a kind."""
        return bool(plan_kind is PlanKind.SEQUENTIAL_PLAN)

    def _validate(self, problem: Any, plan: Any) -> ValidationResult:
        """Judge a plan.

        The library calls this method after it has checked that the engine supports the problem and the plan.
        """
        if len(plan.actions) > ACTIONS_MAX:
            return self._unknown(f"the plan has more than {ACTIONS_MAX:,} actions")
        try:
            domain, start = model_of(problem)
            actions = [
                PlanAction(action.action.name, tuple(map(_term, action.actual_parameters))) for action in plan.actions
            ]
            judgement = judge_actions(domain, start, actions)
        except (UPUsageError, UsageProblem) as outside:
            return self._unknown(str(outside))
        return self._result(judgement, plan)

    def _result(self, judgement: PddlJudgement, plan: Any) -> ValidationResult:
        errors = judgement.verdict.errors
        outside = next((error for error in errors if error.code == Code.TOO_COMPLEX), None)
        if outside is not None:
            return self._unknown(outside.message)
        if judgement.verdict.passed:
            return ValidationResult(ValidationResultStatus.VALID, NAME, [])
        logs = [LogMessage(LogLevel.INFO, error.message) for error in errors]
        if judgement.failure is None:
            reason, action = FailedValidationReason.UNSATISFIED_GOALS, None
        else:
            reason, action = FailedValidationReason.INAPPLICABLE_ACTION, plan.actions[judgement.failure.index]
        return ValidationResult(ValidationResultStatus.INVALID, NAME, logs, reason=reason, inapplicable_action=action)

    def _unknown(self, why: str) -> ValidationResult:
        return ValidationResult(ValidationResultStatus.UNKNOWN, NAME, [LogMessage(LogLevel.WARNING, why)])


def register(environment: Any = None) -> None:
    """Add the engine with the name `replan` to an environment of the library, by default the global environment."""
    factory = get_environment(environment).factory
    if NAME not in factory.engines:
        factory.add_engine(NAME, __name__, ReplanValidator.__name__)


def model_of(problem: Any) -> tuple[PddlDomain, PddlProblem]:
    """Return a problem of the library as a domain and a problem.

    Raises:
        UPUsageError: the problem has an unsupported part. The error's message names this part.
    """
    if not isinstance(problem, Problem):
        raise UPUsageError(f"problems of the type {type(problem).__name__} are not supported")
    domain = PddlDomain(
        problem.name or "",
        supertypes={kind.name: OBJECT if kind.father is None else kind.father.name for kind in problem.user_types},
        predicates={
            fluent.name: tuple(parameter.type.name for parameter in fluent.signature) for fluent in problem.fluents
        },
        actions={action.name: _action(action) for action in problem.actions},
    )
    objects = {item.name: item.type.name for item in problem.all_objects}
    goal = tuple(literal for item in problem.goals for literal in _condition(item))
    return domain, PddlProblem(problem.name or "", objects, frozenset(_initial(problem)), goal)


def _initial(problem: Any) -> Iterator[Atom]:
    """Yield the atoms that hold at the beginning.

    If no fluent is true by default, this function reads only the values that the problem sets explicitly.
    """
    true_by_default = any(value.is_true() for value in problem.fluents_defaults.values())
    values: Mapping[Any, Any] = problem.initial_values if true_by_default else problem.explicit_initial_values
    for fluent, value in values.items():
        if value.is_true():
            yield _atom(fluent)


def _action(action: Any) -> ActionSchema:
    parameters = tuple((f"?{parameter.name}", parameter.type.name) for parameter in action.parameters)
    condition = tuple(literal for precondition in action.preconditions for literal in _condition(precondition))
    literals: list[Literal] = []
    conditional: list[ConditionalEffect] = []
    for effect in action.effects:
        if not effect.is_assignment() or not effect.value.is_bool_constant() or effect.is_forall():
            raise UPUsageError(f"the effect {effect} is not supported")
        literal = Literal(_atom(effect.fluent), effect.value.is_true())
        if effect.is_conditional():
            conditional.append(ConditionalEffect(_condition(effect.condition), Effect((literal,))))
        else:
            literals.append(literal)
    return ActionSchema(action.name, parameters, condition, Effect(tuple(literals), tuple(conditional)))


def _condition(node: Any) -> tuple[Literal, ...]:
    if node.is_bool_constant():
        return () if node.is_true() else _NEVER
    if node.is_and():
        return tuple(literal for arg in node.args for literal in _condition(arg))
    if node.is_not() and (node.args[0].is_fluent_exp() or node.args[0].is_equals()):
        return (Literal(_atom(node.args[0]), positive=False),)
    return (Literal(_atom(node)),)


def _atom(node: Any) -> Atom:
    if node.is_fluent_exp():
        return Atom(node.fluent().name, tuple(map(_term, node.args)))
    if node.is_equals():
        return Atom(EQUAL, tuple(map(_term, node.args)))
    raise UPUsageError(f"{node} is not supported")


def _term(node: Any) -> str:
    if node.is_object_exp():
        return str(node.object().name)
    if node.is_parameter_exp():
        return f"?{node.parameter().name}"
    raise UPUsageError(f"the argument {node} is not supported; it must be an object")
