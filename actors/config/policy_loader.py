"""Loads policies: a shipped name, or a path."""

from pathlib import Path

from pydantic import ValidationError

from actors.config.shipped_files import find_shipped
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import Document, read_document
from actors.policy.table import Policy


def load_policy(name_or_path: str, root: Path, folder: Path = Path()) -> Policy:
    """Return the policy; a relative path counts from `folder`, the workflow's own.

    Raises:
        UsageProblem: there is no such policy, or it is invalid; with file, line and the nearest valid name.
    """
    document = policy_document(name_or_path, root, folder)
    try:
        return Policy.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def policy_document(name_or_path: str, root: Path, folder: Path = Path()) -> Document:
    """Return the file of a policy with its line numbers. Raises `UsageProblem` as `load_policy` does."""
    return read_document(find_shipped(name_or_path, root / "configs" / "policies", "policy", (), folder))
