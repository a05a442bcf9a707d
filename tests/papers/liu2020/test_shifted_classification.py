"""Shifted classification: as the model with a hook, for every weight at once."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import (
    NLI_LABELS,
    finetuned,
    finetuning_job,
    make_encoder,
    make_tokenizer,
    nli_table,
)

from mbert_atlas import tasks
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.hooks import Hook, hooked
from mbert_atlas.encoding import encode
from mbert_atlas.files import read_parquet
from mbert_atlas.papers.liu2020.shifted_classification import classify_shifted
from mbert_atlas.representations.language_vectors import random_vectors


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    tokenizer = make_tokenizer(tmp_path)
    encode("nli", nli_table(40), tokenizer, tmp_path / "train", labels=NLI_LABELS)
    make_encoder(tmp_path, tokenizer)
    optimisation = Optimisation(learning_rate=5e-3, batch_size=8, epochs=2)
    own = {"evaluate": {"xnli": tmp_path / "train"}, "optimisation": optimisation}
    finetuned(finetuning_job(tmp_path, "nli", "train", **own))
    random = np.random.default_rng(0)
    means = {name: random.normal(size=(2, 3, 16)) for name in ("means_of_texts", "means_of_tokens")}
    save_arrays(tmp_path / "means", means, {"languages": ["de", "en"]})
    return tmp_path


def scores(folder: Path, languages: list[str]) -> dict[tuple[str, str, float], tuple[int, int]]:
    table = classify_shifted(
        folder / "model",
        {"xnli": folder / "train"},
        folder / "means",
        protocol="corrected",
        layer=1,
        weights=[0.0, 0.5, 2.0],
        languages=languages,
        target="en",
        seed=3,
    )
    rows = table.to_pylist()
    for row in rows:  # the mean over resamples is near the accuracy, within 4 standard errors
        share, again = 100 * row["right"] / row["n"], np.array(row["resampled"])
        assert again.shape == (400,)
        assert again.mean() == pytest.approx(share, abs=4 * max(again.std(), 0.01) / 400**0.5)
        assert again.std() == pytest.approx((share * (100 - share) / row["n"]) ** 0.5, rel=0.2)
    return {
        (row["shift"], row["language"], row["weight"]): (row["right"], row["n"]) for row in rows
    }


def test_counts_are_those_of_the_hooked_model(trained: Path) -> None:
    found = scores(trained, ["en", "de"])
    predicted = read_parquet(trained / "predictions.parquet").to_pandas()
    right = predicted["gold"] == predicted["prediction"]
    for code in ("en", "de"):
        own = right[predicted["language"] == code]
        assert found["means", code, 0.0] == found["random", code, 0.0] == (own.sum(), 20)
    same = {found[shift, "en", weight] for shift in ("means", "random") for weight in (0.5, 2.0)}
    assert same == {found["means", "en", 0.0]}  # its mean is that of the target: no length
    model, labels = tasks.load_model(trained / "model")
    store, means = load_arrays(trained / "train"), load_arrays(trained / "means")
    own = np.flatnonzero(store.dense("language") == "de")
    examples = tasks.get("nli").examples(store, own)
    batch = examples.collate(np.arange(20))
    gap = means.dense("means_of_tokens")[1] - means.dense("means_of_tokens")[0]
    vectors = {"means": gap[1], "random": random_vectors(gap, 3, "de")[1]}
    for (shift, vector), weight in product(vectors.items(), (0.5, 2.0)):
        hook = Hook(1, torch.from_numpy(weight * vector).float().add)
        with torch.no_grad(), hooked(model.eval().encoder, [hook]):
            classes = model(batch).argmax(dim=-1)
        assert labels == NLI_LABELS
        assert found[shift, "de", weight] == ((classes == batch["labels"]).sum().item(), 20)


def test_random_vectors_have_the_length_of_the_others_and_any_direction() -> None:
    vectors = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.1]])
    drawn = np.stack([random_vectors(vectors, seed, "de") for seed in range(2000)])
    assert np.linalg.norm(drawn, axis=-1) == pytest.approx(np.tile([5, 0, 0.1], (2000, 1)))
    # Uniform on the sphere: a coordinate has mean 0 and variance 1/3, in any direction.
    first = drawn[:, 0] / 5
    assert first.mean(axis=0) == pytest.approx([0, 0, 0], abs=4 / (3 * 2000) ** 0.5)
    assert np.cov(first.T) == pytest.approx(np.eye(3) / 3, abs=0.03)
    again = random_vectors(vectors, 0, "de")
    assert again.dtype == np.float32
    assert (again == drawn[0]).all()
    assert (random_vectors(vectors, 0, "fr") != again).any()
