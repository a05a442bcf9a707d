"""Word alignment of a bitext, scored on hand-aligned sentence pairs."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.alignment import ALIGNERS
from mbert_atlas.alignment.aligner import Aligner
from mbert_atlas.alignment.links import Links, Symmetrisation, score, symmetrise, write_pharaoh
from mbert_atlas.alignment.pairs import selected
from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.config.alignment import Alignment
from mbert_atlas.corpora.gold_alignment import GoldSentence
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import BITEXT

_logger = logging.getLogger(__name__)


def align(
    bitext: Path | str,
    output: Path | str,
    *,
    gold: Sequence[GoldSentence] = (),
    options: Alignment | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """Align the words of a bitext (Parquet of schema ``BITEXT``) and write the links as Pharaoh.

    ``gold`` takes part in the estimation, but is not in ``output``. A sentence pair with an empty
    side, or with more than ``options.longest_line`` words on a side, has an empty line; it takes no
    part in the estimation. Two ``threads`` are twice as fast; the links stay the same.

    Returns the card: ``aligner``, ``version``, ``symmetrisation``, ``bitext_sentences``,
    ``bitext_links`` and ``dropped``, counts by reason; with gold pairs also their :func:`score`,
    and ``pairs`` and ``pairs_right``: of the links that :func:`.pairs.selected` keeps in them, the
    number, and the fraction (0 to 1) that is possible; under ``by_symmetrisation`` the same for
    each way to merge the directions.

    Raises DataError if the aligner is not here, or no line is left.
    """
    options = options or Alignment()
    aligner: Aligner = ALIGNERS.load(options.aligner)
    card: dict[str, Any] = {"aligner": options.aligner, "version": aligner.version(options.program)}
    table = read_parquet(bitext, BITEXT)
    source, target = (
        _word_ids(table[name], [getattr(pair, name) for pair in gold])
        for name in ("source_tokens", "target_tokens")
    )
    long = np.maximum(source.lengths, target.lengths) > options.longest_line
    empty = np.minimum(source.lengths, target.lengths) == 0
    rows = np.flatnonzero(~(long | empty))
    if not len(rows):
        problem = f"no line has 1 to {options.longest_line} words on both sides"
        raise DataError(bitext, "", problem, "check the files of the bitext")
    _logger.info("aligning %d sentence pairs with %s", len(rows), card["version"])
    sides = source.take(rows), target.take(rows)
    one, two = (
        Links(rows[links.row], links.source, links.target, len(source))
        for links in aligner.align(*sides, program=options.program, threads=threads)
    )
    links = symmetrise(one, two, options.symmetrisation).between(0, len(table))
    write_pharaoh(links, output)
    card |= {
        "symmetrisation": options.symmetrisation,
        "bitext_sentences": len(table),
        "bitext_links": len(links),
        "dropped": {
            f"lines longer than {options.longest_line} words": int(long.sum()),
            "lines with an empty side": int((empty & ~long).sum()),
        },
    }
    if gold:
        one, two = (side.between(len(table), len(source)) for side in (one, two))
        merged = {how: symmetrise(one, two, how) for how in get_args(Symmetrisation)}
        scores = {how: _scores(item, gold, options) for how, item in merged.items()}
        card |= {**scores[options.symmetrisation], "by_symmetrisation": scores}
    return card


def _scores(links: Links, gold: Sequence[GoldSentence], options: Alignment) -> dict[str, float]:
    """Return the scores of the links, and of the word pairs among them that training uses."""
    sides = [[getattr(pair, name) for pair in gold] for name in BITEXT.names[1:3]]
    kept = selected(pa.table(sides, BITEXT.names[1:3]), links, options.maximum_words)[0]
    right = score(kept, gold)["precision"] if len(kept) else 0.0
    return {**score(links, gold), "pairs": len(kept), "pairs_right": right}


def _word_ids(column: pa.ChunkedArray, more: list[list[str]]) -> Ragged:
    """Return word ids of the sentences of a column and of ``more``."""
    lists = pa.concat_arrays([*column.chunks, pa.array(more, column.type)])
    offsets = offsets_of(pc.list_value_length(lists).fill_null(0).to_numpy())
    return Ragged(lists.flatten().dictionary_encode().indices.to_numpy(), offsets)
