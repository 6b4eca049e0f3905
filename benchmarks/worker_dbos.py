"""DBOS as a contestant: a workflow that calls two recorded steps, generate and judge, on a SQLite system database.

DBOS uses its default settings for SQLite. Its database is created once per process and grows, which does not affect the
time per step. Concurrent workflows are all started at once, in threads of its pool.
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
    """Return the seconds of concurrent workflows."""
    before = time.perf_counter()
    handles = [DBOS.start_workflow(pipeline, steps, text_bytes) for _ in range(runs)]
    accepted = [handle.get_result() for handle in handles]
    seconds = time.perf_counter() - before
    assert accepted == [steps] * runs
    return {"seconds": seconds, "steps": runs * steps}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        database = f"sqlite:///{folder}/system.sqlite"
        DBOS(config={"name": "benchmark", "system_database_url": database, "run_admin_server": False})
        DBOS.launch()
        serve({"alone": alone, "many": many})
        DBOS.destroy()
