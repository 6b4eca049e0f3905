"""Bringing a Postgres journal to this release: its tables, and the rights of roles."""

from collections.abc import Callable, Mapping
from contextlib import closing

import psycopg

from runtime.core.errors import UsageProblem
from runtime.journal.postgres import schema
from runtime.journal.postgres.address import DatabaseAddress
from runtime.journal.postgres.connecting import Connection, connect
from runtime.journal.postgres.failures import explain

Beside = Callable[[Connection, str], schema.Rights]
"""Makes further tables, and returns the rights to them by the kind of the role; gets the place for messages."""


def upgrade(address: DatabaseAddress, roles: Mapping[str, str], beside: Beside = lambda _, __: {}) -> int:
    """Upgrade a journal and return its version; `roles` has the name of a role for kinds of `schema.ROLES`.

    Raises `JournalNewer`, `JournalUnreachable`, `JournalUnreadable`, and `UsageProblem` for a role that does not exist.
    """
    try:
        with closing(connect(address)) as connection:
            version = schema.upgrade(connection, address.place)
            schema.grant(connection, dict(roles), beside(connection, address.place))
            return version
    except psycopg.errors.UndefinedObject as error:
        hint = "make the role first: CREATE ROLE NAME LOGIN"
        raise UsageProblem(address.shown(str(error)), place=address.place, hint=hint) from None
    except psycopg.Error as error:
        raise explain(address, error) from error
