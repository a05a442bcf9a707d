"""Texts, or pairs of texts, with one label each as token stores; and those with a language."""

from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import normalizers

from mbert_atlas.arrays import Ragged
from mbert_atlas.corpora.nli import LABELS
from mbert_atlas.encoding.stores import Encoded, Examples, TaskEncoding, in_chunks
from mbert_atlas.encoding.tags import NO_LABEL, continuation_ids
from mbert_atlas.tokenizer import open_tokenizer


def encode_classes(
    examples: Examples,
    *,
    text_columns: tuple[str, ...],
    label_column: str,
    segment_ids: bool = True,
    strip_case_and_accents: bool = False,
) -> Encoded:
    """Encode texts, or pairs if there are two text columns; the longer text is cut first.

    The store holds ``labels`` (int32, shape ``(n,)``) and for pairs ``segment_start`` (int32, shape
    ``(n,)``), the place of the second text's first token. ``segment_ids`` gives second texts the
    token type 1; Tanti et al. (2021) give them 0. ``strip_case_and_accents`` normalises as an
    uncased tokenizer does.
    """
    table = examples.table
    examples.require_columns("id", "language", *text_columns, label_column)
    labels = examples.label_numbers(table.column(label_column).combine_chunks())
    tokenizer, unknown = examples.truncating_tokenizer()
    if strip_case_and_accents:
        plain = [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]
        tokenizer.normalizer = normalizers.Sequence([*plain, tokenizer.normalizer])
    kept, segment_start, input_ids = list[int](), list[int](), list[npt.NDArray[np.int32]]()
    for first_row, part in in_chunks(table, examples.title):
        texts = [part.column(name).to_pylist() for name in text_columns]
        inputs = texts[0] if len(texts) == 1 else list(zip(*texts, strict=True))
        for row, encoding in enumerate(tokenizer.encode_batch_fast(inputs), first_row):
            ids = encoding.ids
            if not (examples.drop_unknown and unknown in ids):
                kept.append(row)
                input_ids.append(np.array(ids, dtype=np.int32))
                segment_start.append(len(ids) - sum(encoding.type_ids))
    arrays: dict[str, Any] = {"labels": labels[kept]}
    arrays["input_ids"] = Ragged.from_rows(input_ids, np.int32)
    if len(text_columns) == 2:
        arrays["segment_start"] = np.array(segment_start, dtype=np.int32)
    options = {"strip_case_and_accents": strip_case_and_accents, "segment_ids": segment_ids}
    return Encoded(kept, arrays, {"unknown_piece": table.num_rows - len(kept)}, options)


def encode_languages(examples: Examples, *, unit: Literal["text", "token"] = "text") -> Encoded:
    """Encode texts (columns ``language``, ``split``, ``text``) whose language is identified.

    The store holds ``split`` (strings, shape ``(n,)``) and ``labels``, the number of the language:
    int32 of shape ``(n,)`` for texts; for tokens ragged int32, parallel to ``input_ids``, -100 at
    special tokens and those that begin with ``##`` (code of Tanti et al. 2021).
    """
    examples.require_columns("split")
    encoded = encode_classes(examples, text_columns=("text",), label_column="language")
    arrays, ids = encoded.arrays, encoded.arrays["input_ids"]
    if unit == "token":
        folder = examples.tokenizer_dir
        unlabelled = continuation_ids(open_tokenizer(folder), folder)[ids.values]
        unlabelled[ids.offsets[:-1]] = unlabelled[ids.offsets[1:] - 1] = True  # [CLS] and [SEP]
        of_token = np.repeat(arrays["labels"], ids.lengths)
        arrays["labels"] = Ragged(np.where(unlabelled, np.int32(NO_LABEL), of_token), ids.offsets)
    splits = examples.table.column("split").take(pa.array(encoded.rows, pa.int64())).to_pylist()
    arrays["split"] = np.array(splits, dtype=np.str_)
    return encoded._replace(options={"unit": unit})


NLI = TaskEncoding(
    partial(encode_classes, text_columns=("premise", "hypothesis"), label_column="label"),
    lambda table, languages: LABELS,
)
LANGUAGE_IDENTIFICATION = TaskEncoding(encode_languages, lambda table, languages: sorted(languages))
