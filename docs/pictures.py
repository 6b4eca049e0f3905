"""Makes the pictures of the web page and of the objects of the Python API: `make pictures`. Needs Chromium.

A home with fixed runs is made, with ids, times and models of its own, and served by the real server; a browser takes
each picture in light and in dark. The objects are shown as in a notebook. The pictures have few colours, so that they
are small.
"""
# ruff: noqa: INP001, T201 -- a script, not a package

import io
import json
import os
import sys
import tempfile
import time
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import trio
import yaml
from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from actors.planning.prepare import PlanningInput  # noqa: E402
from actors.run.result import RunResult  # noqa: E402
from packages.server.tests.long.web.chromium import chromium  # noqa: E402
from replan.runs.executing import (  # noqa: E402
    ExecutionOptions,
    prepare_to_execute,
    read_plan_file,
)
from replan.runs.home import open_home  # noqa: E402
from replan.runs.prepare import RunOrder, prepare  # noqa: E402
from replan.runs.shipped_examples import example_named  # noqa: E402
from replan.setup.home_folder import locate_home  # noqa: E402
from replan.setup.plugins import registry  # noqa: E402
from replan.setup.settings import UserConfig  # noqa: E402
from replan_acquire.acquiring import prepare_to_acquire  # noqa: E402
from replan_acquire.acquisition.prepare import AcquisitionInput  # noqa: E402
from replan_server.web.serving import serve_home  # noqa: E402
from runtime.core.clock import SystemClock  # noqa: E402
from runtime.drive.options import Stop  # noqa: E402

