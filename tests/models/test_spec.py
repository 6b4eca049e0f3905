"""The words after `--model`, and the addresses that a prompt may go to."""

import pytest

from actors.config.model_spec import (
    Named,
    PluginSpec,
    ReplaySpec,
    Scripted,
    TemplateSpec,
    parse_model_spec,
)
from runtime.core.errors import UsageProblem
from runtime.models.providers import (
    CALL_SECONDS,
    LOCAL_CALL_SECONDS,
    call_seconds,
    check_base_url,
    is_local,
    is_loopback,
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("gpt-5", Named("gpt-5")),
        (" gpt-5 ", Named("gpt-5")),
        ("llama3:8b-instruct", Named("llama3:8b-instruct")),
        ("ollama:llama3:8b-instruct", Named("llama3:8b-instruct", "ollama")),
        ("meta-llama/Llama-3.3-70B", Named("meta-llama/Llama-3.3-70B")),
        ("Rules", Named("Rules")),
        ("anthropic:claude-sonnet-5", Named("claude-sonnet-5", "anthropic")),
        ("anthropic:eu.claude:1", Named("eu.claude:1", "anthropic")),
        ("anthropic/claude-sonnet-5", Named("anthropic/claude-sonnet-5")),
        ("template:bug", TemplateSpec("bug")),
        ("planner:pyperplan", PluginSpec("planner", "pyperplan")),
        ("planner:", PluginSpec("planner", "")),
        ("simulated:typical?seed=7", PluginSpec("simulated", "typical?seed=7")),
        ("quoting:", PluginSpec("quoting", "")),
        ("scripted:my replies.yaml", Scripted("my replies.yaml")),
        ("scripted:/tmp/a:b.yaml", Scripted("/tmp/a:b.yaml")),
        ("replay:fix-parser.2", ReplaySpec("fix-parser.2")),
    ],
)
def test_what_a_name_means(text, spec):
    assert parse_model_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no model"),
        ("  ", "names no model"),
        ("two words", "must not contain spaces"),
        ("bell\x07", "control characters"),
        ("x" * 201, "longer than 200"),
        ("template:bugs", "did you mean 'bug'"),
        ("scripted:", "no file name after"),
        ("replay:", "replay:k7m2x9qa"),
        ("replay:../../etc", "no valid run id"),
        ("script:file.yaml", "scripted:"),
        ("simulate:typical", "did you mean simulated:"),
        ("anthropic:", "no valid model name"),
        ("anthropic:two words", "no valid model name"),
        ("antropic:claude", "did you mean anthropic:"),
    ],
)
def test_what_means_nothing_is_told(text, told):
    with pytest.raises(UsageProblem) as problem:
        parse_model_spec(text, place="REPLAN_MODEL")
    assert str(problem.value).startswith("REPLAN_MODEL: ")
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("https://example.org", "https://example.org"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://0.0.0.0:8000/v1", "http://0.0.0.0:8000/v1"),
        ("https://api.localhost/v1", "https://api.localhost/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://192.168.1.5:8000/v1", "http://192.168.1.5:8000/v1"),
        ("http://10.0.0.2/v1", "http://10.0.0.2/v1"),
    ],
)
def test_addresses_that_are_fine(text, url):
    assert check_base_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.openai.com/v1",
        "ftp://example.org",
        "file:///etc/passwd",
        "http://api.openai.com/v1",
        "http://8.8.8.8/v1",
        "http://localhost.example.org/v1",
        "http://api.localhost/v1",
        "http://203.0.113.5/v1",
        "http://240.0.0.1/v1",
        "http://[2001::1]/v1",
        "http://127.0.0.1.example.org/v1",
        "https://user:hunter2@example.org/v1",
        "https://example.org/v1?key=hunter2",
        "https://example.org/v1#x",
        "https://example.org:port/v1",
        "https://[::1/v1",
        "https:///v1",
        "https://exa mple.org/v1",
    ],
)
def test_addresses_that_are_refused(text):
    with pytest.raises(UsageProblem, match=r"^OPENAI_BASE_URL: ") as problem:
        check_base_url(text)
    assert "hunter2" not in str(problem.value)


def test_this_machine_and_its_network():
    assert is_loopback("LOCALHOST.")
    assert is_loopback("127.8.8.8")
    assert not is_loopback("192.168.0.1")
    assert is_local("fd00::1")
    assert not is_local("example.local")


def test_a_server_on_this_machine_or_in_a_private_network_has_longer_for_a_call_than_any_other():
    assert LOCAL_CALL_SECONDS > CALL_SECONDS
    for url in (
        "http://localhost:11434/v1",
        " http://127.0.0.1:8080/v1",
        "http://[::1]:1234",
        "http://192.168.1.5/v1",
        "https://10.0.0.7/v1",
    ):
        assert call_seconds(url) == LOCAL_CALL_SECONDS
    for url in ("", "https://api.openai.com/v1", "https://203.0.113.5/v1", "http://[::1", "localhost"):
        assert call_seconds(url) == CALL_SECONDS


@pytest.mark.parametrize("host", ["10.1.2.3", "172.31.0.1", "192.168.1.5", "169.254.1.1", "fd12::1", "fe80::1%eth0"])
def test_addresses_of_private_networks_are_local(host):
    assert is_local(host)
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "api.localhost",  # F12: a resolver may ask a name server
        "2001::1",  # F12: Teredo
        "203.0.113.5",  # F12: for examples
        "240.0.0.1",  # F12: reserved
        "100.64.0.1",
        "172.32.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "::ffff:8.8.8.8",
        "64:ff9b:1::1",
        "2001:db8::1",
    ],
)
def test_other_addresses_are_not_local(host):
    assert not is_local(host)


def test_an_ipv4_address_may_be_written_as_one_of_ipv6():
    assert is_local("::ffff:192.168.1.1")
    assert is_loopback("::ffff:127.0.0.1")


def test_a_model_is_written_as_it_was_named():
    for text in ("gpt-5", "anthropic:claude-sonnet-5"):
        assert parse_model_spec(text).text == text
