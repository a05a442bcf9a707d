"""Word alignment of the bitexts."""

from typing import Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class Alignment(ConfigModel):
    """Word alignment of the bitexts."""

    backend: Literal["numpy", "systran", "fast_align"] = "numpy"
    """fast_align's model: NumPy code of this repository, the wheel systran-align, or the binary
    fast_align on PATH; all but a few links in 10,000 agree."""
    symmetrisation: Literal["intersection", "one_to_one", "union"] = "intersection"
    """Which links of the two directions are kept."""
    maximum_words: int = Field(64, ge=1)
    """Longest sentence on either side (authors' loader)."""
    drop_identical: bool = True
    """Drop word pairs with the same spelling on both sides (authors' loader)."""
    held_out: int = Field(5000, ge=1)
    """Sentences per language held out of adjustment, for histograms."""
    maximum_length: int = Field(512, ge=8)
    """Longest sentence in subwords; BERT takes at most 512."""
    gold: dict[str, str] = Field(default_factory=dict)
    """By bitext dataset, the gold_alignment dataset that scores its alignment."""
