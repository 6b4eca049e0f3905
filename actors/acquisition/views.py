"""The views of acquisition runs. Pure."""

from typing import Any

from actors.acquisition.events import AcquisitionEvent
from actors.acquisition.path_flow import path_flow
from actors.acquisition.path_tree import path_tree
from actors.acquisition.record_text import news_text, record_text
from actors.acquisition.result import Result, result_of
from actors.acquisition.result_lines import outcome_lines
from actors.acquisition.sent_prompt import sent_prompt
from actors.acquisition.state import AcquisitionState, State
from actors.acquisition.tracing import TRACING
from actors.run.views import Document, Views, budget_line
from actors.values.lines import Line


def _lines(result: Any, program: str) -> list[Line]:
    return outcome_lines(result, program)


def _progress(state: AcquisitionState, now: float) -> Line:
    known = isinstance(state, State) and state.config.price is not None
    return budget_line(state, now, price_known=known, working=bool(state.run.calls.open or state.run.tools))


def _report(_: AcquisitionState, result: Result, __: str) -> Document:
    from actors.acquisition.report import markdown  # noqa: PLC0415 -- most commands show none

    return Document(text=markdown(result))


def _graph(state: AcquisitionState, _: Result, __: str) -> Document:
    from actors.acquisition.mermaid import graph_mermaid  # noqa: PLC0415 -- as above
    from actors.acquisition.table import graph_for  # noqa: PLC0415 -- as above

    assert isinstance(state, State)
    return Document(text=graph_mermaid(graph_for(state.config.profile), [(each.node, each.to) for each in state.path]))


VIEWS: Views[AcquisitionState, AcquisitionEvent] = Views(
    result=result_of,
    result_lines=_lines,
    tree=path_tree,
    tree_title="Passes",
    flow=path_flow,
    flow_title="Path",
    record_text=record_text,
    news_text=news_text,
    progress=_progress,
    prompt=sent_prompt,
    documents={"markdown": _report, "mermaid": _graph},
    tracing=TRACING,
)
"""How acquisition runs are shown."""