OUT = ROOT / "docs" / "how-to" / "pictures"
OBJECTS_OUT = ROOT / "docs" / "reference" / "pictures"
WIDTH, COLOURS = 1000, 96
"""The width of a window in points, and the colours of a picture."""
LOGIN, EXECUTION, APPROVAL, VAGUE = "k7m2x9qa", "f3v8rd2p", "w9c4nh6t", "p5q7bz3j"
MARKET = "t2y6kg8s"
"""The ids of the runs."""
PICTURES = {
    "inbox": ("/", "body", 820),
    "search": (f"/runs/{LOGIN}?tab=search&tree=0", "section[aria-labelledby=h-tree]", 700),
}
"""The address of each picture, the part of the page, and the most points that it is high."""
OBJECTS = ("result",)
"""What is typed in the cells of a notebook."""
OBJECT_HEIGHT = 520
CELL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #fff; color: #1f2328 }
div { padding: 12px 16px }
pre { margin: 0; font: 13px/1.45 monospace }
.typed { background: #f3f4f6; font: 13px monospace }
</style><div class="typed">TYPED</div><div>SHOWN</div>"""


class Earlier(SystemClock):
    """The system's clock, so many minutes ago."""

    def __init__(self, minutes: float) -> None:
        self._seconds = minutes * 60.0

    def now(self) -> float:
        """Return the time."""
        return time.time() - self._seconds


async def main(folder: Path) -> None:
    """Make the runs, serve them, and take the pictures."""
    os.environ["REPLAN_HOME"] = str(folder / "home")
    shown = await fill(folder)
    stop, opened, is_open = Stop(handover=True), list[str](), trio.Event()

    def open_at(address: str) -> None:
        opened.append(address)
        is_open.set()

    async with open_home(config=UserConfig(), registry=registry()) as engine, trio.open_nursery() as nursery:

        async def serve() -> None:
            home = locate_home()
            await serve_home(engine, home, port=0, hosts=True, stop=stop, report=lambda _: None, opened=open_at)

        nursery.start_soon(serve)
        await is_open.wait()
        async with chromium() as browser:
            await picture_objects(await browser.page(), shown)
            page = await browser.page()
            await page.go(opened[0])
            await page.until("location.pathname === '/'")
            for name, (path, part, height) in PICTURES.items():
                for dark in (False, True):
                    await page.look(width=WIDTH, dark=dark)
                    await page.go(f"{opened[0].partition('/sign-in')[0]}{path}")
                    picture = await page.picture(part, height=height)
                    await trio.to_thread.run_sync(save, picture, OUT / f"{name}{'-dark' if dark else ''}.png")
        stop.requested.set()
        stop.forced.set()


async def picture_objects(page: Any, shown: dict[str, RunResult]) -> None:
    """Take a picture of each object as a notebook shows it."""
    await page.look(width=WIDTH)
    for typed in OBJECTS:
        html = CELL.replace("TYPED", typed).replace("SHOWN", attrgetter(typed)(SimpleNamespace(**shown))._repr_html_())
        await page.evaluate(f"document.open(); document.write({json.dumps(html)}); document.close()")
        picture = await page.picture("body", height=OBJECT_HEIGHT)
        await trio.to_thread.run_sync(save, picture, OBJECTS_OUT / f"{typed.replace('.', '-')}.png")


def save(data: bytes, path: Path) -> None:
    """Write a picture with few colours."""
    with Image.open(io.BytesIO(data)) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    path.parent.mkdir(exist_ok=True)
    small.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


async def fill(folder: Path) -> dict[str, RunResult]:
    """Make a home with a search, executions and an acquisition; return the result that a notebook shows."""
    problem = (ROOT / "configs" / "problems" / "login_timeout.md").read_text(encoding="utf-8")
    script = write_script(folder, await replies_of_rules(problem))
    result = await planned(problem, script, LOGIN, minutes=190)
    await planned(
        (ROOT / "configs" / "problems" / "too_thin.md").read_text(encoding="utf-8"), "template:bug", VAGUE, minutes=150
    )
    await executed(folder / "approval", APPROVAL, approval="each", minutes=95)
    await executed(folder / "repair", EXECUTION, approval="none", minutes=41)
    async with open_home(clock=Earlier(12), config=UserConfig(), registry=registry()) as engine:
        goal = "EV charging stations for apartment buildings in Portugal"
        wish = AcquisitionInput(goal=goal, profile="market_size")
        documents = str(ROOT / "docs" / "examples" / "market")
        prepared = prepare_to_acquire(wish, documents, "quoting:", registry=registry(), environment=os.environ)
        await engine.begin(prepared.request, run=MARKET)
    return {"result": result}


async def planned(problem: str, model: str, run: str, *, minutes: float) -> RunResult:
    """Drive a planning run that began some minutes ago."""
    async with open_home(clock=Earlier(minutes), config=UserConfig(), registry=registry()) as engine:
        order = RunOrder(PlanningInput(problem), model)
        prepared = prepare(order, registry=registry(), environment=os.environ)
        return await engine.begin(prepared.request, run=run)


async def executed(workspace: Path, run: str, *, approval: Literal["each", "none"], minutes: float) -> None:
    """Drive the execution of a shipped example that began some minutes ago."""
    example = example_named("repair")
    example.copy_project(workspace)
    chosen = ExecutionOptions(tools=example.tools, workspace=str(workspace), approval=approval, workflow="single")
    async with open_home(clock=Earlier(minutes), config=UserConfig(), registry=registry()) as engine:
        plan = read_plan_file(example.plan)
        prepared = prepare_to_execute(plan, chosen, example.model, registry=registry(), environment=os.environ)
        await engine.begin(prepared.request, run=run)


async def replies_of_rules(problem: str) -> dict[str, list[Any]]:
    """Return the replies of a template, after a plan with a gap and a reply without a plan."""
    result = await planned(problem, "template:bug", "sample00", minutes=300)
    made = {item.step: item.value for item in result.path}
    gap = json.loads(json.dumps(made["g_plan"]))
    gap["steps"][-1]["preconditions"].append("change_announced")
    async with open_home(config=UserConfig(), registry=registry()) as engine:
        await engine.journal.delete({"sample00": (await engine.journal.row("sample00")).last_seq})
    first = {**made["g_strategy"], "rationale": "The quickest way to a fix."}
    return {
        "g_analysis": [made["g_analysis"]] * 2,
        "g_recon": [made["g_recon"]] * 2,
        "g_strategy": [first, made["g_strategy"]],
        "g_plan": [gap, "I would first look at the logs.", made["g_plan"]],
    }


def write_script(folder: Path, script: dict[str, list[Any]]) -> str:
    """Write replies into a file, and return the model that gives them."""
    path = folder / "replies.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(script))), encoding="utf-8")
    return f"scripted:{path}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="replan-pictures-") as name:
        trio.run(main, Path(name))
