"""Families of training runs."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mbert_atlas.config.alignment import Aligner
from mbert_atlas.config.base import ConfigModel, Seed
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.marks import TargetLanguages, TrainingDataset
from mbert_atlas.config.references import BitextName, EncodingName, StartName
from mbert_atlas.config.search import Search
from mbert_atlas.config.tasks import EncodedDataset
from mbert_atlas.config.training import Adjustment


class _RunFamily(ConfigModel):
    like: str | None = None
    """Another family whose keys are inherited, except those given here; within `published`,
    `corrected` and `search` key by key, and `published` counts for both."""
    paper: str = Field(description="Paper that the cost of these runs is attributed to.")
    encoder: StartName = Field(description="An encoder, or another family of runs to start from.")
    encoders: list[str] | None = None
    """Several of them, with a separate family for each: `*` in the family's name stands for the
    encoder."""
    languages: list[str] | None = None
    """One run per language; none: as the family it starts from, or one run for all."""
    seeds: list[Seed] | None = Field(None, description="Seeds; none takes the top-level list.")


class AdjustmentRuns(_RunFamily):
    """Cross-lingual adjustment of an encoder (Efimov et al. 2022, Eq. 1)."""

    kind: Literal["adjustment"] = Field(description="Kind of runs.")
    languages: list[str] = Field(description="One run per language of the bitext.")
    bitext: BitextName = Field(description="Bitext dataset whose word pairs are aligned.")
    pairs: Literal["aligned", "shuffled"] = "aligned"
    """Pairs of aligned words; or, as a control, words of one sentence with those of another."""
    aligner: Aligner | None = Field(None, description="Aligner; none: `alignment.aligner`.")
    published: Adjustment = Field(description="What the authors' code does.")
    corrected: Adjustment | None = None
    """What the equations and good practice require, as far as it differs from `published`; none:
    the same."""


class FinetuningRuns(_RunFamily):
    """Fine-tuning on a task and predictions on its test sets."""

    kind: Literal["finetuning"] = Field(description="Kind of runs.")
    encoding: EncodingName = Field(description="One of `encodings`.")
    train: TrainingDataset = Field(description="Dataset to train on.")
    train_languages: list[str] | None = None
    """Its languages, {language} being that of the run; none: all."""
    evaluate: dict[str, TargetLanguages]
    """Datasets to predict, each with its languages. {language} is that of the run; a dataset that
    lacks it is left out."""
    language_data: EncodedDataset | None = None
    """Texts by language for a training method that needs them: to unlearn their languages, or to
    find directions that identify languages."""
    published: Finetuning = Field(default_factory=Finetuning)
    """What the authors' code does."""
    corrected: Finetuning | None = None
    """What good practice requires, as far as it differs from `published`; none: the same."""
    variants: dict[str, dict[str, Any] | None] | None = None
    """Several settings that override `published`, with a separate family for each: `*` in the
    family's name stands for the name given here; null leaves one out."""
    search: Search | None = None
    """Search for hyperparameters, from those under `published`."""


Runs = Annotated[AdjustmentRuns | FinetuningRuns, Field(discriminator="kind")]
