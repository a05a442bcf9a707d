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

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.universal_dependencies import RELATIONS
from mbert_atlas.encoding.stores import Encoded, Examples, TaskEncoding
from mbert_atlas.encoding.tags import column_of_words, encoded_sentences, tag_numbers


def encode_trees(examples: Examples) -> Encoded:
    """Encode sentences with trees (``forms``, ``heads``, ``deprels``); see the module's text.

    Of a relation its universal part counts (``nmod:poss`` is ``nmod``), as in the shared task's
    official scores.

    Raises:
        DataError: if a column is missing, forms, heads and relations differ in number, or a
            relation is unknown.
    """
    examples.require_columns("id", "language", "forms", "heads", "deprels")
    place = examples.table.column_names.index("deprels")
    relations = examples.table.column(place).combine_chunks()
    universal = pc.replace_substring_regex(relations.flatten(), ":.*", "")
    stripped = pa.ListArray.from_arrays(
        offsets_of(pc.list_value_length(relations)).astype(np.int32), universal
    )
    examples = replace(examples, table=examples.table.set_column(place, "deprels", stripped))
    numbers = tag_numbers(examples, "deprels")
    heads = column_of_words(examples, "heads", "heads").flatten().to_numpy(zero_copy_only=False)
    tokenizer, unknown = examples.truncating_tokenizer()
    dropped: Counter[str] = Counter()
    sentences = encoded_sentences(examples, tokenizer, unknown, numbers.lengths, dropped)
    rows = [(row, ids, first_pieces) for row, ids, _, first_pieces in sentences]
    kept = [row for row, *_ in rows]
    arrays = {
        "input_ids": Ragged.from_rows((ids for _, ids, _ in rows), np.int32),
        "first_pieces": Ragged.from_rows((first for *_, first in rows), np.int32),
        "heads": Ragged(heads.astype(np.int32), numbers.offsets).take(np.array(kept, np.int64)),
        "labels": numbers.take(np.array(kept, np.int64)),
    }
    return Encoded(kept, arrays, dropped, {})


PARSING = TaskEncoding(encode_trees, lambda table, languages: RELATIONS)
