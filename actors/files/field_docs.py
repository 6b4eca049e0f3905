"""The docstrings of fields, for schemas and pages: read from the source when they are asked for, not at every start.

Pydantic can read them while it makes a class, but that takes a third of a short command's time.
"""

import ast
import inspect
import itertools
import textwrap
from functools import cache

from actors.files.config_model import Config
from runtime.core.events import Value


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


@cache
def describe_models() -> None:
    """Give the fields of all models of configuration files that are imported their docstrings as descriptions, once."""
    for model in _all_below(Value):
        if issubclass(model, Config):
            docs = field_docs(model)
            for name, field in model.model_fields.items():
                if field.description is None:
                    field.description = docs.get(name)
        model.model_rebuild(force=True)


def _all_below(model: type[Value]) -> list[type[Value]]:
    """Return the subclasses in the order of their definition, so that a part comes before what it is a part of."""
    models: list[type[Value]] = []
    for each in model.__subclasses__():
        models += [each, *_all_below(each)]
    return models
