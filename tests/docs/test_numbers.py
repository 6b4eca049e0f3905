"""Numbers that pages state in prose are those of the program."""

import pytest

from actors.config.workflow import STEPS_MAX, Workflow
from actors.demands.reader import READ_LINES_MAX
from actors.files import yaml_document
from actors.guards import recon
from actors.guards.plan_settings import Settings
from actors.handlers.handlers import INLINE_BYTES_MAX
from actors.planning.prompt_context import PREVIEW_MAX
from actors.plans.plan import RETRY_BUDGET_DEFAULT, TOTAL_RETRY_BUDGET_DEFAULT
from actors.plans.reductions import WORK_CONFIGURATIONS_MIN, WORK_PER_CONFIGURATION
from actors.prompting.render import (
    ANSWER_BYTES_MAX,
    DEPENDENCY_BYTES_MAX,
    FEEDBACK_BYTES_MAX,
    SPECIFICATION_BYTES_MAX,
)
from actors.run.outage import BACKOFF_FIRST, LEFT_SECONDS, PATIENCE_SECONDS, TRIES_MAX
from actors.templates.plan import DEMANDS_MAX
from actors.tools import listing
from replan.cli.commands.check import FILE_BYTES_MAX
from replan.cli.logfile import LOG_BYTES_MAX
from replan.setup.home_folder import LEASE_SECONDS
from runtime.drive.options import TERMINATED_SECONDS, LeaseTerms
from runtime.host.host import LOOK_SECONDS
from runtime.models.replies import BYTES_MAX, DEPTH_MAX
from tests.docs.blocks import ROOT

DEFAULTS = {name: field.default for name, field in Workflow.model_fields.items()}

STATED = [
    ("explanation/budgets.md", f"After {TRIES_MAX} tries in a row"),
    ("explanation/endings.md", f"`--patience` ({PATIENCE_SECONDS / 60:g} minutes by default)"),
    ("explanation/endings.md", {3600: "A host wakes the run every hour"}[LEFT_SECONDS]),
    ("explanation/endings.md", f"After SIGTERM it waits {TERMINATED_SECONDS:g} seconds at most"),
    ("explanation/budgets.md", {1: "starts at one second and doubles with each try"}[BACKOFF_FIRST]),
    ("reference/models.md", f"{TRIES_MAX} tries in a row"),
    ("how-to/use-a-model-server.md", f"`output_tokens_max` ({DEFAULTS['output_tokens_max']})"),
    ("how-to/use-a-model-server.md", f"`model_timeout_seconds` ({DEFAULTS['model_timeout_seconds']:g})"),
    ("how-to/write-a-guard.md", f"`guard_timeout_seconds` ({DEFAULTS['guard_timeout_seconds']:g})"),
    ("how-to/write-a-guard.md", f"above {INLINE_BYTES_MAX // 1024} KiB"),
    ("how-to/limit-spending.md", f"`max_total_calls` of the workflow ({DEFAULTS['max_total_calls']})"),
    (
        "how-to/resume-and-inspect.md",
        f"runs out after {LeaseTerms('x').ttl:g} seconds; on Postgres, after {LEASE_SECONDS:g}",
    ),
    ("how-to/use-postgres.md", f"within {LEASE_SECONDS + LOOK_SECONDS:g} seconds"),
    ("explanation/search.md", f"previews of {PREVIEW_MAX} characters"),
    ("explanation/guards.md", f"At {Settings().max_explorations:,} configurations"),
    ("reference/guards.md", f"`max_explorations` ({Settings().max_explorations:,})"),
    ("reference/guards.md", f"{WORK_PER_CONFIGURATION} units per configuration of `max_explorations`"),
    ("reference/guards.md", f"at least {WORK_CONFIGURATIONS_MIN * WORK_PER_CONFIGURATION:,}: about 2 s"),
    ("reference/tools.md", f"at most {listing.FILES_MAX:,} files, of which {listing.TOTAL_BYTES_MAX // 1024**2} MiB"),
    (
        "reference/guards.md",
        f"1 MiB, {yaml_document.NODES_MAX:,} values, {yaml_document.DEPTH_MAX} levels",
    ),
    ("reference/tools.md", f"keeps the newest {listing.KEPT} listings"),
    ("reference/guards.md", f"{recon.ITEMS_MAX:,} items in a list (`field.type`); {recon.SEARCH_MAX:,} characters"),
    ("reference/files.md", f"passed {LOG_BYTES_MAX // 1024**2} MiB"),
    ("reference/guards.md", f"A reply: {BYTES_MAX // 1024**2} MiB"),
    ("reference/guards.md", f"{DEPTH_MAX} levels deep"),
    ("reference/plan.md", f"`retry_budget` (whole number, default {RETRY_BUDGET_DEFAULT})"),
    ("reference/plan.md", f"`total_retry_budget` (whole number, default {TOTAL_RETRY_BUDGET_DEFAULT})"),
    (
        "reference/prompts.md",
        f"{SPECIFICATION_BYTES_MAX:,} bytes of the problem, {DEPENDENCY_BYTES_MAX:,} of each result",
    ),
    ("reference/prompts.md", f"{ANSWER_BYTES_MAX:,} of each answer, {FEEDBACK_BYTES_MAX:,} of each rejection"),
    ("explanation/templates.md", f"lists at most {DEMANDS_MAX} requirements"),
    ("reference/claims.yaml", f"than {READ_LINES_MAX:,} such lines"),
    ("reference/claims.yaml", f"at most {BYTES_MAX // 1024**2} MiB of a plan and {FILE_BYTES_MAX // 1024**2} MiB"),
    ("reference/workflow.md", f"has 1 to {STEPS_MAX} steps"),
]
"""A page, and words on it that hold a number of the program."""


@pytest.mark.parametrize(("page", "words"), STATED, ids=[f"{page}: {words}" for page, words in STATED])
def test_a_number_in_prose_is_that_of_the_program(page, words):
    """Line breaks do not count."""
    text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
    assert words in text
