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
from mbert_atlas.representations.language_vectors import mean_difference, random_vectors
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
    seed: int,
) -> pa.Table:
    """Predict examples with each weight; count the correct ones (``schemas.SHIFTED_SCORES``).

    Examples of NLI are given by the name of their dataset. Texts in ``languages`` are shifted to
    ``target`` at the hidden state ``layer``. Weights are factors of the difference of
    :func:`mbert_atlas.representations.language_vectors.language_means`, by protocol; 0 leaves the
    model unchanged. As a control, the same with a random vector of the same length, which ``seed``
    and the language decide.
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
            differences = mean_difference(stored_means, protocol, code, target)
            vectors = {"means": differences, "random": random_vectors(differences, seed, code)}
            settings = [(shift, weight) for shift in vectors for weight in weights]
            added = np.stack([weight * vectors[shift][layer] for shift, weight in settings])
            predicted = predict(
                model,
                tasks.get("nli").examples(store, rows),
                partial(_shifted_classes, layer=layer, added=added),
                description=f"{name}, {code}, shifted",
                token_budget=fitting_tokens(device) // len(settings),
            ).values
            gold = np.array(store.meta["labels"])[store.dense("labels")[rows]]
            right = np.array(labels)[predicted] == gold[:, None]
            ids = store.dense("example_id")[rows].tolist()
            table += [
                {"dataset": name, "language": code, "protocol": protocol, "layer": layer}
                | {"shift": shift, "weight": weight, "right": int(own.sum()), "n": len(rows)}
                | {RESAMPLED: 100 * resampled_mean(own, ids)}
                for (shift, weight), own in zip(settings, right.T, strict=True)
            ]
    return pa.Table.from_pylist(table, schema=SHIFTED_SCORES)


def _shifted_classes(
    model: Any, batch: dict[str, torch.Tensor], layer: int, added: np.ndarray
) -> torch.Tensor:
    """Return the most probable class of each text with each shift, int64, ``(b, shifts)``.

    Vectors, float32, shape ``(shifts, dims)``, are added to the hidden state at every position.
    """
    below = remember(model.encoder, model.inputs(batch), [layer])
    state = below.states[layer]
    shifts = torch.from_numpy(added).to(state.device)[:, None, None]
    last = last_states(model.encoder, below, layer, state + shifts)
    classes: torch.Tensor = model.head(model.encoder.pooler(last.flatten(0, 1))).argmax(dim=-1)
    return classes.view(last.shape[:2]).T
