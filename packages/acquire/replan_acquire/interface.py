"""The part of acquisitions that user interfaces call: to start and show runs, and to propose and keep profiles."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from actors.run.kind import PreparedRun
from actors.run.result import RunResult
from actors.values.answers import ANSWER_MAX
from actors.values.lines import Line
from replan.runs.kind_interface import KeptText, KindInterface, KindOrder, Names, Offer, OrderContext
from replan.runs.loaded import Loaded
from replan.setup.settings import settings_of
from replan_acquire import profile_proposals
from replan_acquire.acquiring import prepare_to_acquire
from replan_acquire.acquisition.prepare import CALLS, GOAL_BYTES_MAX, AcquisitionInput
from replan_acquire.acquisition.profile import outline_lines, read_profile_value
from replan_acquire.acquisition.profile_check import shipped_profiles
from replan_acquire.acquisition.result import AcquisitionJson
from replan_acquire.documents.extract_process import READER_PLUGINS
from replan_acquire.profile_proposals import (
    keep_profile,
    kept_profiles,
    parse_profile,
    prepare_proposal,
    profile_text,
    proposed_profile,
    proposes_profile,
)
from replan_acquire.settings import AcquireConfig

PROPOSES = "*"
"""If the field `profile` has this value, a model proposes a profile. Only the web page offers this value."""
GIVEN_MAX = 200
_Name = Annotated[str, Field(max_length=100)]


class AcquisitionOrder(BaseModel):
    """A schema to fill."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    goal: Annotated[str, Field(min_length=1, max_length=GOAL_BYTES_MAX)] = Field(
        description="The purpose of the schema, in a sentence."
    )
    profile: _Name = Field(description="The name of a profile that the server offers.")
    documents: _Name | None = Field(
        default=None,
        description="The name of a folder of documents. Without it, the search service of the settings is used, if "
        "there is one.",
    )
    given: Annotated[Mapping[str, Annotated[str, Field(max_length=ANSWER_MAX)]], Field(max_length=GIVEN_MAX)] = Field(
        default_factory=dict,
        title="Values that are known",
        description="Values that are known, by the path of the field.",
        examples=["core.region = Portugal"],
    )


def _profiles_of(offer: Offer) -> Mapping[str, str]:
    """Return the path of each profile by its name.

    These are shipped profiles, profiles from the settings, and profiles that were kept on the web page.
    """
    return kept_profiles(offer.folder) | _fixed_profiles(offer)


def _fixed_profiles(offer: Offer) -> dict[str, str]:
    """Return the shipped profiles and the profiles from the settings.

    A kept profile must not have the name of one of them.
    """
    settings = settings_of(offer.config, AcquireConfig).acquisitions
    own = {name: str(offer.folder / path) for name, path in settings.profiles.items()}
    return {name: name for name in shipped_profiles()} | own


def _documents_of(offer: Offer) -> Mapping[str, str]:
    settings = settings_of(offer.config, AcquireConfig).acquisitions
    return {name: str(offer.folder / path) for name, path in settings.documents.items()}


def _prepare(order: KindOrder, context: OrderContext) -> PreparedRun:
    offer, wanted = context.offer, order.fields
    assert isinstance(wanted, AcquisitionOrder)
    documents = None if wanted.documents is None else INTERFACE.choose(offer, "documents", wanted.documents)
    resources: dict[str, Any] = {
        "registry": context.registry,
        "environment": context.environment,
        "config": offer.config,
    }
    if wanted.profile == PROPOSES and context.may_take_long:
        limits = offer.limits_of(order, profile_proposals.CALLS)
        proposal = prepare_proposal(
            wanted.goal, documents, offer.model_of(order, context.environment), limits, no_input=False, **resources
        )
        proposal.check_model()
        return proposal.request
    wish = AcquisitionInput(
        profile=INTERFACE.choose(offer, "profile", wanted.profile),
        goal=wanted.goal,
        given=dict(wanted.given),
        limits=offer.limits_of(order, CALLS),
    )
    prepared = prepare_to_acquire(wish, documents, offer.model_of(order, context.environment), reads=False, **resources)
    prepared.check_model()
    return prepared.request


def _calls(texts: Mapping[str, str]) -> int:
    return profile_proposals.CALLS if texts.get("profile") == PROPOSES else CALLS


def _like(loaded: Loaded) -> Mapping[str, str] | None:
    if proposes_profile(loaded):
        return {"goal": loaded.kind.views.asked(loaded.state).text, "profile": PROPOSES}
    if loaded.kind.name != INTERFACE.kind:
        return None
    asked = loaded.kind.views.asked(loaded.state)
    return {"goal": asked.text, "profile": dict(asked.facts).get("profile", "")}


def _outline(value: Any) -> tuple[Line, ...]:
    profile = read_profile_value(value)
    return () if profile is None else tuple(outline_lines(profile))


def _text_of(result: RunResult) -> str | None:
    return None if proposed_profile(result) is None else profile_text(result)


def _outline_of_text(text: str) -> tuple[Line, ...]:
    return tuple(outline_lines(parse_profile(text)))


def _keep(offer: Offer, text: str, replace: bool) -> str:
    return keep_profile(offer.folder, text, frozenset(_fixed_profiles(offer)), replace=replace)


INTERFACE = KindInterface(
    kind="acquisition",
    order=AcquisitionOrder,
    takes_templates=False,
    prepare_order=_prepare,
    title="Fill a schema",
    summary="Start an acquisition, which fills the schema of a profile.",
    tool="acquire",
    calls=_calls,
    names={
        "profile": Names(
            "profiles", "profile", "acquisitions.profiles", _profiles_of, {PROPOSES: "a profile that a model proposes"}
        ),
        "documents": Names("documents", "folder of documents", "acquisitions.documents", _documents_of),
    },
    without={"stop_below"},
    like=_like,
    outline=_outline,
    result=AcquisitionJson,
    plugins=(READER_PLUGINS,),
    kept_text=KeptText(
        word="profile",
        about="Fields with their units and words, then the formulas of the results. "
        "The profile is checked before it is kept.",
        text=_text_of,
        outline=_outline_of_text,
        is_kept=lambda offer, text: parse_profile(text).name in kept_profiles(offer.folder),
        keep=_keep,
    ),
)
