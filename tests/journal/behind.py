"""Looking at, and changing, the file behind the journal's back."""

import apsw


def change(path, statement, *bindings):
    """Change the file behind the journal's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement, bindings)
    connection.close()


def query(path, statement):
    """Return the rows that a statement gives."""
    connection = apsw.Connection(str(path))
    rows = list(connection.execute(statement))
    connection.close()
    return rows
