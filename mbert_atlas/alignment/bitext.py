"""Word alignment of a bitext, scored on hand-aligned sentence pairs."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.alignment import diagonal
from mbert_atlas.alignment.links import Symmetrisation, score, symmetrise, write_pharaoh
from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.gold_alignment import GoldSentence
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import BITEXT

_logger = logging.getLogger(__name__)


def align(
    bitext: Path | str,
    output: Path | str,
    *,
    gold: Sequence[GoldSentence] = (),
    symmetrisation: Symmetrisation = "intersection",
    threads: int = 1,
) -> dict[str, Any]:
    """Align the words of a bitext (Parquet of schema ``BITEXT``) and write the links as Pharaoh.

    ``gold`` takes part in the estimation, but is not in ``output``. A sentence pair with an empty
    side has an empty line. Two ``threads`` are twice as fast; the links stay the same. Returns
    ``symmetrisation``, ``bitext_sentences``, ``bitext_links``; with gold pairs also their
    :func:`score`, and under ``by_symmetrisation`` that of each way to merge the directions.
    """
    table = read_parquet(bitext, BITEXT)
    source, target = (
        _word_ids(table[name], [getattr(pair, name) for pair in gold])
        for name in ("source_tokens", "target_tokens")
    )
    _logger.info("aligning %d sentence pairs", len(source))
    both = diagonal.align_both(diagonal.build_grid(source, target), threads)
    links = symmetrise(*both, symmetrisation).between(0, len(table))
    write_pharaoh(links, output)
    sizes = {"bitext_sentences": len(table), "bitext_links": len(links)}
    result: dict[str, Any] = {"symmetrisation": symmetrisation, **sizes}
    if gold:
        one, two = (side.between(len(table), len(source)) for side in both)
        scores = {how: score(symmetrise(one, two, how), gold) for how in get_args(Symmetrisation)}
        result |= {**scores[symmetrisation], "by_symmetrisation": scores}
    return result


def _word_ids(column: pa.ChunkedArray, more: list[list[str]]) -> Ragged:
    """Return word ids of the sentences of a column and of ``more``."""
    lists = pa.concat_arrays([*column.chunks, pa.array(more, column.type)])
    offsets = offsets_of(pc.list_value_length(lists).fill_null(0).to_numpy())
    return Ragged(lists.flatten().dictionary_encode().indices.to_numpy(), offsets)
