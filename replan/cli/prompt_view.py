"""`show --prompt`: prints the messages that a call of a run got."""

from functools import partial
from typing import TYPE_CHECKING

from actors.run.views import SentPrompt
from replan.cli.exits import Exit
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest, reading_run
from replan.cli.terminal.console import notice
from replan.cli.terminal.plain import print_json, print_text
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


def show_prompt(invocation: Invocation, wanted: str | None, node: str, *, as_json: bool) -> int:
    """Print the messages of a call of a run, of the newest run for None. Return the exit code.

    It is 1 where they do not have the hash that was stored, as after a release that renders prompts differently.
    """
    run, sent = reading_run(invocation, wanted, partial(_sent, node=node))
    if as_json:
        messages = [{"role": role, "content": text} for role, text in sent.messages]
        shown = {"request_id": sent.request_id, "prompt_hash": sent.prompt_hash, "verified": sent.verified}
        print_json({"run_id": run, **shown, "messages": messages, "cut": list(sent.cut)})
    else:
        for role, text in sent.messages:
            print_text(f"=== {role} ===\n{clean(text).rstrip()}\n")
    if sent.cut:
        notice(f"cut to their limit: {', '.join(sent.cut)}")
    if not sent.verified:
        notice(f"these are not the exact messages of {sent.request_id}: their hash is not {sent.prompt_hash}")
        return Exit.INTERNAL
    return Exit.OK


async def _sent(reader: "RunReader", name: str | None, *, node: str) -> tuple[str, SentPrompt]:
    run = await named_or_newest(reader, name)
    loaded = await reader.read(run)
    make = loaded.kind.views.prompt
    if make is None:
        raise UsageProblem(f"a run of kind {loaded.kind.name!r} shows no prompts", place="--prompt")
    return run, make(loaded.records, node)
