"""Lists the names that a journal holds: of events, of the values in them, of their words, and of the file's tables.

A journal lives longer than the code that writes it. What stands in one is a kind, a key, a word of a closed set, a
default that is left out, or the form of an id; the names of classes and modules do not, so nothing here says them: each
class has a name of its own for this list, which whoever asks gives.

Nothing of the product is imported here. `python -m tests.journal.list_stored_names` prints the list as JSON, from what
`test_frozen_names` names.
"""

import collections.abc
import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

PLAIN = {str: "text", int: "integer", float: "number", bool: "boolean", type(None): "null", Any: "anything"}
LISTS = (tuple, list, set, frozenset, collections.abc.Sequence)
LINE_MAX = 110
OBJECTS = (dict, collections.abc.Mapping)


@dataclasses.dataclass(frozen=True)
class Names:
    """Names the types of stored values: `named` are the classes that are no events, `events` the members of the union.

    `met` are the classes of which a value may be stored.
    """

    named: Mapping[type, str]
    events: Sequence[type[BaseModel]]
    met: set[type] = dataclasses.field(default_factory=set)

    def __call__(self, kind: Any) -> str:
        """Return a type in words. Raises `AssertionError` for a class without a name."""
        assert not isinstance(kind, str | typing.ForwardRef), f"{kind!r} is not resolved"
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self(parts[0])
        if origin is typing.Literal:
            return f"one of {', '.join(repr(to_jsonable_python(part)) for part in parts)}"
        if origin in (typing.Union, types.UnionType):
            return " or ".join(dict.fromkeys(self(part) for part in parts))
        if origin in LISTS:
            return f"list of {' and '.join(self(part) for part in parts if part is not ...)}"
        if origin in OBJECTS:
            return f"object of {self(parts[1])}"
        if kind in PLAIN:
            return PLAIN[kind]
        if kind in self.events:
            return f"event {kind_of(kind)}"
        assert kind in self.named, f"a journal may hold a {kind!r}: give it a name"
        self.met.add(kind)
        return self.named[kind]


def kind_of(event: type[BaseModel]) -> str:
    """Return what an event of a class is called in a journal."""
    return str(event.model_fields["kind"].default)


def names_of_events(events: Sequence[type[BaseModel]], names: Names) -> dict[str, Any]:
    """Return the keys of each event by its kind, and which of them are texts that are stored apart."""
    return {
        kind_of(event): {
            "keys": {key: shape for key, shape in keys_of(event, names).items() if key != "kind"},
            "texts": sorted(event.texts),
        }
        for event in events
    }


def names_of_values(roots: Sequence[type], names: Names) -> dict[str, Any]:
    """Return the keys of each class that a stored value may have, by its name: those met, the roots and those below."""
    found: dict[type, dict[str, Any]] = {}
    todo = [*roots, *names.met]
    while todo:
        one = todo.pop()
        if one not in found and not issubclass(one, Enum):
            assert one in names.named, f"a journal may hold a {one!r}: give it a name"
            found[one] = keys_of(one, names)
            todo += names.met
    return {names.named[one]: keys for one, keys in sorted(found.items(), key=lambda item: names.named[item[0]])}


def words_of(enums: Mapping[type[Enum], str]) -> dict[str, Any]:
    """Return the words of each closed set, by its name."""
    return {name: [str(word.value) for word in words] for words, name in enums.items()}


def keys_of(one: type, names: Names) -> dict[str, Any]:
    """Return the keys of an object that holds a value of a class, each with its type, and its default if it has one."""
    return {key: {"type": names(kind), **default} for key, kind, default in _fields(one)}


def _fields(one: type) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    if issubclass(one, BaseModel):
        for name, field in one.model_fields.items():
            has = not field.is_required()
            default = {"default": to_jsonable_python(field.get_default(call_default_factory=True))} if has else {}
            yield field.serialization_alias or name, field.annotation, default
        return
    kinds = typing.get_type_hints(one)
    for field in dataclasses.fields(one):
        assert field.default_factory is dataclasses.MISSING, f"{one.__name__}.{field.name} has a factory"
        has = field.default is not dataclasses.MISSING
        yield field.name, kinds[field.name], {"default": to_jsonable_python(field.default)} if has else {}


def names_of_tables(connection: Any) -> dict[str, Any]:
    """Return the tables and indexes of a SQLite file, each column with what its declaration says."""
    marks = {name: connection.pragma(name) for name in ("application_id", "user_version")}
    found: dict[str, Any] = {**marks, "tables": {}, "indexes": {}}
    tables = "SELECT name, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'"
    columns = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)'
    for table, without_rowid, strict in sorted(connection.execute(tables)):
        found["tables"][table] = {
            "strict": bool(strict),
            "without_rowid": bool(without_rowid),
            "columns": {
                name: {"type": kind, "not_null": bool(filled), "default": default, "place_in_key": place}
                for name, kind, filled, default, place in connection.execute(columns, (table,))
            },
        }
    indexes = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    found["indexes"] = dict(connection.execute(indexes))
    return found


def lost(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each name that was there before and is not there now, or means something else.

    Of lists the order does not count: they are sets of words.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key, value in before.items():
            if key not in now:
                yield f"{path}.{key} is gone".lstrip(".")
            else:
                yield from lost(value, now[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(now, list) and not path.endswith(".default"):
        yield from (f"{path} has no {word!r}".lstrip(".") for word in before if word not in now)
    elif before != now:
        yield f"{path} was {before!r} and is {now!r}".lstrip(".")


def pretty(value: Any, indent: str = "") -> str:
    """Return a JSON value as text, in which whatever fits into a line has one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or (len(indent) + len(line) < LINE_MAX and indent):
        return line
    inner = f"{indent} "
    members = (f"{inner}{json.dumps(key, ensure_ascii=False)}: {pretty(one, inner)}" for key, one in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


if __name__ == "__main__":
    from tests.journal.test_frozen_names import stored_names

    print(pretty(stored_names()))
