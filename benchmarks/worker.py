"""The worker's side of a benchmark: reads requests from stdin and writes results to stdout, one line of JSON each.

Every contestant runs in its own process, with its own interpreter and packages. A case is a function from keyword
arguments to plain data. This module needs the standard library only.
"""

import gc
import json
import os
import sys
import traceback


def serve(cases):
    """Run cases until stdin ends. Output of libraries is redirected to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"ready": sorted(cases)}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        gc.collect()
        try:
            result = {"result": cases[request["case"]](**request["arguments"])}
        except Exception:  # noqa: BLE001 -- the driver prints it and stops
            result = {"error": traceback.format_exc()}
        print(json.dumps(result), file=answers)
