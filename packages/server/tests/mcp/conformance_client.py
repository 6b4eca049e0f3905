"""The client that the MCP conformance suite starts, with the address of its server as the last argument.

An execution calls the tool of the suite through a tools file, as for any user. It exits as `replan execute` does.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

STEP = {
    "step_id": "add",
    "name": "Add",
    "generator": "add",
    "guard": "looked_at",
    "retry_budget": 1,
    "preconditions": ["start"],
    "effects": ["done"],
}
PLAN = {"plan_id": "add", "initial_state": ["start"], "goal_state": ["done"], "total_retry_budget": 1, "steps": [STEP]}


WHOLE = {"type": "integer", "minimum": 0, "maximum": 9}
TOOLS = {
    "sse-retry": ("test_reconnection", {}),
    "elicitation-sep1034-client-defaults": ("test_client_elicitation_defaults", {}),
}
ADD_NUMBERS = ("add_numbers", {"a": 5, "b": 3})
"""The tool of the suite's server in the other scenarios, with arguments."""


def tools(address: str) -> dict[str, object]:
    """Return the tools file for the suite's scenario."""
    name, arguments = TOOLS.get(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), ADD_NUMBERS)
    called = {"mcp": {"server": "suite", "tool": name}, "timeout_seconds": 20}
    called["parameters"] = dict.fromkeys(arguments, WHOLE)
    return {
        "mcp_servers": {"suite": {"url": address}},
        "tools": {"add": called, "look": {"command": ["/bin/true"], "repeatable": True}},
        "generators": {"add": {"tool": "add", "with": arguments}},
        "guards": {"looked_at": "look"},
    }


def main() -> int:
    """Execute the plan, and return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "workspace").mkdir()
        (folder / "plan.json").write_text(json.dumps(PLAN))
        (folder / "tools.yaml").write_text(yaml.safe_dump(tools(sys.argv[-1])))
        words = ["execute", str(folder / "plan.json"), "--tools", str(folder / "tools.yaml"), "--no-input"]
        words += ["--workspace", str(folder / "workspace"), "--approve", "none", "-m", "template:bug"]
        environment = {**os.environ, "REPLAN_HOME": str(folder / "home")}
        return subprocess.run([sys.executable, "-m", "replan", *words], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
