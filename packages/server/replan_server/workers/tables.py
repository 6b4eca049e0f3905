"""The tables of Procrastinate in a journal's database, and the trigger that makes its jobs.

The tables are in their own schema, `replan_jobs`, so they do not affect other tables of Procrastinate in the database.
The trigger fires if a run without a driver becomes due or gets a message. The trigger makes a job in the same
transaction. If it cannot make the job, the transaction still succeeds, and the database server logs a warning. A later
sweep makes the missing job.
"""

import re
from importlib.metadata import version

from procrastinate.schema import SchemaManager
from psycopg import errors

from replan_server.postgres.connecting import BEGIN, Connection, roll_back
from replan_server.postgres.schema import Rights
from runtime.core.errors import JournalUnreadable

SCHEMA = "replan_jobs"

TASK = "replan.drive"

QUEUE = "replan"
"""The name of the queue for runs without a tenant. The runs of a tenant are in the queue `replan/TENANT`."""

WAITING_MAX = 64
"""The trigger makes no job for a run if the tenant has this many waiting jobs of at least the run's priority. A sweep
adds the job later.
"""

TRIES = 20

_FORM = 1

# The values are constants of this module.
_PLACE = f"""
CREATE FUNCTION {SCHEMA}.place(run text, tenant text, priority integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {SCHEMA}, pg_catalog, pg_temp AS $$
DECLARE
  queue text := CASE WHEN tenant = '' THEN '{QUEUE}' ELSE '{QUEUE}/' || tenant END;
BEGIN
  IF EXISTS (SELECT FROM procrastinate_jobs AS job WHERE job.queueing_lock = place.run AND job.status = 'todo')
    OR {WAITING_MAX} <= (SELECT count(*) FROM (SELECT FROM procrastinate_jobs AS job WHERE job.status = 'todo'
      AND job.queue_name = queue AND job.priority >= place.priority LIMIT {WAITING_MAX}) AS waiting)
  THEN
    RETURN false;
  END IF;
  PERFORM procrastinate_defer_jobs_v1(ARRAY[
    ROW(queue, '{TASK}', place.priority, NULL, place.run, jsonb_build_object('run', place.run), NULL)
  ]::procrastinate_job_to_defer_v1[]);
  RETURN true;
EXCEPTION
  WHEN unique_violation THEN
    RETURN false;
  WHEN OTHERS THEN
    RAISE WARNING 'replan: no job for run %: %', place.run, SQLERRM;
    RETURN false;
END $$"""  # noqa: S608

_TRIGGER = (
    f"""
CREATE FUNCTION {SCHEMA}.hint() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {SCHEMA}, pg_catalog, pg_temp AS $$
BEGIN
  PERFORM {SCHEMA}.place(NEW.run, NEW.tenant, NEW.priority);
  RETURN NULL;
END $$""",
    f"""
CREATE TRIGGER place AFTER INSERT OR UPDATE ON replan.runs FOR EACH ROW
WHEN (NEW.owner IS NULL AND NEW.last_seq > 0 AND NEW.status <> 'parked'
  AND (NEW.unread OR NEW.due <= extract(epoch FROM clock_timestamp())))
EXECUTE FUNCTION {SCHEMA}.hint()""",
)

_USE = (
    f"GRANT USAGE ON SCHEMA {SCHEMA} TO {{role}}",
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {{role}}",
    f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {{role}}",
)

RIGHTS: Rights = {"app": _USE, "archive": _USE}


def stamp() -> tuple[int, ...]:
    """Return the version of the tables that this release makes: the versions of the trigger and of Procrastinate."""
    return _FORM, *map(int, re.findall(r"\d+", version("procrastinate"))[:3])


def make(connection: Connection, place: str) -> Rights:
    """Make the tables and the trigger if they are missing, or replace those of an earlier release.

    New tables have no jobs. A sweep makes the missing jobs. Return the rights that roles need on the tables. Raises
    `psycopg.Error`, and `JournalUnreadable` if the role of the connection has no right to make tables.
    """
    for attempt in range(TRIES):
        try:
            if stamp_of(connection) < stamp():
                _make(connection)
        except errors.InsufficientPrivilege:
            roll_back(connection)
            hint = "ask the owner of the database to run: replan home upgrade URL --app ROLE"
            raise JournalUnreadable(place, "this role cannot make the tables that workers need", hint) from None
        except (errors.LockNotAvailable, errors.DeadlockDetected, errors.UniqueViolation):
            roll_back(connection)  # Another worker is making them, or runs are being written.
            if attempt == TRIES - 1:
                raise
        except BaseException:
            roll_back(connection)
            raise
        else:
            break
    return RIGHTS


def stamp_of(connection: Connection) -> tuple[int, ...]:
    """Return the version of the existing tables; empty if there are no tables. Raises `psycopg.Error`."""
    statement = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
    for (text,) in connection.execute(statement, (SCHEMA,)):
        return tuple(map(int, re.findall(r"\d+", text or "")))
    return ()


def _make(connection: Connection) -> None:
    connection.execute(BEGIN)
    connection.execute(connection.local)
    connection.execute("SELECT version FROM replan.journal FOR UPDATE")  # One process at a time.
    if stamp_of(connection) < stamp():
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, pg_catalog")
        connection.execute(SchemaManager.get_schema())
        for statement in (_PLACE, *_TRIGGER):
            connection.execute(statement)
        connection.execute(f"COMMENT ON SCHEMA {SCHEMA} IS '{'.'.join(map(str, stamp()))}'")
    connection.execute("COMMIT")
