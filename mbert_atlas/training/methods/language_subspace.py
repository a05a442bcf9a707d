"""L-DAR: preserve directions that identify languages in fine-tuning (Liang et al. 2021, app. B).

Added to the task's loss, alpha ||W (E Q - E' Q)||: how far labelled subwords move from the original
encoder in the first DensRay directions Q of each hidden layer, weighted by their eigenvalues.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers import AutoModel

from mbert_atlas.arrays import Ragged, load_arrays, offsets_of
from mbert_atlas.config.methods.language_subspace import LanguageSubspace
from mbert_atlas.encoders.hidden_states import iterate_hidden_states
from mbert_atlas.encoders.hooks import Hook, hooked
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.randomness import derive_seed, generator, random_subspace
from mbert_atlas.tasks.base import Batch, Objective, Weight
from mbert_atlas.training.adjustment import switch_off_dropout
from mbert_atlas.training.job import FinetuningRun
from mbert_atlas.training.method import Inputs, Method, Values


class LanguagePreservation(Method):
    """The penalty on movement in the directions that identify languages.

    The projections of the original encoder's subwords are computed once, before training, by the
    ``densray_basis`` and ``densray_values`` that :mod:`mbert_atlas.analysis.subspaces` writes.
    """

    def __init__(self, subspace: LanguageSubspace, directions: Path) -> None:
        self._subspace, self._path = subspace, directions

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run."""
        return cls(LanguageSubspace(**options), inputs["language_directions"])

    def prepare(self, run: FinetuningRun) -> None:
        """Compute the original's projections and add the penalty to the run's loss.

        Raises a DataError if the directions are not of such an encoder.
        """
        if not self._subspace.dropout:
            switch_off_dropout(run.model)
        layers = list(range(self._subspace.first_layer, self._subspace.last_layer + 1))
        dims, seed = run.model.encoder.config.hidden_size, run.job.seed
        weighted = torch.from_numpy(self._weighted(dims, layers, seed))
        original = self._original(run, layers, weighted)
        run.objective = Preserving(run.objective, layers, weighted, original, self._subspace.weight)
        digest = sha256_of(self._path / "densray_basis.npy")
        self.fingerprint = f"subspace {digest} {self._subspace.model_dump_json()}"

    def _weighted(self, dims: int, layers: Sequence[int], seed: int) -> npt.NDArray[np.float32]:
        """Return each layer's first directions times their fraction of the eigenvalues.

        Random directions have the same weights: only what they point to differs.
        """
        stored = load_arrays(self._path)
        basis, values = stored.dense("densray_basis"), stored.dense("densray_values")
        if basis.shape[1] != dims or not set(layers) <= set(range(len(basis))):
            raise DataError(
                self._path,
                "array densray_basis",
                f"{len(basis)} layers of {basis.shape[1]} dimensions do not fit layers "
                f"{layers[0]}-{layers[-1]} of {dims}",
                "take the directions of this encoder",
            )
        kept = values[layers, : self._subspace.dims]
        shares = kept / kept.sum(axis=1, keepdims=True)
        columns = basis[layers, :, : self._subspace.dims]
        if self._subspace.directions == "random":
            draws = [generator(seed, "random directions", layer) for layer in layers]
            columns = np.stack([random_subspace(draw, *columns.shape[1:]) for draw in draws])
        weighted = columns * shares[:, None]
        return np.ascontiguousarray(weighted, dtype=np.float32)

    def _original(
        self, run: FinetuningRun, layers: Sequence[int], weighted: torch.Tensor
    ) -> Ragged:
        """Return the original's projections of the labelled subwords of the training data.

        Float16, shape ``(subwords, layers, dims)``; rows that are not trained on are empty.
        """
        ids, labels = run.store.ragged("input_ids"), run.store.ragged("labels")
        counts = np.zeros(len(ids), dtype=np.int64)
        is_labelled = labels.values != NO_LABEL
        counts[run.rows] = np.add.reduceat(is_labelled, labels.offsets[:-1])[run.rows]
        offsets = offsets_of(counts)
        projections = np.empty((offsets[-1], len(layers), weighted.shape[2]), dtype=np.float16)
        for batch in iterate_hidden_states(
            self._reference_model(run).to(default_device()),
            ids,
            layers=layers,
            rows=run.rows,
            precision=run.job.optimisation.precision,
            description=f"{run.job.description}, the original encoder",
        ):
            labelled = labels.padded(batch.rows, NO_LABEL) != NO_LABEL
            row, column = (torch.from_numpy(part) for part in np.nonzero(labelled))
            places = np.concatenate([np.arange(offsets[n], offsets[n + 1]) for n in batch.rows])
            for number, state in enumerate(batch.layers):
                vectors = state[row, column].float() @ weighted[number].to(state.device)
                projections[places, number] = vectors.cpu().numpy()
        return Ragged(projections, offsets)

    def _reference_model(self, run: FinetuningRun) -> nn.Module:
        model = load_encoder(run.job.encoder)
        if self._subspace.reference == "pretrained":
            return model
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(run.job.seed, "frozen copy"))
            return AutoModel.from_config(model.config)  # type: ignore[no-untyped-call,no-any-return]


class Preserving(Objective):
    """A mean over labelled subwords plus alpha times their distance from the original encoder's.

    ``weighted`` has the directions, float32, shape ``(layers, dims, d)``; ``original`` the
    projections under the original encoder, float16, shape ``(subwords, layers, d)``.
    """

    def __init__(
        self,
        objective: Objective,
        layers: Sequence[int],
        weighted: torch.Tensor,
        original: Ragged,
        factor: float,
    ) -> None:
        self.objective, self.layers, self.factor = objective, layers, factor
        self.weighted, self.original = weighted.to(default_device()), original

    def weight(self, batch: Batch) -> float:
        """Return the normaliser of the task's loss."""
        return self.objective.weight(batch)

    def prepare(self, batch: Batch) -> Batch:
        """Return a batch with ``original``, the projections of its labelled subwords."""
        original = self.original.take(batch["rows"].numpy()).values
        missing = len(batch["labels"]) - len(original)
        padded = np.pad(original, ((0, missing), (0, 0), (0, 0)))
        return {**self.objective.prepare(batch), "original": torch.from_numpy(padded)}

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the loss and alpha times the mean distance, summed over layers."""
        states: dict[int, torch.Tensor] = {}
        hooks = [Hook(layer, partial(_keep, states, layer)) for layer in self.layers]
        with hooked(model.encoder, hooks):
            loss = self.objective.loss(model, batch, step_weight)
        is_label, original = batch["labels"] != NO_LABEL, batch["original"].float()
        distance = torch.zeros((), device=loss.device)
        with torch.autocast(loss.device.type, enabled=False):
            for number, layer in enumerate(self.layers):
                vectors = states[layer].flatten(0, 1)[batch["positions"]].float()
                moved = vectors @ self.weighted[number] - original[:, number]
                norms = torch.linalg.vector_norm(moved, dim=1)
                distance = distance + (norms * is_label).sum()
        return loss + self.factor * distance / step_weight


def _keep(states: dict[int, torch.Tensor], layer: int, hidden: torch.Tensor) -> torch.Tensor:
    states[layer] = hidden
    return hidden
