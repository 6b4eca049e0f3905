"""The questions while everything is undone, and what their answers mean. Pure."""

from collections.abc import Mapping

from actors.execution.forbidden import is_forbidden
from actors.execution.state import State
from actors.execution.undo import CallEffect, EffectEnd
from actors.tools.uses import PersonUse, use_text
from actors.values.format import shorten
from actors.values.question_form import AskedForm, make_form, one_line

CALL = "undo it"
"""The answer by which the undo tool is called."""
CALL_AGAIN = "try again"
"""The answer by which the undo tool is called again, with all its attempts."""
BY_HAND = "it is undone"
"""The answer of a person who has undone it."""
LEAVE = "leave it"
"""The answer by which it stays as it is."""
NOT_DONE = "it was not done"
"""The answer of a person who knows that there is nothing to undo."""

ENDS: Mapping[str, EffectEnd] = {
    BY_HAND: EffectEnd.BY_HAND,
    LEAVE: EffectEnd.LEFT,
    NOT_DONE: EffectEnd.NOT_DONE,
}
"""What each answer makes of the effect; the others have the tool called."""
_DOES: Mapping[str, str] = {
    CALL: "The undo tool is called.",
    CALL_AGAIN: "The undo tool is called again, with all its attempts.",
    BY_HAND: "It counts as undone by hand, and the next one is undone.",
    LEAVE: "It stays as it is and is listed as left, and the next one is undone.",
    NOT_DONE: "There is nothing to undo, and the next one is undone.",
}
_TEXT_MAX = 2_000


def undo_question(state: State, effect: CallEffect, asks: str, *, tried: bool) -> AskedForm:
    """Return the question about an effect; `asks` says why a person is asked, `tried` whether the tool was called."""
    use = state.config.tools.undos.get(effect.undo)
    options = [BY_HAND, LEAVE]
    if (
        use is not None
        and not isinstance(use, PersonUse)
        and not is_forbidden(state.constraints.requirements, effect.undo)
    ):
        options.insert(0, CALL_AGAIN if tried else CALL)
    if not effect.certain:
        options.append(NOT_DONE)
    shown = [f"Why you are asked: {asks}."]
    if isinstance(use, PersonUse):
        shown.append(f"What undoes it: {shorten(use.instructions, _TEXT_MAX)}")
    elif use is not None:
        shown.append(f"What undoes it: {shorten(use_text(use, state.config.tools), _TEXT_MAX)}")
    shown.append(f"The call that is undone had the arguments {shorten(effect.arguments, _TEXT_MAX)}.")
    return make_form(
        f"How is the step '{one_line(effect.step, 200)}' (call {effect.number}) undone?",
        about="Everything that the run has done is undone, the last call first; earlier calls wait for the answer.",
        shown="\n".join(shown),
        choices={option: _DOES[option] for option in options},
        otherwise="it is left as it is, and the next one is undone.",
        priority="high",
    )
