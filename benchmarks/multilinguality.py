"""How multilingual is an encoder? Word and sentence retrieval and language identification.

Pass an encoder folder and files of gold alignments in XL-WA's format, each in a folder named after
its language. A word or sentence is retrieved if its nearest English vector belongs to a translation
(centred by language, cosine); a linear classifier identifies the language by the mean vector of a
sentence. Each measure is printed in the layer where its mean over the languages is highest.

With dictionaries in MUSE's layout (en-xx.txt), their words are also measured separately.

    python benchmarks/multilinguality.py results/demo/encoders/mbert/model \
      results/demo/miniature/gold-alignments/XL-WA/data/*/test.tsv
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mbert_atlas.alignment.pairs import encode_word_pairs
from mbert_atlas.analysis.retrieval import unit_vectors
from mbert_atlas.arrays import TokenStore
from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.corpora.dictionaries import read_pairs
from mbert_atlas.corpora.gold_alignment import GoldSentence, Link, read_gold
from mbert_atlas.encoders.hidden_states import number_of_layers, span_vectors
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.miniature.writing import write_miniature
from mbert_atlas.schemas import WORD_PAIRS
from mbert_atlas.training.word_pairs import WordPairs, open_pairs

FRACTIONS = {"foreign_words": 0.2}  # of the sizes of a miniature, the one that is no count
Vectors = npt.NDArray[np.floating[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder", type=Path, nargs="?", help="encoder folder")
    parser.add_argument("gold", type=Path, nargs="*", help="files <language>/<name>.tsv")
    parser.add_argument("--dictionaries", type=Path, help="folder with MUSE's en-<language>.txt")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="all layers, as JSON")
    options = common.parse(parser, encoder=common.ROOT / "resources/encoders/little")
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        if options.smallest:
            options.gold, options.dictionaries = synthetic(Path(folder))
        measure(options)


def synthetic(folder: Path) -> tuple[list[Path], Path]:
    """Write gold alignments and dictionaries of two languages with English."""
    sizes = MiniatureSizes.model_validate(dict.fromkeys(MiniatureSizes.model_fields, 3) | FRACTIONS)
    write_miniature(folder, languages=["en", "hi", "ru"], seed=1, sizes=sizes)
    gold = sorted(folder.glob("gold-alignments/XL-WA/data/*/test.tsv"))
    return gold, folder / "muse/dictionaries"


def measure(options: argparse.Namespace) -> None:
    logging.disable(logging.WARNING)
    gold = {path.parent.name: read_gold(path, "xlwa") for path in options.gold}
    dictionaries = {
        language: read_dictionary(options.dictionaries / f"en-{language}.txt")
        for language in (gold if options.dictionaries else ())
    }
    scores = pd.DataFrame(measure_multilinguality(options.encoder, gold, dictionaries))
    if options.json:
        print(json.dumps(scores.to_dict("records"), indent=1))
        return
    means = scores.groupby(["measure", "layer"]).value.mean().unstack()
    best = means.idxmax(axis=1)
    best_layers = scores[scores.layer == scores.measure.map(best)]
    table = best_layers.pivot(index="language", columns="measure", values="value")
    table.loc["mean"] = table.mean()
    table.loc["chance"] = best_layers.groupby("measure").chance.mean()
    columns = [name for name in ("words", "dictionary", "sentences", "languages") if name in table]
    print((100 * table[columns]).round(1).to_string(na_rep="", float_format="%.1f"))
    print("\nmean by layer (above: the best layer)")
    print((100 * means.loc[columns]).round(1).to_string(float_format="%.1f"))


def read_dictionary(path: Path) -> set[tuple[str, str]]:
    """Return the pairs of a MUSE dictionary in lower case."""
    return {(word.lower(), other.lower()) for word, other in read_pairs(path)[0]}


class Score(NamedTuple):
    """One score of one layer.

    Attributes:
        measure: ``words``, ``dictionary`` (words of a dictionary) and ``sentences``: precision at 1
            of retrieving English translations; ``languages``: accuracy of a linear classifier of
            languages on held-out sentences.
        language: of the words or sentences.
        layer: hidden state, 0 for the embeddings.
        value: 0 to 1.
        chance: value of a random guess.
    """

    measure: str
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

    A word is a type: the mean over all places where it has one link and its partner differs in
    spelling. Such types are inflected forms, and a form has several translations; those of a
    dictionary are compared among themselves, as in bilingual lexicon induction (Conneau et al.
    2018). The classifier of languages learns from every second sentence.

    Args:
        encoder: encoder folder.
        gold: sentences by language, English as the source; the classifier takes English sentences
            from the first language.
        dictionaries: by language, an English word and its translation, both in lower case.

    Raises:
        DataError: if encoder or tokenizer cannot be used, or no word is left.
    """
    model = load_encoder(encoder).to(default_device())
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
        measured = {"words": list(range(len(named)))}
        listed = (dictionaries or {}).get(language, ())
        measured["dictionary"] = [place for place, pair in enumerate(named) if pair in listed]
        for measure, places in measured.items():
            if places or measure == "words":
                pairs_of_words = [named[place] for place in places]
                precisions = word_precision(
                    words[:, places], english_words[:, places], pairs_of_words
                )
                scores += [Score(measure, language, n, *each) for n, each in enumerate(precisions)]
        rows = np.eye(len(some), dtype=bool)
        for layer in range(number_of_layers(model)):
            of_sentences = precision_at_one(other[layer], english[layer], rows), 1 / len(some)
            scores.append(Score("sentences", language, layer, *of_sentences))
    return scores + _identification(sentences)


