"""The base class of the models that describe configuration files, and the error that their validators raise."""

from functools import cache
from typing import Any

from pydantic import AliasChoices, model_validator
from pydantic_core import PydanticCustomError

from actors.files.document import KeyPath
from actors.files.suggestions import nearest
from runtime.core.events import Value

CONFIG_ERROR = "config"
"""The pydantic error type of `config_error`."""


def config_error(cause: str, path: KeyPath = (), hint: str = "") -> PydanticCustomError:
    """Return the error for a validator to raise; `path` is relative to the model whose validator it is."""
    return PydanticCustomError(CONFIG_ERROR, "{cause}", {"cause": cause, "path": path, "hint": hint})


class Config(Value):
    """A frozen value read from a file; the error for an unknown key names the nearest valid one.

    The texts under a model's fields are its documentation for editors too: `actors.files.field_docs` makes them the
    descriptions of a JSON Schema.
    """

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = keys_of(cls)
            for key in data:
                if key not in known:
                    raise config_error(f"unknown key {key!r}", (key,), nearest(str(key), known, kind="valid keys"))
        return data


@cache
def keys_of(model: type[Value]) -> frozenset[str]:
    """Return the keys that a model's fields have in a file, aliases included."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        names.update(str(choice) for choice in alias.choices) if isinstance(alias, AliasChoices) else names.add(name)
    return frozenset(names)
