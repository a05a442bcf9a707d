"""Alignment error rate and its parts (Och and Ney 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mbert_atlas.alignment.pharaoh import Links
from mbert_atlas.corpora.gold_alignment import GoldSentence


@dataclass(frozen=True)
class AlignmentScores:
    """Agreement of links A with sure links S and possible links P, from 0 to 1.

    Attributes:
        aer: 1 - (|A and S| + |A and P|) / (|A| + |S|).
        precision: |A and P| / |A|; 0 if A is empty.
        recall: |A and S| / |S|; 0 if S is empty.
        f1: harmonic mean of precision and recall; 0 if both are.
        sentences: number of gold sentences.
        links: |A|.
        sure_links: |S|.
    """

    aer: float
    precision: float
    recall: float
    f1: float
    sentences: int
    links: int
    sure_links: int


def score(links: Links, gold: Sequence[GoldSentence]) -> AlignmentScores:
    """Score links against gold links, over all sentences.

    Raises:
        ValueError: if the numbers of sentences differ, or if neither side has a link.
    """
    if links.rows != len(gold):
        raise ValueError(f"{links.rows} aligned sentences, {len(gold)} gold ones")
    ours = set(zip(links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True))
    sure = {(row, *link) for row, sentence in enumerate(gold) for link in sentence.sure}
    possible = {(row, *link) for row, sentence in enumerate(gold) for link in sentence.possible}
    possible |= sure
    if not ours and not sure:
        raise ValueError("neither side has a link: the error rate is undefined")
    in_sure, in_possible = len(ours & sure), len(ours & possible)
    precision = in_possible / len(ours) if ours else 0.0
    recall = in_sure / len(sure) if sure else 0.0
    return AlignmentScores(
        aer=1 - (in_sure + in_possible) / (len(ours) + len(sure)),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        sentences=len(gold),
        links=len(ours),
        sure_links=len(sure),
    )
