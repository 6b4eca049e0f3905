"""The prompt by which a model writes a file of the workspace. Pure."""

from actors.execution.state import Attempt, State
from actors.prompting.render import Rendered, render
from actors.tools.file_texts import files_read
from actors.tools.uses import ModelUse
from actors.values.artifacts import Context
from actors.values.attachments import Attachment

_MISSING = "(this file does not exist yet)"


def rendered_file(state: State, attempt: Attempt) -> Rendered:
    """Return the prompt for the file that an attempt writes."""
    return render(state.config.writer, file_context(state, attempt))


def file_context(state: State, attempt: Attempt) -> Context:
    """Return everything that the prompt shows: the task, the step, the files, and why earlier files were rejected."""
    use = state.config.tools.generator_use(state.plan.by_id[attempt.step])
    assert isinstance(use, ModelUse), "only a model writes a file"
    step, run = state.plan.by_id[attempt.step], state.run
    files = files_read(attempt.read) if attempt.read else {}
    parts = [f"File: {use.file}", use.instructions, f"Step of the plan: {step.name or step.step_id}"]
    if step.description and step.description != step.name:
        parts.append(step.description)
    if state.config.problem:
        parts.append(f"The problem that the plan solves:\n\n{state.config.problem}")
    return Context(
        specification="\n\n".join(parts),
        requirements=run.texts_of("requirement"),
        notes=run.texts_of("note"),
        retry=state.feedback.get(attempt.name, ()),
        attachments=tuple(
            Attachment(name=path, text=_MISSING if text is None else text) for path, text in files.items()
        ),
    )
