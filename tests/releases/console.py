"""Runs command lines of the release on this process's path: reads each as a JSON list, and prints what came of it."""

import json
import sys

from click.testing import CliRunner

from replan.cli.app import app

for line in sys.stdin:
    done = CliRunner().invoke(app, json.loads(line))
    print(json.dumps([int(done.exit_code), done.stdout, done.stderr]), flush=True)
