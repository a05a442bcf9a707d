"""Static vectors of word pieces, as they were before encoders with context."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, OnlyWith


class StaticVectors(ConfigModel):
    """Vectors learnt from the same pieces of the same texts as a pretrained encoder."""

    only_with: ClassVar[OnlyWith] = {
        **dict.fromkeys(("negative", "subsampling"), ("method", "word2vec")),
        **dict.fromkeys(("largest_weight_at", "batch_size"), ("method", "glove")),
    }

    encoder: str = Field(description="The encoder; it is pretrained from scratch.")
    method: Literal["word2vec", "glove"] = Field(
        description="Skip-gram with negative samples (Mikolov et al. 2013), or weighted least "
        "squares of counts (Pennington et al. 2014)."
    )
    dims: int = Field(768, ge=1, description="Length of a vector.")
    window: int = Field(5, ge=1, description="Most pieces between two that occur together, less 1.")
    minimum_count: int = Field(5, ge=1, description="Rarer pieces have a vector of zeros.")
    epochs: int = Field(5, ge=1, description="Passes over the texts, or over the counts.")
    learning_rate: float = Field(0.025, gt=0, description="At the beginning.")
    negative: int = Field(5, ge=1, description="word2vec: negative samples.")
    subsampling: float = Field(
        1e-3,
        ge=0,
        description="word2vec: pieces of a larger share of the texts are passed over at random, "
        "the commoner the more often; 0: none.",
    )
    largest_weight_at: float = Field(
        100.0, gt=0, description="glove: the count from which on weights are 1 (x_max)."
    )
    batch_size: int = Field(65536, ge=1, description="glove: counts in one step.")
    seed: int = Field(1, ge=0, description="Of the initial vectors, the samples and the order.")


class PairClassifier(ConfigModel):
    """What classifies pairs of sentences by the mean vectors of their pieces."""

    hidden_size: int = Field(512, ge=1, description="Width of the one hidden layer.")
    dropout: float = Field(0.2, ge=0, lt=1, description="On its inputs and outputs.")
    epochs: int = Field(10, ge=1, description="Passes over the pairs.")
    batch_size: int = Field(256, ge=1, description="Pairs in one step.")
    learning_rate: float = Field(1e-3, gt=0, description="Of Adam.")
