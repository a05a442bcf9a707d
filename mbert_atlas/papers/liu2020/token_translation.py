"""BLEU-1 and convert rate of shifted sentences by layer and weight (section 4.2)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from accelerate import PartialState

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoders.loading import load_masked_model
from mbert_atlas.encoding.texts import inner, parallel_sentences
from mbert_atlas.papers.liu2020.token_overlap import bleu1, converted, token_set
from mbert_atlas.representations.language_vectors import mean_difference
from mbert_atlas.representations.shifted_predictions import predict_shifted
from mbert_atlas.schemas import TOKEN_TRANSLATIONS
from mbert_atlas.tokenizer import open_tokenizer, require_tokenizer


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
) -> pa.Table:
    """Shift sentences of a language to another at every layer with every weight; score the tokens.

    Returns columns of ``schemas.TOKEN_TRANSLATIONS``.

    Args:
        encoder: encoder folder with its language-model head.
        sentences: output of :func:`mbert_atlas.encoding.texts.encode_parallel`.
        means: output of :func:`mbert_atlas.representations.language_vectors.language_means`.
        source: language of the input.
        target: language to shift to.
        layers: hidden states that are shifted, each by itself, 0 for the embeddings.
        weights: factors of the difference of means.
        shown: numbers of sentences whose predicted tokens the table keeps.

    Raises:
        DataError: if the sentences are of another tokenizer, or the encoder has no such head.
    """
    stored, stored_means = load_arrays(sentences), load_arrays(means)
    require_tokenizer(sentences, stored.meta.get("tokenizer"), encoder)
    model: Any = load_masked_model(encoder, seed=0).to(PartialState().device).eval()
    texts, translations = (parallel_sentences(stored, code) for code in (source, target))
    parts = stored.dense("part")
    size, tokenizer = int(model.config.vocab_size), open_tokenizer(encoder)
    references = inner(translations)
    sets = [token_set(side, size) for side in (texts, translations)]
    rows: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        shifts = mean_difference(stored_means, protocol, source, target)
        predicted = predict_shifted(model, texts, shifts, layers, weights)
        for (layer, weight), tokens in predicted.items():
            for part in np.unique(parts):
                numbers = np.flatnonzero(parts == part)
                some = tokens.take(numbers)
                bleu = bleu1(some, references.take(numbers), size)
                only, counted = converted(some.values, *sets)
                samples = [_text(tokenizer, tokens[n]) for n in shown if parts[n] == part]
                rows.append(
                    {"source": source, "target": target, "protocol": protocol}
                    | {"part": int(part), "layer": layer, "weight": weight, "n": len(numbers)}
                    | {"corpus_bleu": bleu.corpus, "mean_bleu": bleu.mean}
                    | {"converted": only, "counted": counted, "samples": samples}
                )
    return pa.Table.from_pylist(rows, schema=TOKEN_TRANSLATIONS)


def _text(tokenizer: Any, tokens: npt.NDArray[Any]) -> str:
    return " ".join(tokenizer.id_to_token(int(token)) for token in tokens).replace(" ##", "")
