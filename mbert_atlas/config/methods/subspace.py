"""Projection of a hidden state, see :mod:`mbert_atlas.training.methods.subspace`."""

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.methods import MethodOptions


class Subspace(MethodOptions):
    """Directions that identify languages are removed (Liang et al. 2021, section 5.2)."""

    language_data = "text"

    method: Literal["densray", "lda"] = "densray"
    """The basis whose first directions identify languages best."""
    first: int = Field(ge=0)
    """Columns [first:] of that basis are kept; so many are removed."""
    layer: int | None = Field(None, ge=0)
    """The hidden state that is projected; none: the last one."""

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return the directions."""
        dataset = run.specification["language_data"]["dataset"]
        return {"language_directions": files.directions(run.base, dataset)}
