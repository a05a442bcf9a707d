"""Tasks: batches of encoded examples, a head on an encoder, predictions from its outputs."""

from pathlib import Path

from safetensors.torch import load_file

from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json
from mbert_atlas.registry import Registry
from mbert_atlas.tasks.base import EncoderWithHead, Task

TASKS = Registry(
    {
        "nli": "tasks.text_classification:TextClassification",
        "tagging": "tasks.tagging:Tagging",
        "ner": "tasks.tagging:Tagging",
        "qa": "tasks.qa:QuestionAnswering",
        "parsing": "tasks.parsing:DependencyParsing",
        "language_identification": "tasks.text_classification:TextClassification",
    },
)
"""By the name of their module in :mod:`mbert_atlas.config.tasks`."""


def get(name: str) -> Task:
    """Return a task by name."""
    task: Task = TASKS.load(name)()
    return task


def load_model(folder: Path | str) -> tuple[EncoderWithHead, list[str]]:
    """Open what :func:`tasks.base.save_model` wrote; return the model and its labels.

    Raises a DataError if a file is missing.
    """
    folder = Path(folder)
    facts = read_json(folder / "head.json")
    task, labels = get(facts["task"]), facts["labels"]
    options = task.head_options(**facts["options"])
    model = EncoderWithHead(load_encoder(folder), len(labels), task, options)
    if not (folder / "head.safetensors").is_file():
        raise DataError(folder, "head.safetensors", "no such file", "fine-tune again")
    model.head.load_state_dict(load_file(folder / "head.safetensors"))
    return model, labels
