"""Hyperparameters of linear classifiers on cached vectors."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.training import Optimisation


class Probe(ConfigModel):
    """Language identification by a linear layer on cached vectors (Tanti et al. 2021, appendix C).

    The defaults are the authors' for frozen text vectors (Table 5, XNLI frozen). Of equal scores on
    validation data, the first wins.
    """

    solver: Literal["adam", "lbfgs"] = "adam"
    """adam: minibatches at a constant rate, the best epoch is kept. lbfgs: multinomial logistic
    regression to convergence, the best penalty is kept."""
    selection: Literal["macro_f1", "span_macro_f1"] = "macro_f1"
    """Validation score that selects: macro F1 of texts or tokens over the union of gold and
    predicted classes; or seqeval's over spans of bare tags, which the authors' code uses for
    tokens."""
    standardise: bool = False
    """Standardise every feature by its mean and variance in training."""
    initial_stddev: float = Field(1e-2, gt=0)
    """adam: standard deviation of the initial weights."""
    dropout: float = Field(0.1, ge=0, lt=1, description="adam: dropout on the vectors.")
    learning_rate: float = Field(1e-2, gt=0, description="adam: learning rate.")
    batch_size: int = Field(64, ge=1)
    """adam: examples per step, each with all its vectors."""
    epochs: int = Field(5, ge=1, description="adam: epochs; the initial weights compete, too.")
    inverse_penalties: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (1e-3, 1e-2, 1e-1, 1.0), min_length=1
    )
    """lbfgs: inverse L2 penalties to choose from."""
    maximum_vectors: int | None = Field(200_000, ge=2)
    """lbfgs: train on a random sample of this many vectors; none: all."""

    @classmethod
    def of_run(cls, hyperparameters: Mapping[str, Any]) -> Self:
        """Return the probe with the hyperparameters of a run, as plain values (appendix D)."""
        optimisation = Optimisation.model_validate(hyperparameters["optimisation"])
        head, selection = hyperparameters["head"], hyperparameters.get("selection")
        rate = optimisation.head_learning_rate or optimisation.learning_rate
        changes = {
            "learning_rate": rate,
            "batch_size": optimisation.batch_size,
            "epochs": optimisation.epochs,
            "dropout": head["dropout"],
            "selection": selection["metric"] if selection else "macro_f1",
        }
        if head.get("initial_stddev"):
            changes["initial_stddev"] = head["initial_stddev"]
        return cls.model_validate(changes)
