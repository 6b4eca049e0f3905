"""What takes long to import is imported when it is used."""

import subprocess
import sys


def test_describing_models_loads_no_client_and_no_price_list():
    """A provider's client takes 0.4 to 0.9 s, which `--help` must not pay."""
    program = """
import sys
import runtime.models.open_models
import runtime.models.port, runtime.models.prices, runtime.models.providers, runtime.models.responses
import actors.config.model_spec
print([name for name in ("anthropic", "openai", "httpx2", "genai_prices") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
