"""How multilingual is an encoder? Translations found among its vectors, and languages told apart.

Vectors are centred by language, since their mean says little but which language it is (Libovický
et al. 2020); then the nearest English vector by cosine should be a translation's.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from accelerate import PartialState
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mbert_atlas.alignment.pairs import encode_word_pairs
from mbert_atlas.analysis.retrieval import unit_vectors
from mbert_atlas.arrays import TokenStore
from mbert_atlas.corpora.gold_alignment import GoldSentence, Link
from mbert_atlas.encoders.hidden_states import number_of_layers, span_vectors
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import WORD_PAIRS
from mbert_atlas.training.word_pairs import WordPairs, open_pairs

Vectors = npt.NDArray[np.floating[Any]]


class Score(NamedTuple):
    """One score of one layer.

    Attributes:
        measure: ``words``, ``dictionary`` (words that a dictionary has) and ``sentences``: the
            share whose nearest English one is a translation; ``languages``: the share of held-out
            sentences whose language a linear classifier tells.
        language: what the words or sentences are in.
        layer: hidden state, 0 for the embeddings.
        value: 0 to 1.
        chance: what guessing would give.
    """

    measure: Literal["words", "dictionary", "sentences", "languages"]
    language: str
    layer: int
    value: float
    chance: float


def measure_multilinguality(
    encoder: Path,
    gold: Mapping[str, Sequence[GoldSentence]],
    dictionaries: Mapping[str, Collection[tuple[str, str]]] | None = None,
) -> list[Score]:
    """Score all layers of an encoder on sentences with their translations and word links.

    A word is a type: the mean over all places where it has one link and its partner is spelt
    otherwise. Such types are inflected forms, and a form has several translations; those of a
    dictionary are compared among themselves, as bilingual lexicon induction does (Conneau et al.
    2018). The classifier of languages learns from every second sentence.

    Args:
        encoder: encoder folder.
        gold: sentences by language, English as the source; those of the first language stand for
            English where languages are told apart.
        dictionaries: by language, an English word and its translation, both in lower case.

    Raises:
        DataError: if encoder or tokenizer cannot be used, or no word is left.
    """
    model = load_encoder(encoder).to(PartialState().device)
    scores: list[Score] = []
    sentences: dict[str, Vectors] = {}
    for language, some in gold.items():
        links = [_links(sentence) for sentence in some]
        store, pairs = _encoded(encoder, some, links)
        (english_words, english), (words, other) = (
            _vectors(model, store, side, pairs) for side in ("source", "target")
        )
        sentences.setdefault("en", english)
        sentences[language] = other
        named = [
            (
                some[row].source_tokens[word].lower(),
                some[row].target_tokens[links[row][word]].lower(),
            )
            for row, word in zip(pairs.sentence, pairs.source_word, strict=True)
        ]
        known = (dictionaries or {}).get(language, ())
        listed = [place for place, pair in enumerate(named) if pair in known]
        found = _words_found(words, english_words, named)
        scores += [Score("words", language, layer, *each) for layer, each in enumerate(found)]
        if listed:
            of_listed = words[:, listed], english_words[:, listed]
            found = _words_found(*of_listed, [named[place] for place in listed])
            scores += [Score("dictionary", language, n, *each) for n, each in enumerate(found)]
        rows = np.eye(len(some), dtype=bool)
        for layer in range(number_of_layers(model)):
            of_sentences = precision_at_one(other[layer], english[layer], rows), 1 / len(some)
            scores.append(Score("sentences", language, layer, *of_sentences))
    return scores + _told_apart(sentences)


def _words_found(
    words: Vectors, english: Vectors, named: Sequence[tuple[str, str]]
) -> list[tuple[float, float]]:
    """Return precision at one of word types, and chance, by layer.

    Args:
        words: vectors of the places of words, shape ``(layers, places, dims)``.
        english: vectors of their English partners, likewise.
        named: English word and word of each place.
    """
    of_english, of_words = (
        np.unique(names, return_inverse=True)[1] for names in zip(*named, strict=True)
    )
    right = np.zeros((of_words.max() + 1, of_english.max() + 1), dtype=bool)
    right[of_words, of_english] = True
    chance = float(right.mean())
    return [
        (precision_at_one(_means(one, of_words), _means(other, of_english), right), chance)
        for one, other in zip(words, english, strict=True)
    ]


def precision_at_one(queries: Vectors, candidates: Vectors, right: npt.NDArray[np.bool_]) -> float:
    """Return the share of queries whose nearest candidate is right, each side centred.

    Args:
        queries: shape ``(q, dims)``.
        candidates: shape ``(c, dims)``.
        right: which candidates are right for each query, shape ``(q, c)``.
    """
    # Cosines of what is left without the mean. Queries [2 0] [0 2] [1 1] have the mean [1 1], and
    # [1 -1] [-1 1] [0 0] is left; candidates [9 7] [7 9] leave [1 -1] [-1 1]: cosines 1, 1 and 0.
    one, other = (unit_vectors(side, centred=True) for side in (queries, candidates))
    nearest = (one @ other.T).argmax(1)
    return float(right[np.arange(len(right)), nearest].mean())


def _links(sentence: GoldSentence) -> dict[int, int]:
    """Return the other word of each English word with one sure link to a word with no other."""
    counts = [Counter(side) for side in zip(*sentence.sure, strict=True)] or [Counter[int]()] * 2

    def is_single(link: Link) -> bool:
        same = sentence.source_tokens[link[0]] == sentence.target_tokens[link[1]]
        return counts[0][link[0]] == counts[1][link[1]] == 1 and not same

    return dict(filter(is_single, sorted(sentence.sure)))


def _encoded(
    encoder: Path, sentences: Sequence[GoldSentence], links: Sequence[Mapping[int, int]]
) -> tuple[TokenStore, WordPairs]:
    columns = {
        "id": [str(row) for row in range(len(sentences))],
        "source_tokens": [sentence.source_tokens for sentence in sentences],
        "target_tokens": [sentence.target_tokens for sentence in sentences],
        "source_index": [list(some) for some in links],
        "target_index": [list(some.values()) for some in links],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parquet(pa.table(columns, schema=WORD_PAIRS), folder / "pairs.parquet")
        encode_word_pairs(folder / "pairs.parquet", encoder, folder / "store")
        return open_pairs(folder / "store")


def _vectors(model: Any, store: TokenStore, side: str, pairs: WordPairs) -> tuple[Vectors, Vectors]:
    """Return the vectors of linked words and of sentences, each ``(layers, n, dims)``."""
    ids = store.ragged(f"{side}_ids")
    start, end = getattr(pairs, f"{side}_start"), getattr(pairs, f"{side}_end")
    found = span_vectors(
        model,
        ids,
        np.concatenate([pairs.sentence, np.arange(len(ids))]),
        np.concatenate([start, np.ones(len(ids), dtype=np.int64)]),  # without [CLS]
        np.concatenate([end, ids.lengths - 1]),  # nor [SEP]
        aggregation="mean",
        layers=range(number_of_layers(model)),
        description=f"{side} sentences",
    )
    return found[:, : len(start)], found[:, len(start) :]


def _means(vectors: Vectors, group: npt.NDArray[np.int64]) -> Vectors:
    """Return the mean of each group of rows, ``(groups, dims)``."""
    sums = np.zeros((int(group.max()) + 1, vectors.shape[1]))
    np.add.at(sums, group, vectors)
    means: Vectors = sums / np.bincount(group)[:, None]
    return means


def _told_apart(sentences: Mapping[str, Vectors]) -> list[Score]:
    """Return how well a linear classifier tells languages, by layer and language."""
    counts = [vectors.shape[1] for vectors in sentences.values()]
    language = np.repeat(list(sentences), counts)
    held_out = np.concatenate([np.arange(count) % 2 == 1 for count in counts])
    scores = []
    for layer, vectors in enumerate(np.concatenate(list(sentences.values()), axis=1)):
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        probe.fit(vectors[~held_out], language[~held_out])
        is_right = probe.predict(vectors[held_out]) == language[held_out]
        for name in sentences:
            value = float(is_right[language[held_out] == name].mean())
            scores.append(Score("languages", name, layer, value, 1 / len(sentences)))
    return scores
