from types import SimpleNamespace

import numpy as np
import pytest

from mbert_atlas.alignment.metrics import score
from mbert_atlas.alignment.pharaoh import Links


def links_of(*sentences):
    flat = [(row, *link) for row, sentence in enumerate(sentences) for link in sentence]
    row, source, target = np.array(flat, dtype=np.int64).reshape(-1, 3).T
    return Links(row, source.astype(np.int32), target.astype(np.int32), len(sentences))


def gold(sure, possible=()):
    return SimpleNamespace(
        source_tokens=["s"] * 9,
        target_tokens=["t"] * 9,
        sure=frozenset(sure),
        possible=frozenset(sure) | frozenset(possible),
    )


def test_by_hand_with_sure_and_possible():
    # A = {00, 12, 21}, S = {00, 11}, P = {00, 11, 12, 22}: |A&S| = 1, |A&P| = 2
    result = score(links_of([(0, 0), (1, 2), (2, 1)]), [gold([(0, 0), (1, 1)], [(1, 2), (2, 2)])])
    assert result.aer == pytest.approx(1 - 3 / 5)
    assert result.precision == pytest.approx(2 / 3)
    assert result.recall == pytest.approx(1 / 2)
    assert result.f1 == pytest.approx(4 / 7)
    assert (result.sentences, result.links, result.sure_links) == (1, 3, 2)


def test_links_count_in_their_own_sentence_only():
    result = score(links_of([(0, 0)], [(1, 1)]), [gold([(1, 1)]), gold([(1, 1), (0, 0)])])
    assert result.precision == pytest.approx(1 / 2)
    assert result.recall == pytest.approx(1 / 3)


def test_perfect_links():
    result = score(links_of([(0, 0), (1, 1)]), [gold([(0, 0)], [(1, 1)])])
    assert (result.aer, result.precision, result.recall) == (0.0, 1.0, 1.0)


def test_without_possible_links_the_error_is_one_minus_f1():
    result = score(links_of([(0, 0), (1, 0), (2, 2)]), [gold([(0, 0), (2, 2), (3, 3), (4, 4)])])
    assert result.aer == pytest.approx(1 - result.f1)


def test_nothing_found():
    result = score(links_of([]), [gold([(0, 0)])])
    assert (result.aer, result.precision, result.recall, result.f1) == (1.0, 0.0, 0.0, 0.0)


def test_possible_links_only():
    result = score(links_of([(0, 0)]), [gold([], [(0, 0)])])
    assert (result.aer, result.recall) == (0.0, 0.0)


def test_undefined_or_mismatched():
    with pytest.raises(ValueError, match="error rate is undefined"):
        score(links_of([]), [gold([])])
    with pytest.raises(ValueError, match="2 aligned sentences, 1 gold"):
        score(links_of([], []), [gold([(0, 0)])])
