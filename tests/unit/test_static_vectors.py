"""Static vectors: counts against a loop, planted synonyms, and NLI."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import NLI_LABELS, make_tokenizer, nli_table

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.config.static_vectors import PairClassifier, StaticVectors
from mbert_atlas.encoding import encode
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS
from mbert_atlas.static_vectors.classification import (
    classify_with_static_vectors,
    mean_vectors,
)
from mbert_atlas.static_vectors.training import (
    Factors,
    both_directions,
    count_neighbours,
    loss,
    train_static_vectors,
)
from mbert_atlas.tokenizer import tokenizer_digest

SIZE = 19


def random_rows(count: int = 60) -> Ragged:
    random = np.random.default_rng(0)
    lengths = random.integers(1, 12, count)
    return Ragged.from_rows([[2, *random.integers(5, SIZE, n), 3] for n in lengths], np.int32)


@pytest.mark.parametrize("tokens_at_a_time", [40, 10_000])
def test_counts_are_those_of_a_loop(tokens_at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbert_atlas.static_vectors.training._TOKENS_AT_A_TIME", tokens_at_a_time)
    rows, window = random_rows(), 3
    expected: Counter[tuple[int, int]] = Counter()
    for row in range(len(rows)):
        subwords = rows[row][1:-1].tolist()
        for one, first in enumerate(subwords):
            for other, second in enumerate(subwords):
                if 0 < abs(one - other) <= window:
                    expected[first, second] += 1 / abs(one - other)
    keys, values = count_neighbours(rows, SIZE, window)
    assert keys.tolist() == sorted(one * SIZE + two for one, two in expected if one <= two)
    pairs, counts = both_directions(keys, values, SIZE)
    assert sorted(map(tuple, pairs.tolist())) == sorted(expected)
    assert counts == pytest.approx([expected[one, two] for one, two in pairs.tolist()])


def test_loss_and_gradients_by_hand() -> None:
    model = Factors(3, 2, seed=1)
    words, contexts = torch.tensor([[1.0, 2, 10], [3, 4, 20], [0, 0, 0]]), torch.ones(3, 3)
    with torch.no_grad():
        model.words.weight.copy_(words)
        model.contexts.weight.copy_(contexts)
    products = model(torch.tensor([[0, 1], [1, 2], [2, 2]]))
    # 1 + 2 + 10 + 1, 3 + 4 + 20 + 1, 0 + 1
    assert products.tolist() == [14, 28, 1]
    # Weights (1 / 16)^.75 = 1/8, 1, and 1 again beyond x_max.
    found = loss(products, torch.tensor([100 / 16, 100, 200]))
    first, second, third = 14 - math.log(100 / 16), 28 - math.log(100), 1 - math.log(200)
    assert found.item() == pytest.approx(first**2 / 8 + second**2 + third**2)
    found.backward()
    # dJ/dw_i sums 2 f e u_j, dJ/du_j sums 2 f e w_i; of biases, in the last column, 2 f e.
    by_words = [[first / 4] * 3, [2 * second] * 3, [2 * third] * 3]
    of_first = [first / 4, first / 2, first / 4]
    by_contexts = [[0, 0, 0], of_first, [6 * second, 8 * second, 2 * (second + third)]]
    for part, expected in ((model.words, by_words), (model.contexts, by_contexts)):
        assert part.weight.grad is not None
        torch.testing.assert_close(part.weight.grad.to_dense(), torch.tensor(expected))


@pytest.fixture
def synonyms(tmp_path: Path) -> Path:
    """Subwords 5 and 6 have the same neighbours, so have 7 and 8; 18 occurs twice only."""
    tokenizer = make_tokenizer(tmp_path)
    random = np.random.default_rng(0)
    rows = []
    for _ in range(3000):
        kind = int(random.integers(2))
        word = 5 + 2 * kind + int(random.integers(2))
        around = (9 if kind else 13) + random.integers(0, 4, 4)
        rows.append([2, *around[:2], word, *around[2:], 3])
    rows[:2] = [[2, 18, 5, 3]] * 2
    meta = {"tokenizer": tokenizer_digest(tokenizer), "languages": ["en"], "max_length": 8}
    save_arrays(tmp_path / "texts", {"input_ids": Ragged.from_rows(rows, np.int32)}, meta)
    return tmp_path


@pytest.mark.parametrize(
    ("method", "options"),
    [("word2vec", {}), ("glove", {"epochs": 40, "batch_size": 16, "learning_rate": 0.05})],
)
def test_planted_synonyms_are_neighbours(synonyms: Path, method: str, options: dict) -> None:  # type: ignore[type-arg]
    spec = StaticVectors(encoder="tiny", method=method, dims=8, window=3, **options)  # type: ignore[arg-type]
    train_static_vectors(spec, synonyms / "tokenizer", synonyms / "texts", synonyms / "vectors")
    stored = load_arrays(synonyms / "vectors")
    vectors, counts = stored.dense("vectors"), stored.dense("counts")
    assert counts[[2, 3, 18]].tolist() == [0, 0, 2]
    assert not vectors[18].any()
    assert not vectors[:5].any()
    unit = vectors[5:9] / np.linalg.norm(vectors[5:9], axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(4)
    assert cosines.argmax(axis=1).tolist() == [1, 0, 3, 2]
    again = synonyms / "again"
    train_static_vectors(spec, synonyms / "tokenizer", synonyms / "texts", again)
    np.testing.assert_array_equal(load_arrays(again).dense("vectors"), vectors)


def vectors_of(folder: Path, tokenizer: Path) -> Path:
    table = np.random.default_rng(0).normal(size=(SIZE, 6)).astype(np.float32)
    table[:5] = 0
    meta = {"tokenizer": tokenizer_digest(tokenizer)}
    save_arrays(folder / "vectors", {"vectors": table}, meta)
    return folder / "vectors"


def test_means_of_both_sides(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    encode("nli", nli_table(20), tokenizer, tmp_path / "pairs", labels=NLI_LABELS)
    table = load_arrays(vectors_of(tmp_path, tokenizer)).dense("vectors")
    store = load_arrays(tmp_path / "pairs")
    ids, start = store.ragged("input_ids"), store.dense("segment_start")
    sides = mean_vectors(store, table)
    for row in range(20):
        for side, subwords in zip(sides, np.split(ids[row], [start[row]]), strict=True):
            words = [subword for subword in subwords if subword >= 5]
            assert side[row] == pytest.approx(table[words].mean(axis=0), abs=1e-6)


def test_classes_are_learnt_and_predicted(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    table = nli_table(400)
    same = [premise.split()[0] == "the" for premise in table["premise"].to_pylist()]
    labels = [
        NLI_LABELS[flag + (len(text) < 12)]
        for flag, text in zip(same, table["hypothesis"].to_pylist(), strict=True)
    ]
    table = table.set_column(table.schema.get_field_index("label"), "label", [labels])
    encode("nli", table, tokenizer, tmp_path / "pairs", labels=NLI_LABELS)
    classify_with_static_vectors(
        PairClassifier(hidden_size=64, dropout=0.0, epochs=60, batch_size=64, learning_rate=5e-3),
        vectors_of(tmp_path, tokenizer),
        tmp_path / "pairs",
        {"xnli": tmp_path / "pairs"},
        tmp_path / "predictions.parquet",
        seed=1,
        languages={"xnli": ["en"]},
    )
    found = read_parquet(tmp_path / "predictions.parquet")
    assert found.schema.equals(CLASS_PREDICTIONS)
    frame = found.to_pandas()
    assert set(frame["language"]) == {"en"}
    assert len(frame) == 200
    assert (frame["gold"] == frame["prediction"]).mean() > 0.8
