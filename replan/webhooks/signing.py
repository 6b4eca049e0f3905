"""Signatures in the way of Standard Webhooks: an HMAC over the message's id, the time of sending and the body. Pure."""

import base64
import hashlib
import hmac
from collections.abc import Iterable


def signatures(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature`: one signature for each key, so that either of two secrets verifies."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)
