"""Fills a journal in Postgres with copies of a run's rows, by SQL: as many as no program would make in a short time."""

import psycopg

COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position),
  string_agg('t.' || quote_ident(column_name), ', ' ORDER BY ordinal_position)
FROM information_schema.columns WHERE table_schema = 'replan' AND table_name = %s AND column_name <> ALL (%s)"""
RUNS = """
INSERT INTO replan.runs (run, {names}) SELECT 'copy' || n, {of_t} FROM replan.runs t, generate_series(1, {count}) n
WHERE t.id = {number}"""
RECORDS = """
INSERT INTO replan.records (run, {names}) SELECT c.id, {of_t} FROM replan.runs c, replan.records t
WHERE c.run LIKE 'copy%' AND t.run = {number}"""
TEXTS = """
INSERT INTO replan.texts SELECT sha256(convert_to(run || n, 'UTF8')), convert_to(repeat(md5(run || n), 13), 'UTF8')
FROM replan.runs, generate_series(1, 2) n WHERE run LIKE 'copy%'"""
NAMED = """
INSERT INTO replan.named_texts SELECT sha256(convert_to(run || n, 'UTF8')), id
FROM replan.runs, generate_series(1, 2) n WHERE run LIKE 'copy%'"""


def copies(server, database, count, template):
    """Add copies of a run with its records, under other names, and two texts of 416 bytes for each."""
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        ((number,),) = connection.execute("SELECT id FROM replan.runs WHERE run = %s", (template,)).fetchall()
        connection.execute("SET session_replication_role = replica")  # No keys are checked, row by row.
        for statement, table, left_out in ((RUNS, "runs", ["id", "run"]), (RECORDS, "records", ["run"])):
            ((names, of_t),) = connection.execute(COLUMNS, (table, left_out)).fetchall()
            connection.execute(statement.format(names=names, of_t=of_t, count=count, number=number))
        for statement in (TEXTS, NAMED, "VACUUM ANALYZE", "CHECKPOINT"):
            connection.execute(statement)


def size_of(server, database):
    """Return the bytes of a database."""
    return server.execute(database, "SELECT pg_database_size(current_database())")[0][0]
