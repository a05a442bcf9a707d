"""Word links: two directions merged, scores, and Pharaoh text (``i-j`` per link, from 0)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.corpora.gold_alignment import GoldSentence
from mbert_atlas.files import atomic_path

Symmetrisation = Literal["intersection", "one_to_one", "union"]
_WORD_BITS = 18  # words of a sentence in a link's key


@dataclass(frozen=True)
class Links:
    """Links between the words of parallel sentences; arrays of shape ``(links,)``."""

    row: npt.NDArray[np.int64]  # the sentence
    source: npt.NDArray[np.int32]  # the source word, from 0
    target: npt.NDArray[np.int32]  # the target word, from 0
    rows: int  # number of sentences, those without a link included

    def __len__(self) -> int:
        """Return the number of links."""
        return len(self.row)

    def take(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "Links":
        """Return some links of the same sentences."""
        return Links(self.row[which], self.source[which], self.target[which], self.rows)

    def between(self, start: int, stop: int) -> "Links":
        """Return the links of the sentences ``start`` to ``stop - 1``, counted from ``start``."""
        kept = self.take((self.row >= start) & (self.row < stop))
        return Links(kept.row - start, kept.source, kept.target, stop - start)


def symmetrise(forward: Links, reverse: Links, how: Symmetrisation) -> Links:
    """Merge the links of two directions; sorted by sentence, source word, target word.

    ``one_to_one`` keeps the links of the union whose two words have no other link.
    """
    # A link is one number, row << 36 | source << 18 | target: the link 3-5 of sentence 2 is
    # 2 << 36 | 3 << 18 | 5, and sets of links become sets of numbers.
    one, two = (
        (links.row << _WORD_BITS | links.source) << _WORD_BITS | links.target
        for links in (forward, reverse)
    )
    merged = np.intersect1d(one, two) if how == "intersection" else np.union1d(one, two)
    row, words = np.divmod(merged, 1 << 2 * _WORD_BITS)
    source, target = (part.astype(np.int32) for part in np.divmod(words, 1 << _WORD_BITS))
    links = Links(row, source, target, forward.rows)
    if how != "one_to_one":
        return links
    of_source, of_target = (pd.DataFrame({0: row, 1: word}) for word in (source, target))
    several = of_source.duplicated(keep=False) | of_target.duplicated(keep=False)
    return links.take(~several.to_numpy())


def score(links: Links, gold: Sequence[GoldSentence]) -> dict[str, float]:
    """Score links A against sure links S and possible links P (Och and Ney 2003).

    Returns, from 0 to 1, ``aer``, 1 - (|A and S| + |A and P|) / (|A| + |S|); ``precision``,
    |A and P| / |A|; ``recall``, |A and S| / |S|; ``f1``, their harmonic mean (each 0 where it is
    undefined); and numbers of ``sentences``, ``links`` (|A|) and ``sure_links`` (|S|).

    Raises ValueError if neither side has a link.
    """
    ours = set(zip(links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True))
    sure = {(row, *link) for row, sentence in enumerate(gold) for link in sentence.sure}
    possible = {(row, *link) for row, sentence in enumerate(gold) for link in sentence.possible}
    if not ours and not sure:
        raise ValueError("neither side has a link: the error rate is undefined")
    in_sure, in_possible = len(ours & sure), len(ours & possible)
    precision = in_possible / len(ours) if ours else 0.0
    recall = in_sure / len(sure) if sure else 0.0
    return {
        "aer": 1 - (in_sure + in_possible) / (len(ours) + len(sure)),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "sentences": len(gold),
        "links": len(ours),
        "sure_links": len(sure),
    }


def write_pharaoh(links: Links, path: Path | str) -> None:
    """Write links, sorted by sentence, as Pharaoh text, a line per sentence."""
    offsets = np.searchsorted(links.row, np.arange(links.rows + 1))
    words = (pa.array(word).cast(pa.string()) for word in (links.source, links.target))
    tokens = pc.binary_join_element_wise(*words, "-")
    lines = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tokens), " ")
    with atomic_path(path) as temporary, open(temporary, "w", encoding="ascii") as stream:
        stream.writelines(f"{line}\n" for line in lines.to_pylist())


def read_pharaoh(path: Path | str) -> Links:
    """Read what :func:`write_pharaoh` wrote."""
    text = Path(path).read_text(encoding="ascii")
    count = np.array([line.count("-") for line in text.splitlines()], dtype=np.int64)
    # On text without a number fromstring returns one number.
    numbers = np.fromstring(text.replace("-", " "), dtype=np.int32, sep=" ")[: 2 * count.sum()]
    source, target = numbers.reshape(-1, 2).T
    return Links(np.repeat(np.arange(len(count)), count), source, target, len(count))
