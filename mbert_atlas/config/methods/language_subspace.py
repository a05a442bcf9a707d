"""L-DAR, see :mod:`mbert_atlas.training.methods.language_subspace`."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from mbert_atlas.config.methods import MethodOptions
from mbert_atlas.config.mistakes import Mistake, report
from mbert_atlas.config.references import encoding_of


class LanguageSubspace(MethodOptions):
    """Directions that identify languages are preserved: L-DAR (Liang et al. 2021, appendix B)."""

    language_data = "text"
    trains_encoder = True

    dims: int = Field(105, ge=1, description="Number of DensRay directions, the first ones.")
    directions: Literal["densray", "random"] = "densray"
    """Those; or as many random orthonormal ones with the same weights, another draw for each seed:
    a control of what the directions are for."""
    weight: float = Field(5e-3, gt=0)
    """alpha, the weight of the distance added to the task's loss."""
    first_layer: int = Field(1, ge=0, description="First hidden layer that is preserved.")
    last_layer: int = Field(12, ge=0, description="Last one.")
    reference: Literal["pretrained", "random"] = "pretrained"
    """Where subwords are held: in the encoder before fine-tuning; or in an untrained one, which is
    what the authors' code makes of a stock checkpoint."""
    dropout: bool = Field(False, description="Dropout in training; appendix B.2 has none.")

    @model_validator(mode="after")
    def _has_layers(self) -> Self:
        if self.first_layer > self.last_layer:
            raise ValueError("`first_layer` is above `last_layer`; exchange them")
        return self

    def check(self, config: Any, place: str, name: str) -> None:
        """Report a task without labelled subwords."""
        if encoding_of(config, name).scored != "token":
            problem = "languages are preserved at labelled subwords, which this task does not have"
            report(Mistake(place, problem, "tag words, or drop the method"))

    def passes(self, batch_size: int) -> float:
        """Return the forward passes over the reference encoder."""
        return 1.0

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return the directions."""
        dataset = run.specification["language_data"]["dataset"]
        return {"language_directions": files.directions(run.base, dataset)}
