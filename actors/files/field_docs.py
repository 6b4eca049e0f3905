"""The docstrings of fields, for schemas and pages: read from the source when they are asked for, not at every start.

Pydantic can read them while it makes a class, but that takes a third of a short command's time.
"""

import ast
import inspect
import itertools
import textwrap
from functools import cache

from actors.files.validation_errors import Config
from runtime.core.events import Value

NESTING_MAX = 3
"""How often all models are made anew: each time, a description reaches one more level of the models around it."""


def field_docs(model: type) -> dict[str, str]:
    """Return the docstring below each field of a class, its own or inherited."""
    docs: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if owner.__module__.split(".")[0] in ("actors", "replan", "runtime", "tests"):
            docs |= _own_docs(owner)
    return docs


@cache
def _own_docs(owner: type) -> dict[str, str]:
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(tree, ast.ClassDef)
    docs = {}
    for field, doc in itertools.pairwise(tree.body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
            docs[field.target.id] = inspect.cleandoc(str(doc.value.value))
    return docs


def describe_models() -> None:
    """Give the fields of all imported models of configuration files their docstrings as descriptions."""
    models, changed = _all_below(Value), False
    for model in models:
        docs = field_docs(model) if issubclass(model, Config) else {}
        for name, field in model.model_fields.items():
            if field.description is None and name in docs:
                field.description, changed = docs[name], True
    for _ in range(NESTING_MAX if changed else 0):
        for model in models:
            model.model_rebuild(force=True)


def _all_below(model: type[Value]) -> list[type[Value]]:
    """Return all subclasses."""
    models: list[type[Value]] = []
    for subclass in model.__subclasses__():
        models += [subclass, *_all_below(subclass)]
    return models
