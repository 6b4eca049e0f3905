"""Traces for the tests of blame, in each form that is read, and traces drawn from known weights."""

import json
import math
import random

from replan.blame.attribution import BlameWeights
from replan.blame.features import features
from replan.blame.trace import AgentTrace, TraceStep

TEXTS = (
    "Let us look at the list.",
    "I assume that the file holds 12 rows.",
    "```python\nprint(12)\n```",
    "Error: no such file",
    "I have verified it: 7, 8 and 9 are correct.",
    "Sorry, this cannot be done.",
    "Final answer: 42",
    "",
)
KINDS = ("agent", "agent", "agent", "tool", "thought", "handover")
TRUE = BlameWeights(
    name="true",
    traces=0,
    weights={"assumes": {"yes": 1.5, "no": 0.0}, "kind": {"tool": -2.0, "agent": 0.5}, "code": {"yes": 0.8, "no": 0.0}},
)
"""The weights that `drawn` draws mistakes with."""


def random_trace(random_source, steps=None):
    """Return a trace without a mark."""
    count = steps or random_source.randint(2, 12)
    found = [
        TraceStep(f"a{random_source.randint(0, 2)}", random_source.choice(KINDS), random_source.choice(TEXTS))
        for _ in range(count)
    ]
    return AgentTrace("chat messages", tuple(found))


def drawn(count, seed=1, weights=TRUE):
    """Return labelled traces whose mistakes are drawn with the probabilities of some weights."""
    source, found = random.Random(seed), []
    for number in range(count):
        trace = random_trace(source)
        chances = weights.probabilities(features(trace))
        mistake = source.choices(range(len(chances)), chances)[0]
        found.append(
            AgentTrace(
                trace.format,
                trace.steps,
                question=f"question {number}",
                mistake=mistake,
                agent=trace.steps[mistake].agent,
            )
        )
    return found


def log_of(trace):
    """Return a labelled trace as Who&When's logs have it."""
    notes = {"thought": " (thought)", "handover": " (-> other)"}
    history = [
        {"content": step.text, "name": "terminal" if step.kind == "tool" else step.agent + notes.get(step.kind, "")}
        for step in trace.steps
    ]
    history = [{**each, "role": "assistant"} for each in history]
    return {
        "history": history,
        "question_ID": trace.question,
        "mistake_step": str(trace.mistake),
        "mistake_agent": trace.agent,
    }


def span(name, start, attributes, *, parent="", trace="t1", error=False):
    """Return a span as OTLP's JSON has it."""
    return {
        "traceId": trace,
        "spanId": name,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + start),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {"code": 2} if error else {},
    }


def said(text, role="assistant", **part):
    """Return messages as the conventions for generative AI write them into an attribute."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text, **part}]}])


def entropy(chances):
    """Return the mean log score of a perfect forecaster of some chances."""
    return sum(chance * math.log(chance) for chance in chances if chance)
