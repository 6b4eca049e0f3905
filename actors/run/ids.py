"""The names of calls and waits. Journals store these names, so their form never changes.

A call requests one reply of a model or of another generator. A call is about one *node*, which is usually an attempt at
a step. Each kind of agent has its own names for nodes. The part of a node's name before a slash is the step. The first
call about a node has the node's name. A second call has this name with the suffix `/c`. A further try of a call has the
call's name with the suffix `.tTRY`.
"""

import re

from runtime.core.events import text_hash

_ATTEMPT = re.compile(r"\.a\d+")
SECOND_CALL = "/c"
"""The suffix of the name of a node's second call, which classifies the result of the first call."""


def try_id(call: str, try_number: int) -> str:
    """Return the id of the request for a try of a call."""
    return call if try_number == 1 else f"{call}.t{try_number}"


def call_of(request_id: str) -> str:
    """Return the name of a call from the id of a request for one of its tries."""
    return request_id.partition(".t")[0]


def node_of(request_id: str) -> str:
    """Return the node of a call from the id of a request for the call."""
    return call_of(request_id).removesuffix(SECOND_CALL)


def visit_of(request_id: str) -> str:
    """Return the name of a visit from the id of a request. All calls of the visit give the same name."""
    return _ATTEMPT.sub("", call_of(request_id))


def step_of(node: str) -> str:
    """Return the step from the name of a node, or from the id of a request about the node."""
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
    """Return the id of the child run of an attempt. The id is the same for every try, also after a crash."""
    return f"{run}.{text_hash(node)[:8]}"


def parent_of(child: str) -> str:
    """Return the id of the parent run of a child run."""
    return child.rpartition(".")[0]


def is_child(run: str) -> bool:
    """Return whether a run is a child run. Ids of other runs have no dot."""
    return "." in run
