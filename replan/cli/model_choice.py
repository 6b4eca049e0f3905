"""Chooses a model if none is named: asks the person, or prints commands that name a model."""

import os
import shlex
from collections.abc import Sequence

import click
import orjson

from actors.config.model_spec import TEMPLATE_NAMES, TEMPLATES
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice
from replan.cli.terminal.prompt import may_ask
from replan.setup.home_folder import locate_home, prepare_home
from replan.setup.installation import program
from replan.setup.model_discovery import FoundModel, find_models
from replan.setup.settings import NoModel, choose_model, read_user_config
from runtime.core.errors import UsageProblem


def model_to_use(
    invocation: Invocation, model: str | None, words: Sequence[str], *, templates: bool = True
) -> str | None:
    """Return the model in the form of `--model`; None if the environment or the config file names one.

    On a terminal, a person chooses among the models that are found here. Elsewhere, notices show the command line with
    each of them. `words` are the words of that command line after `replan`. `templates` says whether a template can
    replace a model. Raises `NoModel` if no model is chosen.
    """
    if model is not None:
        return model
    try:
        choose_model(None, os.environ, read_user_config(locate_home(os.environ).config))
    except NoModel:
        found = find_models(os.environ)
    else:
        return None
    shown = TEMPLATES if templates else ()
    if may_ask(no_input=invocation.no_input):
        chosen = _offer(found, templates=templates)
        if chosen is not None:
            return chosen
    command = shlex.join([program(), *words])
    for item in found:
        notice(f"{command} -m {item.model} # {item.place}")
    for name in shown:
        notice(f"{command} -m {name} # a template, not a plan for your problem")
    if not found:
        notice("no key and no server of a language model was found (OPENAI_API_KEY, Ollama, ...)")
    raise NoModel("no model is named", place="--model", hint="name one as above, or set REPLAN_MODEL")


def _offer(found: Sequence[FoundModel], *, templates: bool) -> str | None:
    """Ask on the terminal for one of the found models, then for a template; return None if all are declined."""
    for item in found:
        if item.named:
            answer = _answer(f"{item.text}: use it?", ("yes", "no", "always"))
            if answer == "always":
                _write_to_config(item.model)
            if answer != "no":
                return item.model
    if not templates:
        return None
    notice("a template is filled with the title, the named files and the demands; it is not a plan for your problem")
    answer = _answer("which template?", (*TEMPLATE_NAMES, "none"))
    return None if answer == "none" else f"template:{answer}"


def _answer(question: str, choices: Sequence[str]) -> str:
    text, kind = f"{question} ({', '.join(choices)})", click.Choice(choices)
    answer: str = click.prompt(text, type=kind, show_choices=False, err=True)
    return answer


def _write_to_config(model: str) -> None:
    """Add the model to the config file of the home. Raises `UsageProblem` if the file cannot be changed."""
    config = prepare_home().config
    line = f"model: {orjson.dumps(model).decode()}\n"
    before = config.read_text(encoding="utf-8") if config.exists() else ""
    new = config.with_name("config.yaml.new")
    try:
        new.write_text(before + ("" if before.endswith("\n") or not before else "\n") + line, encoding="utf-8")
        read_user_config(new)
        new.replace(config)
    except (OSError, UsageProblem):
        new.unlink(missing_ok=True)
        raise UsageProblem(
            "cannot be changed", place=str(config), hint=f"add this line yourself: {line.strip()}"
        ) from None
    notice(f"wrote {line.strip()} to {config}")
