"""Finds and reads rule tables: a shipped name, or a path."""

from pathlib import Path

from pydantic import ValidationError

from actors.config.resolve import find_shipped
from actors.files.explain import explain
from actors.files.yaml_document import read_document
from actors.policy.table import Policy


def load_policy(name_or_path: str, root: Path, folder: Path = Path()) -> Policy:
    """Return the policy; a relative path counts from `folder`, the workflow's own.

    Raises:
        UsageProblem: there is no such policy, or it is not sound; with file, line and the nearest valid name.
    """
    path = find_shipped(name_or_path, root / "configs" / "policies", "policy", (), folder)
    document = read_document(path)
    try:
        return Policy.model_validate(document.value)
    except ValidationError as error:
        raise explain(error, document) from None
