"""Context windows: the largest number of tokens in a prompt and its reply together, as a model's server states it.

A prompt that cannot fit into the window is not sent. This check needs no tokenizer. A token of text, code or JSON has
fewer than `TOKEN_BYTES` bytes on average, so the bytes give a lower bound of the tokens. Any other prompt is sent, and
the server decides whether it fits.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import trio

from runtime.models.port import Fault, FaultKind, ModelRequest
from runtime.models.providers import OPENAI_URL, is_local

TOKEN_BYTES = 6
"""An upper bound of the mean number of bytes per token in a text without consecutive white space. English prose has 4
to 5 bytes per token."""
ASK_SECONDS = 2.0
"""The longest time, in seconds, that the program waits for a model's server to state its context window."""
ASKED_FROM_TOKENS = 300
"""A server is asked for its context window only if a prompt has at least this many tokens. Shorter prompts fit into
every context window.
"""
_TOKENS_MAX = 10**9

AskServer = Callable[[str, Any], Awaitable[Any]]
"""A function that sends a request. It takes a URL and a JSON body (None for GET), and returns the answer's JSON or
None.
"""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of a model."""

    tokens: int
    """The largest number of tokens in a prompt and its reply together."""
    source: str
    """The source of the number: a path on the server, or a name for people."""


def least_tokens(text: str) -> int:
    """Return a lower bound of the tokens in a text. A sequence of white space counts as one character."""
    return len(" ".join(text.split()).encode(errors="replace")) // TOKEN_BYTES


def too_long(request: ModelRequest, window: ContextWindow) -> Fault | None:
    """Return the fault for a prompt that leaves no room for a reply; None if the prompt may fit."""
    instructions, rest = least_tokens(request.system), least_tokens(request.user)
    if instructions + rest < window.tokens:
        return None
    text = (
        f"the prompt has at least {instructions + rest:,} tokens ({instructions:,} of them in the instructions), "
        f"but prompt and reply together may have only {window.tokens:,} ({window.source})"
    )
    return Fault(kind=FaultKind.PROMPT_TOO_LONG, message=text)


async def ask_window(base_url: str, model: str, ask: AskServer) -> ContextWindow | None:
    """Ask a server for the context window of a model. Return None if the window is unknown after `ASK_SECONDS`.

    The server vLLM reports the window in its list of models, and llama.cpp reports it in `/props`. Ollama reports it in
    `/api/ps` for a loaded model, and in `/api/show`. `/props`, `/api/ps` and `/api/show` are requested only from
    servers on this machine or in a private network. The windows of OpenAI's models are taken from the price list.
    """
    if base_url == OPENAI_URL:
        return window_in_price_list(model, base_url)
    with trio.move_on_after(ASK_SECONDS):
        listed = _of_vllm(await ask(f"{base_url}/models", None), model)
        parts = urlsplit(base_url)
        if listed is not None or not is_local(parts.hostname or ""):
            return listed
        root = f"{parts.scheme}://{parts.netloc}"
        props = _tokens(await ask(f"{root}/props", None), "default_generation_settings", "n_ctx")
        return ContextWindow(props, "/props") if props else await _of_ollama(root, model, ask)
    return None


def window_in_price_list(model: str, base_url: str) -> ContextWindow | None:
    """Return the context window of a provider's model from the bundled price list."""
    import genai_prices  # noqa: PLC0415 -- it takes tens of milliseconds to load

    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        found = genai_prices.calc_price(nothing, model, provider_api_url=base_url).model.context_window
    except LookupError:
        return None
    return ContextWindow(found, "the price list") if found else None


def _of_vllm(answer: Any, model: str) -> ContextWindow | None:
    models = answer.get("data") if isinstance(answer, dict) else None
    for item in models if isinstance(models, list) else ():
        if isinstance(item, dict) and item.get("id") == model and (found := _tokens(item, "max_model_len")):
            return ContextWindow(found, "/models")
    return None


async def _of_ollama(root: str, model: str, ask: AskServer) -> ContextWindow | None:
    loaded = await ask(f"{root}/api/ps", None)
    models = loaded.get("models") if isinstance(loaded, dict) else None
    if not isinstance(models, list):
        return None
    for item in models:
        named = isinstance(item, dict) and model in (item.get("name"), item.get("model"))
        if named and (found := _tokens(item, "context_length")):
            return ContextWindow(found, "/api/ps")
    shown = await ask(f"{root}/api/show", {"model": model})
    if not isinstance(shown, dict):
        return None
    for row in str(shown.get("parameters") or "")[:10_000].splitlines():
        name, _, value = row.strip().partition(" ")
        if name == "num_ctx" and value.strip().isascii() and value.strip().isdigit():
            return ContextWindow(int(value), "/api/show")
    facts = shown.get("model_info")
    names = [name for name in facts if str(name).endswith(".context_length")] if isinstance(facts, dict) else []
    found = _tokens(facts, names[0]) if names else None
    return ContextWindow(found, "/api/show") if found else None


def _tokens(value: Any, *path: str) -> int | None:
    """Return the whole number at a path of keys; None if the number is missing or cannot be the size of a window."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value <= _TOKENS_MAX else None


def parse_answer(body: bytes) -> Any:
    """Return the JSON value of a server's answer; None if the answer is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
