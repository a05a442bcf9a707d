"""Token vectors of languages: added up as if all were there at once, and a sample."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import WORDS, make_encoder, make_tokenizer, text_table

from mbert_atlas.analysis.subspaces import find_directions
from mbert_atlas.arrays import load_arrays
from mbert_atlas.encoders.hidden_states import iterate_hidden_states
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.errors import DataError
from mbert_atlas.representations.language_vectors import collect_vectors, divided, moments


def test_blocks_add_up_to_the_whole() -> None:
    vectors = torch.randn(3, 50, 4, generator=torch.Generator().manual_seed(1)) + 100
    mean, scatter = moments([vectors[:, :7], vectors[:, 7:8], vectors[:, 8:]])
    whole = vectors.double()
    centred = whole - whole.mean(dim=1, keepdim=True)
    torch.testing.assert_close(mean, whole.mean(dim=1))
    torch.testing.assert_close(scatter, centred.transpose(1, 2) @ centred)


def test_texts_are_divided_as_the_example_says() -> None:
    rows, tokens = np.arange(4), np.array([4, 3, 5, 4])
    (first, second), sizes = divided(rows, tokens, 6, 5)
    assert (first.tolist(), second.tolist(), sizes) == ([0, 1], [2], (6, 5))
    (first, second), sizes = divided(rows[:2], tokens[:2], 6, 5)
    assert (first.tolist(), second.tolist(), sizes) == ([0], [1], (4, 3))
    (first, second), sizes = divided(rows[:1], tokens[:1], 6, 5)
    assert (first.tolist(), second.tolist(), sizes) == ([0], [], (4, 0))


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(0)
    plain = [word for word in WORDS if not word.startswith("##")]
    found = [" ".join(random.choice(plain, random.integers(2, 9))) for _ in range(60)]
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    languages = ["en", "ru", "hi"] * 20
    encode("text", text_table(found, languages), encoder, tmp_path / "texts", max_length=32)
    return encoder, tmp_path / "texts"


def collect(texts: tuple[Path, Path], output: Path, languages: list[str], summed: int) -> None:
    options: dict[str, Any] = {"languages": languages, "summed": summed, "probed": 10}
    collect_vectors(encoder=texts[0], store=texts[1], output=output, **options)


def test_means_scatter_and_sample(
    texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mbert_atlas.encoders.hidden_states.fitting_tokens", lambda device: 64)
    encoder, store = texts
    collect(texts, tmp_path / "vectors", ["ru", "en"], summed=1000)
    found = load_arrays(tmp_path / "vectors")
    assert found.meta["languages"] == ["ru", "en"]
    vectors, language = found.dense("vectors"), found.dense("language")
    assert vectors.shape[::2] == (3, 16)
    assert (np.bincount(language, minlength=2) > 0).all()
    assert len(language) <= 20
    assert (found.dense("counts") < 1000).all()  # too little text: both get their share
    # One language whose texts all make the moments: the same numbers at once.
    stored = load_arrays(store)
    model, ids = load_encoder(encoder), stored.ragged("input_ids")
    rows = np.flatnonzero(stored.dense("language") == "ru")
    every = np.concatenate(
        [
            state[n, 1 : length - 1].numpy()
            for batch in iterate_hidden_states(model, ids, layers=[2], rows=rows)
            for state in batch.layers
            for n, length in enumerate(batch.lengths)
        ]
    )
    sampled = vectors[2][language == 0].astype(np.float32)
    nearest = np.abs(sampled[:, None] - every).max(axis=2).min(axis=1)
    assert nearest.max() < 2e-3
    total = len(every)
    assert found.dense("counts")[0] + len(sampled) <= total
    assert np.abs(found.dense("means")[0, 2] - every.mean(axis=0)).max() < 0.2
    assert np.linalg.eigvalsh(found.dense("scatter")).min() > -1e-6


def test_a_language_without_text(texts: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="language sw: there is no text"):
        collect(texts, tmp_path / "vectors", ["sw"], summed=10)
    assert not (tmp_path / "vectors").exists()


def test_directions_of_parts_are_those_of_the_whole(
    texts: tuple[Path, Path], tmp_path: Path
) -> None:
    for name, languages in (("a", ["ru"]), ("b", ["en", "hi"]), ("whole", ["ru", "en", "hi"])):
        collect(texts, tmp_path / name, languages, summed=50)
    find_directions([tmp_path / "a", tmp_path / "b"], tmp_path / "parts")
    find_directions([tmp_path / "whole"], tmp_path / "all")
    parts, whole = load_arrays(tmp_path / "parts"), load_arrays(tmp_path / "all")
    assert parts.meta["languages"] == ["ru", "en", "hi"]
    assert parts.dense("densray_rank").tolist() == parts.dense("lda_rank").tolist() == [2, 2, 2]
    for name in ("densray_values", "lda_values", "means"):
        np.testing.assert_allclose(parts.dense(name), whole.dense(name), rtol=1e-6, atol=1e-9)
    basis = parts.dense("densray_basis")
    np.testing.assert_allclose(
        basis.transpose(0, 2, 1) @ basis, np.eye(len(basis[0]))[None].repeat(3, 0), atol=1e-9
    )
    find_directions([tmp_path / "whole"], tmp_path / "two", ["hi", "ru"])
    two = load_arrays(tmp_path / "two")
    assert two.dense("densray_rank").tolist() == [1, 1, 1]
    difference = two.dense("means")[0, 2] - two.dense("means")[1, 2]
    first = two.dense("densray_basis")[2][:, 0]
    assert abs(first @ difference) == pytest.approx(np.linalg.norm(difference))
