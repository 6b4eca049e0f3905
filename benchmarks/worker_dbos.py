"""DBOS as a contestant: a workflow that calls two recorded steps, generate and judge, on SQLite or on Postgres.

    worker_dbos.py SCRATCH [URL EXECUTOR]

DBOS uses its default settings. Its SQLite database is created once per process and grows, which does not affect the
time per step; with URL, its tables are in that database. Concurrent workflows are all started at once, in threads of
its pool.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dbos import DBOS
from worker import serve


@DBOS.step()
def generate(number: int, size: int) -> str:
    return f"{number:08} ".ljust(size, "x")


@DBOS.step()
def judge(text: str) -> bool:
    return bool(text)


@DBOS.workflow()
def pipeline(steps: int, size: int) -> int:
    return sum(judge(generate(number, size)) for number in range(steps))


def alone(steps, text_bytes):
    """Return the seconds of one workflow."""
    before = time.perf_counter()
    accepted = pipeline(steps, text_bytes)
    seconds = time.perf_counter() - before
    assert accepted == steps
    return {"seconds": seconds, "steps": steps}


def many(runs, steps, text_bytes):
    """Return the seconds of concurrent workflows; `began` and `ended` are times that all processes share."""
    before = time.perf_counter()
    handles = [DBOS.start_workflow(pipeline, steps, text_bytes) for _ in range(runs)]
    accepted = [handle.get_result() for handle in handles]
    after = time.perf_counter()
    assert accepted == [steps] * runs
    return {"seconds": after - before, "began": before, "ended": after, "steps": runs * steps}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        url, executor = (*sys.argv[2:], f"sqlite:///{folder}/system.sqlite", "local")[:2]
        settings = {"system_database_url": url, "executor_id": executor, "application_version": "1"}
        DBOS(config={"name": "benchmark", "run_admin_server": False, **settings})
        DBOS.launch()
        serve({"alone": alone, "many": many})
        DBOS.destroy()
