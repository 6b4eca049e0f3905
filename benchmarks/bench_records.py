"""Plays policies over recorded dialogues of real models, and fits the simulated author to them, in half a minute.

The records are not part of this repository: REPLAN_EXTERNAL names the folder of the external cases. The tables go to
docs/experiments, the profiles of the fitted authors to docs/experiments/full/profiles, and the table of model families
to configs/model_families.yaml. `replan lab recorded` and `replan lab queue` write all tables of a file of records.
"""

import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from replan_lab.experiments.report import write_files  # noqa: E402
from replan_lab.recorded_dialogues.author_fitting import authors_of, judge, profile_files  # noqa: E402
from replan_lab.recorded_dialogues.model_families import families_file  # noqa: E402
from replan_lab.recorded_dialogues.policy_evaluation import arms_for, compare, tables_of  # noqa: E402
from replan_lab.recorded_dialogues.records import read_records  # noqa: E402
from replan_lab.recorded_dialogues.scheduling import queue_table  # noqa: E402
from tests.support.external import FOLDER  # noqa: E402

PROFILES = ROOT / "docs" / "experiments" / "full" / "profiles"
TABLES = {
    "mint": ("arms", "models", "author", "queue"),
    "intercode_sql": ("models", "repeats", "stops"),
    "ldb": ("arms", "stops"),
    "planbench_single": ("arms",),
}
"""The published tables, by the file of the records."""
SOURCE, DATE = "MINT-bench 3f7f12c", "2026-11-29"


def main():
    """Compute all tables."""
    if not (FOLDER / "replies").is_dir():
        print(
            f"not measured: there is no {FOLDER / 'replies'}; set REPLAN_EXTERNAL to the folder of the external cases"
        )
        return
    for name, published in TABLES.items():
        records = read_records(FOLDER / "replies" / f"{name}.jsonl.gz")
        tables = tables_of(compare(records, arms_for(records)))
        if name == "mint":
            tables |= {"author": judge(records), "queue": queue_table(records)}
            write_fitted(records)
        shown = {table: tables[table] for table in published}
        write_files(ROOT / "docs" / "experiments" / f"recorded_{name}", shown, {}, {})
        print(name)
    write_verdicts()


def write_fitted(records):
    """Write what is counted from the records or fitted to them: the table of model families, and the profiles."""
    text = families_file(records, SOURCE, DATE, "benchmarks/bench_records.py")
    (ROOT / "configs" / "model_families.yaml").write_text(text, encoding="utf-8")
    for profile, content in profile_files(authors_of(records), SOURCE):
        (PROFILES / f"{profile}.yaml").write_text(content, encoding="utf-8")


def write_verdicts():
    """Judge the plans that models wrote, and write how many verdicts differ from those of VAL."""
    from packages.lab.tests.long.conformance.test_external_models_plans import differences

    found, seconds = differences(1)
    result = {"plans": len(seconds), "other_verdict": len(found), "median_ms": 1000 * statistics.median(seconds)}
    (HERE / "results" / "records.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
