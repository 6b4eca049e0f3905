"""The places of a source text that a mutant changes: comparisons, operators, constants, statements.

A mutant changes one place. Annotations, decorators, docstrings and assertions are left alone: no test of behaviour can
see a change there. A truth value that is returned changes to the other one, never to None, which may mean the same.
"""

import ast
from typing import NamedTuple

_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}


class Site(NamedTuple):
    sort: str
    """What is changed: `comparison`, `boolean`, `operator`, `constant`, `statement` or `result`."""
    line: int
    """The line of the place, from 1."""
    begin: int
    """Where the place begins, in characters of the text."""
    end: int
    """Where it ends."""
    before: str
    """What stands there."""
    after: str
    """What the mutant has there."""

    def applied(self, source):
        return source[: self.begin] + self.after + source[self.end :]


def sites(source):
    """Return all places of a source text, in its order."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda site: (site.begin, site.end, site.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, source):
        self.source, self.found = source, []
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def _place(self, line, column):
        text = self.source[self.starts[line - 1] : self.starts[line]]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def _add(self, sort, node, after):
        begin, end = self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)
        before = self.source[begin:end]
        if isinstance(after, ast.expr):
            after = f"({ast.unparse(ast.fix_missing_locations(after))})"
        self.found.append(Site(sort, node.lineno, begin, end, before, after))

    def visit_FunctionDef(self, node):
        for each in (*node.args.defaults, *(default for default in node.args.kw_defaults if default)):
            self.visit(each)
        for each in node.body:
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node):
        for each in node.body:
            self.visit(each)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node):
        pass

    def visit_If(self, node):
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self._add("statement", node, "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node):
        self._add("statement", node, "pass")
        self.visit(node.value)

    def visit_Return(self, node):
        if node.value is not None:
            if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool | None)):
                self._add("result", node, "return None")
            self.visit(node.value)

    def visit_Compare(self, node):
        if type(node.ops[0]) in _COMPARISONS:
            operators = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
            self._add("comparison", node, ast.Compare(node.left, operators, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add("boolean", node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self._add("boolean", node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in _OPERATORS:
            self._add("operator", node, ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self._add("constant", node, repr(not node.value))
        elif isinstance(node.value, int):
            self._add("constant", node, repr(node.value + 1))

    def visit_JoinedStr(self, node):
        pass  # A place within it has no position of its own before Python 3.12.
