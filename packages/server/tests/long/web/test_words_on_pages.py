"""Pages name attempts, moves and steps in words, on every page that links reach; ids stand in titles and addresses."""

import re
from importlib.util import find_spec

from packages.server.tests.long.web.test_kinds_on_pages import GOAL, TOOLS, plan, replan, step, write_tools
from packages.server.tests.web.test_ids import Texts, pages
from packages.server.tests.web.world import served
from tests.cli.samples import BACKTRACKS
from tests.tidy.source import ROOT

__all__ = ["replan"]

RAW = re.compile(
    r"\b[A-Za-z_][\w-]*/[vrn]\d+(?![a-z0-9])[\w.]*|\bg_[a-z_]+|\b(?:local_retry|partial_replan|full_replan)\b|workspace/start"
)
"""Ids of attempts and steps, and names of moves."""


async def test_no_page_of_a_run_shows_the_id_of_an_attempt_or_step(tmp_path, replan):
    """Of each kind, and of runs that wait for an answer; texts of models and prompts are shown as they are."""
    async with served(tmp_path, hosts=False, scripts={"backtracks": BACKTRACKS}) as web:
        runs = [await web.start(script) for script in ("backtracks", "asks")]
        runs.append(await web.start("plans", limits={"max_calls": 2}))
        for run in runs:
            await web.engine.resume(run)
        done = await replan("execute", "--example", "repair", "--workspace", tmp_path / "repair")
        arguments = write_tools(tmp_path, plan(step("one", "make_a", ["a"]), goals=("a",)))
        (tmp_path / "tools.yaml").write_text(TOOLS.replace("make: {risk: none,", "make: {risk: risky,"))
        asked = await replan(*arguments, "--no-input", exit_codes=(6,))
        runs += [each["run_id"] for each in (done, asked)]
        if find_spec("replan_acquire"):
            words = ("--docs", ROOT / "docs" / "examples" / "market", "-m", "quoting:", "--no-input")
            runs.append((await replan("acquire", "market_size", GOAL, *words, exit_codes=(0, 6)))["run_id"])
        seen = set()
        for run in runs:
            async for address, text in pages(web, f"/runs/{run}"):
                if not address.startswith((f"/runs/{run}", "/questions")):
                    continue
                seen.add(re.sub(r"attempts/.*|\?.*", "", address).replace(run, "RUN"))
                shown = Texts(re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL))
                raw = [words for words in shown.texts if RAW.search(words)]
                assert not raw, (address, raw)
        assert {"/runs/RUN", "/runs/RUN/records", "/runs/RUN/"} <= seen
