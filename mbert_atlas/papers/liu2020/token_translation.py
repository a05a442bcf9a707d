"""How far shifted sentences are translations: BLEU-1 and convert rate by layer and weight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from accelerate import PartialState

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoders.hidden_states import require_tokenizer
from mbert_atlas.encoders.loading import load_masked_model
from mbert_atlas.encoding.parallel import inner
from mbert_atlas.papers.liu2020.token_overlap import converted, overlap, token_set
from mbert_atlas.representations.language_means import mean_difference
from mbert_atlas.representations.shifted_predictions import predict_shifted
from mbert_atlas.schemas import TOKEN_TRANSLATIONS
from mbert_atlas.tokenizer import open_tokenizer


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
    token_budget: int | None = None,
) -> pa.Table:
    """Shift sentences of a language to another at every layer with every weight; score the tokens.

    Args:
        encoder: encoder folder with its language-model head.
        sentences: what :func:`mbert_atlas.encoding.parallel.encode_parallel` wrote.
        means: what :func:`mbert_atlas.representations.language_means.language_means` wrote.
        source: the language that goes in.
        target: the one that shall come out.
        layers: hidden states that are shifted, each by itself, 0 for the embeddings.
        weights: what the difference of means is multiplied by.
        shown: numbers of sentences whose predicted tokens the table keeps.
        token_budget: most padded tokens in a batch of all changes; none: what suits the device.

    Returns:
        Columns of ``schemas.TOKEN_TRANSLATIONS``.

    Raises:
        DataError: if the sentences are not of the encoder's tokenizer, or it has no such head.
    """
    stored, found = load_arrays(sentences), load_arrays(means)
    require_tokenizer(sentences, stored.meta.get("tokenizer"), encoder)
    model: Any = load_masked_model(encoder, seed=0).to(PartialState().device).eval()
    ids, parts = stored.ragged("input_ids"), stored.dense("part")
    rows = {
        code: np.arange(len(parts)) + len(parts) * stored.meta["languages"].index(code)
        for code in (source, target)
    }
    size = model.config.vocab_size
    sets = [token_set(ids.take(own), size) for own in rows.values()]
    asked, gold = ids.take(rows[source]), inner(ids.take(rows[target]))
    pieces = open_tokenizer(encoder)
    table: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        shifts = mean_difference(found, protocol, source, target)
        predicted = predict_shifted(model, asked, shifts, layers, weights, token_budget)
        for (layer, weight), tokens in predicted.items():
            for part in np.unique(parts):
                own = np.flatnonzero(parts == part)
                same = overlap(tokens.take(own), gold.take(own), size)
                only, counted = converted(tokens.take(own).values, *sets)
                place = {"source": source, "target": target, "protocol": protocol}
                table.append(
                    place
                    | {"part": int(part), "layer": layer, "weight": weight, "n": len(own)}
                    | {"corpus_bleu": same.corpus_bleu(), "mean_bleu": same.mean_bleu()}
                    | {"converted": only, "counted": counted}
                    | {"samples": [_text(pieces, tokens[n]) for n in shown if parts[n] == part]}
                )
    return pa.Table.from_pylist(table, schema=TOKEN_TRANSLATIONS)


def _text(pieces: Any, tokens: npt.NDArray[Any]) -> str:
    return " ".join(pieces.id_to_token(int(token)) for token in tokens).replace(" ##", "")
