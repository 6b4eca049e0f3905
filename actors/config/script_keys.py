"""The check of the keys of a script against the steps or calls of a run."""

from collections.abc import Collection

from actors.config.model_spec import Scripted, parse_model_spec
from actors.files.suggestions import nearest
from runtime.core.errors import UsageProblem
from runtime.models.scripted import ScriptedModel


def check_script(model: str, names: Collection[str], owner: str, thing: str) -> None:
    """Check that a run has a step or a call for each key of a script. Other models need no check.

    `names` are those of the steps or calls. `owner` and `thing` are the words of the message, such as `the workflow`
    and `step`. Raises `UsageProblem` for the first unknown key, whose place it names.
    """
    spec = parse_model_spec(model)
    if not isinstance(spec, Scripted):
        return
    script = ScriptedModel.from_file(spec.path)
    for key, name in script.keys.items():
        if name not in names:
            hint = nearest(name, names, kind=f"{thing}s")
            raise UsageProblem(f"{owner} has no {thing} {name!r}", place=script.place_of(key), hint=hint)
