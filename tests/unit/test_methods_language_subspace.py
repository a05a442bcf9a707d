"""L-DAR: its value by hand, what it holds, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import finetuned, tagging_job

from mbert_atlas.arrays import save_arrays
from mbert_atlas.config.methods.language_subspace import LanguageSubspace
from mbert_atlas.config.training import HeadOptions
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.training.job import FinetuningJob, FinetuningRun
from mbert_atlas.training.methods.language_subspace import LanguagePreservation

DIMS, LAYERS = 16, 3


def directions(folder: Path, dims: int = DIMS) -> Path:
    random = np.random.default_rng(0)
    bases = [np.linalg.qr(random.normal(size=(dims, dims)))[0] for _ in range(LAYERS)]
    values = np.tile(np.linspace(4, 0, dims), (LAYERS, 1))
    arrays = {"densray_basis": np.stack(bases), "densray_values": values}
    save_arrays(folder / "directions", arrays, {})
    return folder / "directions"


def settings(**changes: Any) -> LanguageSubspace:
    own = {"dims": 4, "weight": 0.5, "first_layer": 1, "last_layer": 2}
    return LanguageSubspace.model_validate(own | changes)


def opened(job: dict[str, Any], folder: Path, **changes: Any) -> FinetuningRun:
    run = FinetuningRun(FinetuningJob(**job))
    LanguagePreservation(settings(**changes), directions(folder)).prepare(run)
    return run


def penalty(run: FinetuningRun, rows: list[int]) -> float:
    batch = run.objective.prepare(run.examples(run.rows).collate(np.array(rows)))
    weight = run.objective.weight(batch)
    with torch.inference_mode():
        held = run.objective.loss(run.model, batch, weight)
        return float(held - run.task.objective().loss(run.model, batch, weight))


def test_the_value_by_hand(tmp_path: Path) -> None:
    run = opened(tagging_job(tmp_path), tmp_path)
    rows = [3, 0, 7]
    assert penalty(run, rows) == pytest.approx(0, abs=2e-3)  # places are kept in half precision
    with torch.no_grad():
        for parameter in run.model.encoder.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    basis = np.load(tmp_path / "directions/densray_basis.npy")
    shares = np.array([4, 4 * 14 / 15, 4 * 13 / 15, 4 * 12 / 15])
    shares /= shares.sum()
    original = load_encoder(tmp_path / "encoder").eval()
    total, subwords = 0.0, 0
    for row in rows:
        ids = torch.from_numpy(run.store.ragged("input_ids")[row].astype(np.int64))[None]
        chosen = run.store.ragged("labels")[row] >= 0
        subwords += int(chosen.sum())
        with torch.no_grad():
            one, other = (
                model.eval()(ids, output_hidden_states=True).hidden_states
                for model in (run.model.encoder, original)
            )
        for layer in (1, 2):
            moved = (one[layer] - other[layer])[0, chosen].numpy() @ basis[layer, :, :4] * shares
            total += np.linalg.norm(moved, axis=1).sum()
    assert penalty(run, rows) == pytest.approx(0.5 * total / subwords, rel=2e-3)


def test_a_frozen_copy_that_nobody_has_trained_is_far_away(tmp_path: Path) -> None:
    run = opened(tagging_job(tmp_path), tmp_path, reference="random")
    assert penalty(run, [0, 1]) > 0.05


def test_random_directions_have_the_same_weights_and_another_draw_for_each_seed(
    tmp_path: Path,
) -> None:
    folder = directions(tmp_path)

    def weighted(seed: int, **changes: Any) -> np.ndarray:
        method = LanguagePreservation(settings(**changes), folder)
        return method._weighted(DIMS, [1, 2], seed).astype(float)

    own, random, other = (
        weighted(1),
        weighted(1, directions="random"),
        weighted(2, directions="random"),
    )
    assert own.shape == random.shape == (2, DIMS, 4)
    for layer in range(2):
        expected = np.diag(own[layer].T @ own[layer])  # squared weights, of orthogonal columns
        for one in (random, other):
            np.testing.assert_allclose(one[layer].T @ one[layer], np.diag(expected), atol=1e-6)
    for one, another in ((own[0], random[0]), (random[0], random[1]), (random[0], other[0])):
        assert np.abs(one - another).max() > 0.1
    assert (random == weighted(1, directions="random")).all()


def test_dropout_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    job = tagging_job(tmp_path) | {"head": HeadOptions(dropout=0.3)}
    for wanted in (False, True):
        run = opened(job, tmp_path, dropout=wanted)
        found = [each.p for each in run.model.modules() if isinstance(each, torch.nn.Dropout)]
        assert any(found) == wanted


def test_what_does_not_fit_is_rejected(tmp_path: Path) -> None:
    job = tagging_job(tmp_path)
    method = LanguagePreservation(settings(last_layer=12), directions(tmp_path))
    with pytest.raises(DataError, match="do not fit layers 1-12 of 16"):
        finetuned(job, method)
    method = LanguagePreservation(settings(), directions(tmp_path, dims=8))
    with pytest.raises(DataError, match="3 layers of 8 dimensions do not fit"):
        finetuned(job, method)