def word_precision(
    words: Vectors, english: Vectors, named: Sequence[tuple[str, str]]
) -> list[tuple[float, float]]:
    """Return precision at 1 of word types, and that of a random guess, by layer.

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
    """Return the fraction of queries whose nearest candidate is right, each side centred.

    Args:
        queries: shape ``(q, dims)``.
        candidates: shape ``(c, dims)``.
        right: whether each candidate is right for each query, shape ``(q, c)``.
    """
    # Cosines without the mean. Queries [2 0] [0 2] [1 1] have the mean [1 1] and become [1 -1]
    # [-1 1] [0 0]; candidates [9 7] [7 9] become [1 -1] [-1 1]: cosines 1, 1 and 0.
    one, other = (unit_vectors(side, centred=True) for side in (queries, candidates))
    nearest = (one @ other.T).argmax(1)
    return float(right[np.arange(len(right)), nearest].mean())


def _links(sentence: GoldSentence) -> dict[int, int]:
    """Return the partner of each English word with one sure link to a word with no other link."""
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
        encode_word_pairs(pa.table(columns, schema=WORD_PAIRS), encoder, folder / "store")
        return open_pairs(folder / "store")


def _vectors(model: Any, store: TokenStore, side: str, pairs: WordPairs) -> tuple[Vectors, Vectors]:
    """Return the vectors of linked words and of sentences, each ``(layers, n, dims)``."""
    ids = store.ragged(f"{side}_ids")
    start, end = getattr(pairs, f"{side}_start"), getattr(pairs, f"{side}_end")
    vectors = span_vectors(
        model,
        ids,
        np.concatenate([pairs.sentence, np.arange(len(ids))]),
        np.concatenate([start, np.ones(len(ids), dtype=np.int64)]),  # without [CLS]
        np.concatenate([end, ids.lengths - 1]),  # nor [SEP]
        aggregation="mean",
        layers=range(number_of_layers(model)),
        description=f"{side} sentences",
    )
    return vectors[:, : len(start)], vectors[:, len(start) :]


def _means(vectors: Vectors, group: npt.NDArray[np.int64]) -> Vectors:
    """Return the mean of each group of rows, ``(groups, dims)``."""
    sums = np.zeros((int(group.max()) + 1, vectors.shape[1]))
    np.add.at(sums, group, vectors)
    means: Vectors = sums / np.bincount(group)[:, None]
    return means


def _identification(sentences: Mapping[str, Vectors]) -> list[Score]:
    """Return the accuracy of a linear classifier of languages, by layer and language."""
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


if __name__ == "__main__":
    main()
