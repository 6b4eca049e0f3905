"""`acquire` without a model, as `tests/cli/test_no_model.py` says for the other commands."""

from tests.cli.test_no_model import REFUSED, ollama  # noqa: F401 -- a fixture


def test_without_a_model_a_found_one_is_named_and_no_template(replan, ollama):  # noqa: F811
    done = replan("acquire", "market_size", "Sheds")
    assert done.exit_code == 2
    assert "replan acquire market_size" in done.stderr
    assert "ollama:qwen3:8b" in done.stderr
    assert "template:bug" not in done.stderr
    assert done.stderr.endswith(REFUSED)
