"""The tables of a Postgres journal, in their own schema, and the rights of the roles that use them.

`runs` has the values that change with every append. The rows of `runs` have room for their next version, so an append
changes no index. The indexes of the columns `due` and `unread` have only the rows that a host must find. The column
`asked` has the open questions that lists show. Events name their texts by hash. The table `named_texts` repeats these
hashes, so the database refuses to delete a text that an event names.

`journal.version` is the version of the journal (`runtime.journal.port`).
"""

from collections.abc import Mapping

from psycopg import errors, sql

from replan_server.postgres.connecting import BEGIN, Connection, roll_back
from runtime.core.errors import JournalDamaged, JournalUnreadable
from runtime.journal.port import VERSION, before_first, check_version

SCHEMA = "replan"

FIRST = (
    "CREATE SCHEMA replan",
    "CREATE TABLE replan.journal (one boolean PRIMARY KEY CHECK (one), version integer NOT NULL)",
    """CREATE TABLE replan.runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text COLLATE "C" NOT NULL UNIQUE,
  title text NOT NULL,
  kind text COLLATE "C" NOT NULL,
  format integer NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  created double precision NOT NULL,
  updated double precision NOT NULL,
  status text COLLATE "C" NOT NULL,
  detail text NOT NULL,
  waiting_since double precision,
  next_wake double precision,
  due double precision,
  unread boolean NOT NULL,
  last_seq bigint NOT NULL,
  last_hash bytea NOT NULL,
  last_posted bigint NOT NULL,
  last_consumed bigint NOT NULL,
  owner text COLLATE "C",
  lease_end double precision NOT NULL,
  epoch bigint NOT NULL,
  calls bigint NOT NULL,
  tokens bigint NOT NULL,
  micro_usd bigint NOT NULL,
  day bigint NOT NULL,
  calls_before bigint NOT NULL,
  micro_usd_before bigint NOT NULL,
  near text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 70)""",
    "CREATE INDEX runs_due ON replan.runs (due) WHERE due IS NOT NULL",
    "CREATE INDEX runs_unread ON replan.runs (id) WHERE unread",
    "CREATE INDEX runs_owner ON replan.runs (owner) WHERE owner IS NOT NULL",
    "CREATE INDEX runs_status ON replan.runs (status, id)",
    """CREATE TABLE replan.texts (
  hash bytea PRIMARY KEY,
  text bytea NOT NULL
)""",
    """CREATE TABLE replan.inbox (
  run bigint NOT NULL REFERENCES replan.runs,
  id bigint NOT NULL,
  key bytea NOT NULL,
  body bytea NOT NULL,
  at double precision NOT NULL,
  seal bytea NOT NULL,
  PRIMARY KEY (run, id)
)""",
    "CREATE UNIQUE INDEX inbox_key ON replan.inbox (run, sha256(key))",
    """CREATE TABLE replan.records (
  run bigint NOT NULL REFERENCES replan.runs,
  seq bigint NOT NULL,
  at double precision NOT NULL,
  epoch bigint NOT NULL,
  inbox bigint,
  last boolean NOT NULL,
  body bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (run, seq),
  FOREIGN KEY (run, inbox) REFERENCES replan.inbox
)""",
    "CREATE UNIQUE INDEX records_consumed ON replan.records (run, inbox) WHERE inbox IS NOT NULL",
    """CREATE TABLE replan.named_texts (
  hash bytea NOT NULL REFERENCES replan.texts,
  run bigint NOT NULL REFERENCES replan.runs,
  PRIMARY KEY (hash, run)
)""",
    "CREATE INDEX named_texts_run ON replan.named_texts (run)",
    """CREATE TABLE replan.asked (
  run bigint PRIMARY KEY REFERENCES replan.runs,
  questions bytea NOT NULL
) WITH (fillfactor = 70)""",
    """CREATE TABLE replan.spending (
  tenant text COLLATE "C" NOT NULL,
  day bigint NOT NULL,
  calls bigint NOT NULL,
  micro_usd bigint NOT NULL,
  PRIMARY KEY (tenant, day)
) WITH (fillfactor = 50)""",
    """CREATE TABLE replan.hosts (
  id text COLLATE "C" PRIMARY KEY,
  owner text NOT NULL,
  until double precision NOT NULL,
  kinds text
)""",
    """CREATE TABLE replan.writers (
  id bytea PRIMARY KEY,
  last bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50)""",
    """CREATE TABLE replan.cursors (
  name text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C",
  until double precision NOT NULL
)""",
    """CREATE TABLE replan.positions (
  cursor text COLLATE "C" NOT NULL REFERENCES replan.cursors,
  run bigint NOT NULL REFERENCES replan.runs,
  seq bigint NOT NULL,
  PRIMARY KEY (cursor, run)
) WITH (fillfactor = 70)""",
    "CREATE INDEX positions_run ON replan.positions (run)",
)
"""The statements that make the tables of version 1 of the journal."""

UPGRADES: tuple[tuple[str, ...], ...] = ()
"""The statements of each upgrade of a journal by one version. The first upgrade leads to version 2."""

