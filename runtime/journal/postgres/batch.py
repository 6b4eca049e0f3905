"""Statements that go to the server as one message, so that many of them cost one round trip.

It is a message of the simple protocol, with the values written into it as libpq escapes them. psycopg's pipelines would
sometimes save a round trip. But they end with a Flush, at which a server stops its limit for idle transactions. Then a
client that freezes between two messages would keep its locks for ever.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg


@dataclass(slots=True)
class StatementResult:
    """What a statement of a batch gave; complete after `StatementBatch.run`."""

    rows: list[Any] = field(default_factory=list)
    count: int = 0
    """How many rows it gave or changed."""


class StatementBatch:
    """Collects statements, and runs them in order; the first that fails ends it."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._cursor = psycopg.ClientCursor[Any](connection)
        self._statements: list[str] = []
        self._answers: list[StatementResult] = []

    def add(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> StatementResult:
        """Add a statement, and return where its answer will be. Raises `psycopg.Error` for a value of no type."""
        self._statements.append(self._cursor.mogrify(statement, values) if values else statement)
        answer = StatementResult()
        self._answers.append(answer)
        return answer

    def add_for(
        self, statement: str, rows: Iterable[Sequence[Any]], types: Sequence[str], *more: Any
    ) -> StatementResult:
        """Add a statement about rows, which it names as `{rows}`, with further values; nothing where there are none."""
        listed = list(rows)
        if not listed:
            return StatementResult()
        columns = [array(kind, column) for kind, column in zip(types, zip(*listed, strict=True), strict=True)]
        arrays = ", ".join(f"%s::{kind}[]" for kind in types)
        return self.add(statement.format(rows=f"unnest({arrays})"), [*columns, *more])

    def run(self) -> None:
        """Send the statements, and take all answers. Raises `psycopg.Error`."""
        cursor = self._cursor
        cursor.execute("; ".join(self._statements))
        for answer in self._answers:
            answer.count = cursor.rowcount
            answer.rows = cursor.fetchall() if cursor.description is not None else []
            cursor.nextset()


def array(kind: str, values: Sequence[Any]) -> object:
    """Return a value for an array of a type: as the server's text where that is short to write, else as a list.

    psycopg looks at each element for what it has to quote, which takes a third of the writer's time. Numbers, truth
    values and bytes in hex need no quoting.
    """
    match kind:
        case "bigint" | "integer":
            texts = ["NULL" if value is None else str(int(value)) for value in values]
        case "float8":
            texts = ["NULL" if value is None else repr(float(value)) for value in values]
        case "boolean":
            texts = ["NULL" if value is None else "tf"[not value] for value in values]
        case "bytea":
            texts = ["NULL" if value is None else f'"\\\\x{value.hex()}"' for value in values]
        case _:
            return list(values)
    return f"{{{','.join(texts)}}}"
