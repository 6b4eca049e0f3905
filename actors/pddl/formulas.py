"""Reads the conditions and effects of PDDL; what is not supported is refused by name and line. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Never

from actors.files.suggestions import near
from actors.pddl.domain import EQUAL, OBJECT, Atom, ConditionalEffect, Effect, Literal, PddlDomain
from actors.pddl.expressions import Expression, Form, PddlFile, Word, format_expression

SUPPORTED = "supported: typed STRIPS, negative conditions, =, `when`, `oneof`"
"""The hint of every refusal of a part of PDDL that is not supported."""

_OUTSIDE = frozenset(
    (
        *("and", "or", "not", "imply", "forall", "exists", "when", "oneof", "preference", "probabilistic", "unknown"),
        *("over", "at", "assign", "increase", "decrease", "scale-up", "scale-down", "<", ">", "<=", ">="),
        *("always", "sometime"),
    )
)
"""Words that begin a formula of PDDL or of an extension of it, unless they are declared as predicates."""


@dataclass(frozen=True, slots=True)
class FormulaScope:
    """What the formulas of one place may name."""

    source: PddlFile
    domain: PddlDomain
    """The types, predicates, constants and functions; its actions are not looked at."""
    objects: Mapping[str, str]
    """The type of each object that may be named."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The type of each variable that may be named."""

    def condition(self, expression: Expression) -> tuple[Literal, ...]:
        """Return a condition as literals that must all hold. Raises `UsageProblem`."""
        form = self._form(expression)
        if not form.items:
            return ()
        match form.head:
            case "and" if "and" not in self.domain.predicates:
                return tuple(literal for item in form.items[1:] for literal in self.condition(item))
            case "not" if "not" not in self.domain.predicates:
                return (Literal(self._negated(form), positive=False),)
            case _:
                return (Literal(self.atom(form)),)

    def effect(self, expression: Expression) -> Effect:
        """Return an effect. Raises `UsageProblem`."""
        form = self._form(expression)
        if not form.items:
            return Effect()
        head = "" if form.head in self.domain.predicates else form.head
        match head:
            case "and":
                parts = [self.effect(item) for item in form.items[1:]]
                return Effect(
                    tuple(literal for part in parts for literal in part.literals),
                    tuple(entry for part in parts for entry in part.conditional),
                    tuple(choice for part in parts for choice in part.choices),
                )
            case "not":
                return Effect((Literal(self._negated(form, self._changed), positive=False),))
            case "when":
                condition, effect = self._two(form)
                return Effect(conditional=(ConditionalEffect(self.condition(condition), self.effect(effect)),))
            case "oneof":
                if len(form.items) < 2:
                    self.source.refuse("`oneof` has no alternative", form.line, "give it two")
                return Effect(choices=(tuple(self.effect(item) for item in form.items[1:]),))
            case "increase" if self._is_cost(form):
                return Effect()
            case _:
                return Effect((Literal(self._changed(form)),))

    def atom(self, expression: Expression) -> Atom:
        """Return an atom whose predicate and terms are declared. Raises `UsageProblem`."""
        form = self._form(expression)
        types = (OBJECT, OBJECT) if form.head == EQUAL else self.domain.predicates.get(form.head)
        if types is None:
            self._refuse_head(form)
        terms = form.items[1:]
        if len(terms) != len(types):
            self.source.refuse(
                f"{format_expression(form)} has {len(terms)} terms, and {form.head} takes {len(types)}", form.line
            )
        return Atom(form.head, tuple(map(self._term, terms, types)))

    def _changed(self, expression: Expression) -> Atom:
        """Return the atom that an effect changes. Raises `UsageProblem` for `=`."""
        form = self._form(expression)
        if form.head == EQUAL:
            self.source.refuse("an effect cannot change =", form.line)
        return self.atom(form)

    def _negated(self, form: Form, read: Callable[[Expression], Atom] | None = None) -> Atom:
        if len(form.items) != 2:
            self.source.refuse(f"{format_expression(form)}: `not` takes one atom", form.line)
        inner = self._form(form.items[1])
        if inner.head in ("and", "not") and inner.head not in self.domain.predicates:
            self.source.refuse(f"`not` before `{inner.head}` is not supported", inner.line, SUPPORTED)
        return (read or self.atom)(inner)

    def _two(self, form: Form) -> tuple[Expression, Expression]:
        if len(form.items) != 3:
            self.source.refuse("`when` takes a condition and an effect", form.line)
        return form.items[1], form.items[2]

    def _is_cost(self, form: Form) -> bool:
        """Return whether a form only counts a cost, which decides nothing about whether a plan is valid."""
        return len(form.items) == 3 and function_name(form) in self.domain.functions

    def _term(self, item: Expression, wanted: str) -> str:
        if isinstance(item, Form):
            self.source.refuse(f"{format_expression(item)} stands where an object or a variable is needed", item.line)
        name = item.text
        known = self.variables if name.startswith("?") else self.objects
        kind = known.get(name)
        if kind is None:
            what = "variable" if name.startswith("?") else "object"
            self.source.refuse(f"{format_expression(item)} is no {what} here", item.line, near(name, known))
        if not (self.domain.is_a(kind, wanted) or self.domain.is_a(wanted, kind)):
            self.source.refuse(f"{format_expression(item)} has the type {kind}, and {wanted} is needed", item.line)
        return name

    def _form(self, expression: Expression) -> Form:
        if isinstance(expression, Word):
            self.source.refuse(f"{format_expression(expression)} stands where a ( is needed", expression.line)
        return expression

    def _refuse_head(self, form: Form) -> Never:
        name = form.head
        if not name:
            self.source.refuse(f"{format_expression(form)} does not begin with a name", form.line)
        if name in _OUTSIDE:
            self.source.refuse(f"`{name}` is not supported", form.line, SUPPORTED)
        self.source.refuse(
            f"the predicate {format_expression(form.items[0])} is not declared",
            form.line,
            near(name, self.domain.predicates),
        )


def function_name(form: Form) -> str:
    """Return the name of the function in `(= F VALUE)` or `(increase F VALUE)`; an empty text where none stands."""
    function = form.items[1] if len(form.items) > 1 else None
    return function.head if isinstance(function, Form) else function.text if function else ""
