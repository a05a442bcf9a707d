"""The projection of a hidden state: what it is, when it is applied, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tiny_models import finetuned, tagging_job

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.methods.subspace import Subspace
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.hooks import Hook, hooked
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.tasks import load_model
from mbert_atlas.training.job import FinetuningJob, FinetuningRun
from mbert_atlas.training.methods.selection import BestEpoch
from mbert_atlas.training.methods.subspace import Projection, projection
from mbert_atlas.training.prediction import predict

DIMS, LAYERS = 16, 3
Floats = npt.NDArray[np.float64]


def skewed() -> Floats:
    """Columns of different lengths, none orthogonal to another."""
    random = np.random.default_rng(3)
    return random.normal(size=(DIMS, DIMS)) * np.logspace(-1, 1, DIMS) + 0.3


def projector(basis: Floats, first: int) -> Floats:
    kept = basis[:, first:]
    return np.asarray(kept @ np.linalg.pinv(kept))


def directions(folder: Path, densray: Floats | None = None) -> Path:
    """Orthonormal DensRay and skewed LDA of three layers, all different."""
    random = np.random.default_rng(0)
    bases = [np.linalg.qr(random.normal(size=(DIMS, DIMS)))[0] for _ in range(LAYERS)]
    if densray is not None:
        bases[-1] = densray
    turns = [np.linalg.qr(random.normal(size=(DIMS, DIMS)))[0] for _ in range(LAYERS)]
    lda = np.stack([turn @ skewed() for turn in turns])
    save_arrays(folder / "directions", {"densray_basis": np.stack(bases), "lda_basis": lda}, {})
    return folder / "directions"


def method(folder: Path, **changes: Any) -> Projection:
    subspace = Subspace.model_validate({"method": "lda", "first": 5} | changes)
    return Projection(subspace, folder / "directions")


@pytest.mark.parametrize("first", [0, 1, 5, 8, 9, 15])
def test_it_is_the_orthogonal_projection_on_the_span(first: int) -> None:
    basis = skewed()
    hidden = torch.randn(2, 7, DIMS, generator=torch.Generator().manual_seed(0))
    found = projection(basis, first)(hidden)
    assert found.numpy() == pytest.approx(hidden.numpy() @ projector(basis, first), abs=2e-5)


def test_the_example_of_the_comment() -> None:
    basis = np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 2]])
    hidden = torch.tensor([[1.0, 3, 5], [2, 0, 0], [4, 4, 0]])
    expected = np.array([[2.0, 2, 5], [1, 1, 0], [4, 4, 0]])
    assert projection(basis, 1)(hidden).numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["densray", "lda"])
@pytest.mark.parametrize("training", [True, False])
def test_the_head_does_not_see_the_first_directions(
    tmp_path: Path, training: bool, name: str
) -> None:
    job = tagging_job(tmp_path) | {"head": HeadOptions(dropout=0.0)}
    run = FinetuningRun(FinetuningJob(**job))
    basis = np.load(directions(tmp_path) / f"{name}_basis.npy")[-1]
    own = method(tmp_path, method=name)
    own.prepare(run)
    batch = run.examples(run.rows).collate(np.arange(4))
    seen = run.model.train(training).features(batch)
    vectors = seen.detach().numpy()
    assert np.abs(vectors).max() > 0.1
    assert vectors == pytest.approx(vectors @ projector(basis, 5), abs=1e-5)
    run.objective.loss(run.model, batch, 1.0).backward()
    gradient = run.model.head.weight.grad
    assert gradient.numpy() == pytest.approx(gradient.numpy() @ projector(basis, 5), abs=1e-4)
    assert any(bool(weight.grad.any()) for weight in run.model.encoder.encoder.parameters())


def test_another_layer_may_be_projected(tmp_path: Path) -> None:
    run = FinetuningRun(FinetuningJob(**tagging_job(tmp_path)))
    basis = np.load(directions(tmp_path) / "lda_basis.npy")
    own = method(tmp_path, layer=1, first=12)
    own.prepare(run)
    ids = torch.arange(5, 12)[None]
    states = run.model.encoder.eval()(ids, output_hidden_states=True).hidden_states
    for layer, state in enumerate(states):
        vectors = state[0].detach().numpy()
        lost = np.abs(vectors - vectors @ projector(basis[layer], 12)).max()
        assert (lost < 1e-5) == (layer == 1)


def test_predictions_and_the_choice_of_an_epoch_see_the_projection(tmp_path: Path) -> None:
    # Large initial weights: the head looks at all directions, if they are there.
    job = tagging_job(tmp_path) | {"head": HeadOptions(initial_stddev=1.0)}
    basis = np.load(directions(tmp_path) / "lda_basis.npy")[-1]
    best = BestEpoch(Selection(metric="span_micro_f1", development="ud"), job["train"])
    optimisation = Optimisation(learning_rate=2e-3, batch_size=8, epochs=5)
    log = finetuned(job, best, method(tmp_path, first=10), optimisation=optimisation)
    assert max(log.scores) > log.scores[0]
    table = read_parquet(job["output_predictions"])
    scores = tag_scores(table).set_index(["language", "metric"])["value"]
    assert scores["en", "span_micro_f1"] == pytest.approx(100 * max(log.scores))

    model, labels = load_model(job["output_model"])
    task = tasks.get("tagging")
    examples = task.examples(load_arrays(job["train"]))
    matrix = torch.from_numpy(projector(basis, 10)).float()
    predicted = table["prediction"].combine_chunks().flatten().to_pylist()
    for hooks, same in (([Hook(2, lambda hidden: hidden @ matrix)], True), ([], False)):
        with hooked(model.encoder, hooks):
            outputs = predict(model, examples, task.forward, description="")
        assert ([labels[number] for number in outputs.values] == predicted) == same


def test_a_saved_state_is_of_one_projection(tmp_path: Path) -> None:
    job, found = FinetuningJob(**tagging_job(tmp_path)), []
    directions(tmp_path)
    for changes in ({}, {"first": 6}, {"method": "densray"}, {"layer": 1}):
        own = method(tmp_path, **changes)
        own.prepare(FinetuningRun(job))
        found.append(own.fingerprint)
    directions(tmp_path, np.eye(DIMS))
    own = method(tmp_path, method="densray")
    own.prepare(FinetuningRun(job))
    assert len({*found, own.fingerprint}) == 5


def test_what_does_not_fit_is_rejected(tmp_path: Path) -> None:
    job = tagging_job(tmp_path)
    directions(tmp_path)

    def raises(message: str, **changes: Any) -> None:
        with pytest.raises(DataError, match=message):
            finetuned(job, method(tmp_path, **changes))

    raises("3 layers of 16 dimensions do not fit layer 3 of an encoder with 3", layer=3)
    raises("without its first 16 directions nothing is left of 16", first=16)
    arrays = {"lda_basis": np.stack([np.eye(8)] * 3), "densray_basis": np.stack([np.eye(16)] * 2)}
    save_arrays(tmp_path / "directions", arrays, {})
    raises("3 layers of 8 dimensions do not fit layer 2")
    raises("2 layers of 16 dimensions do not fit layer 1", method="densray", layer=1)
