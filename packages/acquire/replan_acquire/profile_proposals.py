"""Prepares the run that proposes a profile, and stores the profiles that the user accepts."""

import re
from collections.abc import Mapping
from pathlib import Path

from actors.config.model_spec import TemplateSpec
from actors.files.yaml_document import parse_document
from actors.handlers.generators import Registry
from actors.planning.prepare import PlanningInput, RunOptions, RunRequest
from actors.run.limits import RunLimits
from actors.run.result import RunResult
from actors.values.given import Attachment
from replan.runs.loaded import Loaded
from replan.runs.prepare import Prepared, RunOrder, prepare
from replan.setup.installation import data_root
from replan.setup.settings import UserConfig
from replan_acquire.acquiring import documents_folder
from replan_acquire.acquisition.profile import Profile, read_profile_value
from replan_acquire.acquisition.profile_check import NAME, read_profile
from replan_acquire.documents.index import DocumentIndex, open_index
from runtime.core.errors import UsageProblem
from runtime.journal.folder import prepare_folder, replace_file

WORKFLOW = "configs/proposals/profile.yaml"
CALLS = 6
"""The default limit of model calls for the proposal of a profile. The workflow has the same number as its
`max_total_calls`."""
PASSAGES_SHOWN = 12
"""The largest number of passages from the user's documents in the prompt for a profile."""


def prepare_proposal(
    goal: str,
    docs: str | None,
    model: str | None,
    limits: RunLimits,
    *,
    registry: Registry,
    environment: Mapping[str, str],
    no_input: bool,
    config: UserConfig | None = None,
) -> Prepared[RunRequest]:
    """Prepare the run that proposes a profile for a goal, with passages of the documents as attachments.

    This reads the documents, which may take minutes. `config` replaces the config file of the home.

    Raises:
        UsageProblem: the folder cannot be read, or the model is a template, which proposes no profile.
    """
    attachments = () if docs is None else _attach(open_index(documents_folder(docs)), goal)
    options = RunOptions(str(data_root("replan_acquire") / WORKFLOW), None, limits, no_input=no_input)
    order = RunOrder(PlanningInput(goal, options, attachments), model)
    prepared: Prepared[RunRequest] = prepare(order, registry=registry, environment=environment, config=config)
    if isinstance(prepared.choice.spec, TemplateSpec):
        hint = "name a language model with -m, or a profile; `replan acquire --help` has examples"
        raise UsageProblem("a template cannot propose a profile", place="-m", hint=hint)
    return prepared


def _attach(index: DocumentIndex, goal: str) -> tuple[Attachment, ...]:
    """Return an attachment for each document, with passages that match the goal, or else its first passage.

    All attachments together have at most `PASSAGES_SHOWN` passages.
    """
    found = index.search(goal, PASSAGES_SHOWN)
    first = {item.source: item for item in reversed(index.passages)}
    passages = dict.fromkeys((*found, *sorted(first.values(), key=lambda item: item.source)))
    texts: dict[str, list[str]] = {}
    for passage in [*passages][:PASSAGES_SHOWN]:
        texts.setdefault(passage.source, []).append(passage.text)
    return tuple(Attachment(name=name, text="\n\n".join(parts)) for name, parts in texts.items())


def proposes_profile(loaded: Loaded) -> bool:
    """Return whether a run proposes a profile."""
    if not loaded.started or loaded.kind.name != "planning":
        return False
    return any(NAME in pair.guards for pair in loaded.state.config.workflow.action_pairs.values())


def proposed_profile(result: RunResult) -> Profile | None:
    """Return the profile that a run has proposed and a person has approved; None if there is no such profile."""
    from actors.planning.result import Result  # noqa: PLC0415 - only planning runs have it

    if not isinstance(result, Result) or not result.succeeded:
        return None
    return read_profile_value(next((item.value for item in result.path if item.last), None))


def profile_text(result: RunResult) -> str:
    """Return the accepted profile of a run as YAML, with a comment that names the run."""
    from actors.planning.result import Result  # noqa: PLC0415 - only planning runs have it
    from actors.planning.result_lines import yaml_text  # noqa: PLC0415 - as above

    assert isinstance(result, Result)
    head = f"# Proposed by run {result.run_id}. Edit it as you like: it is checked whenever it is used.\n"
    return head + yaml_text(result)


def profile_path(output: str | None) -> Path:
    """Return the path of the profile's file.

    Raises `UsageProblem` if the file exists, is not a YAML file, or has no folder.
    """
    path = Path(output or "profile.yaml")
    if path.suffix.lower() not in {".yaml", ".yml"}:
        raise UsageProblem("a profile must be a YAML file", place="-o", hint="such as -o profile.yaml")
    if path.exists():
        raise UsageProblem(f"{path} exists already", place="-o", hint="name another file with -o")
    if not path.absolute().parent.is_dir():
        hint = "name a file in a folder that exists"
        raise UsageProblem("the folder of this file does not exist", place="-o", hint=hint)
    return path


FOLDER = "profiles"
KEPT_MAX = 500
TEXT_BYTES_MAX = 64 * 1024
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SOURCE = "profile"


def kept_profiles(home: Path) -> dict[str, str]:
    """Return the absolute path of each kept profile by its name, sorted by name."""
    found = sorted((home / FOLDER).glob("*.yaml"))
    return {path.stem: str(path.absolute()) for path in found if _NAME.fullmatch(path.stem)}


def parse_profile(text: str) -> Profile:
    """Return the profile in a YAML text. Raises `UsageProblem` with `profile:LINE key.path` as its place."""
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES_MAX:
        cause = f"the profile has more than {TEXT_BYTES_MAX // 1024} KiB"
        raise UsageProblem(cause, place=_SOURCE, hint="leave out fields that no result needs")
    return read_profile(parse_document(text, _SOURCE))


def keep_profile(home: Path, text: str, taken: frozenset[str], *, replace: bool = False) -> str:
    """Write the text of a profile to a file in the home, with its comments, and return the profile's name.

    The profile must not have one of the names in `taken`. A stored profile of the same name is replaced only if
    `replace` is true.

    Raises:
        UsageProblem: the text is not a valid profile, its name is in use, or the file cannot be written.
    """
    name = parse_profile(text).name
    place = f"{_SOURCE}: name"
    if name in taken:
        raise UsageProblem(
            f"this server already has a profile {name!r}", place=place, hint="give the profile another name"
        )
    path = home / FOLDER / f"{name}.yaml"
    known = kept_profiles(home)
    if name in known and not replace and path.read_text(encoding="utf-8", errors="replace") != text:
        hint = "give the profile another name, or tick the box to replace the kept profile"
        raise UsageProblem(f"another profile is already kept under the name {name!r}", place=place, hint=hint)
    if name not in known and len(known) >= KEPT_MAX:
        hint = f"remove some profiles from {path.parent}"
        raise UsageProblem(f"the home already has {KEPT_MAX} profiles, which is the limit", place=_SOURCE, hint=hint)
    prepare_folder(path.parent)
    try:
        replace_file(path, text.encode())
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise UsageProblem(cause, place=str(path), hint="make the folder writable") from None
    return name
