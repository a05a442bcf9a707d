"""Permutation tests and Holm's correction."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import f1_score
from toy_tables import tag_predictions

from mbert_atlas.analysis.scores import select, sentence_counts, tag_scores
from mbert_atlas.analysis.significance import Comparison, compare_taggers, holm, permutation_test
from mbert_atlas.errors import AtlasError
from mbert_atlas.f1 import micro_f1

HINDI = {"dataset": "wikiann", "language": "hi"}


def compared(*systems: list[pa.Table], unit: Any = "token", seed: int = 1) -> Comparison:
    """Compare the predictions for Hindi."""
    runs = [[select(table, **HINDI) for table in tables] for tables in systems]
    return compare_taggers(*runs, unit=unit, seed=seed)


TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def _table(gold: list[list[str]], predicted: list[list[str]], language: str = "hi") -> pa.Table:
    return tag_predictions("wikiann", language, gold, predicted)


def _sentences(seed: int, count: int) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [list(random.choice(TAGS, random.integers(0, 8))) for _ in range(count)]


def _blurred(gold: list[list[str]], seed: int, share: float) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [
        [random.choice(TAGS) if random.random() < share else tag for tag in row] for row in gold
    ]


def _f1(counts: Any) -> float:
    right, gold, found = counts.sum(0)
    return 2 * right / (gold + found) if gold + found else 0.0


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_each_sentence(seed: int) -> None:
    gold = [*_sentences(seed, 12), [], ["O"]]
    predicted = _blurred(gold, seed, 0.4)
    table = _table(gold, predicted)
    entities = sentence_counts(table, unit="entity")
    tokens = sentence_counts(table, unit="token")
    for row, (one, other) in enumerate(zip(gold, predicted, strict=True)):
        sets = [set(get_entities(list(tags))) for tags in (one, other)]
        expected = [len(sets[0] & sets[1]), len(sets[0]), len(sets[1])]
        assert entities[row].tolist() == expected
        right = sum(g == p != "O" for g, p in zip(one, other, strict=True))
        sizes = [sum(tag != "O" for tag in tags) for tags in (one, other)]
        assert tokens[row].tolist() == [right, *sizes]
    scores = tag_scores(table).set_index(["language", "metric"])["value"]
    assert 100 * _f1(entities) == pytest.approx(scores["hi", "span_micro_f1"])
    flat = [[tag for tags in side for tag in tags] for side in (gold, predicted)]
    if classes := sorted({*flat[0], *flat[1]} - {"O"}):
        micro = f1_score(*flat, average="micro", labels=classes, zero_division=0)
        assert micro_f1(tokens.sum(0)) == pytest.approx(micro)


def _scipy(before: Any, after: Any) -> float:
    def statistic(x: Any, y: Any, axis: int) -> Any:
        # scipy permutes one number per sentence: its index among the counts.
        indices = [np.moveaxis(part, axis, -1).astype(int) for part in (x, y)]
        totals = [np.concatenate([before, after])[part].sum(-2) for part in indices]
        f1 = [2 * total[..., 0] / (total[..., 1] + total[..., 2]) for total in totals]
        return f1[1] - f1[0]

    n = len(before)
    found = stats.permutation_test(
        (np.arange(n), np.arange(n, 2 * n)),
        statistic,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,  # all swaps
    )
    return float(found.pvalue)


@pytest.mark.parametrize("seed", range(4))
def test_permutation_test_equals_scipy(seed: int) -> None:
    gold = [["B-PER", "I-PER", "O", *row] for row in _sentences(seed, 11)]
    before, after = (
        sentence_counts(_table(gold, _blurred(gold, seed + k, share)), unit="entity")
        for k, share in ((10, 0.5), (20, 0.3))
    )
    exact = _scipy(before, after)
    found = permutation_test(before, after, list(map(str, range(11))), seed=seed, iterations=20_000)
    error = 4 * math.sqrt(exact * (1 - exact) / 20_000) + 2 / 20_000
    assert abs(found.p_value - exact) < error
    assert found.difference == pytest.approx(_f1(after) - _f1(before))


def test_seeds_are_concatenated_and_sorted() -> None:
    gold = _sentences(0, 30)
    before = [_table(gold, _blurred(gold, seed, 0.5)) for seed in (1, 2)]
    after = [_table(gold, _blurred(gold, seed, 0.1)) for seed in (3, 4)]
    found = compared(before, after)
    assert found.n == 60
    assert found.p_value == 1 / 1001  # the smallest there is
    pooled = (sentence_counts(pa.concat_tables(tables), unit="token") for tables in (before, after))
    lower, higher = map(_f1, pooled)
    assert found.difference == pytest.approx(higher - lower)
    assert found == compared(before, after)
    order = np.random.default_rng(5).permutation(60)
    mixed = [pa.concat_tables([table, _table(gold, gold, "es")]).take(order) for table in after]
    also = [pa.concat_tables([table, _table(gold, gold, "es")]) for table in before]
    assert found == compared(also, mixed)
    assert compared(before, before).p_value == 1.0


def test_interval_of_the_gain_equals_scipys_bootstrap() -> None:
    gold = _sentences(7, 400)
    runs = [[_table(gold, _blurred(gold, seed, share)) for seed in (1, 2)] for share in (0.5, 0.45)]
    found = compared(*runs)
    # The resamples are those of the test set, whatever the seed of the permutations.
    other = compared(*runs, seed=2)
    assert (found.low, found.high) == (other.low, other.high)
    assert found.low < found.difference < found.high
    counts = [
        sum(sentence_counts(table, unit="token") for table in tables) for tables in runs
    ]  # a sentence is drawn with both of its seeds

    def gain(rows: Any) -> float:
        return _f1(counts[1][rows]) - _f1(counts[0][rows])

    expected = stats.bootstrap(
        (np.arange(400),),
        gain,
        vectorized=False,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    width = expected.high - expected.low
    assert abs(found.low - expected.low) < 0.1 * width
    assert abs(found.high - expected.high) < 0.1 * width


def test_what_cannot_be_compared_is_rejected() -> None:
    gold = _sentences(0, 5)
    table = _table(gold, gold)
    with pytest.raises(AtlasError, match="1 runs of one system and 2 of the other"):
        compared([table], [table, table])
    with pytest.raises(AtlasError, match="different sentences or gold tags"):
        compared([table], [_table(gold[:4], gold[:4])])
    other = [["B-LOC", *row[1:]] for row in gold]
    with pytest.raises(AtlasError, match="different sentences or gold tags"):
        compared([table], [_table(other, other)])
    nothing = permutation_test(np.zeros((2, 3), int), np.zeros((2, 3), int), ["a", "b"], seed=1)
    assert (nothing.difference, nothing.p_value) == (0.0, 1.0)


def test_holm_by_hand() -> None:
    # Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04, which may not fall.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]).tolist() == [1.0, 1.0]
