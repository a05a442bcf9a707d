"""Word pairs of which the partners come from other sentences."""

from pathlib import Path

import numpy as np
import pytest

from mbert_atlas.alignment.shuffled import shuffle_pairs
from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.training.word_pairs import open_pairs

COUNTS = [3, 1, 0, 2, 1]
"""Pairs of each sentence, of which sentence n has the English words 10 n and the others 100 n."""


def store(folder: Path, counts: list[int]) -> Path:
    rows = {
        f"{side}_{name}": [values(number, count, factor) for number, count in enumerate(counts)]
        for side, factor in (("source", 10), ("target", 100))
        for name, values in {
            "ids": lambda number, count, factor: [2, *(factor * number + np.arange(count + 1)), 3],
            "word_start": lambda _, count, __: [*range(1, count + 2)],
            "word_end": lambda _, count, __: [*range(2, count + 3)],
            "pairs": lambda _, count, __: [*range(1, count + 1)],  # all words but the first
        }.items()
    }
    meta = {"tokenizer_sha256": "x", "counts": {"sentences": len(counts), "pairs": sum(counts)}}
    packed = {name: Ragged.from_rows(value, np.int32) for name, value in rows.items()}
    save_arrays(folder / "store", packed, meta)
    return folder / "store"


def test_every_pair_is_of_two_sentences_in_the_order_of_their_words(tmp_path: Path) -> None:
    shuffle_pairs(store(tmp_path, COUNTS), tmp_path / "shuffled")
    stored, pairs = open_pairs(tmp_path / "shuffled")
    source, target = stored.ragged("source_ids"), stored.ragged("target_ids")
    english = [source[n][at] for n, at in zip(pairs.sentence, pairs.source_start, strict=True)]
    other = [target[n][at] for n, at in zip(pairs.sentence, pairs.target_start, strict=True)]
    joined = [
        ((int(one // 10), int(one % 10)), (int(two // 100), int(two % 100)))
        for one, two in zip(english, other, strict=True)
    ]
    partners = {one[0]: two[0] for one, two in joined}
    assert all(one != two for one, two in partners.items())
    assert all(one[1] == two[1] for one, two in joined)
    # 1 and 4 have one pair each; the next larger number is 2, then 3; the largest gets one of 1.
    first, second = ((1, 4), (4, 1))[partners[1] != 4]
    assert partners == {first: second, second: 3, 3: 0, 0: first}
    assert np.bincount(pairs.sentence).tolist() == [1, 1, 0, 2, 1]
    assert stored.meta["counts"] == {"sentences": 5, "pairs": 5}
    # Nothing else has changed: the same sentences, each once, with their own words.
    before = load_arrays(tmp_path / "store")
    assert source.values.tolist() == before.ragged("source_ids").values.tolist()
    assert sorted(map(tuple, target)) == sorted(map(tuple, before.ragged("target_ids")))
    assert target[2].tolist() == [2, 200, 3]


def test_one_sentence_has_no_other(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 sentences have word pairs, and two are needed"):
        shuffle_pairs(store(tmp_path, [0, 2, 0]), tmp_path / "shuffled")
