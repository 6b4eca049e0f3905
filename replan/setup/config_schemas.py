"""Writes the JSON Schemas of workflow, prompts, policy, tools and config files. Editors use the schemas for completion.

`python -m replan.setup.config_schemas FOLDER` writes the schemas. A test compares them with the committed schemas.
"""

import ast
import inspect
import itertools
import sys
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson
from pydantic import BaseModel

from actors.config.workflow import Workflow
from actors.files.validation_errors import Config
from actors.policy.table import Policy
from actors.prompting.book import PromptsFile
from actors.tools.tools_file import ToolsFile
from replan.setup.settings import SETTINGS, UserConfig, config_model
from runtime.core.events import Value

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "config": UserConfig,
    "policy": Policy,
    "prompts": PromptsFile,
    "tools": ToolsFile,
    "workflow": Workflow,
}
"""A mapping from the name of a JSON Schema to the pydantic model of the files that this schema describes."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


NESTING_MAX = 3
"""How often `describe_models` rebuilds all pydantic models. Each rebuild copies the descriptions of nested models one
level up.
"""


def field_docs(model: type) -> dict[str, str]:
    """Return a mapping from each field of a class, including inherited fields, to the docstring below the field.

    The docstrings are read from the source file. Pydantic could read them when it creates a class, but this would take
    a third of a short command's time.
    """
    docs: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, Value) and owner.__module__:  # `config_model` makes classes without a module
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
    """Set the descriptions of the fields of all imported `Config` models to the docstrings of the fields."""
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
    models: list[type[Value]] = []
    for subclass in model.__subclasses__():
        models += [subclass, *_all_below(subclass)]
    return models


def schema_text(model: type[BaseModel]) -> str:
    """Return the JSON Schema of a model, as the text of a schema file.

    The schema of the config file (`UserConfig`) includes the keys of every installed distribution that can be loaded.
    """
    if model is UserConfig:
        model = config_model(name for name, found in SETTINGS.installed.items() if not SETTINGS.problem(found))
    describe_models()
    schema = {"$schema": _DIALECT, **model.model_json_schema()}
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def write_schemas(folder: Path, models: Mapping[str, type[BaseModel]] = SCHEMAS) -> None:
    """Write a file `NAME.schema.json` for every model into a folder."""
    for name, model in models.items():
        (folder / f"{name}.schema.json").write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
