"""How things in a run are named. A node is one attempt at one step: `STEP/vVISIT.aATTEMPT`; its artifact has its id.

A generation request has the node's id, plus `.tTRY` from the second try on; a judgement request has `judge:` before it.
A step's id has neither a slash nor a dot in it, so every name can be read back.
"""


def node_id(step: str, visit: int, attempt: int) -> str:
    """Return the name of an attempt."""
    return f"{step}/v{visit}.a{attempt}"


def step_of(node: str) -> str:
    """Return the step that a node, or a generation request, belongs to."""
    return node.partition("/")[0]


def place_of(node: str) -> tuple[int, int]:
    """Return a node's visit and attempt."""
    visit, _, attempt = node.partition("/v")[2].partition(".a")
    return int(visit), int(attempt)


def try_id(node: str, try_number: int) -> str:
    """Return the name of the request for a try of an attempt."""
    return node if try_number == 1 else f"{node}.t{try_number}"


def node_of(request_id: str) -> str:
    """Return the node that a generation request is for."""
    return request_id.partition(".t")[0]


def judgement_id(node: str) -> str:
    """Return the name of the request for a verdict on a node."""
    return f"judge:{node}"
