"""LangGraph as a contestant: a loop of two nodes, generate and judge, with the SQLite checkpointer.

Every commit is as durable as ours: `synchronous=FULL`, and `durability="sync"`, so that a node starts only after the
previous checkpoint is written. By default the state has only the newest text, which is the cheapest case for LangGraph.
With `history` it has a list that grows by one text per step (`operator.add`), as a run here keeps every artifact.
"""

import asyncio
import operator
import sqlite3
import sys
import time
from pathlib import Path
from typing import Annotated, TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parent))

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from worker import serve


class Newest(TypedDict):
    done: int
    wanted: int
    size: int
    text: str
    passed: bool


class History(TypedDict):
    done: int
    wanted: int
    size: int
    text: Annotated[list[str], operator.add]
    passed: bool


def make(state):
    text = f"{state['done']:08} ".ljust(state["size"], "x")
    return {"text": text, "done": state["done"] + 1}


def make_item(state):
    return {"text": [f"{state['done']:08} ".ljust(state["size"], "x")], "done": state["done"] + 1}


def check(_state):
    return {"passed": True}


async def make_async(state):
    return make(state)


async def check_async(state):
    return check(state)


def graph(schema, generate, judge, saver):
    built = StateGraph(schema)
    built.add_node("generate", generate)
    built.add_node("judge", judge)
    built.add_edge(START, "generate")
    built.add_edge("generate", "judge")
    built.add_conditional_edges(
        "judge", lambda state: "generate" if state["done"] < state["wanted"] else END, ["generate", END]
    )
    return built.compile(checkpointer=saver)


def settings(run, steps):
    return {"recursion_limit": 2 * steps + 10, "configurable": {"thread_id": run}}


def alone(scratch, steps, text_bytes, history=False):
    """Return the seconds of one run with the synchronous saver, and the bytes of its file."""
    path = Path(scratch) / "checkpoints.sqlite"
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    saver = SqliteSaver(connection)
    saver.setup()
    built = graph(History if history else Newest, make_item if history else make, check, saver)
    first = {"done": 0, "wanted": steps, "size": text_bytes, "text": [] if history else "", "passed": False}
    before = time.perf_counter()
    last = built.invoke(first, settings("run", steps), durability="sync")
    seconds = time.perf_counter() - before
    assert last["done"] == steps, last["done"]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return {"seconds": seconds, "steps": steps, "bytes": path.stat().st_size}


async def many(scratch, runs, steps, text_bytes, first=0):
    """Return the seconds of concurrent runs with the asynchronous saver; they are numbered from `first`."""
    async with AsyncSqliteSaver.from_conn_string(str(Path(scratch) / "checkpoints.sqlite")) as saver:
        await saver.conn.execute("PRAGMA synchronous=FULL")
        await saver.setup()
        built = graph(Newest, make_async, check_async, saver)
        start = {"done": 0, "wanted": steps, "size": text_bytes, "text": "", "passed": False}
        before = time.perf_counter()
        ends = await asyncio.gather(
            *(
                built.ainvoke(start, settings(f"run-{number}", steps), durability="sync")
                for number in range(first, first + runs)
            )
        )
        after = time.perf_counter()
    assert all(last["done"] == steps for last in ends)
    return {"seconds": after - before, "began": before, "ended": after, "steps": runs * steps}


if __name__ == "__main__":
    serve({"alone": alone, "many": lambda **keys: asyncio.run(many(**keys))})
