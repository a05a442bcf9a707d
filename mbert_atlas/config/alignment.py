"""Word alignment of bitexts."""

from typing import Annotated, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, FilePath
from mbert_atlas.config.references import BitextName, corpus

Aligner = Literal["builtin", "fast_align", "eflomal"]


class Alignment(ConfigModel):
    """Word alignment of the bitexts."""

    aligner: Aligner = "builtin"
    """What links words: fast_align's model in NumPy, the program fast_align, or Eflomal from the
    package sil-thot (docs/alignment.md)."""
    program: FilePath | None = Field(None, description="fast_align; none: found on PATH.")
    symmetrisation: Literal["intersection", "one_to_one", "union"] = "intersection"
    """Which links of the two directions are kept."""
    longest_line: int = Field(250, ge=1, le=1000)
    """Words of the longest line, on either side, that is aligned; longer ones have no links."""
    maximum_words: int = Field(64, ge=1)
    """Longest sentence on either side (authors' loader)."""
    held_out: int = Field(5000, ge=1)
    """Sentences per language held out of adjustment, for histograms."""
    maximum_length: int = Field(512, ge=8, le=512)
    """Longest sentence in subwords; BERT takes at most 512."""
    gold: dict[BitextName, Annotated[str, corpus("gold_alignment")]] = Field(default_factory=dict)
    """By bitext dataset, the gold_alignment dataset that scores its alignment."""
