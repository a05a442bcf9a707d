"""Word alignment of the bitexts."""

from typing import Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class Alignment(ConfigModel):
    """Word alignment of the bitexts."""

    symmetrisation: Literal["intersection", "one_to_one", "union"] = Field(
        "intersection", description="Which links of the two directions are kept."
    )
    maximum_words: int = Field(
        64, ge=1, description="Longest sentence on either side (authors' loader)."
    )
    held_out: int = Field(
        5000, ge=1, description="Sentences per language held out of adjustment, for histograms."
    )
    maximum_length: int = Field(
        512, ge=8, description="Longest sentence in subwords; BERT takes at most 512."
    )
    gold: dict[str, str] = Field(
        default_factory=dict,
        description="By bitext dataset, the gold_alignment dataset that scores its alignment.",
    )
