"""The page on which a person edits the profile that a run has proposed, checks it, and keeps it for acquisitions."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actors.acquisition.profile import Profile, outline_lines
from replan.runs.profile_proposals import keep_profile, kept_profiles, parse_profile, profile_text, proposed_profile
from replan.runs.shown import read_shown
from replan.service.access import Principal
from replan.views.errors import line_of_error
from replan.web.requests import FormFields, page
from replan.web.site import Site
from runtime.core.errors import UsageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileShown:
    """A profile as the page shows it."""

    text: str
    """It as YAML, in the field that a person edits."""
    profile: Profile | None
    """What the text says; None for a text that is no valid profile."""
    trouble: str = ""
    """Why it was not kept."""
    replaces: bool = False
    """Whether a kept profile of the same name may be replaced."""


async def show_profile(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the profile that a run has proposed and a person has approved, as text to edit."""
    shown = await read_shown(site.reader, request.path_params["run"])
    profile = proposed_profile(shown.result)
    if profile is None:
        raise HTTPException(404, "this run has proposed no profile that was approved")
    return await _profile_page(site, request, who, ProfileShown(text=profile_text(shown.result), profile=profile))


async def keep_edited_profile(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """Keep the edited profile, or with `do` of `check` only show what it says; a wrong one is shown with its fault."""
    text, replaces = form.text("profile"), form.text("replace") == "yes"
    run = (await site.engine.journal.row(request.path_params["run"])).run
    try:
        if form.text("do") == "check":
            shown = ProfileShown(text=text, profile=parse_profile(text), replaces=replaces)
            return await _profile_page(site, request, who, shown)
        keep = partial(keep_profile, site.offer.folder, text, frozenset(site.offer.fixed_profiles), replace=replaces)
        name = await trio.to_thread.run_sync(keep)
    except UsageProblem as error:
        shown = ProfileShown(text=text, profile=None, trouble=line_of_error(error), replaces=replaces)
        return await _profile_page(site, request, who, shown)
    query = urlencode({"profile": name, "like": run, "done": "kept"})
    return RedirectResponse(f"/new/acquisition?{query}", 303)


async def _profile_page(site: Site, request: Request, who: Principal, shown: ProfileShown) -> Response:
    row = await site.engine.journal.row(request.path_params["run"])
    values: dict[str, Any] = {
        "run": row.run,
        "title": row.title,
        "text": shown.text,
        "lines": [] if shown.profile is None else list(outline_lines(shown.profile)),
        "kept": shown.profile is not None and shown.profile.name in kept_profiles(site.offer.folder),
        "replaces": shown.replaces,
        "trouble": shown.trouble,
        "here": "runs",
    }
    return page(site, who, "profile.html", values, 422 if shown.trouble else 200)
