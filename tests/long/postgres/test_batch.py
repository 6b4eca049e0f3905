"""Rows that go to the server as arrays come back as they were, whatever they hold."""

import math

import psycopg
import pytest

from runtime.journal.postgres.batch import StatementBatch

ROWS = [
    (1, 2.5, True, b"bytes", "text"),
    (-(2**63), -0.0, False, b"", ""),
    (2**63 - 1, 1e-300, None, bytes(range(256)), '"quoted" \\ {braces}, NULL, null'),
    (None, None, True, None, None),
    (0, 0.1 + 0.2, False, b"\\x00", "é\n\u2028\U0001f600"),
    (7, math.inf, True, b'"', "NULL"),
]


def test_rows_of_all_types_come_back_as_they_were(server):
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        batch = StatementBatch(connection)
        types = ("bigint", "float8", "boolean", "bytea", "text")
        answer = batch.add_for("SELECT * FROM {rows}", ROWS, types)
        numbers = batch.add_for("SELECT * FROM {rows}", [(1,), (None,), (-2,)], ("integer",))
        batch.run()
    assert [tuple(row) for row in answer.rows] == ROWS
    assert [math.copysign(1, row[1]) for row in answer.rows if row[1] == 0] == [-1.0]
    assert [number for (number,) in numbers.rows] == [1, None, -2]


def test_a_number_that_is_too_large_is_refused(server):
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        batch = StatementBatch(connection)
        batch.add_for("SELECT * FROM {rows}", [(2**63,)], ("bigint",))
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            batch.run()
