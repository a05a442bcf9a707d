"""Probes in windows of a projected space: identification, typology, similarity."""

from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import v_measure_score

from mbert_atlas.analysis.identification import split
from mbert_atlas.analysis.subspaces import find_directions
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.errors import AtlasError
from mbert_atlas.papers.liang2021.probes import (
    Space,
    Window,
    _projection,
    cluster_languages,
    identify_languages,
    predict_typology,
    probe_languages,
    windows_of,
)
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import LANGUAGE_PROBES

CODES = ["bg", "de", "en", "ru"]
MANY = [f"l{chr(97 + n)}" for n in range(20)]
DIMS = 12
PROBING = {
    "methods": ["densray"],
    "sizes": [2, 4],
    "starts": [0, 3, 6, 9],
    "width": 3,
    "random_from": 5,
    "layers": [0, 1, 2],
    "layer_size": 5,
    "full_layer": 2,
    "tokens": 100,
    "typology_tokens": 50,
    "pairs": {"published": 2, "corrected": None},
    "layer_pairs": {"published": 3, "corrected": None},
    "turns": 2,
}


def toy(codes=CODES, size=500, seed=0):
    """Languages that differ in the first three of twelve dimensions."""
    random = np.random.default_rng(seed)
    means = np.zeros((len(codes), DIMS))
    means[:, :3] = 1.5 * random.normal(size=(len(codes), 3))
    return {
        code: (mean + random.normal(size=(size, DIMS))).astype(np.float32)
        for code, mean in zip(codes, means, strict=True)
    }


def space(vectors, windows, drawn=(), protocol="corrected", seed=1):
    random = np.random.default_rng(5)
    rotations = [np.linalg.qr(random.normal(size=(DIMS, 6)))[0] for _ in range(2)]
    rotations = [rotation.astype(np.float32) for rotation in rotations]
    return Space(vectors, vectors, rotations, windows, drawn, 5, protocol, seed)


def identified(own, pairs=None, layer_pairs=None):
    scores = identify_languages(own, tokens=400, pairs=pairs, layer_pairs=layer_pairs)
    return values(scores, "accuracy")


def rows_of(pairs):
    """The rows that identification samples with seed 1."""
    random = generator(1, "language identification")
    random.permutation(pairs)
    return {code: split(random, 500, 400) for code in CODES}


def by_scikit_learn(vectors, rows, pair, columns):
    """The accuracy of scikit-learn's classifier, fitted to convergence."""
    (x, y), (tested, gold) = (
        (
            np.concatenate([vectors[code][rows[code][part]][:, columns] for code in pair]),
            np.repeat([0, 1], [len(rows[code][part]) for code in pair]),
        )
        for part in (0, 1)
    )
    return 100 * LogisticRegression(max_iter=1000, tol=1e-8).fit(x, y).score(tested, gold)


def values(scores, metric):
    return {tuple(window): value for window, name, value, _ in scores if name == metric}


def test_windows_that_fit():
    probing = PROBING | {"sizes": [1, 5, 8, 20], "starts": range(0, 20, 4), "width": 4}
    windows, drawn = windows_of(probing, 2, DIMS)
    assert windows.pop(0) == Window("layer", 0, 5)
    assert windows_of(probing, 1, DIMS) == ([Window("layer", 0, 5)], [])
    assert [window.columns for window in windows if window.kind == "next"] == [
        slice(1, 2),
        slice(5, 10),
    ]
    narrow = [window[1:] for window in windows if window.kind == "window"]
    assert narrow == [(0, 4), (4, 8), (8, 12)]
    assert [window[::2] for window in drawn] == [
        ("random", 1),
        ("random", 5),
        ("random", 8),
        ("baseline", 4),
    ]
    figure5 = PROBING | {"sizes": [], "starts": range(16), "width": 2, "layers": []}
    sliding, _ = windows_of(figure5, 2, 768)
    assert [window[1:] for window in sliding] == [(first, first + 2) for first in range(16)]


