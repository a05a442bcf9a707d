"""L2 distances of related and unrelated words (Efimov et al. 2022, section 5.4)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.separation import separation
from mbert_atlas.arrays import TokenStore
from mbert_atlas.encoders.hidden_states import span_vectors
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import WORD_DISTANCES
from mbert_atlas.tokenizer import require_tokenizer
from mbert_atlas.training.word_pairs import WordPairs, open_pairs

IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
_INFLUENTIAL = (10, 100)


class Panel(NamedTuple):
    """A model whose distances are measured."""

    name: str  # of the panel of the figure
    protocols: Sequence[str]  # under which the panel shows this model
    folder: Path  # of the encoder, with the tokenizer of the pairs


def word_pair_distances(
    *, panels: Sequence[Panel], store: Path, output: Path, summary: Path, pairs: int, seed: int
) -> None:
    """Measure the same related and unrelated word pairs under several encoders, last layer.

    Related pairs are aligned words of parallel sentences. An unrelated pair is the English word of
    one related pair and the other word of a pair from a different sentence. ``pairs`` of each kind
    are drawn, or all of the store of held-out word pairs (:func:`open_pairs`). Writes Parquet,
    columns :data:`mbert_atlas.schemas.WORD_DISTANCES`, and JSON: ``panel``, ``protocols`` and the
    :func:`summarise` of each model. Raises :class:`DataError` if the store is not usable or not of
    the encoders' tokenizer, or its pairs can't be re-paired across sentences.
    """
    bitext, available = open_pairs(store)
    for panel in panels:
        require_tokenizer(store, bitext.meta.get("tokenizer_sha256"), panel.folder)
    drawn = sample_pairs(available, pairs, seed)
    try:
        other = derangement(drawn.sentence, seed)
    except ValueError as error:
        raise DataError(store, "", str(error), "hold out more sentences") from error
    tables, summaries = [], []
    for panel in panels:
        related, unrelated = _squared_differences(panel, bitext, drawn, other)
        place = {"panel": panel.name, "protocols": list(panel.protocols)}
        summaries.append(place | summarise(related, unrelated))
        for kind, squares in (("related", related), ("unrelated", unrelated)):
            columns = {
                name: [value] * len(squares) for name, value in (place | {"kind": kind}).items()
            }
            distance = _distance(squares).astype(np.float32)
            tables.append(pa.table(columns | {"distance": distance}, schema=WORD_DISTANCES))
    write_json(summaries, summary)
    write_parquet(pa.concat_tables(tables).combine_chunks(), output)


def _squared_differences(
    panel: Panel, bitext: TokenStore, pairs: WordPairs, other: IntArray
) -> tuple[Vectors, Vectors]:
    """Return them for related pairs, and for source words with the targets of pairs ``other``."""
    model = load_encoder(panel.folder)
    model.to(default_device())
    source, target = (
        span_vectors(
            *(model, bitext.ragged(f"{side}_ids"), pairs.sentence),
            *(getattr(pairs, f"{side}_{end}") for end in ("start", "end")),
            aggregation="mean",
            layers=[-1],
            description=f"{side} words under {panel.name}",
        )[0]
        for side in ("source", "target")
    )
    return np.square(source - target), np.square(source - target[other])


def sample_pairs(pairs: WordPairs, count: int, seed: int) -> WordPairs:
    """Draw ``count`` pairs without replacement (all if there are fewer), in their order."""
    if len(pairs) <= count:
        return pairs
    which = generator(seed, "word pairs").choice(len(pairs), size=count, replace=False)
    return pairs.take(np.sort(which))


def derangement(group: IntArray, seed: int) -> IntArray:
    """Draw a permutation that maps every item to an item of another group.

    Of the group (sentence) of each item, int, shape ``(n,)``, returns ``other``, int64, with
    ``group[other[i]] != group[i]`` for every i. Raises :class:`ValueError` if one group holds more
    than half of the items, so that there is none.
    """
    if 2 * (largest := int(np.bincount(group).max())) > len(group):
        raise ValueError(f"one sentence holds {largest} of {len(group)} pairs")
    random = generator(seed, "unrelated")
    other: IntArray = random.permutation(len(group))
    for item in np.flatnonzero(group[other] == group):
        if group[other[item]] != group[item]:
            continue  # fixed by an earlier swap
        # The swap must suit both items; at most 2 * largest - 1 items don't qualify.
        fits = np.flatnonzero((group != group[item]) & (group[other] != group[item]))
        partner = random.choice(fits)
        other[item], other[partner] = other[partner], other[item]
    return other


def summarise(related: Vectors, unrelated: Vectors) -> dict[str, Any]:
    """Summarise squared differences of pairs by dimension, shape ``(n, dims)``.

    Returns ``related`` and ``unrelated`` (n and mean of the L2 distance), ``mean_ratio`` and
    ``separation_auc`` (see :func:`separation`), and ``squared_distance_share``: the fraction of the
    squared distance of all pairs in the 10 and 100 most influential dimensions, 0 to 1.
    """
    distances = {"related": _distance(related), "unrelated": _distance(unrelated)}
    summary: dict[str, Any] = {
        kind: {"n": len(values), "mean": float(values.mean())} for kind, values in distances.items()
    }
    auc, ratio = separation(**distances)
    total = related.sum(0, dtype=np.float64) + unrelated.sum(0, dtype=np.float64)
    largest = np.sort(total)[::-1]
    shares = {f"top{n}": float(largest[:n].sum() / total.sum()) for n in _INFLUENTIAL}
    return {**summary, "mean_ratio": ratio, "separation_auc": auc, "squared_distance_share": shares}


def _distance(squares: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(np.sqrt(squares.sum(1, dtype=np.float64)))
