from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.cluster import KMeans

from mbert_atlas.analysis.clustering import cluster_agreement, linkage_agreement
from mbert_atlas.analysis.projection import (
    cluster_sample,
    draw_points,
    project_sample,
    sample_points,
    stratified_sample,
    tsne,
)
from mbert_atlas.arrays import save_arrays
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.representations.reading import read_features
from mbert_atlas.schemas import PROJECTION

SIZE = {"per_cell": 9, "per_language": 7, "seed": 0}
TSNE = {"seed": 0, "perplexity": 30.0, "threads": 1}


def _clouds(per_cloud: int = 30, clouds: int = 4, dims: int = 8, spread: float = 0.1) -> Any:
    random = np.random.default_rng(0)
    centres = 10 * np.eye(clouds, dims)
    group = np.repeat(np.arange(clouds), per_cloud)
    vectors = centres[group] + random.normal(0, spread, (len(group), dims))
    return vectors.astype(np.float32), np.array([f"l{g}" for g in group], dtype=object)


# --- clusters -------------------------------------------------------------------------------------


def test_clusters_against_labels_and_chance() -> None:
    vectors, languages = _clouds(clouds=2)
    agreement = cluster_agreement(vectors, languages, k=2)
    assert agreement.pop("v_measure_chance") < 0.1
    expected = {"k": 2, "n": 60, "v_measure": 1.0, "ami": 1.0}
    assert agreement == pytest.approx(expected)


def test_agreement_equals_scikit_learn() -> None:
    """The authors' loop: ten runs of Lloyd's algorithm from random centres."""
    k = 7
    vectors, languages = _clouds(spread=4.0)
    measures, amis = [], []
    for seed in range(1, 11):
        clusters = KMeans(
            k, init="random", n_init=1, max_iter=100, algorithm="lloyd", random_state=seed
        ).fit_predict(vectors)
        measures.append(metrics.v_measure_score(languages.astype(str), clusters))
        amis.append(metrics.adjusted_mutual_info_score(languages.astype(str), clusters))
    agreement = cluster_agreement(vectors, languages, k)
    assert agreement["v_measure"] == pytest.approx(np.mean(measures))
    assert agreement["ami"] == pytest.approx(np.mean(amis))


def test_linkage_finds_planted_families() -> None:
    random = np.random.default_rng(1)
    roots = {"a": [3, 0, 0, 0], "b": [0, 3, 0, 0], "c": [0, 0, 3, 0]}
    genera = [name for name in roots for _ in range(4)]
    centroids = np.array([roots[name] for name in genera]) + 0.1 * random.normal(size=(12, 4))
    found = linkage_agreement(centroids, genera, seed=1)
    assert found["v_measure"] == found["ami"] == 100
    assert 20 < found["chance_v_measure"] < 60
    noise = linkage_agreement(random.normal(size=(12, 4)), genera, seed=1)
    assert abs(noise["ami"]) < 30 < noise["v_measure"] + 20


def test_ties_leave_fewer_clusters_than_labels() -> None:
    def agreement(vectors: list[list[float]], labels: str) -> dict[str, float]:
        return linkage_agreement(np.array(vectors, dtype=float), list(labels), seed=1)

    # One dimension: cosines are 1 or -1, so there are two clusters, whatever the labels.
    line = [[1.0], [2.0], [3.0], [-1.0], [-2.0], [-3.0]]
    assert agreement(line, "aaabbb")["v_measure"] == 100
    assert agreement(line, "aabbcc")["clusters"] == 2
    # Four axes, two vectors each: all merge at distance 1, to four clusters or to one.
    axes = np.repeat(np.eye(4), 2, axis=0).tolist()
    assert agreement(axes, "aabbccdd") == {
        "clusters": 4,
        "v_measure": 100,
        "ami": 100,
        "chance_v_measure": agreement(axes, "aabbccdd")["chance_v_measure"],
    }
    tied = agreement(axes, "aabbcccc")
    assert tied.pop("clusters") == 1
    assert np.isnan([*tied.values()]).all()
    # A vector of zeros is as far from all others as they may be: 1, where the axes merge, too.
    zero = agreement([*axes, [0, 0, 0, 0], [0, 0, 0, 0]], "aabbccddee")
    assert zero["clusters"] == 1
    assert np.isnan(zero["ami"])