def test_published_blocks_begin_where_the_scripts_have_them():
    neurons = {"en": np.zeros((1, 768), dtype=np.float32)}
    own = space(neurons, [])._replace(random_from=105)
    random = np.random.default_rng(0)

    def starts(window, count, first=None):
        drawn = [own.blocks(random, window, count, first) for _ in range(2000)]
        assert {len({block.start for block in blocks}) for blocks in drawn} == {count}
        assert {block.stop - block.start for blocks in drawn for block in blocks} == {window.stop}
        found = {block.start for blocks in drawn for block in blocks}
        return min(found), max(found)

    # range(105, 758), five; range(758), ten; range(x, 768 - x), one
    assert starts(Window("baseline", 0, 10), 5) == (105, 757)
    assert starts(Window("baseline", 0, 10), 10, first=0) == (0, 757)
    assert starts(Window("random", 0, 200), 1) == (200, 567)
    assert own.blocks(random, Window("random", 0, 500), 1) == [slice(267, 767)]
    assert own.blocks(random, Window("random", 0, 768), 5) == [slice(0, 768)]


@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_pairs_are_identified_as_by_scikit_learn(protocol):
    vectors = toy()
    windows = [Window("first", 0, 2), Window("next", 3, 6), Window("first", 0, 6)]
    found = identified(space(vectors, windows, [Window("random", 0, 3)], protocol))
    for window in windows:
        accuracies = [
            by_scikit_learn(vectors, rows_of(6), pair, window.columns)
            for pair in combinations(CODES, 2)
        ]
        assert found[tuple(window)] == pytest.approx(
            np.mean(accuracies),
            abs=0.21,  # two of 960 vectors
        )
    assert found["first", 0, 6] > 85
    assert found["next", 3, 6] == pytest.approx(50, abs=6)
    assert found["next", 3, 6] < found["random", 0, 3] < found["first", 0, 6]


def test_a_published_baseline_is_five_blocks_of_the_last_pair():
    vectors = {code: own[:, ::-1].copy() for code, own in toy().items()}
    own = space(vectors, [], [Window("baseline", 0, 3)], "published")
    last = [
        by_scikit_learn(vectors, rows_of(6), ("en", "ru"), slice(start, start + 3))
        for start in range(5, 9)  # range(random_from, 12 - 3): fewer than five blocks
    ]
    assert max(last) > 60 > 55 > min(last)
    assert identified(own)["baseline", 0, 3] == pytest.approx(np.mean(last), abs=0.32)
    assert [n for *_, n in identify_languages(own, tokens=400, pairs=None, layer_pairs=1)] == [160]


def test_figure_3_has_more_pairs():
    windows = [Window("first", 0, 1), Window("layer", 0, 1)]
    few = identified(space(toy(), windows, (), "published"), 2, 5)
    assert few["first", 0, 1] != few["layer", 0, 1]
    assert (
        few["layer", 0, 1] == identified(space(toy(), windows, (), "published"), 5)["first", 0, 1]
    )


def test_identifying_the_language_is_enough_unless_languages_are_held_out():
    random = np.random.default_rng(2)
    vectors = {
        code: (4 * random.normal(size=DIMS) + random.normal(size=(60, DIMS))).astype(np.float32)
        for code in MANY
    }
    # Values that are unrelated to the means of languages.
    by_chance = {f"{n}A": {c: f"{random.integers(1, 3)} x" for c in MANY} for n in range(12)}
    published, corrected = (
        values(
            predict_typology(
                space(vectors, [Window("first", 0, DIMS)], protocol=protocol),
                tokens=50,
                features=by_chance,
            ),
            "micro_f1",
        )
        for protocol in ("published", "corrected")
    )
    assert published["first", 0, DIMS] > corrected["first", 0, DIMS] + 15
    assert corrected["first", 0, DIMS] == pytest.approx(50, abs=15)
    assert 50 < published["majority", 0, 0] < 75


def test_published_classes_are_first_characters():
    vectors = {code: own[:40] for code, own in toy(MANY, seed=4).items()}
    # 1, 10 and 11 are one class as published, and three otherwise; the last has one language.
    features = {"144A": {c: f"{[1, 10][n % 2]} x" for n, c in enumerate(MANY)} | {"lb": "11 x"}}
    windows = [Window("first", 0, 3)]
    published = space(vectors, windows, protocol="published")
    with pytest.raises(AtlasError, match="no feature separates these languages"):
        list(predict_typology(published, tokens=40, features=features))
    scores = list(predict_typology(space(vectors, windows), tokens=40, features=features))
    assert {window.kind for window, *_ in scores} == {"first", "majority"}
    assert values(scores, "micro_f1")["majority", 0, 0] <= 50  # ten of twenty have that class


