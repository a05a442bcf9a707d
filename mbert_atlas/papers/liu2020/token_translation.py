"""BLEU-1 and convert rate of shifted sentences by layer and weight (section 4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from mbert_atlas.analysis.resampling import resampled_sums
from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoders.loading import load_masked_model
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoding.texts import inner, parallel_sentences, token_set
from mbert_atlas.errors import DataError
from mbert_atlas.papers.liu2020.config import DEVELOPMENT, TEST
from mbert_atlas.representations.language_vectors import mean_difference, random_vectors
from mbert_atlas.representations.shifted_predictions import predict_shifted
from mbert_atlas.schemas import TOKEN_TRANSLATIONS
from mbert_atlas.tokenizer import open_tokenizer, require_tokenizer
from mbert_atlas.training.head_fitting import add_head

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[Any]


def translate_tokens(
    encoder: Path,
    sentences: Path,
    means: Path,
    *,
    source: str,
    target: str,
    layers: Sequence[int],
    weights: Sequence[float],
    shown: Sequence[int] = (),
    limit: int | None = None,
    head: Path | None = None,
    random_layers: Sequence[int] = (),
    seeds: Sequence[int] = (),
) -> pa.Table:
    """Shift sentences of a language to another at every layer with every weight; score the tokens.

    Sentences are the output of :func:`mbert_atlas.encoding.texts.encode_parallel`, means that of
    :func:`mbert_atlas.representations.language_vectors.language_means`. Layer 0 is the embeddings;
    weights are factors of the difference of means. At most ``limit`` sentences of each set are
    shifted, but the tokens of a language are those of all of its test sentences, as in Table 3. The
    table (``schemas.TOKEN_TRANSLATIONS``) keeps the predicted tokens of the test sentences
    ``shown``. ``head`` is a fitted language-model head, see
    :func:`mbert_atlas.training.head_fitting.fit_head`; none: the encoder's. As a control,
    ``random_layers`` are also shifted by random vectors as long as the difference, by other ones
    for each seed. Raises DataError for another tokenizer, sentences too few to show, or no head.
    """
    stored, stored_means = load_arrays(sentences), load_arrays(means)
    require_tokenizer(sentences, stored.meta.get("tokenizer"), encoder)
    model: Any = load_masked_model(encoder, seed=0 if head else None)
    model = (add_head(model, head) if head else model).to(default_device()).eval()
    whole = [parallel_sentences(stored, code) for code in (source, target)]
    by_part = [np.flatnonzero(stored.dense("part") == part) for part in (TEST, DEVELOPMENT)]
    _require_shown(sentences, shown, len(by_part[TEST][:limit]), target)
    chosen = np.concatenate([numbers[:limit] for numbers in by_part])
    texts, translations = (side.take(chosen) for side in whole)
    parts = stored.dense("part")[chosen]
    size, tokenizer = int(model.config.vocab_size), open_tokenizer(encoder)
    references = inner(translations)
    sets = [token_set(side.take(by_part[TEST]), size) for side in whole]
    rows: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        difference = mean_difference(stored_means, protocol, source, target)
        control = [(n, random_vectors(difference, n, source, target), random_layers) for n in seeds]
        shifts = [(None, difference, layers), *control]
        for (seed, layer, weight), tokens in _predicted(model, texts, shifts, weights):
            for part in np.unique(parts):
                numbers = np.flatnonzero(parts == part)
                counts = token_counts(tokens.take(numbers), references.take(numbers), *sets)
                counts["mean_bleu"] = bleu1(counts)
                sums = {name: each.sum() for name, each in counts.items()}
                again = _resampled(counts) if part == TEST else {}
                samples = [_text(tokenizer, tokens[n]) for n in shown if parts[n] == part]
                rows.append(
                    {"source": source, "target": target, "protocol": protocol, "seed": seed}
                    | {"part": int(part), "layer": layer, "weight": weight, "n": len(numbers)}
                    | {"samples": samples, **_scores(sums, len(numbers))}
                    | {f"resampled_{name}": values for name, values in again.items()}
                )
    return pa.Table.from_pylist(rows, schema=TOKEN_TRANSLATIONS)


def _require_shown(sentences: Path, shown: Sequence[int], count: int, target: str) -> None:
    if shown and max(shown) >= count:
        problem = f"there is no test sentence {max(shown)} to show, of {count} for {target}"
        fix = f"name sentences from 0 to {count - 1} in liu2020.translation.shown.{target}"
        raise DataError(sentences, "", problem, fix)


def _predicted(
    model: Any,
    texts: Ragged,
    shifts: Sequence[tuple[int | None, npt.NDArray[np.float32], Sequence[int]]],
    weights: Sequence[float],
) -> Iterator[tuple[tuple[int | None, int, float], Ragged]]:
    """Yield seed (if any), layer and weight, and the tokens, of shifts at some layers each."""
    for seed, vectors, layers in shifts:
        for setting, tokens in predict_shifted(model, texts, vectors, layers, weights).items():
            yield (seed, *setting), tokens


def _text(tokenizer: Any, tokens: npt.NDArray[Any]) -> str:
    return " ".join(tokenizer.id_to_token(int(token)) for token in tokens).replace(" ##", "")


def bleu1(counts: Mapping[str, Counts]) -> Counts:
    """Return BLEU-1 with brevity penalty, 0 to 100, from the counts of :func:`token_counts`.

    Counts of sentences give that of each sentence, their sums that of the corpus.
    """
    # min(1, exp(1 - r / c)) m / c: of 3 tokens, 2 of them right, for 4: exp(-1/3) 2/3.
    tokens = np.maximum(counts["tokens"], 1)
    brevity = np.minimum(1, np.exp(1 - counts["expected"] / tokens))
    return 100 * (brevity * counts["shared"] / tokens)


def _scores(sums: Mapping[str, Counts], n: int) -> dict[str, Counts]:
    """Return the scores of ``schemas.TOKEN_TRANSLATIONS`` from sums over n sentences."""
    return {**sums, "mean_bleu": sums["mean_bleu"] / n, "corpus_bleu": bleu1(sums)}


def _resampled(counts: Mapping[str, Counts]) -> dict[str, Counts]:
    """Return the scores on resamples of the sentences."""
    # Parallel sentences of all languages have the same numbers.
    n = len(counts["tokens"])
    sums = resampled_sums(
        np.stack([*counts.values()], 1), [f"sentence {number}" for number in range(n)]
    )
    return _scores(dict(zip(counts, sums.T, strict=True)), n)


def token_counts(
    predicted: Ragged, references: Ragged, source: Flags, target: Flags
) -> dict[str, Counts]:
    """Count each sentence's tokens by language, and those that are translations, ``(n,)``.

    All predicted ``tokens``, those of the reference (``expected``), and those of both (``shared``);
    those ``in_source``, the source language's set, or ``in_neither``; numerator and denominator of
    the convert rate: ``converted`` ones, which only the target language has, and ``counted`` ones,
    all but those that both have; and ``translated`` ones, which are converted, and the reference
    has them as often (section 4.2). The flags, shape ``(vocabulary,)``, tell which ids a language
    has.
    """
    # Rows of ids are a sparse matrix, sentences by vocabulary, whose equal ids add up. A token is
    # shared as often as the side with fewer has it: [5, 5, 7] and [5, 7, 7] share 1 + 1.
    size, dtype = len(source), np.int64
    ours, theirs = (
        csr_array((np.ones(len(side.values), dtype), side.values, side.offsets), (len(side), size))
        for side in (predicted, references)
    )
    shared, only_target = ours.minimum(theirs), target & ~source
    return {
        "tokens": predicted.lengths,
        "in_source": ours @ source,
        "in_neither": ours @ ~(source | target),
        "converted": ours @ only_target,
        "counted": ours @ ~(source & target),
        "translated": shared @ only_target,
        "shared": shared.sum(axis=1),
        "expected": references.lengths,
    }
