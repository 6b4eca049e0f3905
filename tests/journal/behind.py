"""Looking at, and changing, the file behind the journal's back."""

from contextlib import closing

import apsw


def change(path, statement, *bindings):
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(statement, bindings)


def query(path, statement):
    with closing(apsw.Connection(str(path))) as connection:
        return list(connection.execute(statement))
