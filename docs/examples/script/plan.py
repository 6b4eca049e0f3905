"""Plan a problem from an asyncio script: progress on stderr, questions on the terminal, the plan as Markdown on stdout.

python plan.py problem.md
"""

import asyncio
import sys
from pathlib import Path

import replan


async def ask(question: replan.OpenQuestion) -> str:
    """Ask on the terminal; an empty line leaves the question open."""
    print(question["text"], file=sys.stderr)
    return await asyncio.to_thread(input)


async def main(problem: str) -> int:
    """Plan a problem. Return the exit code."""
    async with replan.start(problem, ask=ask) as run:
        async for record in run:
            print(record.seq, record.event.kind, file=sys.stderr)
        result = await run.result()
    if result.plan is None:
        print(f"No plan: {result.outcome or result.status} {result.why}", file=sys.stderr)
        return 3
    print(result.plan.to_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8"))))
