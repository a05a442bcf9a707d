"""Alignment replay, see :mod:`mbert_atlas.training.methods.replay`."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.methods import MethodOptions
from mbert_atlas.config.mistakes import check_name


class Replay(MethodOptions):
    """Alignment replayed at each step: continual learning (Efimov et al. 2022, Eq. 2).

    What is aligned, and with which dropout, is given by the :class:`Adjustment` before. The
    defaults are those of the authors' code; Eq. 2 has ``scope: both``. ``alpha`` is what they tuned
    for means; for sums see :mod:`mbert_atlas.training.methods.replay`.
    """

    trains_encoder = True

    sentences: int = Field(16, ge=1)
    """Parallel sentences sampled at each step, with replacement."""
    alpha: float = Field(0.01, gt=0)
    """Weight of the alignment added to the task's loss: of a distance that is a mean over pairs and
    dims, also where the adjustment's reduction is `sum`."""
    scope: Literal["pull", "both"] = "pull"
    """What `alpha` multiplies: the distance of aligned words alone, the regulariser counting fully,
    or both terms of Eq. 1, as Eq. 2 has it."""
    group_size: int = Field(16, ge=1)
    """Sampled sentences in one group of the adjustment's reduction `mean`."""

    def check(self, config: Any, place: str, name: str) -> None:
        """Report a family that does not start from an adjustment."""
        adjustments = [key for key, item in config.runs.items() if item.kind == "adjustment"]
        start = config.runs[name].encoder
        check_name(f"runs.{name}.encoder", start, adjustments, " as adjustment to replay")

    def specification(self, start: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the specification of the adjustment."""
        return {"replay": start}

    def passes(self, batch_size: int) -> float:
        """Return the forward passes over the sentences, those of the original encoder too."""
        return 7.0 * self.sentences / batch_size

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return what the adjustment was made from."""
        return {
            "replay_pairs": files.pairs(run.start),
            "replay_encoder": files.encoder(run.base),
        }