# --- samples and layouts --------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=40),
    st.integers(1, 6),
)
@settings(max_examples=40, deadline=None)
def test_stratified_samples_fill_every_group(pairs: list[tuple[str, str]], per: int) -> None:
    columns = [np.array(column, dtype=object) for column in zip(*pairs, strict=True)]
    chosen = stratified_sample(*columns, per_group=per, seed=3)
    assert len(set(chosen.tolist())) == len(chosen)
    for group in set(pairs):
        assert sum(pairs[i] == group for i in chosen) == min(per, pairs.count(group))
    assert np.array_equal(chosen, stratified_sample(*columns, per_group=per, seed=3))


def test_tsne_keeps_neighbours_and_repeats() -> None:
    vectors, languages = _clouds(per_cloud=15)
    first = tsne(vectors, seed=1)
    assert first.shape == (60, 2)
    assert np.array_equal(first, tsne(vectors, seed=1))
    distance = metrics.pairwise_distances(first) + 1e6 * np.eye(60)
    assert (languages[distance.argmin(1)] == languages).all()
    assert np.isfinite(tsne(vectors[:4], seed=1)).all()  # perplexity is lowered
    with pytest.raises(AtlasError, match="too few for a t-SNE"):
        tsne(vectors[:3], seed=1)


def _features(
    folder: Path, unit: str, *, splits: bool, examples: int = 120, seed: int = 0, vectors: int = 0
) -> Path:
    """Examples of four languages with 1 to 6 vectors of three labels, of which one is rare.

    ``vectors`` decides what the vectors hold, ``seed`` everything else.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 7, examples) if unit == "token" else np.ones(examples, int)
    language = random.choice(["ar", "de", "en", "zh"], examples, p=[0.1, 0.2, 0.3, 0.4])
    labels = random.choice(3, lengths.sum(), p=[0.6, 0.37, 0.03])
    values: npt.NDArray[Any] = np.random.default_rng(vectors).normal(size=(lengths.sum(), 6))
    arrays: dict[str, Any] = {
        "vectors": values[None].astype(np.float16),
        "example": np.repeat(np.arange(examples), lengths).astype(np.int32),
        "labels": labels.astype(np.int32),
        "example_id": np.array([f"e{number}" for number in range(examples)]),
        "language": language,
    }
    if splits:
        arrays["split"] = random.choice(["train", "test"], examples)
    save_arrays(folder, arrays, {"labels": ["x", "y", "z"], "unit": unit, "layers": [2]})
    return folder


@pytest.mark.parametrize("unit", ["text", "token"])
def test_samples_are_capped_by_cell_and_language(tmp_path: Path, unit: str) -> None:
    target = read_features(_features(tmp_path / "t", unit, splits=False))
    wikipedia = read_features(_features(tmp_path / "w", unit, splits=True, seed=1))
    assert wikipedia.split is not None
    cells, texts = sample_points(target, wikipedia, **SIZE)

    def count(rows: Any) -> Counter[tuple[str, int]]:
        return Counter(
            zip(target.languages()[rows].tolist(), target.labels[rows].tolist(), strict=True)
        )

    everything = count(slice(None))
    assert min(everything.values()) < 9 < max(everything.values())
    assert count(cells) == {cell: min(9, size) for cell, size in everything.items()}
    assert len(set(cells.tolist())) == len(cells)
    chosen = wikipedia.example[texts]
    assert len(set(chosen.tolist())) == len(chosen)  # one vector of each text
    assert set(wikipedia.split[chosen]) == {"test"}
    sizes = Counter(wikipedia.language[wikipedia.examples("test")].tolist())
    expected = {code: min(7, size) for code, size in sizes.items()}
    assert Counter(wikipedia.language[chosen].tolist()) == expected
    if unit == "token":
        place = texts - wikipedia.by_example.offsets[chosen]
        assert len(set(place.tolist())) > 3  # a random one, not the first
    other = sample_points(target, wikipedia, **(SIZE | {"seed": 1}))
    assert not np.array_equal(other[0], cells)
    assert not np.array_equal(other[1], texts)


def _sets(folder: Path, unit: str, vectors: int) -> tuple[Path, Path]:
    return (
        _features(folder / f"t{vectors}", unit, splits=False, vectors=vectors),
        _features(folder / f"w{vectors}", unit, splits=True, seed=1, vectors=vectors),
    )


def test_points_and_clusters_of_a_sample(tmp_path: Path) -> None:
    draw_points(*_sets(tmp_path, "token", 3), tmp_path / "p3", **SIZE)
    project_sample(tmp_path / "p3", tmp_path / "3.parquet", **TSNE)
    table = read_parquet(tmp_path / "3.parquet", PROJECTION).to_pandas()
    clusters = tmp_path / "clusters.json"
    cluster_sample(tmp_path / "p3", clusters, language_clusters=6)
    agreements = read_json(clusters)
    data = {name: read_features(tmp_path / f"{name[0]}3") for name in ("target", "wikipedia")}
    rows = dict(zip(data, sample_points(**data, **SIZE), strict=True))
    assert table["dataset"].tolist() == [name for name in data for _ in rows[name]]
    assert sorted(agreements) == ["label", "language_target", "language_wikipedia"]
    for name, features in data.items():
        part = table[table["dataset"] == name]
        example = features.example[rows[name]]
        assert part["example_id"].tolist() == features.example_id[example].tolist()
        assert part["language"].tolist() == features.language[example].tolist()
        vectors = features.vectors[rows[name]].astype(np.float32)
        np.testing.assert_array_equal(part[["x", "y"]], tsne(vectors, seed=0))
        for protocol, k in (("published", 6), ("corrected", 4)):
            expected = cluster_agreement(vectors, features.language[example], k)
            assert agreements[f"language_{name}"][protocol] == pytest.approx(expected)
    target = table[table["dataset"] == "target"]
    assert table["label"].isna().tolist() == (table["dataset"] == "wikipedia").tolist()
    labels = [["x", "y", "z"][label] for label in data["target"].labels[rows["target"]]]
    assert target["label"].tolist() == labels
    vectors = data["target"].vectors[rows["target"]].astype(np.float32)
    expected = cluster_agreement(vectors, labels, 3)
    assert agreements["label"] == {
        protocol: pytest.approx(expected) for protocol in ("published", "corrected")
    }


def test_labels_that_the_sample_lacks_have_clusters_too(tmp_path: Path) -> None:
    """As many clusters as the task has labels."""
    folder = _features(tmp_path / "t", "text", splits=False, examples=12)
    assert len(set(read_features(folder).labels.tolist())) == 2
    clusters, wikipedia = tmp_path / "c.json", _sets(tmp_path, "text", 4)[1]
    draw_points(folder, wikipedia, tmp_path / "points", **SIZE)
    cluster_sample(tmp_path / "points", clusters, language_clusters=6)
    assert read_json(clusters)["label"]["published"]["k"] == 3


def test_errors(tmp_path: Path) -> None:
    target, wikipedia = _sets(tmp_path, "text", 1)
    unsplit = _features(tmp_path / "unsplit", "text", splits=False)
    few = _features(tmp_path / "few", "text", splits=False, examples=2)
    output, points = tmp_path / "output", tmp_path / "points"
    with pytest.raises(DataError, match="split test: it has no examples"):
        draw_points(target, unsplit, output, **SIZE)
    draw_points(target, wikipedia, points, **(SIZE | {"per_cell": 50}))
    with pytest.raises(AtlasError, match="26 vectors cannot make 33 clusters"):
        cluster_sample(points, output, language_clusters=33)
    draw_points(few, wikipedia, points, **SIZE)
    with pytest.raises(AtlasError, match="too few for a t-SNE"):
        project_sample(points, output, **TSNE)
    assert not output.exists()
