"""One case of two long suites, so that the quick tests fail too when a change breaks a whole suite."""

from packages.server.tests.long.mcp import test_stories, test_tools


async def test_a_client_of_mcp_plans_and_a_kill_of_the_server_loses_nothing(tmp_path, commands):
    await test_stories.test_a_client_without_forms_uses_the_plain_tools_and_a_kill_loses_nothing(
        tmp_path, "stdio", "auto", commands
    )


async def test_a_token_of_mcp_does_what_its_scope_allows(tmp_path, monkeypatch):
    await test_tools.test_scopes_of_tokens_hold_for_tools(tmp_path, monkeypatch)
