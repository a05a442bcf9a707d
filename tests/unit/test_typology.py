"""Typological features predicted from vectors of held-out languages."""

import numpy as np
import pytest

from mbert_atlas.analysis.typology import TypologyProbe

DIMS = 2


def test_a_feature_that_the_vectors_show_is_predicted_for_held_out_languages() -> None:
    random, codes = np.random.default_rng(3), [f"l{n:02d}" for n in range(20)]
    vectors = [random.normal(size=(60, DIMS)).astype(np.float32) for _ in codes]
    for number, own in enumerate(vectors):
        own[:, 0] += 3 * (number % 2)
    features = {"81A": {code: f"{1 + n % 2} x" for n, code in enumerate(codes)}}
    probe = TypologyProbe.of(codes, features, random)
    for column, low, high in ((0, 90, 100), (1, 0, 65)):
        train, test = ([own[half, column:][:, :1] for own in vectors] for half in HALVES)
        assert low < probe.micro_f1(train, test) < high


HALVES = (slice(0, 40), slice(40, 60))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_are_of_the_languages_that_have_the_feature(seed: int) -> None:
    codes = [f"l{n:02d}" for n in range(50)]
    # Few of all languages: folds of all would often hold every language of a feature.
    features = {
        f"{first}A": {code: f"{1 + n % 2} x" for n, code in enumerate(codes[first : first + 5])}
        for first in range(40)
    } | {"99A": {code: f"{1 + n % 2} x" for n, code in enumerate(codes[:4])}}
    probe = TypologyProbe.of(codes, features, np.random.default_rng(seed))
    assert len(probe.features) == 40  # four languages are too few for five folds
    # Three languages of value 1 and two of 2. Without one of the three there are two of each,
    # and the first is the majority: right. Without one of the two it is 1 too: wrong.
    assert probe.majority_f1([1] * 50) == pytest.approx(60)


def test_a_value_that_only_test_languages_have_is_an_error() -> None:
    codes = ["a", "b", "c", "d", "e"]
    features = {"81A": dict(zip(codes, "11112", strict=True))}
    probe = TypologyProbe.of(codes, features, np.random.default_rng(0))
    zeros = [np.random.default_rng(1).normal(size=(9, DIMS)).astype(np.float32) for _ in codes]
    zeros[4] += 50  # the language of value 2
    assert probe.micro_f1(zeros, zeros) == probe.majority_f1([9] * 5) == pytest.approx(80)
