"""How things in a run are named. A node is one attempt at one step: `STEP/vVISIT.aATTEMPT`; its artifact has its id.

In a branch other than the first `.bBRANCH` follows. A generation request has the node's id, plus `.tTRY` from the
second try on; the classification of a rejection has `/c` after the node's id, and its tries likewise; a judgement
request has `judge:` before it. A step's id has neither a slash nor a dot in it, so every name can be read back.
"""

from actors.run.ids import SECOND_CALL


def node_id(step: str, visit: int, attempt: int, branch: int = 0) -> str:
    """Return the name of an attempt."""
    node = f"{step}/v{visit}.a{attempt}"
    return f"{node}.b{branch}" if branch else node


def visit_and_attempt(node: str) -> tuple[int, int]:
    """Return a node's visit and attempt."""
    visit, _, attempt = node.partition("/v")[2].partition(".a")
    return int(visit), int(attempt.partition(".")[0])


def branch_of(name: str) -> int:
    """Return the branch that a node, or any request about one, belongs to."""
    return int(name.partition(".b")[2].partition(".")[0].partition("/")[0] or 0)


def classification_id(node: str) -> str:
    """Return the name of the call that classifies why a node was rejected."""
    return f"{node}{SECOND_CALL}"


def judgement_id(node: str) -> str:
    """Return the name of the request for a verdict on a node."""
    return f"judge:{node}"
