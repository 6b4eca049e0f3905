"""The names of calls and waits. Journals store these names, so their form never changes.

A call asks a model or another generator for one reply, about one *node*: usually an attempt at a step. Each kind of
agent decides how its nodes are named. The part of a node's name before a slash is the step. The first call about a node
has the node's name. A second call has `/c` after this name. Further tries of a call have `.tTRY` after the call's name.
"""

import re

from runtime.core.events import text_hash

_ATTEMPT = re.compile(r"\.a\d+")
SECOND_CALL = "/c"
"""The suffix that a node's second call has in its name. That call classifies the result of the first call."""


def try_id(call: str, try_number: int) -> str:
    """Return the id of the request for a try of a call."""
    return call if try_number == 1 else f"{call}.t{try_number}"


def call_of(request_id: str) -> str:
    """Return the name of the call that a request is a try of."""
    return request_id.partition(".t")[0]


def node_of(request_id: str) -> str:
    """Return the node that a request for a call is about."""
    return call_of(request_id).removesuffix(SECOND_CALL)


def visit_of(request_id: str) -> str:
    """Return a name that all calls of a node's visit share, and that no other call has."""
    return _ATTEMPT.sub("", call_of(request_id))


def step_of(node: str) -> str:
    """Return the step of a node, or of a request about a node."""
    return node.partition("/")[0]


def rest_id(subject: str) -> str:
    """Return the name of a back-off wait. `subject` is the node that waits, or the request id of one of its tries."""
    return f"rest:{subject}"


def is_rest(request_id: str) -> bool:
    """Return whether a wait is a back-off."""
    return request_id.startswith("rest:")


def expiry_id(question_id: str) -> str:
    """Return the name of the wait for a question's expiry."""
    return f"expires:{question_id}"


def reminder_id(question_id: str) -> str:
    """Return the name of the wait for the next step of a question's reminders."""
    return f"reminds:{question_id}"


def is_of_question(request_id: str) -> bool:
    """Return whether a wait is for a question's expiry or for the next step of its reminders."""
    return request_id.startswith((expiry_id(""), reminder_id("")))


def backoff_id(request_id: str) -> str:
    """Return the name of the wait between a failed try and the next try."""
    return f"wait:{request_id}"


def child_run(run: str, node: str) -> str:
    """Return the id of the child run of an attempt. It is the same for every try, also after a crash."""
    return f"{run}.{text_hash(node)[:8]}"


def parent_of(child: str) -> str:
    """Return the id of a child run's parent, the run that has it as a step."""
    return child.rpartition(".")[0]


def is_child(run: str) -> bool:
    """Return whether a run is a child run. Ids of other runs have no dot."""
    return "." in run
