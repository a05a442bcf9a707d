"""A fine-tuned classifier on shifted hidden states, for every weight of the shift at once.

Section 4.3: texts of another language are shifted to the training language before the fine-tuned
upper layers process them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from mbert_atlas import tasks
from mbert_atlas.analysis.resampling import RESAMPLED, resampled_mean
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import Protocol
from mbert_atlas.encoders.hooks import last_states, remember
from mbert_atlas.encoders.precision import default_device, fitting_tokens
from mbert_atlas.representations.language_vectors import mean_difference
from mbert_atlas.schemas import SHIFTED_SCORES
from mbert_atlas.training.job import open_examples
from mbert_atlas.training.prediction import predict


def classify_shifted(
    model_dir: Path,
    examples: Mapping[str, Path],
    means: Path,
    *,
    protocol: Protocol,
    layer: int,
    weights: Sequence[float],
    languages: Sequence[str],
    target: str,
) -> pa.Table:
    """Predict examples with each weight; count the correct ones (``schemas.SHIFTED_SCORES``).

    Examples of NLI are given by the name of their dataset. Texts in ``languages`` are shifted to
    ``target`` at the hidden state ``layer``. Weights are factors of the difference of
    :func:`mbert_atlas.representations.language_vectors.language_means`, by protocol; 0 leaves the
    model unchanged.
    """
    model, labels = tasks.load_model(model_dir)
    device = default_device()
    model.to(device).eval()
    stored_means = load_arrays(means)
    table: list[dict[str, Any]] = []
    for name, path in examples.items():
        store = open_examples(path, "nli", model_dir)
        for code in languages:
            rows = np.flatnonzero(store.dense("language") == code)
            vector = mean_difference(stored_means, protocol, code, target)[layer]
            predicted = predict(
                model,
                tasks.get("nli").examples(store, rows),
                partial(_shifted_classes, layer=layer, vector=vector, weights=weights),
                description=f"{name}, {code}, shifted",
                token_budget=fitting_tokens(device) // len(weights),
            ).values
            gold = np.array(store.meta["labels"])[store.dense("labels")[rows]]
            right = np.array(labels)[predicted] == gold[:, None]
            ids = store.dense("example_id")[rows].tolist()
            table += [
                {"dataset": name, "language": code, "protocol": protocol, "layer": layer}
                | {"weight": weight, "right": int(own.sum()), "n": len(rows)}
                | {RESAMPLED: 100 * resampled_mean(own, ids)}
                for weight, own in zip(weights, right.T, strict=True)
            ]
    return pa.Table.from_pylist(table, schema=SHIFTED_SCORES)


def _shifted_classes(
    model: Any,
    batch: dict[str, torch.Tensor],
    layer: int,
    vector: np.ndarray,
    weights: Sequence[float],
) -> torch.Tensor:
    """Return the most probable class of each text with each weight, int64, ``(b, weights)``.

    The vector, float32, shape ``(dims,)``, is added to the hidden state at every position.
    """
    below = remember(model.encoder, model.inputs(batch), [layer])
    state = below.states[layer]
    factors = torch.tensor(list(weights), device=state.device, dtype=torch.float32)
    added = factors[:, None, None, None] * torch.from_numpy(vector).to(state.device)
    last = last_states(model.encoder, below, layer, state + added)
    classes: torch.Tensor = model.head(model.encoder.pooler(last.flatten(0, 1))).argmax(dim=-1)
    return classes.view(last.shape[:2]).T
