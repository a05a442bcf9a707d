"""Searches for hyperparameters: a grid, or random draws from it."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mbert_atlas.config.base import ConfigModel, OnlyWith
from mbert_atlas.config.marks import TrainingDataset

TEXT_METRICS = ("accuracy", "macro_f1_present", "macro_f1_union", "micro_f1")
TAG_METRICS = (*(f"token_{name}" for name in TEXT_METRICS), "span_macro_f1", "span_micro_f1")
TREE_METRICS = ("las", "uas")
"""What :mod:`mbert_atlas.analysis.scores` gives of predictions of texts, of tags and of trees."""


class Choice(ConfigModel):
    """How the best draw is chosen."""

    metric: str
    """Score in percent: accuracy, macro_f1_present, macro_f1_union or micro_f1 of texts; these with
    token_ before them, span_macro_f1 or span_micro_f1 of tags; las or uas of trees."""
    languages: list[str] | None = None
    """Languages whose mean counts; none: the score of all of them pooled."""


class Choices(ConfigModel):
    """How the best draw is chosen under each protocol."""

    published: Choice = Field(description="As the authors choose.")
    corrected: Choice = Field(description="As the paper's claims ask.")


class Search(ConfigModel):
    """A search for hyperparameters of a family, by development data."""

    only_with: ClassVar[OnlyWith] = {"seed": ("kind", "random")}

    kind: Literal["random", "grid"] = "random"
    """Some combinations of the values, drawn at random; or all of them."""
    draws: int | None = Field(None, ge=0)
    """random: how many different draws; 0 leaves out the search."""
    seed: int = Field(0, ge=0, description="random: seed of the draws.")
    training_seed: int = Field(0, ge=0)
    """Seed that every draw is trained with; if no run has it, none repeats a draw."""
    use: Literal["reported", "chosen"] = "reported"
    """Hyperparameters of the final runs: those given here, so that only the choice itself waits for
    the search; or those it chooses."""
    space: dict[str, list[Any]] = Field(min_length=1)
    """Values to try by hyperparameter, such as optimisation.learning_rate; combinations go through
    the last one fastest."""
    evaluate: dict[TrainingDataset, list[str]] = Field(min_length=1)
    """Development sets that choose, each with its languages."""
    choose_by: Choices = Field(description="How the best draw is chosen.")

    @model_validator(mode="after")
    def _draws_suit_the_kind(self) -> Self:
        if (self.kind == "grid") != (self.draws is None):
            raise ValueError("`draws` belong to a random search, and it needs them")
        if self.use == "chosen" and self.draws == 0:
            raise ValueError("`use: chosen` needs draws")
        return self
