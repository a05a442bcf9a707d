from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbert_atlas.alignment.links import Links, read_pharaoh, score, symmetrise, write_pharaoh

_link = st.tuples(st.integers(0, 99_999), st.integers(0, 300))


def links_of(sentences):
    flat = [(row, *link) for row, sentence in enumerate(sentences) for link in sorted(sentence)]
    row, source, target = np.array(flat, dtype=np.int64).reshape(-1, 3).T
    return Links(row, source.astype(np.int32), target.astype(np.int32), len(sentences))


def as_list(links):
    return list(zip(links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True))


@given(st.lists(st.sets(_link, max_size=6), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("pharaoh") / "links.pharaoh"
    write_pharaoh(links_of(sentences), path)
    lines = path.read_text().split("\n")[:-1]
    assert lines == [" ".join(f"{i}-{j}" for i, j in sorted(links)) for links in sentences]
    links = [(row, *link) for row, links in enumerate(sentences) for link in sorted(links)]
    read = read_pharaoh(path)
    assert (as_list(read), read.rows) == (links, len(sentences))


def test_links_between_two_sentences():
    part = links_of([[(0, 0)], [(1, 2)], [], [(3, 3)]]).between(1, 3)
    assert (part.row.tolist(), part.source.tolist(), part.rows) == ([0], [1], 2)


def test_merging_equals_set_operations():
    random = np.random.default_rng(1)
    first, second = (set(map(tuple, random.integers(0, [6, 8, 8], (30, 3)))) for _ in range(2))
    columns = (np.array(sorted(links)).T for links in (first, second))
    both = [
        Links(row, source.astype(np.int32), target.astype(np.int32), 6)
        for row, source, target in columns
    ]
    union = first | second
    assert as_list(symmetrise(*both, "intersection")) == sorted(first & second)
    assert as_list(symmetrise(*both, "union")) == sorted(union)
    alone = [
        (r, i, j)
        for r, i, j in sorted(union)
        if sum((r, i) == (a, b) for a, b, _ in union) == 1
        and sum((r, j) == (a, c) for a, _, c in union) == 1
    ]
    assert alone
    assert as_list(symmetrise(*both, "one_to_one")) == alone


def gold(sure, possible=()):
    return SimpleNamespace(sure=set(sure), possible={*sure, *possible})


def test_scores_by_hand_with_sure_and_possible():
    # A = {00, 12, 21}, S = {00, 11}, P = {00, 11, 12, 22}: |A&S| = 1, |A&P| = 2
    result = score(links_of([[(0, 0), (1, 2), (2, 1)]]), [gold([(0, 0), (1, 1)], [(1, 2), (2, 2)])])
    rates = {"aer": 1 - 3 / 5, "precision": 2 / 3, "recall": 1 / 2, "f1": 4 / 7}
    assert result == pytest.approx({**rates, "sentences": 1, "links": 3, "sure_links": 2})


def test_links_count_in_their_own_sentence_only():
    result = score(links_of([[(0, 0)], [(1, 1)]]), [gold([(1, 1)]), gold([(1, 1), (0, 0)])])
    assert (result["precision"], result["recall"]) == pytest.approx((1 / 2, 1 / 3))


@pytest.mark.parametrize(
    ("links", "sure", "possible", "aer", "recall"),
    [([(0, 0)], [(0, 0)], [], 0, 1), ([], [(0, 0)], [], 1, 0), ([(0, 0)], [], [(0, 0)], 0, 0)],
)
def test_extreme_scores(links, sure, possible, aer, recall):
    result = score(links_of([links]), [gold(sure, possible)])
    assert (result["aer"], result["recall"]) == (aer, recall)


def test_undefined():
    with pytest.raises(ValueError, match="error rate is undefined"):
        score(links_of([[]]), [gold([])])
