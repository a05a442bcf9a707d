"""Frozen classifiers of words in subspaces, against scikit-learn, seqeval and planted labels."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from seqeval.metrics import f1_score as seqeval_f1
from sklearn.linear_model import LogisticRegression

from mbert_atlas.arrays import save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.papers.liang2021.classifiers import classify_in_subspaces, orthonormal
from mbert_atlas.representations.reading import FeatureArrays, read_features

DIMS, LAYERS = 12, 2
NAMES = ["NOUN", "VERB", "ADJ"]
Floats = npt.NDArray[np.float64]


def bases() -> dict[str, Floats]:
    """Orthonormal columns, and others that are skewed and of different lengths."""
    random = np.random.default_rng(1)
    turn = np.linalg.qr(random.normal(size=(DIMS, DIMS)))[0]
    skewed = random.normal(size=(DIMS, DIMS)) * np.logspace(-1, 1, DIMS) + 0.2
    return {"densray": turn, "lda": skewed}


@pytest.fixture
def directions(tmp_path: Path) -> Path:
    arrays = {f"{name}_basis": np.stack([np.eye(DIMS), basis]) for name, basis in bases().items()}
    save_arrays(tmp_path / "directions", arrays, {})
    return tmp_path / "directions"


def write_words(folder: Path, vectors: Floats, codes: npt.NDArray[np.int64], **meta: Any) -> Path:
    """Write features of words, five a sentence, sentences in turn of en, de and fr."""
    example = np.arange(len(codes)) // 5
    count = example[-1] + 1
    arrays = {
        "vectors": vectors[None].astype(np.float32),
        "example": example.astype(np.int32),
        "labels": codes.astype(np.int32),
        "word": (np.arange(len(codes)) % 5).astype(np.int32),
        "example_id": np.arange(count).astype(np.str_),
        "language": np.array(["en", "de", "fr"])[np.arange(count) % 3],
    }
    own = {"labels": NAMES, "unit": "word", "pooling": "first", "layers": [1]}
    save_arrays(folder, arrays, own | meta)
    return folder


def words(folder: Path, name: str, seed: int = 0, count: int = 300, **meta: Any) -> Path:
    """Labels that a noisy mixture of all dimensions tells."""
    mixture = np.random.default_rng(9).normal(size=(DIMS, 3))
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, DIMS)) + 1
    labels = (vectors @ mixture + random.normal(size=(count, 3))).argmax(axis=1)
    return write_words(folder / name, vectors, labels, **meta)


def scores(folder: Path, firsts: list[int], **changes: Any) -> pd.DataFrame:
    options: dict[str, Any] = {
        "train": folder / "train",
        "test": folder / "test",
        "directions": folder / "directions",
        "methods": ["densray", "lda"],
        "layer": 1,
        "maximum_vectors": 1000,
        "seeds": [0],
    }
    return classify_in_subspaces(**(options | {"firsts": firsts} | changes)).to_pandas()


def sentences(features: FeatureArrays, codes: npt.NDArray[Any], language: str) -> list[list[str]]:
    names = np.array(features.label_names)[codes]
    return [
        names[features.example == row].tolist()
        for row in np.flatnonzero(features.language == language)
    ]


@pytest.mark.filterwarnings("ignore:.* seems not to be NE tag")
def test_scores_are_those_of_scikit_learn_and_seqeval(tmp_path: Path, directions: Path) -> None:
    learnt = read_features(words(tmp_path, "train", count=600))
    tested = read_features(words(tmp_path, "test", 1))
    found = scores(tmp_path, [0, 3, 7, 11]).set_index(["method", "first", "language"])
    assert len(found) == 2 * 4 * 3
    assert found["metric"].unique().tolist() == ["span_micro_f1"]
    assert found["n"].tolist() == [100] * 24
    for method, basis in bases().items():
        for first in (0, 3, 7, 11):
            # Any orthonormal coordinates of the span; no warm start.
            left, _, _ = np.linalg.svd(basis[:, first:], full_matrices=False)
            model = LogisticRegression(max_iter=1000, tol=1e-8)
            model.fit(learnt.vectors @ left, learnt.labels)
            predicted = model.predict(tested.vectors @ left)
            for language in ("en", "de", "fr"):
                both = (sentences(tested, own, language) for own in (tested.labels, predicted))
                expected = 100 * seqeval_f1(*both)
                value = found.loc[(method, first, language), "value"]
                assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["densray", "lda"])
@pytest.mark.parametrize("first", [1, 4])
def test_a_label_is_lost_where_it_lives(
    tmp_path: Path, directions: Path, method: str, first: int
) -> None:
    basis, random = bases()[method], np.random.default_rng(0)
    # What is orthogonal to all columns [first:]; and the last column, which stays to the end.
    outside = np.linalg.svd(basis[:, first:])[0][:, -1]
    inside = basis[:, -1] / np.linalg.norm(basis[:, -1])
    found = {}
    for name, axis in (("outside", outside), ("inside", inside)):
        for part in ("train", "test"):
            labels = random.integers(0, 2, 600)
            noise = random.normal(size=(600, DIMS)) * 0.1
            write_words(tmp_path / part, noise + np.outer(2 * labels - 1, axis), labels)
        frame = scores(tmp_path, [0, first, DIMS - 1], methods=[method])
        found[name] = frame.groupby("first")["value"].mean()
    assert found["outside"][0] == found["inside"][0] == 100
    assert found["outside"][first] < 60
    assert found["inside"][first] == found["inside"][DIMS - 1] == 100


def test_columns_behind_span_the_same() -> None:
    assert np.abs(orthonormal(np.array([[1.0, 0, 0], [1, 3, 0], [1, 1, 2]]))) == pytest.approx(
        np.eye(3)
    )
    for basis in bases().values():
        found = orthonormal(basis)
        assert found.T @ found == pytest.approx(np.eye(DIMS))
        for first in range(DIMS):
            kept = basis[:, first:]
            projector = kept @ np.linalg.pinv(kept)
            assert found[:, first:] @ found[:, first:].T == pytest.approx(projector, abs=1e-9)
    turn = bases()["densray"]
    assert np.abs(turn.T @ orthonormal(turn)) == pytest.approx(np.eye(DIMS))


def test_seeds_draw_the_words_that_train(tmp_path: Path, directions: Path) -> None:
    words(tmp_path, "train")
    words(tmp_path, "test", 1)

    def by_seed(maximum: int) -> list[list[float]]:
        frame = scores(tmp_path, [4], maximum_vectors=maximum, seeds=[3, 4, 3])
        assert frame["seed"].unique().tolist() == [3, 4]
        return np.split(frame["value"].to_numpy(), 3)

    one, other, again = by_seed(60)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    one, other, _ = by_seed(300)  # all there are
    assert np.array_equal(one, other)
    assert not np.array_equal(one, by_seed(299)[0])


def test_what_does_not_fit_is_rejected(tmp_path: Path, directions: Path) -> None:
    words(tmp_path, "train")
    words(tmp_path, "test", 1, labels=[*NAMES, "X"])
    assert len(scores(tmp_path, [2])) == 12  # labels behind those of training are no mistake

    def raises(message: str, **changes: Any) -> None:
        with pytest.raises(DataError, match=message):
            scores(tmp_path, changes.pop("firsts", [2]), **changes)

    raises("cannot remove so many of 12 directions; choose numbers from 0 to 11", firsts=[12])
    raises("cannot remove so many of 12 directions", firsts=[-1])
    raises("only layers \\[1\\] are stored", layer=0)
    words(tmp_path, "test", 1, labels=["VERB", "NOUN", "ADJ"])
    raises("do not begin with those of")
    words(tmp_path, "test", 1)
    write_words(tmp_path / "train", np.zeros((10, DIMS)), np.zeros(10, dtype=np.int64))
    raises("10 words have one label")
