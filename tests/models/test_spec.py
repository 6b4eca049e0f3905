"""The words after `--model`, and the addresses that a prompt may go to."""

import pytest

from actors.config.model_spec import Named, Replay, Rules, Scripted, Simulated, parse_model_spec
from runtime.core.errors import UsageProblem
from runtime.models.base_url import check_base_url, is_local, is_loopback


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("gpt-5", Named("gpt-5")),
        (" gpt-5 ", Named("gpt-5")),
        ("llama3:8b-instruct", Named("llama3:8b-instruct")),
        ("meta-llama/Llama-3.3-70B", Named("meta-llama/Llama-3.3-70B")),
        ("Rules", Named("Rules")),
        ("rules", Rules()),
        ("simulated:typical", Simulated("typical")),
        ("simulated:typical?seed=7", Simulated("typical", 7)),
        ("scripted:my replies.yaml", Scripted("my replies.yaml")),
        ("scripted:/tmp/a:b.yaml", Scripted("/tmp/a:b.yaml")),
        ("replay:fix-parser.2", Replay("fix-parser.2")),
    ],
)
def test_what_a_name_means(text, spec):
    """Only the three prefixes and one word are special."""
    assert parse_model_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no model"),
        ("  ", "names no model"),
        ("two words", "no spaces"),
        ("bell\x07", "control characters"),
        ("x" * 201, "longer than 200"),
        ("rules:", "just rules"),
        ("simulated:", "simulated:base"),
        ("simulated:Typical", "profile"),
        ("simulated:typical?seed=-1", "seed"),
        ("simulated:typical?seeds=1", "seed"),
        ("scripted:", "names no file"),
        ("replay:", "replay:k7m2x9qa"),
        ("replay:../../etc", "names no run"),
        ("script:file.yaml", "scripted:"),
        ("simulate:typical", "did you mean simulated:"),
    ],
)
def test_what_means_nothing_is_told(text, told):
    """One line that names the flag, the cause and the way out."""
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
        ("http://api.localhost/v1", "http://api.localhost/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://192.168.1.5:8000/v1", "http://192.168.1.5:8000/v1"),
        ("http://10.0.0.2/v1", "http://10.0.0.2/v1"),
    ],
)
def test_addresses_that_are_fine(text, url):
    """Anything encrypted, this machine, and a private network in digits."""
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
    """The message names the variable and never shows what may be a secret."""
    with pytest.raises(UsageProblem, match=r"^OPENAI_BASE_URL: ") as problem:
        check_base_url(text)
    assert "hunter2" not in str(problem.value)


def test_this_machine_and_its_network():
    """Loopback is this machine; local includes private addresses."""
    assert is_loopback("LOCALHOST.")
    assert is_loopback("127.8.8.8")
    assert not is_loopback("192.168.0.1")
    assert is_local("fd00::1")
    assert not is_local("example.local")
