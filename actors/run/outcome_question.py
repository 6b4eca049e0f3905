"""The question what became of a call of a tool that broke off, and its answers. Pure."""

from actors.values.answers import choice
from actors.values.question_form import AskedForm, asked_form

SUCCEEDED = "it ran and succeeded"
FAILED = "it ran and failed"
NOT_RUN = "it did not run"
OUTCOME_SCHEMA = choice([SUCCEEDED, FAILED, NOT_RUN])
"""The answers that a person may give about a call whose outcome is unknown."""


def outcome_question(tool: str, step: str, *, lives: bool = False) -> AskedForm:
    """Return the question what became of a call that broke off; `lives`: it may still run where it was started."""
    where = " It may still be running where it was started; end it there first." if lives else ""
    name = f"the tool '{tool}'" if tool else "the tool"
    return asked_form(
        f"What became of the call of {name} for {step}?",
        about=f"The call broke off, and may have done its work; the step waits for the answer.{where}",
        otherwise="the outcome counts as unknown, and the call is not made again by itself.",
        choices={
            SUCCEEDED: "The step goes on as after a success; the tool is not called again.",
            FAILED: "The step goes on as after a failure.",
            NOT_RUN: "The tool is called again.",
        },
    )