def test_single_language_genera_are_dropped():
    vectors = toy([*CODES, "zh"])
    genera = {"bg": "Slavic", "ru": "Slavic", "de": "Germanic", "en": "Germanic", "zh": "Chinese"}
    windows = ([Window("first", 0, 3)], [Window("random", 0, 3)])

    def cluster(protocol, genera=genera):
        own = space(vectors, *windows, protocol)
        return list(cluster_languages(own, tokens=300, genera=genera))

    assert {(metric, n) for _, metric, _, n in cluster("published")} == {("v_measure", 4)}
    adjusted = {metric for _, metric, *_ in cluster("corrected")}
    assert adjusted == {"v_measure", "ami", "chance_v_measure"}
    with pytest.raises(AtlasError, match="no two languages share a genus"):
        cluster("corrected", {code: code for code in vectors})


def write_vectors(folder, codes, fitted, probed):
    """Write vectors of languages, shape (languages, m, dims), and the directions of fitted ones."""
    centred = fitted - fitted.mean(axis=1, keepdims=True)
    arrays = {
        "counts": np.full(len(codes), fitted.shape[1]),
        "means": fitted.mean(axis=1)[:, None],
        "scatter": np.einsum("lmd,lme->de", centred, centred)[None],
        "vectors": probed.reshape(1, -1, DIMS).astype(np.float16),
        "language": np.repeat(np.arange(len(codes)), probed.shape[1]),
    }
    save_arrays(folder / "part", arrays, {"languages": codes})
    find_directions([folder / "part"], folder / "directions")


GENERA = {code: f"genus {number // 4}" for number, code in enumerate(MANY)}
"""Of the twenty languages, five genera of four."""


@pytest.fixture(scope="module")
def offset(tmp_path_factory):
    """Languages of five genera with an offset, and the job's V-measure of one layer.

    Returns the vectors behind the directions, those of the probes, and the scores by method,
    protocol and window.
    """
    random = np.random.default_rng(3)
    genera = np.repeat(random.normal(size=(5, DIMS)), 4, axis=0)
    means = genera + 0.5 * random.normal(size=(20, DIMS)) + 3 * random.normal(size=DIMS)
    axes = np.linalg.qr(random.normal(size=(DIMS, DIMS)))[0] * np.linspace(0.3, 3, DIMS)
    fitted, probed = means[:, None] + random.normal(size=(2, 20, 100, DIMS)) @ axes
    probed = probed.astype(np.float16)
    folder = tmp_path_factory.mktemp("offset")
    write_vectors(folder, MANY, fitted, probed)
    probing = PROBING | {"methods": ["densray", "lda"], "sizes": [4, 9], "random_from": 9}
    probing |= {"layers": [], "full_layer": 0, "turns": 3}
    frame = probe_languages(
        *([folder / "part"], folder / "directions", "similarity"),
        **{"probing": probing, "seeds": [1], "features": {}, "genera": GENERA},
    ).to_pandas()
    frame = frame[frame["metric"] == "v_measure"]
    places = frame[["method", "protocol", "kind", "start", "stop"]].itertuples(index=False)
    return fitted, probed.astype(float), dict(zip(map(tuple, places), frame["value"], strict=True))


def authors_v_measure(points):
    """What ``get_hcv`` of the authors' ``LS_figure2.py`` returns, in percent."""
    clusters = fcluster(linkage(points, "single", "cosine"), 5, criterion="maxclust")
    return 100 * v_measure_score([GENERA[code] for code in MANY], clusters)


def test_languages_are_clustered_as_by_scikit_learn_and_scipy(offset):
    fitted, probed, found = offset
    centroids = probed.mean(axis=1)
    judge = LinearDiscriminantAnalysis().fit(fitted.reshape(-1, DIMS), np.repeat(MANY, 100))
    lda = judge.transform(centroids)
    _, axes = np.linalg.eigh(np.cov(fitted.mean(axis=1).T))
    raw, centred = centroids @ axes[:, ::-1], (centroids - judge.xbar_) @ axes[:, ::-1]
    for (method, protocol, kind, start, stop), value in found.items():
        if kind in ("random", "baseline"):
            continue
        published = raw if method == "densray" else lda
        points = published if protocol == "published" else centred if method == "densray" else lda
        # 19 directions of 20 languages fill these twelve dimensions.
        assert value == pytest.approx(authors_v_measure(points[:, start:stop])), (method, protocol)
    # Without the offset, the first columns say more.
    first = ("first", 0, 4)
    assert found["densray", "corrected", *first] > found["densray", "published", *first] + 5
    assert found["lda", "published", *first] == found["lda", "corrected", *first]
    uncentred = authors_v_measure((centroids @ judge.scalings_)[:, :4])
    assert found["lda", "published", *first] > uncentred + 3


