"""Reads planning domains and problems from PDDL.

If a text has a part that Replan does not support, the error names the part, the file and the line. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, Never

from actors.files.suggestions import near
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
)
from replan_lab.pddl.expressions import Expression, Form, PddlFile, Word, format_expression, read_expressions

SUPPORTED = "supported: typed STRIPS, negative conditions, =, `when`, `oneof`"

_OUTSIDE = frozenset(
    (
        *("and", "or", "not", "imply", "forall", "exists", "when", "oneof", "preference", "probabilistic", "unknown"),
        *("over", "at", "assign", "increase", "decrease", "scale-up", "scale-down", "<", ">", "<=", ">="),
        *("always", "sometime"),
    )
)
"""The words that begin unsupported formulas of PDDL or of its extensions. If a domain declares such a word as a
predicate, the word is supported."""


@dataclass(frozen=True, slots=True)
class FormulaScope:
    """The names that formulas in one part of a file may use."""

    source: PddlFile
    domain: PddlDomain
    objects: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)

    def condition(self, expression: Expression) -> tuple[Literal, ...]:
        """Return a condition as literals that must all hold. Raises `UsageProblem`."""
        form = self._form(expression)
        if not form.items:
            return ()
        match form.head:
            case "and" if "and" not in self.domain.predicates:
                return tuple(literal for item in form.items[1:] for literal in self.condition(item))
            case "not" if "not" not in self.domain.predicates:
                return (Literal(self._read_negation(form), positive=False),)
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
                return Effect((Literal(self._read_negation(form, self._changed_atom), positive=False),))
            case "when":
                condition, effect = self._split_when(form)
                return Effect(conditional=(ConditionalEffect(self.condition(condition), self.effect(effect)),))
            case "oneof":
                if len(form.items) < 2:
                    self.source.refuse("`oneof` has no alternative", form.line, "give it two alternatives")
                return Effect(choices=(tuple(self.effect(item) for item in form.items[1:]),))
            case "increase" if self._is_cost(form):
                return Effect()
            case _:
                return Effect((Literal(self._changed_atom(form)),))

    def atom(self, expression: Expression) -> Atom:
        """Return an atom whose predicate and terms are declared. Raises `UsageProblem`."""
        form = self._form(expression)
        types = (OBJECT, OBJECT) if form.head == EQUAL else self.domain.predicates.get(form.head)
        if types is None:
            self._refuse_head(form)
        terms = form.items[1:]
        if len(terms) != len(types):
            self.source.refuse(
                f"{format_expression(form)} has {len(terms)} terms, but {form.head} takes {len(types)}", form.line
            )
        return Atom(form.head, tuple(map(self._term, terms, types)))

    def _changed_atom(self, expression: Expression) -> Atom:
        """Return the atom that an effect changes. Raises `UsageProblem` for `=`."""
        form = self._form(expression)
        if form.head == EQUAL:
            self.source.refuse("an effect cannot change =", form.line)
        return self.atom(form)

    def _read_negation(self, form: Form, read: Callable[[Expression], Atom] | None = None) -> Atom:
        if len(form.items) != 2:
            self.source.refuse(f"{format_expression(form)}: `not` takes one atom", form.line)
        inner = self._form(form.items[1])
        if inner.head in ("and", "not") and inner.head not in self.domain.predicates:
            self.source.refuse(f"`not` before `{inner.head}` is not supported", inner.line, SUPPORTED)
        return (read or self.atom)(inner)

    def _split_when(self, form: Form) -> tuple[Expression, Expression]:
        if len(form.items) != 3:
            self.source.refuse("`when` takes a condition and an effect", form.line)
        return form.items[1], form.items[2]

    def _is_cost(self, form: Form) -> bool:
        """Return whether a form only changes a cost. Costs do not matter for the validity of a plan."""
        return len(form.items) == 3 and _function_name(form) in self.domain.functions

    def _term(self, item: Expression, wanted: str) -> str:
        if isinstance(item, Form):
            self.source.refuse(f"{format_expression(item)} is not an object or a variable", item.line)
        name = item.text
        known = self.variables if name.startswith("?") else self.objects
        kind = known.get(name)
        if kind is None:
            what = "a declared variable" if name.startswith("?") else "a declared object"
            self.source.refuse(f"{format_expression(item)} is not {what}", item.line, near(name, known))
        if not (self.domain.is_a(kind, wanted) or self.domain.is_a(wanted, kind)):
            self.source.refuse(
                f"{format_expression(item)} has the type {kind}, but must have the type {wanted}", item.line
            )
        return name

    def _form(self, expression: Expression) -> Form:
        if isinstance(expression, Word):
            self.source.refuse(f"{format_expression(expression)} must be in parentheses", expression.line)
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


def _function_name(form: Form) -> str:
    """Return the name of the function F in `(= F VALUE)` or `(increase F VALUE)`; an empty text for any other form."""
    function = form.items[1] if len(form.items) > 1 else None
    return function.head if isinstance(function, Form) else function.text if function else ""


_REQUIREMENTS = frozenset(
    (
        *(":strips", ":typing", ":negative-preconditions", ":equality"),
        *(":conditional-effects", ":non-deterministic", ":action-costs"),
    )
)
"""The requirements whose constructs are all supported. Costs are read, but plans are not judged by their costs."""
_WIDER = frozenset(
    (
        *(":adl", ":disjunctive-preconditions", ":existential-preconditions"),
        *(":universal-preconditions", ":quantified-preconditions"),
    )
)
"""The requirements that many domains declare without using them. A domain is refused only if it uses an unsupported
construct of these requirements.
"""
_REFUSED = frozenset(
    (
        *(":fluents", ":numeric-fluents", ":object-fluents", ":durative-actions", ":duration-inequalities", ":time"),
        *(":continuous-effects", ":timed-initial-literals", ":timed-initial-effects", ":derived-predicates"),
        *(":domain-axioms", ":preferences", ":constraints", ":probabilistic-effects", ":rewards", ":mdp"),
        *(":contingent", ":partial-observability", ":hierarchy", ":method-preconditions", ":goal-utilities"),
        *(":multi-agent", ":unfactored-privacy", ":factored-privacy"),
    )
)
_SECTIONS_REFUSED = frozenset(
    (":durative-action", ":derived", ":axiom", ":constraints", ":process", ":event", ":task", ":method", ":htn")
)
ARITY_MAX = 100


def read_domain(text: str, name: str) -> PddlDomain:
    """Return the domain in a text; `name` is its file. Raises `UsageProblem` with file and line."""
    source = PddlFile(name)
    title, sections = _read_definition(text, source, "domain")
    once = (":requirements", ":types", ":constants", ":predicates", ":functions")
    by_head = _group_by_head(sections, source, once, ":action")
    _check_requirements(by_head, source)
    domain = PddlDomain(title, supertypes=_types(by_head.get(":types", ()), source), file=name)
    constants = _objects(by_head.get(":constants", ()), domain, source, {})
    domain = replace(
        domain,
        constants=constants,
        predicates=dict(_predicates(by_head.get(":predicates", ()), domain, source)),
        functions=frozenset(_functions(by_head.get(":functions", ()), source)),
    )
    actions: dict[str, ActionSchema] = {}
    for form in by_head.get(":action", ()):
        action = _action(form, domain, source)
        if action.name in actions:
            source.refuse(f"the action {action.name} is defined twice", form.line, "give each its own name")
        actions[action.name] = action
    return replace(domain, actions=actions)


def read_problem(text: str, name: str, domain: PddlDomain) -> PddlProblem:
    """Return the problem in a text; `name` is its file. Raises `UsageProblem` with file and line."""
    source = PddlFile(name)
    title, sections = _read_definition(text, source, "problem")
    heads = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")
    by_head = _group_by_head(sections, source, heads, "")
    _check_requirements(by_head, source)
    for head in (":init", ":goal"):
        if head not in by_head:
            source.refuse(
                f"the problem has no {head}", hint="name the file of the domain first, and then the file of the problem"
            )
    scope = FormulaScope(source, domain, _objects(by_head.get(":objects", ()), domain, source, domain.constants))
    [init], [goal] = by_head[":init"], by_head[":goal"]
    if len(goal.items) != 2:
        source.refuse(":goal takes one condition", goal.line, "join several conditions by `and`")
    initial = frozenset(_initial_atoms(init.items[1:], scope))
    return PddlProblem(title, scope.objects, initial, scope.condition(goal.items[1]))


def _read_definition(text: str, source: PddlFile, kind: str) -> tuple[str, Sequence[Form]]:
    """Return the name and the sections of `(define (KIND NAME) ...)`."""
    expressions = read_expressions(text, source)
    hint = f"a {kind} begins with (define ({kind} NAME)"
    if not expressions:
        source.refuse("the file is empty", hint=hint)
    first, *others = expressions
    if not isinstance(first, Form) or first.head != "define" or len(first.items) < 2:
        source.refuse(f"{format_expression(first)} is not (define ...)", first.line, hint)
    title = first.items[1]
    if not isinstance(title, Form) or title.head != kind or not all(isinstance(item, Word) for item in title.items):
        source.refuse(f"{format_expression(title)} is not ({kind} NAME)", title.line, hint)
    if others:
        source.refuse(
            f"{format_expression(others[0])} comes after the end of the {kind}",
            others[0].line,
            "remove a surplus closing parenthesis",
        )
    forms = []
    for item in first.items[2:]:
        if not isinstance(item, Form) or not item.head:
            source.refuse(
                f"{format_expression(item)} is not a section of a {kind}", item.line, "a section is (:name ...)"
            )
        forms.append(item)
    return " ".join(item.text for item in title.items[1:] if isinstance(item, Word)), forms


def _group_by_head(
    sections: Sequence[Form], source: PddlFile, known: Sequence[str], repeated: str
) -> Mapping[str, Sequence[Form]]:
    """Return the sections by their first words. Only the words in `repeated` may begin more than one section."""
    by_head = defaultdict[str, list[Form]](list)
    for form in sections:
        if form.head not in (*known, repeated):
            name = format_expression(form.items[0])
            if form.head in _SECTIONS_REFUSED:
                source.refuse(f"`{name}` is not supported", form.line, SUPPORTED)
            source.refuse(f"the section `{name}` is unknown", form.line, near(form.head, (*known, repeated)))
        if form.head in by_head and form.head != repeated:
            source.refuse(f"the section {form.head} is given twice", form.line, "join the two sections")
        by_head[form.head].append(form)
    return by_head


def _check_requirements(by_head: Mapping[str, Sequence[Form]], source: PddlFile) -> None:
    for form in by_head.get(":requirements", ()):
        for item in form.items[1:]:
            name = format_expression(item)
            if name in _REFUSED:
                source.refuse(f"the requirement `{name}` is not supported", item.line, SUPPORTED)
            if name not in _REQUIREMENTS and name not in _WIDER:
                close = near(name, _REQUIREMENTS | _WIDER)
                source.refuse(f"the requirement `{name}` is unknown", item.line, close or SUPPORTED)


def _read_typed_names(items: Sequence[Expression], source: PddlFile) -> Iterator[tuple[Word, Word | None]]:
    """Yield each name in a typed list with its type, or with None if the list has no type for the name."""
    names: list[Word] = []
    rest = iter(items)
    for item in rest:
        if isinstance(item, Form):
            source.refuse(f"{format_expression(item)} cannot be in a list of names", item.line)
        if not item.text.startswith("-"):
            names.append(item)
            continue
        kind = next(rest, None) if item.text == "-" else Word(item.text[1:], item.line)
        if isinstance(kind, Form):
            what = "`either`" if kind.head == "either" else format_expression(kind)
            source.refuse(f"{what} as a type is not supported", kind.line, "name one type")
        if kind is None or not names:
            source.refuse("a - needs a name before it and a type after it", item.line)
        yield from ((name, kind) for name in names)
        names = []
    yield from ((name, None) for name in names)


def _types(forms: Sequence[Form], source: PddlFile) -> dict[str, str]:
    above: dict[str, str] = {}
    for form in forms:
        for name, kind in _read_typed_names(form.items[1:], source):
            parent = OBJECT if kind is None else kind.text
            if name.text == OBJECT:
                continue
            if above.get(name.text, parent) != parent:
                source.refuse(f"the type {format_expression(name)} is declared twice", name.line)
            above[name.text] = parent
        for parent in list(above.values()):
            above.setdefault(parent, OBJECT)
        above.pop(OBJECT, None)
        _check_cycles(above, form.line, source)
    return above


def _check_cycles(above: Mapping[str, str], line: int, source: PddlFile) -> None:
    fine = {OBJECT}
    for first in above:
        chain, name = dict[str, None](), first
        while name not in fine:
            if name in chain:
                source.refuse(f"the supertypes of {name} form a cycle", line, "let each chain of types end in object")
            chain[name] = None
            name = above[name]
        fine.update(chain)


def _type_of(kind: Word | None, domain: PddlDomain, source: PddlFile) -> str:
    if kind is None or kind.text == OBJECT:
        return OBJECT
    if kind.text not in domain.supertypes:
        source.refuse(
            f"the type {format_expression(kind)} is not declared", kind.line, near(kind.text, domain.supertypes)
        )
    return kind.text


def _objects(forms: Sequence[Form], domain: PddlDomain, source: PddlFile, before: Mapping[str, str]) -> dict[str, str]:
    objects = dict(before)
    for form in forms:
        for name, kind in _read_typed_names(form.items[1:], source):
            typed = _type_of(kind, domain, source)
            if name.text.startswith("?"):
                source.refuse(f"{format_expression(name)} is a variable, not an object", name.line)
            if objects.get(name.text, typed) != typed:
                source.refuse(f"the object {format_expression(name)} is declared twice", name.line, "give it one type")
            objects[name.text] = typed
    return objects


def _parameters(
    form: Form, items: Sequence[Expression], domain: PddlDomain, source: PddlFile
) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for name, kind in _read_typed_names(items, source):
        if not name.text.startswith("?"):
            source.refuse(f"{format_expression(name)} is not a variable", name.line, "a variable begins with ?")
        if name.text in found:
            source.refuse(f"the variable {format_expression(name)} is declared twice", name.line)
        found[name.text] = _type_of(kind, domain, source)
    if len(found) > ARITY_MAX:
        source.refuse(f"{len(found):,} parameters are too many; at most {ARITY_MAX} are allowed", form.line)
    return tuple(found.items())


def _predicates(forms: Sequence[Form], domain: PddlDomain, source: PddlFile) -> Iterator[tuple[str, tuple[str, ...]]]:
    seen: set[str] = set()
    for form in forms:
        for item in form.items[1:]:
            if not isinstance(item, Form) or not item.head:
                source.refuse(
                    f"{format_expression(item)} is not a predicate", item.line, "a predicate is (name ?x - type)"
                )
            if item.head in seen:
                source.refuse(f"the predicate {format_expression(item.items[0])} is declared twice", item.line)
            seen.add(item.head)
            yield item.head, tuple(kind for _, kind in _parameters(item, item.items[1:], domain, source))


def _functions(forms: Sequence[Form], source: PddlFile) -> Iterator[str]:
    for form in forms:
        for item in form.items[1:]:
            if isinstance(item, Form):
                if not item.head:
                    source.refuse(f"{format_expression(item)} is not a function", item.line)
                yield item.head


def _action(form: Form, domain: PddlDomain, source: PddlFile) -> ActionSchema:
    name = form.items[1] if len(form.items) > 1 else None
    if not isinstance(name, Word) or name.text.startswith(":"):
        source.refuse("an action has no name", form.line, "(:action NAME :parameters (...) ...)")
    parts: dict[str, Expression] = {}
    rest = iter(form.items[2:])
    for key in rest:
        value = next(rest, None)
        if not isinstance(key, Word) or key.text not in (":parameters", ":precondition", ":effect"):
            source.refuse(f"`{format_expression(key)}` in an action is not supported", key.line, SUPPORTED)
        if value is None or key.text in parts:
            why = "has no value" if value is None else "is given twice"
            source.refuse(f"{key.text} of the action {format_expression(name)} {why}", key.line)
        parts[key.text] = value
    listed = parts.get(":parameters", Form((), form.line))
    if isinstance(listed, Word):
        source.refuse("the parameters of an action must be in parentheses", listed.line)
    parameters = _parameters(form, listed.items, domain, source)
    scope = FormulaScope(source, domain, domain.constants, dict(parameters))
    condition = scope.condition(parts[":precondition"]) if ":precondition" in parts else ()
    effect = scope.effect(parts[":effect"]) if ":effect" in parts else Effect()
    return ActionSchema(name.text, parameters, condition, effect, form.line)


def _initial_atoms(items: Sequence[Expression], scope: FormulaScope) -> Iterator[Atom]:
    """Yield the atoms that hold at the beginning.

    Negated atoms are skipped, because atoms that are not listed do not hold.
    """
    for item in items:
        if isinstance(item, Form) and item.head == "=" and _function_name(item) in scope.domain.functions:
            continue
        for literal in _single(item, scope):
            if literal.positive:
                yield literal.atom


def _single(item: Expression, scope: FormulaScope) -> tuple[Literal, ...]:
    if isinstance(item, Form) and item.head == "and" and "and" not in scope.domain.predicates:
        scope.source.refuse("`and` in :init is not supported", item.line, "list the atoms")
    return scope.condition(item)


class PddlTexts(NamedTuple):
    """A planning domain and a problem, as texts in PDDL."""

    domain: str
    problem: str


@lru_cache(maxsize=16)
def task_in(texts: PddlTexts, domain: str = "domain", problem: str = "problem") -> tuple[PddlDomain, PddlProblem]:
    """Return the domain and the problem in texts; `domain` and `problem` are the names of their files.

    Raises:
        UsageProblem: the texts cannot be read. The error names the file and the line.
    """
    read = read_domain(texts.domain, domain)
    return read, read_problem(texts.problem, problem, read)


def specification(texts: PddlTexts) -> str:
    """Return a task as the problem text of a run.

    The text has two blocks of code, so that Replan finds no demands in it.

    The text does not have the comments of the PDDL files, because comments are for people. Raises the errors of
    `task_in`.
    """
    domain, problem = task_in(texts)
    title = f"{problem.name or 'problem'} ({domain.name or 'domain'}, PDDL)"
    blocks = (f"```pddl\n{_strip_comments(text)}\n```" for text in texts)
    return "\n\n".join((title, *blocks))


_BLOCKS = re.compile(r"^```pddl\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


def texts_in(problem: str) -> PddlTexts | None:
    """Return the domain and the problem that the problem text of a run contains; None if the text has no PDDL."""
    blocks = _BLOCKS.findall(problem)
    return PddlTexts(*blocks) if len(blocks) == len(PddlTexts._fields) else None


def _strip_comments(text: str) -> str:
    lines = (line.split(";", 1)[0].rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line).strip()
