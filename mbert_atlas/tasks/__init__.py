"""Tasks: batches of encoded examples, a head on an encoder, predictions from its outputs."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file

from mbert_atlas.config.training import HeadOptions
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_json
from mbert_atlas.tasks.base import EncoderWithHead, Task
from mbert_atlas.tasks.language_identification import LanguageIdentification
from mbert_atlas.tasks.ner import NamedEntities
from mbert_atlas.tasks.nli import NLI
from mbert_atlas.tasks.parsing import DependencyParsing
from mbert_atlas.tasks.qa import QuestionAnswering
from mbert_atlas.tasks.tagging import Tagging

__all__ = ["TASKS", "Task", "get", "load_model"]

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        NLI(),
        Tagging(),
        LanguageIdentification(),
        NamedEntities(),
        QuestionAnswering(),
        DependencyParsing(),
    )
}


def get(name: str) -> Task:
    """Return a task by name.

    Raises:
        AtlasError: if there is no such task; names those there are.
    """
    if name not in TASKS:
        raise AtlasError(f"There is no task {name!r}; choose one of {', '.join(sorted(TASKS))}.")
    return TASKS[name]


def load_model(folder: Path | str) -> tuple[EncoderWithHead, list[str]]:
    """Open what :func:`tasks.base.save_model` wrote; return the model and its labels.

    Raises:
        DataError: if a file is missing.
    """
    folder = Path(folder)
    facts = read_json(folder / "head.json")
    labels, options = len(facts["labels"]), HeadOptions(**facts["options"])
    make_head = get(facts["task"]).new_head
    model = EncoderWithHead(load_encoder(folder), labels, facts["unit"], options, make_head)
    if not (folder / "head.safetensors").is_file():
        raise DataError(folder, "head.safetensors", "no such file", "fine-tune again")
    model.head.load_state_dict(load_file(folder / "head.safetensors"))
    return model, facts["labels"]
