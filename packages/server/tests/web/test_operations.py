"""The table of operations: what one face of the server can do, the other can, or it is said here why not."""

from replan_server.mcp.server import offered_tools
from replan_server.service.operations import operations
from replan_server.web.api_reads import OWN

HTTP_ALONE = {
    "list_runs": "the resource replan://runs",
    "list_questions_of_run": "the tool questions takes the id of a run",
    "read_tree": "the resource replan://runs/{id}/tree",
    "read_offer": "the resource replan://offer",
    "read_records": "records are for programs that show runs",
    "stream_records": "a client waits with the tool wait",
    "ag_ui": "a client has tools, which a front end has not",
    "read_budget": "the result has what was spent",
    "read_attempt": "prompts are for people who look into a run",
    "export": "the resource replan://runs/{id}/plan",
}
"""The operations without a tool, each with what a client of MCP uses."""
MCP_ALONE = {
    "wait": "a program follows the stream",
    "status": "the operation read_run says the status",
    "check_plan": "a program calls `replan check`",
}
"""The operations without an address, each with what a program uses."""


def test_what_changes_a_run_can_be_done_over_http_and_over_mcp():
    for operation in operations():
        assert (operation.mcp is None) == (operation.name in HTTP_ALONE), operation.name
        assert (operation.http is None) == (operation.name in MCP_ALONE), operation.name
        if operation.http is not None:
            assert (operation.http.method == "POST") == operation.writes == (operation.http.body is not None)
            assert operation.writes == (operation.scope != "read")


def test_both_faces_take_the_same_of_a_request():
    """MCP has the id of a run among the arguments, where HTTP has it in the address, and the key, there a header."""
    ids = {"id", "question", "idempotency_key"}
    for operation in operations():
        if operation.http is not None and operation.http.body is not None and operation.mcp is not None:
            sent = set(operation.http.body.model_fields) - {"plan_of"}
            assert sent == set(operation.mcp.takes.model_fields) - ids, operation.name


def test_each_operation_has_one_function():
    """Where the table has none, it belongs to the only face that has the operation."""
    own = {each.name for each in operations() if each.function is None}
    assert own == {*OWN, "wait"}
    assert len({each.name for each in operations()}) == len(operations())
    tools = {each.mcp.name for each in operations() if each.mcp is not None}
    assert len(tools) == len(offered_tools(allow_execute=True))
