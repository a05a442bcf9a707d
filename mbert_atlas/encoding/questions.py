"""Questions with their contexts as token stores of windows.

A window is ``[CLS] question [SEP] part of the context [SEP]``. Parallel to the windows a store has
``segment_start`` (int32: place of the first context token), ``labels`` (int32, shape
``(windows, 2)``: the first and last token that the first answer overlaps if the window holds both,
else 0, the place of [CLS]), ``first_piece`` (int32: number in the context of the token at
``segment_start``) and ``example`` (int32: number of the question). Per question it holds
``context`` (int32), ``question_language`` and ``answer_counts`` (int32); per answer ``answers``
(UTF-8, ragged uint8); per distinct context ``context_text`` (UTF-8, ragged uint8) and its tokens'
``piece_begin`` and ``piece_end`` (ragged int32, characters).

A question that would leave the context fewer than ``doc_stride`` + 1 tokens is cut. ``dropped`` of
``meta.json`` counts these, questions that are left out because their context has no token (or for
[UNK]), and first answers without a span: no window holds them whole, or they overlap no token.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.stores import Encoded, Examples, TaskEncoding, in_chunks
from mbert_atlas.errors import AtlasError
from mbert_atlas.tokenizer import open_tokenizer, special_id

Ints = npt.NDArray[np.int32]
_Span = tuple[int, int]
OUTPUTS = ("start", "end")
_CLS = 0
_COLUMNS = ("id", "language", "question_language", "context", "question")
_ANSWER_COLUMNS = ("answer_text", "answer_start")


def encode_questions(examples: Examples, *, doc_stride: int = 128) -> Encoded:
    """Encode questions, a table with the columns of schemas.QA_EXAMPLES; see the module's text.

    Windows share ``doc_stride`` context tokens, as in run_qa.py and the code of Efimov et al.
    (2022). Raises a DataError if a column is missing; an AtlasError if ``max_length`` is too small.
    """
    examples.require_columns(*_COLUMNS, *_ANSWER_COLUMNS)
    table, folder = examples.table, examples.tokenizer_dir
    tokenizer = open_tokenizer(folder)
    cls_id, sep_id, unknown = (
        special_id(tokenizer, token, folder) for token in ("[CLS]", "[SEP]", "[UNK]")
    )
    # [CLS] question [SEP] context [SEP]; XLM-R has two between them.
    between = [sep_id] * (tokenizer.num_special_tokens_to_add(True) - 2)
    windows = _Windows(cls_id, between, examples.max_length, doc_stride)
    distinct = table.column("context").combine_chunks().dictionary_encode()
    context_of = distinct.indices.to_numpy()
    contexts = _Pieces.of(distinct.dictionary, tokenizer, f"{examples.title}, contexts")
    texts = table.column("question").combine_chunks()
    questions = _Pieces.of(texts, tokenizer, f"{examples.title}, questions")
    kept: list[int] = []  # rows of the table, one per question
    columns = (table.column(name).to_pylist() for name in _ANSWER_COLUMNS)
    for row, (gold, starts) in enumerate(zip(*columns, strict=True)):
        question, context = questions.ids[row], contexts.ids[context_of[row]]
        if examples.drop_unknown and (unknown in question or unknown in context):
            windows.dropped["question_with_unknown_piece"] += 1
        elif len(context) == 0:
            windows.dropped["context_without_pieces"] += 1
        else:
            span = None
            if gold:
                span = contexts.overlapping(context_of[row], starts[0], starts[0] + len(gold[0]))
                windows.dropped["answer_without_pieces"] += span is None
            windows.add(len(kept), question, context, span)
            kept.append(row)
    asked = table.take(pa.array(kept, pa.int64()))
    answers = asked.column("answer_text").combine_chunks()
    arrays: dict[str, Any] = {
        **windows.arrays(),
        "question_language": np.array(asked.column("question_language").to_pylist(), np.str_),
        "answer_counts": pc.list_value_length(answers).to_numpy().astype(np.int32),
        "answers": _as_bytes(pc.list_flatten(answers).to_pylist()),
        "context": context_of[kept].astype(np.int32),
        "context_text": _as_bytes(distinct.dictionary.to_pylist()),
        "piece_begin": contexts.begin,
        "piece_end": contexts.end,
    }
    rows = [kept[example] for example in arrays["example"]]
    return Encoded(rows, arrays, windows.dropped, {"doc_stride": doc_stride})


@dataclass(frozen=True)
class _Pieces:
    """Texts as tokens without special ones: ids, and their first and past-last characters."""

    ids: Ragged
    begin: Ragged
    end: Ragged

    @classmethod
    def of(cls, texts: pa.Array, tokenizer: Tokenizer, description: str) -> Self:
        ids, offsets = list[Sequence[int]](), list[Ints]()
        for _, part in in_chunks(pa.table({"text": texts}), description):
            batch = part.column("text").to_pylist()
            for encoding in tokenizer.encode_batch(batch, add_special_tokens=False):
                ids.append(encoding.ids)
                offsets.append(np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2))
        begin, end = ([pairs[:, side] for pairs in offsets] for side in (0, 1))
        return cls(*(Ragged.from_rows(rows, np.int32) for rows in (ids, begin, end)))

    def overlapping(self, text: int, begin: int, end: int) -> _Span | None:
        """Return the first and last token of a text that overlap characters of it, if any do."""
        first = int(np.searchsorted(self.end[text], begin, side="right"))
        last = int(np.searchsorted(self.begin[text], end, side="left")) - 1
        return (first, last) if first <= last else None


class _Windows:
    """The windows so far, and counts of what was left out."""

    def __init__(self, cls_id: int, between: list[int], max_length: int, doc_stride: int) -> None:
        self.cls_id, self.between, self.doc_stride = cls_id, between, doc_stride
        self.most = max_length - len(between) - 2
        self.longest_question = self.most - doc_stride - 1
        if self.longest_question < 1:
            raise AtlasError(
                f"windows of {max_length} tokens with doc_stride {doc_stride} leave no space for "
                "the question; choose a larger max_length or a doc_stride between 1 and "
                f"{max(1, self.most - 2)}."
            )
        self.dropped = Counter[str]()
        self._input_ids: list[npt.NDArray[np.int32]] = []
        self._numbers: list[tuple[int, ...]] = []

    def add(self, example: int, question: Ints, context: Ints, span: _Span | None) -> None:
        """Add the windows of one question, whose answer overlaps the tokens ``span``."""
        # Overlaps of 1 in windows that hold 3 of the context tokens a b c d e:
        #     [CLS] q [SEP] a b c [SEP]    first token 0
        #     [CLS] q [SEP] c d e [SEP]    first token 2 = size - doc_stride; the span d e: 4, 5
        self.dropped["question_cut"] += len(question) > self.longest_question
        question = question[: self.longest_question]
        size = self.most - len(question)
        step = size - self.doc_stride
        before, is_held = len(question) + 1 + len(self.between), False
        for first in range(0, max(1, len(context) - size + step), step):
            part, labels = context[first : first + size], (_CLS, _CLS)
            if span is not None and first <= span[0] and span[1] < first + len(part):
                labels = (span[0] - first + before, span[1] - first + before)
                is_held = True
            parts: list[Any] = [[self.cls_id], question, self.between, part, self.between[:1]]
            self._input_ids.append(np.concatenate(parts))
            self._numbers.append((before, *labels, first, example))
        self.dropped["answer_in_no_window"] += span is not None and not is_held

    def arrays(self) -> dict[str, npt.NDArray[Any] | Ragged]:
        """Return the arrays that are parallel to the windows."""
        numbers = np.array(self._numbers, dtype=np.int32).reshape(-1, 5)
        return {
            "input_ids": Ragged.from_rows(self._input_ids, np.int32),
            "segment_start": numbers[:, 0],
            "labels": numbers[:, 1:3],
            "first_piece": numbers[:, 3],
            "example": numbers[:, 4],
        }


def _as_bytes(texts: Iterable[str]) -> Ragged:
    return Ragged.from_rows((np.frombuffer(text.encode(), np.uint8) for text in texts), np.uint8)


QA = TaskEncoding(encode_questions, lambda table, languages: OUTPUTS)