def test_published_random_similarity_is_of_raw_neurons(offset):
    _, probed, found = offset
    centroids = probed.mean(axis=1)
    # Ten blocks that begin in range(12 - 3): there are nine.
    every = [authors_v_measure(centroids[:, start : start + 3]) for start in range(9)]
    for method in ("densray", "lda"):
        assert found[method, "published", "baseline", 0, 3] == pytest.approx(np.mean(every))


def test_clusters_of_one_dimension_have_no_score():
    random = np.random.default_rng(2)
    codes = ["bg", "ru", "de", "en", "hi", "ur"]
    vectors = {code: random.normal(size=(9, DIMS)).astype(np.float32) for code in codes}
    genera = dict(zip(codes, ["Slavic"] * 2 + ["Germanic"] * 2 + ["Indic"] * 2, strict=True))
    windows, drawn = [Window("first", 0, 1), Window("first", 0, 3)], [Window("random", 0, 1)]
    for protocol in ("published", "corrected"):
        own = space(vectors, windows, drawn, protocol)
        scores = list(cluster_languages(own, tokens=9, genera=genera))
        assert {window for window, *_ in scores} == {windows[1]}


def test_published_lda_continues_with_raw_neurons(tmp_path):
    # Three languages have two directions; the columns [2:] of the stacked space are neurons.
    vectors = toy(["bg", "de", "ru"])
    fitted = np.stack(list(vectors.values())).astype(float)
    write_vectors(tmp_path, list(vectors), fitted, fitted)
    stored = load_arrays(tmp_path / "directions")
    judge = LinearDiscriminantAnalysis().fit(fitted.reshape(-1, DIMS), np.repeat([0, 1, 2], 500))
    columns, shift = _projection(stored, "lda", 0, "published")
    found = fitted[1] @ columns - shift
    expected = np.hstack([judge.transform(fitted[1]), fitted[1]])
    assert found.shape == (500, 2 + DIMS)
    # scikit-learn divides the scatter within languages by 1,500, not by 1,500 - 3.
    expected[:, :2] *= np.sqrt(1497 / 1500)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    columns, shift = _projection(stored, "lda", 0, "corrected")
    np.testing.assert_allclose(
        np.abs(fitted[1] @ columns - shift)[:, :2], np.abs(expected)[:, :2], atol=1e-4
    )


def test_a_whole_job(tmp_path):
    vectors, layers = toy(), 3
    every = np.concatenate([vectors[code] for code in CODES])
    part = {"vectors": np.stack([every] * layers).astype(np.float16)}
    part["language"] = np.repeat(np.arange(4, dtype=np.int32), 500)
    save_arrays(tmp_path / "part", part, {"languages": CODES})
    directions = tmp_path / "directions"
    axes = {"densray_basis": np.stack([np.eye(DIMS)] * layers), "mean": np.zeros((layers, DIMS))}
    save_arrays(directions, axes, {"languages": ["bg", "de", "ru"]})

    def run(task, seeds):
        return probe_languages(
            *([tmp_path / "part"], directions, task),
            probing=PROBING,
            seeds=seeds,
            features={"81A": {"bg": "1 x", "de": "2 x", "ru": "1 x"}},
            genera={"bg": "Slavic", "de": "Germanic", "ru": "Slavic"},
        )

    table = run("identification", [1, 2])
    frame = table.to_pandas()
    assert table.schema.equals(LANGUAGE_PROBES)
    assert set(frame[frame.layer < 2].kind) == {"layer"}
    assert set(frame[frame.kind == "layer"].stop) == {5}
    full = frame[frame.layer == 2]
    assert set(full.kind) == {"layer", "first", "next", "window", "random", "baseline"}
    assert set(full[full.kind == "first"].stop) == {2, 4}
    assert not frame.duplicated(["protocol", "layer", "kind", "start", "stop", "seed"]).any()
    assert set(frame.seed) == {1, 2}
    assert set(run("similarity", [1]).to_pandas().n) == {2}
    save_arrays(directions, axes, {"languages": ["bg", "zh"]})
    with pytest.raises(AtlasError, match="language zh: no vectors to probe"):
        run("identification", [1])
