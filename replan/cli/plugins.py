"""The plug-ins of a command: installed ones, those of the config file, and those of `--plugins`."""

from actors.handlers.registry import Registry
from replan.cli.options import Invocation
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import read_user_config


def registry_of(invocation: Invocation) -> Registry:
    """Return the registry of a command. Raises `UsageProblem` for a file that cannot be used."""
    config = locate_home().config
    configured = [config.parent / name for name in read_user_config(config).plugins]
    return registry(files=(*configured, *invocation.plugins))