_TABLES = (
    "journal",
    "runs",
    "texts",
    "inbox",
    "records",
    "named_texts",
    "asked",
    "spending",
    "hosts",
    "writers",
    "cursors",
    "positions",
)
_CHANGING = ("runs", "asked", "spending", "hosts", "writers", "cursors", "positions")
_ADDED = ("records", "texts", "named_texts", "inbox")
"""The tables to which a driver only adds rows; it never changes or deletes a row of them."""

READER = ("GRANT USAGE ON SCHEMA replan TO {role}", "GRANT SELECT ON ALL TABLES IN SCHEMA replan TO {role}")
APP = (
    *READER,
    *(f"GRANT INSERT ON replan.{table} TO {{role}}" for table in _TABLES if table != "journal"),
    *(f"GRANT UPDATE ON replan.{table} TO {{role}}" for table in _CHANGING),
    *(f"GRANT DELETE ON replan.{table} TO {{role}}" for table in ("asked", "hosts", "writers")),
)
ARCHIVE = (*APP, *(f"GRANT DELETE ON replan.{table} TO {{role}}" for table in ("runs", "positions", *_ADDED)))

ROLES = {"app": APP, "archive": ARCHIVE, "reader": READER}
"""The rights of each kind of role: `app` drives runs, `archive` also deletes runs, `reader` only reads."""

Rights = Mapping[str, tuple[str, ...]]

TRIES = 20

_FOUND = (
    "SELECT to_regclass('replan.journal') IS NOT NULL, to_regclass('replan.journal') IS NOT NULL AND NOT EXISTS"
    " (SELECT FROM pg_attribute WHERE attrelid = to_regclass('replan.runs') AND attname = 'near')"
)
"""A query that returns two values: whether there is a journal, and whether an older development version made this
journal."""


def version_of(connection: Connection, place: str) -> int:
    """Return the journal's version; 0 if there is no journal.

    Raises `JournalNewer`, `psycopg.Error`, and `JournalUnreadable` for an older development version.
    """
    ((exists, earlier),) = connection.execute(_FOUND).fetchall()
    if earlier:
        raise before_first(place)
    if not exists:
        return 0
    ((version,),) = connection.execute("SELECT version FROM replan.journal").fetchall()
    check_version(place, version)
    return int(version)


def ensure_tables(connection: Connection, place: str) -> None:
    """Make the tables if they are missing, and check their version.

    Raises the errors of `version_of`, and `JournalUnreadable` for an earlier version, or if the role may not make
    tables.
    """
    check_upgraded(version_of(connection, place) or upgrade(connection, place), place)


def check_upgraded(version: int, place: str) -> None:
    """Raise `JournalUnreadable` for a version that is too low."""
    if version < VERSION:
        cause = f"the tables are those of an earlier release (version {version}; this release needs {VERSION})"
        raise JournalUnreadable(place, cause, f"stop the programs that use it, then run: replan home upgrade {place}")


def upgrade(connection: Connection, place: str) -> int:
    """Upgrade the tables to this release's version and return it.

    Raises the errors of `version_of`, and `JournalUnreadable` if the role may not make tables.
    """
    for _ in range(TRIES):
        try:
            return _upgrade(connection, place)
        except (errors.DuplicateSchema, errors.DuplicateTable, errors.UniqueViolation):
            roll_back(connection)  # Another process is making them.
        except errors.InsufficientPrivilege:
            roll_back(connection)
            hint = "ask the owner of the database to run: replan home upgrade URL"
            raise JournalUnreadable(place, "this role may not make the journal's tables", hint) from None
        except BaseException:
            roll_back(connection)
            raise
    raise JournalDamaged(place, "the database has a schema named replan without a journal")


def _upgrade(connection: Connection, place: str) -> int:
    connection.execute(BEGIN)
    connection.execute(connection.local)
    version = version_of(connection, place)
    if version:
        ((version,),) = connection.execute("SELECT version FROM replan.journal FOR UPDATE").fetchall()
        check_version(place, version)  # Another process may have upgraded it meanwhile.
    for change in (FIRST, *UPGRADES)[version:]:
        for statement in change:
            connection.execute(statement)
    connection.execute(
        "INSERT INTO replan.journal (one, version) VALUES (true, %s) ON CONFLICT (one) DO UPDATE"
        " SET version = excluded.version",
        (VERSION,),
    )
    connection.execute("COMMIT")
    return VERSION


def grant(connection: Connection, roles: Mapping[str, str], beside: Rights | None = None) -> None:
    """Give roles their rights, including the rights to the tables `beside` the journal.

    `roles` maps kinds to names of roles. The kinds are keys of `ROLES`. Raises `psycopg.Error`.
    """
    connection.execute(BEGIN)
    try:
        for kind, role in roles.items():
            for statement in (*ROLES[kind], *(beside or {}).get(kind, ())):
                connection.execute(sql.SQL(statement).format(role=sql.Identifier(role)))
        connection.execute("COMMIT")
    finally:
        roll_back(connection)


__all__ = ["ROLES", "SCHEMA", "VERSION", "check_upgraded", "ensure_tables", "grant", "upgrade", "version_of"]
