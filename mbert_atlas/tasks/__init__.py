"""Tasks: batches of encoded examples, a head on an encoder, predictions from its outputs."""

from __future__ import annotations

from mbert_atlas.errors import AtlasError
from mbert_atlas.tasks.base import Task
from mbert_atlas.tasks.inference import Inference
from mbert_atlas.tasks.language_identification import LanguageIdentification
from mbert_atlas.tasks.named_entities import NamedEntities
from mbert_atlas.tasks.question_answering import QuestionAnswering
from mbert_atlas.tasks.tagging import Tagging

__all__ = ["TASKS", "Task", "get"]

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Inference(),
        Tagging(),
        LanguageIdentification(),
        NamedEntities(),
        QuestionAnswering(),
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
