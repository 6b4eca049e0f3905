"""How much a run stores: what is new in each step, and not all that is sent with it."""

import json
import random

from actors.handlers.agents import AgentTask
from actors.run.kind import Setup
from replan.runs.engine import Engine
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from runtime.core.clock import SystemClock
from runtime.core.ledger import Limits
from runtime.journal.sqlite.journal import open_sqlite
from tests.long.peers.conversation import CONVERSATION
from tests.support.answers import Answer
from tests.support.openai_server import serve

TOKENS, BYTES_PER_TOKEN = 209_000, 4
CALLS, OUTPUT_BYTES = 100, 5_000
MEGABYTE = 1_000_000
SENT_MB, STORED_MB = 108.4, 1.57
"""The prompts that the server receives, and the journal at the end; the page of comparisons states both."""


def conversation(size):
    """Return a text of this many bytes that no compression shortens much."""
    chance = random.Random(1)
    return " ".join(f"{chance.getrandbits(36):09x}" for _ in range(size // 10))


async def test_a_hundred_calls_with_a_long_conversation_store_the_conversation_once(tmp_path):
    """temporalio/sdk-python#1890: 209,000 tokens, 5 KB a tool call: ended at call 53 of 100, with 50.48 MB stored.

    The same shape, to its end: the sizes of what was sent and of the journal are those of the page of comparisons.
    """
    replies = (Answer.say(f"page {number}") for number in range(CALLS))
    with serve(lambda *_: next(replies)) as server:
        environment = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        kinds, path = Kinds([CONVERSATION]), tmp_path / "journal.sqlite3"
        async with open_sqlite(path, kinds.codecs, SystemClock()) as journal:
            engine = Engine(journal, environment=environment, kinds=kinds)
            setup = Setup("test-model", None, engine.registry, data_root(), environment, 0.0)
            task = {"messages": conversation(TOKENS * BYTES_PER_TOKEN), "calls": CALLS, "output": OUTPUT_BYTES}
            prepared = CONVERSATION.prepare(AgentTask(json.dumps(task), Limits(calls=CALLS)), setup)
            result = await engine.begin(prepared, run="talk")
            loaded = await engine.read("talk")
        sent = sum(len(seen.prompt.encode()) for seen in server.seen)
    assert (result.outcome, len(server.seen), len(loaded.state.data.said)) == ("success", CALLS, 2 * CALLS)
    assert f"{task['messages']}\npage 0\npage 0: " in server.seen[-1].prompt
    stored = sum(file.stat().st_size for file in tmp_path.glob("journal.sqlite3*"))
    assert round(sent / MEGABYTE, 1) == SENT_MB
    assert abs(stored / MEGABYTE - STORED_MB) < 0.05
