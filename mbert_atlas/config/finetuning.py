"""Hyperparameters of fine-tuning: those of every run, and a key for each training method."""

import re
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, create_model, field_validator

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.methods import METHODS, MethodOptions
from mbert_atlas.config.tasks import TASKS
from mbert_atlas.config.training import HeadOptions, Optimisation


class Finetuning(ConfigModel):
    """Hyperparameters of one fine-tuning under one protocol."""

    optimisation: Optimisation = Field(default_factory=Optimisation)
    """Optimiser, schedule, batches."""
    head: HeadOptions = Field(default_factory=HeadOptions, description="The classifier.")
    trained_layers: str | list[str] = "all"
    """Parts of the encoder that are trained with the head: all; all_but_words: not the word
    embeddings, as otherwise those of languages without training data do not move along; none; or a
    list of `embeddings` and of Transformer layers from 1, such as 7-12, the pooler always with
    them."""
    reinitialised_layers: list[str] = Field([], min_length=0)
    """Parts of the encoder that are re-initialised before training by the run's seed (Muller et al.
    2021): `embeddings`, and layers from 1, such as 1-2."""

    labelled_subword: Literal["first"] | None = None
    """first: under `published` the first subword of a word carries its label although it may be a
    lone word-boundary symbol of SentencePiece, as in authors' code for such encoders. none: under
    both protocols the first one that has characters."""

    @field_validator("trained_layers", "reinitialised_layers", mode="before")
    @classmethod
    def _are_layers(cls, value: Any, info: ValidationInfo) -> Any:
        words = ("all", "all_but_words", "none") if info.field_name == "trained_layers" else ()
        if isinstance(value, str) and value in words:
            return value
        items = [str(item) for item in value] if isinstance(value, list) else []
        for item in items:
            layers = re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", item)
            if item != "embeddings" and not (layers and int(layers[1]) <= int(layers[2])):
                raise ValueError(f"{item!r} is neither `embeddings` nor layers such as 7-12")
        if not items and (words or value != []):
            choices = f"{', '.join(words)} or " if words else ""
            raise ValueError(f"give {choices}a list such as [embeddings, 7-12], not {value!r}")
        return items

    @property
    def methods(self) -> dict[str, MethodOptions]:
        """The options of the training methods that are used, by key."""
        options = {key: getattr(self, key) for key in METHODS}
        return {key: item for key, item in options.items() if item is not None}

    def specification(self, task: str) -> dict[str, Any]:
        """Return what decides the result of a run on a task, as plain JSON values.

        Which subwords carry labels depends also on the encoder, see
        :class:`mbert_atlas.plan.runs.RunTable`.
        """
        values = self.relevant()
        values.pop("labelled_subword", None)
        fields = TASKS[task].head.model_fields
        values["head"] = {key: item for key, item in values["head"].items() if key in fields}
        return values


def _head_of_any_task() -> type[HeadOptions]:
    """Return the options of all classifiers, as a family's task is not known where it is read."""
    heads = {task.head for task in TASKS.values()}
    # A class that another one extends is among its bases.
    last = {head for head in heads if not any(head in other.__mro__[1:] for other in heads)}
    bases = tuple(sorted(last, key=lambda head: head.__name__))
    return create_model("HeadOptions", __base__=bases, __doc__=HeadOptions.__doc__)


if not TYPE_CHECKING:
    _Head = _head_of_any_task()
    Finetuning = create_model(
        "Finetuning",
        __base__=Finetuning,
        __doc__=Finetuning.__doc__,
        head=(_Head, Field(default_factory=_Head, description="The classifier.")),
        **{
            key: (options | None, Field(None, description=getdoc(options).partition("\n")[0]))
            for key, options in METHODS.items()
        },
    )
