"""Probes in windows of a projected space: identification, typology, similarity."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mbert_atlas.analysis.logistic import split
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import write_json
from mbert_atlas.papers.liang2021.probes import (
    Space,
    Window,
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
    return Space(vectors, rotations, windows, drawn, protocol, seed)


def values(scores, metric):
    return {tuple(window): value for window, name, value, _ in scores if name == metric}


def test_windows_that_fit():
    windows, drawn = windows_of([1, 5, 8, 20], 4, DIMS)
    assert [window.columns for window in windows if window.kind == "next"] == [
        slice(1, 2),
        slice(5, 10),
    ]
    narrow = [window[1:] for window in windows if window.kind == "window"]
    assert narrow == [(0, 4), (4, 8), (8, 12)]
    assert [window.stop for window in drawn] == [1, 4, 5, 8]


@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_pairs_are_identified_as_by_scikit_learn(protocol):
    vectors = toy()
    windows = [Window("first", 0, 2), Window("next", 3, 6), Window("first", 0, 6)]
    drawn = [Window("random", 0, 3)]
    scores = identify_languages(space(vectors, windows, drawn, protocol), tokens=400, pairs=None)
    found = values(scores, "accuracy")
    random = generator(1, "language identification")
    random.permutation(6)
    rows = {code: split(random, 500, 400) for code in CODES}
    for window in windows:
        accuracies = []
        for pair in combinations(CODES, 2):
            train, test = (
                (
                    np.concatenate([vectors[code][rows[code][part]] for code in pair]),
                    np.repeat([0, 1], [len(rows[code][part]) for code in pair]),
                )
                for part in (0, 1)
            )
            judge = LogisticRegression(max_iter=1000, tol=1e-8)
            judge.fit(train[0][:, window.columns], train[1])
            accuracies.append(judge.score(test[0][:, window.columns], test[1]))
        assert found[tuple(window)] == pytest.approx(
            100 * np.mean(accuracies),
            abs=0.21,  # two of 960 vectors
        )
    assert found["first", 0, 6] > 85
    assert found["next", 3, 6] == pytest.approx(50, abs=6)
    assert found["next", 3, 6] < found["random", 0, 3] < found["first", 0, 6]
    assert ("random_last", 0, 3) in found or protocol == "corrected"


def test_the_last_pair_is_also_reported_alone():
    own = space(toy(), [], [Window("random", 0, 3)], "published", seed=3)
    found = values(identify_languages(own, tokens=400, pairs=1), "accuracy")
    assert found["random", 0, 3] == found["random_last", 0, 3]
    more = values(identify_languages(own, tokens=400, pairs=5), "accuracy")
    assert more["random", 0, 3] != more["random_last", 0, 3]


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


def test_published_similarity_has_its_bonus_and_single_language_genera_are_dropped():
    vectors = toy([*CODES, "zh"])
    genera = {"bg": "Slavic", "ru": "Slavic", "de": "Germanic", "en": "Germanic", "zh": "Chinese"}
    windows = ([Window("first", 0, 3)], [Window("random", 0, 3)])

    def cluster(protocol, genera=genera):
        own = space(vectors, *windows, protocol)
        return list(cluster_languages(own, tokens=300, genera=genera, bonus=10.0))

    published = cluster("published")
    plain = values(published, "v_measure_plain")
    assert values(published, "v_measure") == {place: value + 10 for place, value in plain.items()}
    assert {n for *_, n in published} == {4}
    assert {metric for _, metric, *_ in cluster("corrected")} == {
        "ami",
        "chance_v_measure",
        "v_measure_plain",
    }
    with pytest.raises(AtlasError, match="no two languages share a genus"):
        cluster("corrected", {code: code for code in vectors})


def test_a_whole_job(tmp_path):
    vectors, layers = toy(), 3
    folder = tmp_path / "part"
    folder.mkdir()
    every = np.concatenate([vectors[code] for code in CODES])
    np.save(folder / "vectors.npy", np.stack([every] * layers).astype(np.float16))
    np.save(folder / "language.npy", np.repeat(np.arange(4, dtype=np.int32), 500))
    write_json({"arrays": ["language", "vectors"], "languages": CODES}, folder / "meta.json")
    directions = tmp_path / "directions"
    directions.mkdir()
    np.save(directions / "densray_basis.npy", np.stack([np.eye(DIMS)] * layers))
    meta = {"arrays": ["densray_basis"], "languages": ["bg", "de", "ru"]}
    write_json(meta, directions / "meta.json")
    probing = {
        "methods": ["densray"],
        "sizes": [2, 4],
        "width": 3,
        "layers": [0, 1],
        "layer_size": 5,
        "full_layer": 2,
        "tokens": 100,
        "typology_tokens": 50,
        "pairs": {"published": 2, "corrected": None},
        "turns": 2,
    }

    def run(task, seeds):
        return probe_languages(
            [folder],
            directions,
            task,
            probing=probing,
            seeds=seeds,
            features={"81A": {"bg": "1 x", "de": "2 x", "ru": "1 x"}},
            genera={"bg": "Slavic", "de": "Germanic", "ru": "Slavic"},
        )

    table = run("identification", [1, 2])
    frame = table.to_pandas()
    assert table.schema.equals(LANGUAGE_PROBES)
    assert set(frame[frame.layer < 2].kind) == {"first"}
    assert set(frame[frame.layer < 2].stop) == {5}
    full = frame[frame.layer == 2]
    assert set(full.kind) == {"first", "next", "window", "random", "random_last"}
    assert set(full[full.kind == "first"].stop) == {2, 4, 5}
    assert not frame.duplicated(["protocol", "layer", "kind", "start", "stop", "seed"]).any()
    assert set(frame.seed) == {1, 2}
    assert set(run("similarity", [1]).to_pandas().n) == {2}
    write_json(meta | {"languages": ["bg", "zh"]}, directions / "meta.json")
    with pytest.raises(AtlasError, match="language zh: no vectors to probe"):
        run("identification", [1])
