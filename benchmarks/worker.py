"""The worker's side of a benchmark: does what the driver asks for on stdin, answers on stdout, one JSON line each.

A worker is a process of its own, so that every contestant runs in its own interpreter with its own packages. It knows
named cases: functions from keyword arguments to plain data. It needs the standard library only.
"""

import gc
import json
import os
import sys
import traceback


def serve(cases):
    """Answer until stdin ends. Everything that a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"ready": sorted(cases)}), file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        gc.collect()
        try:
            result = {"result": cases[asked["case"]](**asked["arguments"])}
        except Exception:  # noqa: BLE001 -- the driver prints it and stops
            result = {"error": traceback.format_exc()}
        print(json.dumps(result), file=answers)
