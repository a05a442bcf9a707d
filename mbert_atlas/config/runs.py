"""Families of training runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mbert_atlas.config.base import ConfigModel, Seed
from mbert_atlas.config.encodings import EncodedDataset
from mbert_atlas.config.search import Search
from mbert_atlas.config.training import Adjustment, Finetuning


class _RunFamily(ConfigModel):
    like: str | None = Field(
        None,
        description="Another family that this one is like but for the keys given here; within "
        "`published`, `corrected` and `search` key by key, and `published` counts for both.",
    )
    paper: str = Field(description="Paper that the cost of these runs is booked on.")
    encoder: str | None = Field(
        None, description="An encoder, or another family of runs to start from."
    )
    encoders: list[str] | None = Field(
        None,
        description="Several of them, each for a family of its own: `*` in the family's name "
        "stands for the encoder.",
    )
    languages: list[str] | None = Field(
        None,
        description="One run per language; none: as the family it starts from, or one run for all.",
    )
    seeds: list[Seed] | None = Field(None, description="Seeds; none takes the top-level list.")

    @model_validator(mode="after")
    def _one_way_to_start(self) -> _RunFamily:
        if (self.encoder is None) == (self.encoders is None):
            raise ValueError("give one of `encoder` and `encoders`")
        return self


class AdjustmentRuns(_RunFamily):
    """Cross-lingual adjustment of an encoder (Efimov et al. 2022, Eq. 1)."""

    kind: Literal["adjustment"] = Field(description="Kind of runs.")
    languages: list[str] = Field(min_length=1, description="One run per language of the bitext.")
    bitext: str = Field(description="Bitext dataset whose word pairs are pulled together.")
    published: Adjustment = Field(description="What the authors' code does.")
    corrected: Adjustment | None = Field(
        None,
        description="What the equations and good practice ask, as far as it differs from "
        "`published`; none: the same.",
    )


class FinetuningRuns(_RunFamily):
    """Fine-tuning on a task and predictions on its test sets."""

    kind: Literal["finetuning"] = Field(description="Kind of runs.")
    encoding: str = Field(description="One of `encodings`.")
    train: str = Field(description="Dataset to train on.")
    train_languages: list[str] | None = Field(
        None, description="Which of its languages, {language} being the run's own; none: all."
    )
    evaluate: dict[str, list[str]] = Field(
        description="Datasets to predict, each with its languages. {language} is the run's own; a "
        "dataset that lacks it is left out."
    )
    language_data: EncodedDataset | None = Field(
        None,
        description="Texts whose language is unlearned, see `confusion`; or whose tokens give the "
        "directions of `language_subspace` and `subspace`.",
    )
    published: Finetuning = Field(
        default_factory=Finetuning, description="What the authors' code does."
    )
    corrected: Finetuning | None = Field(
        None,
        description="What good practice asks, as far as it differs from `published`; none: the "
        "same.",
    )
    variants: dict[str, dict[str, Any] | None] | None = Field(
        None,
        description="Several settings, each for a family of its own, laid over `published`: `*` in "
        "the family's name stands for the name given here; null leaves one out.",
    )
    search: Search | None = Field(
        None, description="Search for hyperparameters, from those under `published`."
    )


Runs = Annotated[AdjustmentRuns | FinetuningRuns, Field(discriminator="kind")]
