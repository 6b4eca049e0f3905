"""Formulas: arithmetic over the names of fields. A formula is parsed into nodes of fixed types.

A formula is never executed as code.

A formula has numbers, names such as `market.buildings`, `+ - * / **`, parentheses, and the functions `min`, `max` and
`sum`.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

from replan_acquire.quantities import measures
from replan_acquire.quantities.measures import Measure
from replan_acquire.quantities.quantity import MAGNITUDE_MAX

FORMULA_CHARACTERS_MAX = 2000
NODES_MAX = 400
DEPTH_MAX = 40
"""The largest number of nesting levels in a formula. A chain such as `a + b + c` is nested as deeply as it is long."""

Operator = Literal["+", "-", "*", "/", "**"]
Function = Literal["min", "max", "sum"]


@dataclass(frozen=True, slots=True)
class Number:
    """A plain number in a formula."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """The path of a field in a formula, such as `market.buildings`."""

    path: str


@dataclass(frozen=True, slots=True)
class Negated:
    """A term with a minus sign."""

    term: "Node"


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """Two terms joined by an operator."""

    operator: Operator
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """A call of a function with at least one term."""

    function: Function
    arguments: "tuple[Node, ...]"


Node: TypeAlias = Number | Name | Negated | BinaryOperation | FormulaCall


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula."""

    text: str
    root: Node
    names: tuple[str, ...]
    """The paths of the fields in the formula, each once, in order."""
    numbers: tuple[float, ...]
    """The plain numbers in the formula, each once, in order."""


class FormulaUnreadable(ValueError):
    """A text is not a formula. The message says what is wrong."""


_OPERATORS: Mapping[type[ast.operator], Operator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_FUNCTIONS: Mapping[str, Function] = {"min": "min", "max": "max", "sum": "sum"}


@lru_cache(maxsize=1024)
def parse_formula(text: str) -> Formula:
    """Parse a formula. Raises `FormulaUnreadable`."""
    if len(text) > FORMULA_CHARACTERS_MAX:
        raise FormulaUnreadable(f"the formula has more than {FORMULA_CHARACTERS_MAX} characters")
    if not text.strip():
        raise FormulaUnreadable("the formula is empty")
    if found := re.search(r"[^\w\s.+\-*/(),]", text):
        raise FormulaUnreadable(f"a formula must not contain {found[0]!r}")
    try:
        tree = ast.parse(" ".join(text.split()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaUnreadable("a formula may contain only arithmetic and names of fields") from None
    reader = _Reader()
    root = reader.node(tree.body, 0)
    return Formula(text, root, tuple(dict.fromkeys(reader.names)), tuple(dict.fromkeys(reader.numbers)))


class _Reader:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers: list[float] = []
        self.count = 0

    def node(self, tree: ast.expr, depth: int) -> Node:
        self.count += 1
        if self.count > NODES_MAX or depth > DEPTH_MAX:
            raise FormulaUnreadable(f"the formula has more than {NODES_MAX} parts or {DEPTH_MAX} levels of nesting")
        match tree:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._number(value)
            case ast.Name() | ast.Attribute():
                path = self._path(tree)
                self.names.append(path)
                return Name(path)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negated(self.node(operand, depth + 1))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.node(operand, depth + 1)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                first, second = self.node(left, depth + 1), self.node(right, depth + 1)
                return BinaryOperation(_OPERATORS[type(operator)], first, second)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
                return FormulaCall(_FUNCTIONS[name], tuple(self.node(argument, depth + 1) for argument in arguments))
            case ast.Call():
                raise FormulaUnreadable("the only functions are min, max and sum, and each needs at least one term")
            case _:
                raise FormulaUnreadable(
                    "a formula may contain only numbers, names of fields, + - * / **, parentheses, min, max and sum"
                )

    def _number(self, value: float) -> Number:
        if abs(value) > MAGNITUDE_MAX:
            raise FormulaUnreadable(f"the formula has a number over {MAGNITUDE_MAX:g}")
        self.numbers.append(float(value))
        return Number(float(value))

    def _path(self, tree: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(tree, ast.Attribute):
            parts.append(tree.attr)
            tree = tree.value
        if not isinstance(tree, ast.Name):
            raise FormulaUnreadable("a name must be words joined by points, such as market.buildings")
        return ".".join([tree.id, *reversed(parts)])


_BINARY: Mapping[Operator, Callable[[Measure, Measure], Measure]] = {
    "+": measures.add,
    "-": measures.subtract,
    "*": measures.multiply,
    "/": measures.divide,
    "**": measures.power,
}
_OF_MANY: Mapping[Function, Callable[[Sequence[Measure]], Measure]] = {
    "min": measures.least,
    "max": measures.greatest,
    "sum": measures.total,
}


def evaluate(node: Node, values: Mapping[str, Measure]) -> Measure:
    """Return the value of a part of a formula.

    `values` must have a value for each name in this part. Raises `Blockage` if the part has no value, such as after a
    division by zero.
    """
    match node:
        case Number(value=value):
            return Measure(value, value)
        case Name(path=path):
            return values[path]
        case Negated(term=term):
            return measures.negate(evaluate(term, values))
        case BinaryOperation(operator=operator, left=left, right=right):
            return _BINARY[operator](evaluate(left, values), evaluate(right, values))
        case FormulaCall(function=function, arguments=arguments):
            return _OF_MANY[function]([evaluate(argument, values) for argument in arguments])
        case _:
            assert_never(node)
