"""The registry: the guards and generators of a process, by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from actors.config.action_pair import CHILD
from actors.config.step_guards import BUILT_IN, guards_of
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS, Workflow
from actors.guards.port import GuardFactory
from actors.handlers.generators import Generator
from actors.values.plugin_marks import PlugInFile


@dataclass(frozen=True, slots=True)
class Registry:
    """The guards and generators that workflows may name."""

    guards: Mapping[str, GuardFactory] = field(default_factory=lambda: dict(BUILT_IN))
    """The guards: built in, installed and passed in."""
    generators: Mapping[str, Generator] = field(default_factory=dict)
    """The generators from plug-ins, by name. Built-in generators are not included."""
    templates: Path | None = None
    """The folder of the plan templates; None if there is no template selector."""

    sources: Mapping[str, PlugInFile] = field(default_factory=dict)
    """The files of plug-ins, by kind and name, such as `guard 'small'`. An installed plug-in has no file here."""

    @property
    def generator_names(self) -> frozenset[str]:
        """The names of all generators that a workflow may use."""
        built_in = MODEL_GENERATORS if self.templates is None else MODEL_GENERATORS | FREE_GENERATORS
        return built_in | frozenset(self.generators)

    def find_missing(self, workflow: Workflow) -> tuple[str, ...]:
        """Return the plug-ins that a workflow needs and the registry lacks, such as `guard 'mine'`."""
        by_kind = {"generator": self.generator_names, "guard": self.guards}
        return tuple(f"{kind} {name!r}" for kind, name in _names_needed(workflow) if name not in by_kind[kind])

    def files_of(self, workflow: Workflow) -> tuple[PlugInFile, ...]:
        """Return the plug-in file of each guard and generator that a workflow names, without repetition."""
        keys = (f"{kind} {name!r}" for kind, name in _names_needed(workflow))
        return tuple(self.sources[key] for key in keys if key in self.sources)


def _names_needed(workflow: Workflow) -> dict[tuple[str, str], None]:
    """Return the kind and name of every generator and guard that a workflow names, in its order, without repetition."""
    return dict.fromkeys(
        (kind, name)
        for step, pair in workflow.action_pairs.items()
        for kind, names in (("generator", (pair.generator,)), ("guard", guards_of(workflow, step)))
        for name in names
        if not name.startswith(CHILD)
    )
