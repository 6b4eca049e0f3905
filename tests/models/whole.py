"""Reading the whole body of an answer, without a network."""

from runtime.models.completion import CompletionReader
from runtime.models.replies import BYTES_MAX


def read_completion(body, secret=""):
    reader = CompletionReader(asked="m", mode="text", secret=secret, bytes_max=BYTES_MAX)
    reader.feed(body)
    return reader.result()
