"""Reads the options of commands that plan: the goal, the workflow, the tools and the model.

If no model is named, asks the person for a model, or prints commands that name a model.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import orjson

from actors.config.model_spec import TEMPLATE_NAMES, TEMPLATES
from actors.planning.prepare import Adapt, RunOptions
from actors.run.limits import split_limits
from replan.cli.options import Invocation
from replan.cli.run_options import is_given, name_options
from replan.cli.terminal.console import notice
from replan.cli.terminal.prompt import may_ask
from replan.setup.home_folder import locate_home, prepare_home
from replan.setup.installation import program
from replan.setup.model_discovery import FoundModel, find_models
from replan.setup.settings import NoModel, choose_model, read_user_config
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.token_goals import TokenGoal


def read_goal(problem: str | None, values: Mapping[str, Any], *, or_else: str = "") -> TokenGoal | None:
    """Return the goal of `--goal`; None if `--goal` is not given.

    `or_else` is the option that the user gave instead of a problem; empty if there is none.

    Raises `UsageProblem` if both a problem and a goal are given, or neither. Also raises it for `--holds` without a
    goal, and for options that cannot be used with a goal.
    """
    if not values["goal"]:
        if values["holds"]:
            raise UsageProblem(
                "this option has an effect only with --goal", place="--holds", hint="add --goal, or leave --holds out"
            )
        if problem is None and not or_else:
            raise UsageProblem("this argument is missing", place="PROBLEM", hint=f"`{program()} run --help` explains")
        return None
    from replan.runs import token_goals

    if problem is not None or or_else:
        cause = f"both a goal and {or_else or 'a problem'} are given"
        raise UsageProblem(cause, place="--goal", hint="leave one of the two out")
    for key, option in (("files", "--attach"), ("repository", "--repo"), ("strict", "--strict")):
        if values[key]:
            raise UsageProblem("this option cannot be used with --goal", place=option, hint="leave it out")
    with name_options():
        return token_goals.read_goal(values["goal"], values["holds"])


def options_of(invocation: Invocation, values: dict[str, Any], goal: TokenGoal | None) -> RunOptions:
    """Return the options of planning. A goal has its own default workflow."""
    return RunOptions(
        values["workflow"] if goal is None or is_given("workflow") else goal.workflow,
        values["search"],
        split_limits(values),
        no_input=invocation.no_input,
        strict=values["strict"],
    )


def adapt_to(values: Mapping[str, Any], goal: TokenGoal | None) -> Adapt | None:
    """Return a function that adapts a run to the tools of `--tools` or to a goal; None if neither option is given."""
    if goal is None and values["tools"] is None:
        return None
    from replan.runs.executing import plan_with_tools
    from replan.runs.token_goals import tools_to_plan_with

    return partial(plan_with_tools, partial(tools_to_plan_with, values["tools"], os.environ), goal)


def model_to_use(
    invocation: Invocation, model: str | None, words: Sequence[str], *, templates: bool = True
) -> str | None:
    """Return the model in the form of `--model`; None if the environment or the config file names a model.

    On a terminal, the person chooses one of the models that are found here. Otherwise, notices show a command line with
    each found model. `words` are the words of this command line after `replan`. `templates` says whether a template can
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
    raise NoModel("no model is named", place="--model", hint="name a model as above, or set REPLAN_MODEL")


def _offer(found: Sequence[FoundModel], *, templates: bool) -> str | None:
    """Offer each found model whose name is known on the terminal, then the templates.

    Return the one that the person accepts; None if the person accepts none.
    """
    for item in found:
        if item.named:
            answer = _answer(f"{item.text}: use it?", ("yes", "no", "always"))
            if answer == "always":
                _write_to_config(item.model)
            if answer != "no":
                return item.model
    if not templates:
        return None
    notice("a template is filled with your title, files and demands; it is not a plan for your problem")
    answer = _answer("which template?", (*TEMPLATE_NAMES, "none"))
    return None if answer == "none" else f"template:{answer}"


def _answer(question: str, choices: Sequence[str]) -> str:
    text, kind = f"{question} ({', '.join(choices)})", click.Choice(choices)
    answer: str = click.prompt(text, type=kind, show_choices=False, err=True)
    return answer


def _write_to_config(model: str) -> None:
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
            "the file cannot be changed", place=str(config), hint=f"add this line yourself: {line.strip()}"
        ) from None
    notice(f"wrote {line.strip()} to {config}")
