"""Learn a task without the directions that identify languages (Liang et al. 2021, section 5.2).

The classifier gets the columns [first:] of a projected space (Figure 4).
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.methods.subspace import Subspace
from mbert_atlas.encoders.hidden_states import number_of_layers
from mbert_atlas.encoders.hooks import Change, Hook, hooked, project_out
from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.training.job import FinetuningRun
from mbert_atlas.training.method import Inputs, Method, Values


class Projection(Method):
    """A hidden state of the run's model is projected, in training and in every prediction.

    The encoder may be trained or frozen. Only weights are saved: a reader of the model has to
    project again. The folder ``directions`` has ``densray_basis`` and ``lda_basis`` (float64,
    ``(layers, dims, dims)``), a direction per column, those that identify languages best first.
    """

    def __init__(self, subspace: Subspace, directions: Path) -> None:
        self._subspace, self._path = subspace, directions
        self._hooks = ExitStack()  # keeps them as long as this object

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run."""
        return cls(Subspace(**options), inputs["language_directions"])

    def prepare(self, run: FinetuningRun) -> None:
        """Add the projection to the run's encoder.

        Raises a DataError if the directions are not of such an encoder, or none would be left.
        """
        encoder, name = run.model.encoder, f"{self._subspace.method}_basis"
        layers, dims = number_of_layers(encoder), encoder.config.hidden_size
        layer = layers - 1 if self._subspace.layer is None else self._subspace.layer
        basis = load_arrays(self._path).dense(name)
        if basis.shape != (layers, dims, dims) or layer >= layers:
            raise DataError(
                self._path,
                f"array {name}",
                f"{len(basis)} layers of {basis.shape[1]} dimensions do not fit layer {layer} of "
                f"an encoder with {layers} layers of {dims}",
                "take the directions of this encoder and one of its layers",
            )
        if self._subspace.first >= dims:
            problem = (
                f"without its first {self._subspace.first} directions nothing is left of {dims}"
            )
            raise DataError(self._path, f"array {name}", problem, "remove fewer")
        change = projection(basis[layer], self._subspace.first)
        self._hooks.enter_context(hooked(encoder, [Hook(layer, change)]))
        digest = sha256_of(self._path / f"{name}.npy")
        self.fingerprint = f"projection {digest} {self._subspace.model_dump_json()}"


def projection(basis: npt.NDArray[np.float64], first: int) -> Change:
    """Return the change that projects hidden states on the span of the columns [first:].

    The projection is orthogonal whether or not the columns are. The basis, float64, shape
    ``(dims, dims)``, has full rank.
    """
    # h' = h K K^T = h - h R R^T, [K R] from QR of the columns [first:]. With first = 1 and
    # basis = [[1, 1, 0],   K spans [1, 1, 0] and [0, 0, 2],   h = [[1, 3, 5],   h' = [[2, 2, 5],
    #          [0, 1, 0],   R = [1, -1, 0] / sqrt(2), not           [2, 0, 0],         [1, 1, 0],
    #          [0, 0, 2]]   the basis's [1, 0, 0]                   [4, 4, 0]]         [4, 4, 0]]
    columns, _ = np.linalg.qr(basis[:, first:], mode="complete")
    left = len(basis) - first
    if first <= left:
        return project_out(columns[:, left:].T.astype(np.float32))
    rest_of = project_out(columns[:, :left].T.astype(np.float32))
    return lambda hidden: hidden - rest_of(hidden)
