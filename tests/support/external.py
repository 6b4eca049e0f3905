"""The folder of external test cases: REPLAN_EXTERNAL, or `shared/external` beside the checkout."""

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("REPLAN_EXTERNAL") or Path(__file__).resolve().parents[3] / "shared" / "external")


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
