"""Ranks of translations: as a loop over words finds them, in blocks of any size."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mbert_atlas.analysis.resampling import resamples
from mbert_atlas.analysis.retrieval import retrieve_words, translation_ranks, unit_vectors
from mbert_atlas.arrays import save_arrays
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import DICTIONARY, RETRIEVALS


def rank(word: np.ndarray, candidates: np.ndarray, golds: list[int]) -> float:
    """Rank of the best translation of one word; others that are as similar count half."""
    cosines = [
        float(word @ other / np.sqrt((word @ word) * (other @ other))) for other in candidates
    ]
    best = max(range(len(cosines)), key=lambda n: (n in golds, cosines[n]))
    others = [cosine for n, cosine in enumerate(cosines) if n != best]
    above = sum(cosine > cosines[best] + 1e-9 for cosine in others)
    level = sum(abs(cosine - cosines[best]) <= 1e-9 for cosine in others)
    return 1 + above + level / 2


@pytest.mark.parametrize("block", [1, 7, 512])
@pytest.mark.parametrize("centred", [False, True])
def test_ranks_are_those_of_a_loop(
    block: int, centred: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mbert_atlas.analysis.retrieval._BLOCK", block)
    random = np.random.default_rng(0)
    # Some vectors come twice, so that they are equally similar.
    one, other = random.normal(size=(30, 4)) + 0.5, random.normal(size=(23, 4)) + 0.5
    one[20:], other[15:] = one[:10], other[:8]
    pairs = [(n, n % 23) for n in range(30)]
    pairs += [(int(random.integers(30)), int(random.integers(23))) for _ in range(25)]
    pairs += pairs[:3]  # a dictionary may repeat itself
    sides = one.astype(np.float32), other.astype(np.float32)
    found = translation_ranks(*sides, np.array(pairs), centred=centred)
    if centred:
        one, other = one - one.mean(0), other - other.mean(0)
    sides = one, other
    for here in (0, 1):
        expected = [
            rank(word, sides[1 - here], [p[1 - here] for p in pairs if p[here] == n])
            for n, word in enumerate(sides[here])
        ]
        assert found[here].tolist() == expected
        assert (found[here] % 1).any()  # there were words as similar as the best


def test_ranks_by_hand() -> None:
    # Words at 0 and 90 degrees, candidates at 10, 40 and 80.
    angles = [np.deg2rad(np.array(some)) for some in ([0, 90], [10, 40, 80])]
    one, other = (np.stack([np.cos(a), np.sin(a)], axis=1) for a in angles)
    pairs = np.array([(0, 0), (0, 2), (1, 1)])
    forth, back = translation_ranks(one, other, pairs)
    assert (forth.tolist(), back.tolist()) == ([1, 2], [1, 2, 2])


def test_zeros_have_no_direction() -> None:
    units = unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]]), centred=False)
    assert units.tolist() == [[0.6, 0.8], [0.0, 0.0]]


def words(folder: Path, language: str, names: list[str], vectors: list[list[float]]) -> Path:
    layer = np.array(vectors, dtype=np.float32)
    arrays = {"vectors": np.stack([layer, -layer])}
    save_arrays(folder / language, arrays | {"words": np.array(names)}, {"language": language})
    return folder / language


def test_words_of_a_dictionary(tmp_path: Path) -> None:
    pairs = [("dog", "hund"), ("cat", "katze"), ("dog", "köter")]
    sides = list(zip(*pairs, strict=True))
    write_parquet(pa.table(list(map(list, sides)), schema=DICTIONARY), tmp_path / "d.parquet")
    # "of" is a word of another dictionary: no candidate, and no part of the mean.
    english = words(tmp_path, "en", ["cat", "of", "dog"], [[0, 2], [9, 9], [2, 0]])
    german = words(tmp_path, "de", ["hund", "katze", "köter"], [[5, 6], [6, 5], [0, -1]])
    output = tmp_path / "o.parquet"
    retrieve_words(tmp_path / "d.parquet", english, german, output)
    table = pq.read_table(output)
    assert table.schema.equals(RETRIEVALS)
    rows = table.to_pylist()
    assert len(rows) == 8
    again = [row.pop("resampled") for row in rows]
    assert again[0] == [0.5] * 400
    drawn = resamples(["hund", "katze", "köter"])
    assert again[1] == pytest.approx((drawn @ np.array([0.5, 0.5, 1]) / 3).tolist())
    first = {"layer": 0, "source": "en", "target": "de", "centred": False}
    assert rows[0] == first | {
        "mrr": 0.5,  # both are nearer to the other one's translation
        "n": 2,
    }
    # Back: hund and katze are nearer to the wrong word, köter (0, -1) is nearer to dog.
    assert rows[1]["mrr"] == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert (rows[1]["source"], rows[1]["n"]) == ("de", 3)
    # Without the means (1, 1) and (11/3, 10/3): dog (1, -1) is nearest to köter (-11/3, -13/3)?
    # Its cosine is .08, hund's (4/3, 8/3) -.32, katze's (7/3, 5/3) .16; cat (-1, 1): -.16.
    assert [row["centred"] for row in rows[:4]] == [False, False, True, True]
    assert rows[2]["mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert rows[4]["mrr"] == rows[0]["mrr"]  # of the other layer, all vectors turned around
    assert {row["layer"] for row in rows} == {0, 1}


def test_half_precision_does_not_overflow() -> None:
    vectors = np.array([[300, 0], [0, 300], [200, 200]], dtype=np.float16)
    assert np.allclose(np.linalg.norm(unit_vectors(vectors, centred=False), axis=1), 1)
    pairs = np.array([[0, 0], [1, 1], [2, 2]])
    for ranks in translation_ranks(vectors, vectors, pairs):
        assert ranks.tolist() == [1, 1, 1]
