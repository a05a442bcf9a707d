"""Sentences with dependency trees as token stores.

Per sentence a store holds ``input_ids`` (ragged int32, special tokens included) and, parallel to
all of its words, ``first_pieces`` (ragged int32: place of the word's first subword among
``input_ids``, -1 where it has none), ``heads`` (ragged int32: 1-based, 0 for the root) and
``labels`` (ragged int32: number of the relation). Under a tokenizer that splits ``dogs`` and drops
U+200B, with a cut at six tokens::

    forms            input_ids                     first_pieces    heads        labels
    dogs sees a cat  [CLS] dog ##s sees a [SEP]    1 3 4 -1        2 0 4 2      nsubj root det obj
    U+200B cats      [CLS] cat ##s [SEP]           -1 1            2 0          dep root
    the dog          [CLS] the dog [SEP]           1 2             2 0          det root

Words after the cut and words without a subword stay in the store, though no model sees them: they
are scored as wrong. The head of ``a`` was cut off: that arc is not trained on, but it counts in the
scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.universal_dependencies import RELATIONS
from mbert_atlas.encoding.stores import (
    TaskEncoding,
    in_chunks,
    require_columns,
    row_name,
    truncating_tokenizer,
    write_store,
)
from mbert_atlas.encoding.tags import (
    NO_WORD,
    column_of_words,
    count_lost_words,
    encoded_words,
    tag_numbers,
)
from mbert_atlas.errors import DataError

NO_PIECE = -1


def encode_trees(
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str],
    max_length: int = 128,
    drop_unknown: bool = False,
    origin: Path | str = "examples",
) -> None:
    """Write a table as a token store; see the module's text.

    The table has ``id``, ``language``, ``forms``, ``heads`` and ``deprels``. Of a relation its
    universal part counts (``nmod:poss`` is ``nmod``), as in the shared task's official scores.

    Raises:
        DataError: if a column is missing, forms, heads and relations differ in number, heads are
            no tree with one root, a relation is not in ``labels`` or nothing is left.
    """
    require_columns(table, ["id", "language", "forms", "heads", "deprels"], origin)
    place = table.column_names.index("deprels")
    relations = table.column(place).combine_chunks()
    universal = pc.replace_substring_regex(relations.flatten(), ":.*", "")
    stripped = pa.ListArray.from_arrays(
        offsets_of(pc.list_value_length(relations)).astype(np.int32), universal
    )
    table = table.set_column(place, "deprels", stripped)
    numbers = tag_numbers(table, "deprels", labels, origin)
    heads = Ragged(_heads(table, origin), numbers.offsets)
    tokenizer, unknown = truncating_tokenizer(tokenizer_dir, max_length)
    dropped: Counter[str] = Counter()
    kept: list[int] = []
    input_ids, first_pieces = [], []
    for row, encoding in encoded_words(table, tokenizer, f"encoding {Path(output).name}"):
        words = np.array([NO_WORD if n is None else n for n in encoding.word_ids], np.int32)
        seen, places = np.unique(words, return_index=True)
        seen, places = seen[seen != NO_WORD], places[seen != NO_WORD]
        first = np.full(len(heads[row]), NO_PIECE, np.int32)
        first[seen] = places
        count_lost_words(dropped, seen, len(first), bool(encoding.overflowing))
        if drop_unknown and unknown in encoding.ids:
            dropped["sentence_with_unknown_piece"] += 1
            continue
        kept.append(row)
        input_ids.append(encoding.ids)
        first_pieces.append(first)
    arrays = {
        "input_ids": Ragged.from_rows(input_ids, np.int32),
        "first_pieces": Ragged.from_rows(first_pieces, np.int32),
        "heads": heads.take(np.array(kept, np.int64)),
        "labels": numbers.take(np.array(kept, np.int64)),
    }
    options = {"max_length": max_length, "drop_unknown": drop_unknown}
    task, where = "parsing", (tokenizer_dir, output)
    write_store(task, table, kept, arrays, *where, labels=labels, options=options, dropped=dropped)


def _heads(table: pa.Table, origin: Path | str) -> npt.NDArray[np.int32]:
    """Return the heads of all words, int32, checked to be trees."""
    column = column_of_words(table, "heads", "heads", origin)
    for start, part in in_chunks(table, "checking trees"):
        rows = column.slice(start, part.num_rows)
        offsets = offsets_of(pc.list_value_length(rows))
        parents = Ragged(rows.flatten().to_numpy(zero_copy_only=False), offsets)
        padded = parents.padded(np.arange(len(parents)), 0)
        inside = np.arange(padded.shape[1]) < parents.lengths[:, None]
        roots = ((padded == 0) & inside).sum(axis=1)
        outside = np.any((padded < 0) | (padded > parents.lengths[:, None]), axis=1)
        graph = np.where(outside[:, None], 0, padded)
        circular = ~reach_root(np.pad(graph, ((0, 0), (1, 0))))
        for is_wrong, problem in (
            (outside, "a head is no word of the sentence"),
            (roots != 1, "the sentence has {roots} roots, not 1"),
            (circular, "the heads run in a circle"),
        ):
            if is_wrong.any():
                row = int(np.argmax(is_wrong))
                name = row_name(table, start + row)
                problem = problem.format(roots=roots[row])
                raise DataError(origin, name, problem, "correct the treebank or leave it out")
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.astype(np.int32)


def reach_root(parents: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return whether every node of a graph reaches node 0, by pointer jumping.

    Args:
        parents: parent of each node, shape ``(graphs, nodes)``; that of node 0 is itself.

    Returns:
        bool, shape ``(graphs,)``.
    """
    # Parents 0 0 1 4 3: two steps up lie 0 0 0 3 4, four steps the same; 3 and 4 are a circle.
    for _ in range(parents.shape[1].bit_length()):
        parents = np.take_along_axis(parents, parents, axis=1)
    reached: npt.NDArray[np.bool_] = np.all(parents == 0, axis=1)
    return reached


PARSING = TaskEncoding(encode_trees, lambda table, languages: RELATIONS)
