"""Prepares an acquisition with the config file and environment of this process."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.config.model_spec import TemplateSpec
from actors.handlers.generators import Registry
from actors.values.format import format_count
from replan.runs.prepare import Prepared, RunOrder, prepare
from replan.setup.home_folder import locate_home
from replan.setup.settings import UserConfig, choose_model, read_user_config, settings_of
from replan_acquire.acquisition.prepare import AcquisitionInput, PreparedAcquisition
from replan_acquire.documents.index import list_folder, open_index
from replan_acquire.settings import AcquireConfig
from runtime.core.errors import UsageProblem

_NOTICES_MAX = 5


def prepare_to_acquire(
    wish: AcquisitionInput,
    docs: str | None,
    model: str | None,
    *,
    registry: Registry,
    environment: Mapping[str, str],
    config: UserConfig | None = None,
    reads: bool = True,
) -> Prepared[PreparedAcquisition]:
    """Check the input of an acquisition, and return the prepared run.

    `docs` is a folder of documents. Without `docs`, the run uses the search service of the user's config, if there is
    one. Reading the documents may take minutes. If `reads` is false, this function does not read the documents, and
    returns no notices about them: the first search reads them. Raises `UsageProblem`, whose place is `docs`, `model` or
    the name of a field of `AcquisitionInput`.
    """
    config = read_user_config(locate_home(environment).config) if config is None else config
    choice = choose_model(model, environment, config)
    if isinstance(choice.spec, TemplateSpec):
        hint = "use -m to name a language model, recorded:FILE or scripted:FILE"
        raise UsageProblem("a template reads no documents, so it cannot fill a profile", place="model", hint=hint)
    search, remarks = _search_settings(docs, config, reads=reads)
    order = RunOrder(replace(wish, search=search), model, kind="acquisition")
    return replace(prepare(order, registry=registry, environment=environment, config=config), remarks=remarks)


def documents_folder(docs: str) -> Path:
    """Return the absolute path of a folder of documents. Raises `UsageProblem`, whose place is `docs`."""
    folder = Path(docs).expanduser().absolute()
    if not docs or not folder.is_dir():
        cause = "there is no such folder" if not folder.exists() else "this is a file, not a folder"
        raise UsageProblem(
            cause, place="docs", hint="name a folder with documents, such as PDF, DOCX, XLSX or text files"
        )
    return folder


def _search_settings(docs: str | None, config: UserConfig, *, reads: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    if docs is None:
        service = settings_of(config, AcquireConfig).search
        if service is not None:
            return service.model_dump(mode="json", exclude_defaults=True), ()
        remark = "there are no documents to search, so you are asked for every value; use --docs to name a folder"
        return {}, (remark,)
    folder = documents_folder(docs)
    try:
        if not reads:
            list_folder(folder)
            return {"folder": str(folder)}, ()
        index = open_index(folder)  # The searches of this process use it again.
    except OSError as error:
        cause = os.strerror(error.errno or 0).lower()
        raise UsageProblem(cause, place="docs", hint="name a folder that you can read") from None
    remarks = [] if index.documents else [f"{docs} has no documents that can be read"]
    remarks += index.notices[:_NOTICES_MAX]
    if len(index.notices) > _NOTICES_MAX:
        more = format_count(len(index.notices) - _NOTICES_MAX, "more file")
        remarks.append(f"left out, or read only in part: {more}")
    return {"folder": str(folder)}, tuple(remarks)
