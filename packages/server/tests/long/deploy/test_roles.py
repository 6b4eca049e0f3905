"""The roles of the deployment on a real server: what each may do to each table, and what it tries in vain.

The server is prepared by the script of compose.yaml, and the tables are made by the service `tables`.
"""

import json
import re
from pathlib import Path

import psycopg
import pytest

from packages.server.tests.deploy.test_files import OURS, SERVICES
from packages.server.tests.long.deploy.test_stack import ENVIRONMENT, PROBLEM, Stack, server
from packages.server.tests.support.postgres import Server
from replan_server.postgres import schema

__all__ = ["server"]

DATABASE = SERVICES["db"]["environment"]["POSTGRES_DB"]
OWNER, APP, ARCHIVE = "replan_owner", "replan_app", "replan_archive"
NEEDED = {
    "tables": {"REPLAN_OWNER_PASSWORD"},
    "worker": {"REPLAN_APP_PASSWORD", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"},
    "web": {"REPLAN_APP_PASSWORD"},
    "archive": {"REPLAN_ARCHIVE_PASSWORD"},
}
"""The secrets of each service."""
RIGHTS = {
    APP: {"records": "IS", "texts": "IS", "named_texts": "IS", "inbox": "IS", "journal": "S", "runs": "ISU"}
    | {"spending": "ISU", "cursors": "ISU", "positions": "ISU"}
    | dict.fromkeys(("asked", "hosts", "writers"), "DISU"),
    ARCHIVE: {"records": "DIS", "texts": "DIS", "named_texts": "DIS", "inbox": "DIS", "journal": "S", "runs": "DISU"}
    | {"spending": "ISU", "cursors": "ISU", "positions": "DISU"}
    | dict.fromkeys(("asked", "hosts", "writers"), "DISU"),
}
"""The rights of each role on each table, by their first letters."""
IN_VAIN = (
    "UPDATE replan.records SET body = ''",
    "UPDATE replan.inbox SET body = ''",
    "UPDATE replan.texts SET text = ''",
    "UPDATE replan.journal SET version = 99",
    "DELETE FROM replan.spending",
    "TRUNCATE replan.records, replan.named_texts",
    "DROP TABLE replan.hosts",
    "ALTER TABLE replan.records DISABLE TRIGGER ALL",
    "ALTER TABLE replan.runs DISABLE TRIGGER place",
    "DROP TRIGGER place ON replan.runs",
    "CREATE TABLE replan.own (x int)",
    "CREATE TABLE replan_jobs.own (x int)",
    "CREATE TABLE public.own (x int)",
    "CREATE FUNCTION replan_jobs.own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION replan_jobs.hint() RESET ALL",
    "CREATE OR REPLACE FUNCTION replan_jobs.hint() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER own AFTER INSERT ON replan.records EXECUTE FUNCTION replan_jobs.hint()",
    "CREATE POLICY own ON replan.runs",
    f"SET ROLE {OWNER}",
    f"GRANT {OWNER} TO CURRENT_USER",
    "CREATE ROLE own SUPERUSER",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "CREATE DATABASE own",
    "CREATE SCHEMA own",
    "DROP EXTENSION plpgsql",
    "SELECT rolpassword FROM pg_authid",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY replan.hosts FROM '/etc/passwd'",
    "ALTER SYSTEM SET log_statement = 'all'",
)
"""Statements that neither `app` nor `archive` may execute."""


@pytest.fixture(scope="module")
def prepared(server: Server, tmp_path_factory: pytest.TempPathFactory, warm: Path) -> Server:
    stack = Stack(server, tmp_path_factory.mktemp("roles"), warm)
    stack.call("tables", *stack.command("tables"))
    return server


def connected(server, role):
    return psycopg.connect(server.url(DATABASE, user=role), autocommit=True)


def test_each_service_gets_the_secrets_that_it_needs_and_no_other():
    secret = re.compile(r"\$\{(\w*(?:PASSWORD|KEY|TOKEN|SECRET)\w*)")
    found = {name: {*secret.findall(json.dumps(service["environment"]))} for name, service in OURS.items()}
    assert found == NEEDED
    own = {*secret.findall(json.dumps(SERVICES["db"]["environment"]))}
    assert own - set().union(*NEEDED.values()) == {"REPLAN_ADMIN_PASSWORD"}, "a service knows the superuser's password"


def test_no_role_of_the_program_has_a_right_over_the_server(prepared):
    assert SERVICES["db"]["environment"]["POSTGRES_USER"] not in (OWNER, APP, ARCHIVE)
    rows = prepared.execute(
        DATABASE,
        "SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
        " FROM pg_roles WHERE rolname LIKE 'replan\\_%' ORDER BY rolname",
    )
    assert rows == [(APP, False), (ARCHIVE, False), (OWNER, False)]
    members = (
        "SELECT count(*) FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = member WHERE rolname LIKE 'replan\\_%'"
    )
    assert prepared.execute(DATABASE, members) == [(0,)]
    owners = "SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname IN ('replan', 'replan_jobs')"
    assert prepared.execute(DATABASE, owners) == [(OWNER,)]


@pytest.mark.parametrize("role", [APP, ARCHIVE])
def test_a_role_has_the_rights_that_it_needs_on_each_table_and_no_other(prepared, role):
    statement = (
        "SELECT table_name::text, string_agg(left(privilege_type, 1), '' ORDER BY privilege_type)"
        f" FROM information_schema.role_table_grants WHERE table_schema = 'replan' AND grantee = '{role}'"
        " GROUP BY table_name"
    )
    assert dict(prepared.execute(DATABASE, statement)) == RIGHTS[role]
    assert set(RIGHTS[role]) == set(schema._TABLES), "a table is missing from this test"
    everybody = "SELECT count(*) FROM information_schema.table_privileges WHERE grantee = 'PUBLIC'"
    assert prepared.execute(DATABASE, f"{everybody} AND table_schema ~ '^replan'") == [(0,)]


@pytest.mark.parametrize("role", [APP, ARCHIVE])
def test_what_a_role_may_not_do_is_refused(prepared, role):
    refused = (psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType)
    with connected(prepared, role) as connection:
        for statement in IN_VAIN:
            try:
                connection.execute(statement)
            except refused:
                continue
            except psycopg.Error as error:
                pytest.fail(f"{statement}: {type(error).__name__}: {error}")
            pytest.fail(f"{role} may execute: {statement}")


def test_a_function_that_runs_with_its_owners_rights_looks_nowhere_that_a_role_can_write(prepared):
    """Nothing that a role makes stands in the place of what such a function names."""
    statement = (
        "SELECT proname::text, pg_get_userbyid(proowner)::text, array_to_string(proconfig, ';') FROM pg_proc"
        " JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE prosecdef AND nspname ~ '^replan' ORDER BY proname"
    )
    found = prepared.execute(DATABASE, statement)
    assert [name for name, _, _ in found] == ["hint", "place"]
    for _, owner, settings in found:
        assert owner == OWNER
        assert settings == "search_path=replan_jobs, pg_catalog, pg_temp"


def test_a_roles_own_tables_and_functions_are_not_used_with_the_owners_rights(prepared, tmp_path, warm):
    stack, problem = Stack(prepared, tmp_path, warm), tmp_path / "problem.md"
    problem.write_text(PROBLEM)
    run = json.loads(stack.call("worker", "run", str(problem), "-m", "template:bug", "--json"))["run_id"]
    with connected(prepared, APP) as connection:
        # What the function names, as the role's own: it would fill the table, or make the role a member of the owner.
        connection.execute("CREATE TEMP TABLE procrastinate_jobs (LIKE replan_jobs.procrastinate_jobs)")
        connection.execute(
            "CREATE FUNCTION pg_temp.procrastinate_defer_jobs_v1(jobs replan_jobs.procrastinate_job_to_defer_v1[])"
            f" RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN GRANT {OWNER} TO {APP}; RETURN NULL; END'"
        )
        connection.execute("SET search_path = pg_temp, replan_jobs, public")
        connection.execute("DELETE FROM replan_jobs.procrastinate_jobs")
        connection.execute("UPDATE replan.runs SET due = 0, unread = true, owner = NULL WHERE run = %s", (run,))
        made = connection.execute("SELECT count(*) FROM replan_jobs.procrastinate_jobs").fetchall()
        own = connection.execute("SELECT count(*) FROM pg_temp.procrastinate_jobs").fetchall()
        member = connection.execute(f"SELECT pg_has_role(current_user, '{OWNER}', 'MEMBER')").fetchall()
    assert (made, own, member) == ([(1,)], [(0,)], [(False,)])


def test_the_owner_reads_no_file_and_starts_no_program_of_the_servers_machine(prepared):
    with connected(prepared, OWNER) as connection:
        for statement in ("SELECT pg_read_file('/etc/passwd')", "COPY (SELECT 1) TO PROGRAM 'true'", "CREATE ROLE own"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_a_tenant_is_a_label_of_a_row_whose_budget_another_tenants_runs_do_not_touch(prepared, tmp_path, warm):
    stack, problem = Stack(prepared, tmp_path, warm), tmp_path / "problem.md"
    problem.write_text(PROBLEM)
    config = "tenants:\n  one: {calls: 50}\n  two: {calls: 50}\n"
    home = tmp_path / "worker1"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(config)
    (home / "config.yaml").chmod(0o600)
    run = stack.call("worker", "run", str(problem), "-m", "template:bug", "--tenant", "one", "--json")
    assert json.loads(run)["status"] == "finished"
    spent = dict(prepared.execute(DATABASE, "SELECT tenant, sum(calls)::int FROM replan.spending GROUP BY tenant"))
    assert spent["one"] > 0
    assert "two" not in spent
    assert ENVIRONMENT["REPLAN_APP_PASSWORD"] not in run
