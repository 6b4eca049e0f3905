"""Runs with `--compact`: shorter prompts go out, and the same plan is accepted."""

import yaml

from replan.setup.installation import data_root
from tests.wire.test_search import run_against, scripted

SHORTER = yaml.safe_load((data_root() / "prompts" / "planning.yaml").read_text())["plan"]["compact"]["constraints"]


async def test_a_run_with_compact_sends_the_shorter_prompt_and_gets_the_same_plan():
    async with run_against(scripted()) as (result, server, _):
        usual, plan = [seen for seen in server.seen if seen.step == "g_plan"], result.plan_json
    async with run_against(scripted(), limits={"compact": True}) as (result, server, _):
        short = [seen for seen in server.seen if seen.step == "g_plan"]
    assert result.plan_json == plan
    assert len(short[0].prompt) < len(usual[0].prompt) / 2
    assert SHORTER.rstrip() in short[0].prompt
    assert "compact" not in short[0].body
