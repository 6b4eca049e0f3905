"""What takes long to import is imported when it is used, and by a worker before it fetches its first job."""

import os
import subprocess
import sys


def test_describing_models_loads_no_client_and_no_price_list():
    """A provider's client takes 0.4 to 0.9 s, which `--help` must not pay."""
    program = """
import sys
import runtime.models.open_models
import runtime.models.port, runtime.models.prices, runtime.models.providers, runtime.models.responses
import actors.config.model_spec
print([name for name in ("anthropic", "openai", "httpx2", "genai_prices") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_worker_loads_the_clients_of_its_providers_before_it_fetches_its_first_job(tmp_path):
    """It may take over a run from a dead worker then, within seconds."""
    program = """
import os, signal, sys
from contextlib import asynccontextmanager
import trio
from replan.cli.commands.host import drive
from replan.cli.options import Invocation

def print_loaded():
    print([name for name in ("anthropic", "openai") if name in sys.modules])

class Queue:
    async def fetch(self):
        print_loaded()
        os.kill(os.getpid(), signal.SIGTERM)

    async def sweep(self, limit, **_):
        return 0

@asynccontextmanager
async def opening():
    print_loaded()
    yield Queue()

trio.run(drive, Invocation(), None, True, 1, opening())
"""
    keys = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
    environment = {"REPLAN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **keys}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    assert loaded[:2] == ["[]", "['anthropic', 'openai']"], ran.stdout
