"""Makes the table of model families (`configs/model_families.yaml`) from records of proposals."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from replan_lab.recorded_dialogues.policies import ModelRecord
from replan_lab.recorded_dialogues.policy_evaluation import KnownModels, cases_of
from replan_lab.recorded_dialogues.records import Records

PATTERNS: Mapping[str, str] = {
    "CodeLlama-13b-Instruct-hf": "*codellama*13b*instruct*",
    "CodeLlama-13b-hf": "*codellama*13b*",
    "CodeLlama-70b-Instruct-hf": "*codellama*70b*",
    "Eurus-70B-KTO": "*eurus*70b*kto*",
    "Eurus-70B-NCA": "*eurus*70b*",
    "Eurus-7B-SFT": "*eurus*7b*",
    "Llama-2-13b-chat-hf": "*llama-2-*13b*",
    "Llama-2-70b-chat-hf": "*llama-2-*70b*chat*",
    "Llama-2-70b-hf": "*llama-2-*70b*",
    "Llama-2-7b-hf": "*llama-2-*7b*",
    "MAmmoTH-7B-Mistral": "*mammoth*7b*",
    "Magicoder-S-DS-6.7B": "*magicoder*",
    "Meta-Llama-3-70B-Instruct": "*llama*3*70b*",
    "Meta-Llama-3-8B-Instruct": "*llama*3*8b*",
    "Mistral-7B-Instruct-v0.1": "*mistral*7b*",
    "Mixtral-8x7B-Instruct-v0.1": "*mixtral*8x7b*",
    "OpenMath-Mistral-7B-v0.1-hf": "*openmath*mistral*7b*",
    "chat-bison-001": "*chat-bison*",
    "claude-2": "*claude-2*",
    "gpt-3.5-turbo-16k-0613": "*gpt-3.5*",
    "lemur-70b-chat-v1": "*lemur*70b*",
    "openchat-3.5-1210": "*openchat*3.5*",
    "vicuna-13b-v1.5": "*vicuna*13b*",
    "vicuna-7b-v1.5": "*vicuna*7b*",
    "zephyr-7b-beta": "*zephyr*7b*",
}
"""For each recorded model: the pattern of the names to which its results apply. If several patterns match a name, the
longest is used."""
_HEAD = (
    "# Shares that are known of a model before a run. `repeats`: how often a retry repeats the rejected answer.",
    "# Names are compared in lower case. The longest matching pattern is used. Other models use the policy's `author`.",
)


def families_file(records: Records, source: str, date: str, command: str) -> str:
    """Return the text of the table. A recorded model that is not in `PATTERNS` counts only for the entry `middle`."""
    known = KnownModels(records)
    models = sorted({case.model for case in cases_of(records)})
    counted = {model: known.of(model) for model in models}
    shares = {name: fmean(item.shares[name] for item in counted.values()) for name in counted[models[0]].shares}
    middle = ModelRecord(**shares, count=sum(item.count for item in counted.values()))
    lines = [*_HEAD, f"# {command} writes this file.", f"middle: {_entry(middle, source, date)}", "families:"]
    return "\n".join([*lines, *_families(counted, source, date), ""])


def _families(counted: Mapping[str, ModelRecord], source: str, date: str) -> Iterator[str]:
    rows = [(PATTERNS[model], known) for model, known in counted.items() if model in PATTERNS]
    for pattern, known in sorted(rows, key=lambda row: (-len(row[0]), row[0])):
        yield f'  - {{pattern: "{pattern}", {_entry(known, source, date)[1:]}'


def _entry(known: ModelRecord, source: str, date: str) -> str:
    shares = ", ".join(f"{name}: {share:.3f}" for name, share in known.shares.items())
    return f'{{{shares}, n: {known.count}, source: "{source}", date: "{date}"}}'
