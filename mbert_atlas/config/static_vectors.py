"""Static subword vectors, and a classifier on top of them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, OnlyWith
from mbert_atlas.config.references import Reference

_PRETRAINED = Reference("encoders", " from scratch", lambda item: item.scratch is not None)


class StaticVectors(ConfigModel):
    """Vectors of an encoder's subwords, trained on the texts of its pretraining."""

    only_with: ClassVar[OnlyWith] = {"batch_size": ("method", "glove")}

    encoder: Annotated[str, _PRETRAINED]
    """An encoder that is pretrained from scratch."""
    method: Literal["word2vec", "glove"]
    """Skip-gram with negative sampling (Mikolov et al. 2013), or GloVe (Pennington et al. 2014).
    Subwords that occur less than 5 times have a zero vector."""
    dims: int = Field(768, ge=1, description="Dimension of a vector.")
    window: int = Field(5, ge=1, description="Context window: largest distance of two subwords.")
    epochs: int = Field(5, ge=1, description="Epochs over the texts, or over the counts.")
    learning_rate: float = Field(0.025, gt=0, description="Initial learning rate.")
    batch_size: int = Field(65536, ge=1, description="glove: counts per step.")
    seed: int = Field(1, ge=0, description="Seed of the initial vectors, samples and order.")


class PairClassifier(ConfigModel):
    """A network that classifies sentence pairs by the mean vectors of their subwords."""

    hidden_size: int = Field(512, ge=1, description="Width of the single hidden layer.")
    dropout: float = Field(0.2, ge=0, lt=1, description="Dropout of its inputs and outputs.")
    epochs: int = Field(10, ge=1, description="Epochs over the pairs.")
    batch_size: int = Field(256, ge=1, description="Pairs per step.")
    learning_rate: float = Field(1e-3, gt=0, description="Adam's learning rate.")
