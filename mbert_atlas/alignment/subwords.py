"""Bitext of subwords, for subword alignment (Efimov et al. 2022, Table 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mbert_atlas.alignment.pairs import load_word_tokenizer, tokenise_words
from mbert_atlas.corpora.jobs import DerivingJob
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.schemas import BITEXT


def derive(job: DerivingJob) -> None:
    """Split the words of one language of a bitext, see :func:`subword_bitext`."""
    assert job.tokenizer is not None
    subword_bitext(job.tables[0], job.tokenizer, job.output)


def subword_bitext(bitext: Path | str, tokenizer_dir: Path | str, output: Path | str) -> None:
    """Split the words of a bitext into subwords, each of which is a "word" of the new bitext.

    :func:`align` and :func:`word_pairs` read the result like any bitext (their limit on words then
    counts subwords); :func:`encode_word_pairs` needs ``units="subwords"``.

    Args:
        bitext: Parquet file of schema ``BITEXT``.
        tokenizer_dir: folder with ``tokenizer.json``.
        output: Parquet file of schema ``BITEXT`` to write, row by row parallel to ``bitext``.

    Raises:
        DataError: if the bitext or the tokenizer cannot be used.
    """
    table = read_parquet(bitext, BITEXT)
    tokenizer = load_word_tokenizer(tokenizer_dir)
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    numbers = tokenizer.get_vocab(with_added_tokens=True)
    names = np.empty(max(size, 1 + max(numbers.values())), dtype=object)
    for token, number in numbers.items():
        names[number] = token
    columns: dict[str, Any] = {name: table[name] for name in ("id", "score")}
    for side in ("source", "target"):
        ids, words, _ = tokenise_words(tokenizer, table[f"{side}_tokens"], side)
        # A row's subwords without [CLS] and [SEP], which belong to no word.
        before = np.concatenate([[0], np.cumsum(words >= 0)])
        columns[f"{side}_tokens"] = pa.ListArray.from_arrays(
            pa.array(before[ids.offsets], pa.int32()),
            pa.array(names, pa.string()).take(pa.array(ids.values[words >= 0])),
        )
    write_parquet(pa.table({name: columns[name] for name in BITEXT.names}, schema=BITEXT), output)
